"""`quadrag show`: single questions with passages, answer, gold, values, and what the judge said of them."""

import json
import os
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.report.items.spelled import match_ids, shorten_ids
from quadrag.baselines.runs.finished import read_runs
from quadrag.cli import main
from quadrag.records import read_jsonl, write_jsonl
from quadrag.run_files import sha256
from quadrag.run_record import read_run

CRAG = ("run", "crag", "task_1_2", "--split", "public", "--data-dir", "sample")


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    with ChatServer(models=["j"], text='{"score": 0} it is wrong') as judge:
        judge.rules.append(Rule("reply", times=1, message={"content": "who knows"}))
        more = ("--judge", f"{judge.url}#j", "--concurrency", "1", "--ledger", str(folder / "ledger"))
        assert main([*CRAG, *more, "--out", str(folder / "run")]) == 0
    return folder


@pytest.fixture
def judged(once, tmp_path):
    """A run in which the judge said something of its own about every question, and a ledger with its words."""
    return shutil.copytree(once, tmp_path, dirs_exist_ok=True)


def show(capsys, folder, *more):
    capsys.readouterr()
    code = main(["show", str(folder / "run"), "--ledger", str(folder / "ledger"), *more])
    return code, capsys.readouterr()


def test_one_question_is_shown_whole(judged, capsys):
    answers = [row for _, row in read_jsonl(judged / "run" / "answers.jsonl")]
    code, (out, _) = show(capsys, judged, "--id", answers[0]["id"])
    assert code in (0, None)
    for part in (
        answers[0]["answer"],
        "  passage 1 [",
        "  gold      ",
        "  accuracy_bounded: 0\n",
    ):
        assert part in out
    assert "1 of 1 items" in out


def test_the_judges_words_stand_beside_the_question_they_are_about(judged, capsys):
    _, (out, _) = show(capsys, judged, "--limit", "100")
    assert out.count("the judge: who knows") == 1
    assert 'the judge: {"score": 0} it is wrong' in out
    odd = next(part for part in out.split("\n\n") if "who knows" in part)
    _, (unscored, _) = show(capsys, judged, "--unscored")
    assert odd.split("\n")[0] in unscored and "unparsable" in odd
    (judged / "ledger").unlink()
    code, (out, _) = show(capsys, judged, "--limit", "100")
    assert code in (0, None) and "not kept in the ledger" in out
    _, (out, _) = show(capsys, judged, "--limit", "100", "--labels", "zh")
    assert ", 裁判：账本中没有" in out


def test_words_of_a_later_run_are_not_shown_as_this_ones(judged, capsys):
    with ChatServer(models=["j"], text='{"score": 1} it is right') as judge:
        more = ("--judge", f"{judge.url}#j", "--judge-service", read_run(judged / "run").inputs.services["judge"])
        assert main([*CRAG, *more, "--fresh", "--ledger", str(judged / "ledger"), "--out", str(judged / "later")]) == 0
    items = judged / "run" / "items.jsonl"
    before = items.stat().st_mtime - 60
    os.utime(items, (before, before))  # as if it had ended long before
    _, (out, _) = show(capsys, judged, "--limit", "100")
    assert "it is" not in out and "the judge: the judge was asked again since; its words then are not kept" in out
    _, (out, _) = show(capsys, judged, "--limit", "1", "--labels", "zh")
    assert ", 裁判：此后又问过裁判；它当时的话没有保存" in out
    shown = collect_answers(read_runs([judged / "run"]), str(judged / "ledger")).items  # on the page
    said = {reply for item in shown for replies in item["runs"][0]["verdicts"].values() for reply in replies}
    assert said == {"the judge was asked again since; its words then are not kept"}
    assert main(["show", str(judged / "later"), "--ledger", str(judged / "ledger")]) in (0, None)
    assert 'the judge: {"score": 1} it is right' in capsys.readouterr().out


def test_the_worst_come_first(judged, capsys):
    _, (out, _) = show(capsys, judged, "--wrong", "--metric", "accuracy_bounded", "--limit", "100")
    items = [row for _, row in read_jsonl(judged / "run" / "items.jsonl")]
    wrong = [row["id"] for row in items if row["rgb_accuracy.accuracy_bounded"]["official"] == 0]
    shown = [line.split()[-1] for line in out.splitlines() if line.startswith("task_1_2 public ")]
    called = shorten_ids(row["id"] for row in items)
    assert sorted(shown) == sorted(called[name] for name in wrong) and len(wrong) < len(items)
    assert "  accuracy_bounded: 0" in out, "the metric that was asked for is shown"


def test_what_cannot_be_shown_is_one_line(judged, capsys, tmp_path):
    for more, message in (
        (("--id", "nobody"), "no item of this run has the id 'nobody'"),
        (("--wrong", "--metric", "beauty"), "unknown metric 'beauty'; "),
        (("--data-dir", str(tmp_path / "nowhere")), "nowhere"),
    ):
        code, (_, err) = show(capsys, judged, *more)
        assert code == 2 and message in err and err.count("\n") == 1
    assert json.loads((judged / "run" / "run.json").read_text())["data_dir"] == "sample"


def test_a_long_id_is_shown_and_taken_by_its_beginning(judged, capsys):
    items = [row["id"] for _, row in read_jsonl(judged / "run" / "items.jsonl")]
    first = shorten_ids(items)[items[0]]
    _, (out, _) = show(capsys, judged, "--id", items[0])
    assert f"\ntask_1_2 public {first}\n" in out and len(first) < len(items[0]) and items[0] not in out
    for typed in (first, first.rstrip("…")):
        assert show(capsys, judged, "--id", typed)[1].out == out
    begin = next(one[0] for one in items if sum(other[0] == one[0] for other in items) > 1)
    code, (_, err) = show(capsys, judged, "--id", begin)
    assert code == 2 and "give more digits" in err
    alike = ["0123456789abcdef-1", "0123456789abcdef-2", "fedcba98765432100", "17", "some-long-name-of-a-document"]
    assert list(shorten_ids(alike).values()) == [
        "0123456789abcdef-1",
        "0123456789abcdef-2",
        "17",
        "fedcba98…",
        alike[-1],
    ]
    assert match_ids("0123", alike) == alike[:2] and match_ids("1", alike) == match_ids("some", alike) == []


def test_each_sample_is_shown_with_its_own_answer(tmp_path, capsys):
    lines = [{"id": 0, "sample": number, "answer": f"answer {number}"} for number in (0, 1)]
    (tmp_path / "two.jsonl").write_text("\n".join(map(json.dumps, lines)))
    place = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")
    assert main(["score", str(tmp_path / "two.jsonl"), *place, "--out", str(tmp_path / "run")]) == 0
    _, (out, _) = show(capsys, tmp_path, "--id", "0")
    assert [line for line in out.splitlines() if line.startswith("  answer")] == [
        f"  answer    answer {n}" for n in (0, 1)
    ]


def test_questions_that_have_changed_are_not_shown_beside_the_old_answers(judged, capsys):
    path = judged / "run" / "questions.jsonl"
    first, *others = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"sha256": "0"}), *others]), encoding="utf-8")
    run = read_run(path.parent)
    run.asked = sha256(path)
    run.write(path.parent)
    code, (_, err) = show(capsys, judged)
    assert code == 2 and f"the data of crag are not those that {judged / 'run'} was made on" in err


def test_a_metric_that_does_not_apply_hides_no_failure(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    named = {"benchmark": "rgb", "config": "counterfactual_robustness_en"}
    for name, first in (("null", None), ("fine", "x")):
        write_jsonl(Path(name), [{**named, "id": str(at), "answer": "x" if at else first} for at in range(12)])
        assert main(["score", name, "--data-dir", "sample", "--out", f"{name}.run", "--max-failed", "1"]) == 0
    out = shown(capsys, "null.run", "--unscored")
    assert out.count("  question  ") == 1 and "  answer    null\n" in out
    assert out.endswith("\n1 of 1 items\nNot shown: 11 without a value only where a metric does not apply\n")
    assert shown(capsys, "fine.run", "--unscored").endswith("a value of every metric that applies to it\n")


def test_that_nothing_is_wrong_is_said_and_a_split_is_shown_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    right = [row | {"answer": " ".join(one["text"] for one in row["passages"])} for row in ask(capsys)]
    one_wrong = [right[0] | {"answer": "?"}, *right[1:]]
    write_jsonl(Path("all.jsonl"), right)
    write_jsonl(Path("one.jsonl"), one_wrong)
    for name in ("all", "one"):
        assert main(["score", f"{name}.jsonl", "--data-dir", "sample", "--out", name]) == 0
    out = shown(capsys, "one", "--wrong")
    assert out.count("  question  ") == 1 and "1 of 1 items, the worst by accuracy first" in out
    wrong, other = one_wrong[0]["split"], one_wrong[-1]["split"]
    assert out.startswith(f"information_integration_en {wrong} ") and wrong != other
    assert shown(capsys, "one", "--wrong", "--split", other) == "No item is wrong: all 12 have the best accuracy\n"
    assert "of 12 items" in shown(capsys, "one", "--split", wrong)
    assert shown(capsys, "all", "--wrong") == "No item is wrong: all 36 have the best accuracy\n"
    assert shown(capsys, "all", "--unscored") == "Every item has a value of every metric\n"
    assert main(["show", "all", "--split", "noise40"]) == 2
    assert "unknown split of this run 'noise40'; nearest: noise_40" in capsys.readouterr().err


def test_a_folder_of_several_runs_lists_them_or_shows_all_of_them(cli):
    for config in ("noise_robustness_en", "counterfactual_robustness_en"):
        folder = f"all of it/{config}"
        assert cli("run", "rgb", config, "--data-dir", "sample", "--limit", 4, "--out", folder).code == 0
    listed = cli("show", "all of it").out.splitlines()
    assert listed == [
        "all of it holds 2 runs: show all with --wrong or --unscored, or one of them:",
        "  quadrag show 'all of it/noise_robustness_en'",
        "  quadrag show 'all of it/counterfactual_robustness_en'",
    ]
    wrong = cli("show", "all of it", "--wrong").out
    parts = wrong.split("== all of it/")[1:]
    assert [part.partition("\n")[0] for part in parts] == ["noise_robustness_en", "counterfactual_robustness_en"]
    for part, metric in zip(parts, ("accuracy", "error_detection"), strict=True):
        assert part.count("  question  ") == 3 and f"\n3 of 4 items, the worst by {metric} first\n" in part
    assert (
        wrong.count("  question  ") == 6 and cli("show", "all of it", "--wrong", "--limit", 1).out.count("gold  ") == 2
    )
    one = cli("show", "all of it", "--wrong", "--split", "noise_80")
    assert "==" not in one.out and one.out.startswith("noise_robustness_en noise_80 ")
    assert cli("show", "all of it", "--split", "noise_81").err.startswith(
        "quadrag: unknown split of this run 'noise_81'"
    )
    shutil.copytree("all of it", "copied")
    pairs = cli("show", "all of it", "copied", "--worse").out
    assert pairs.splitlines() == [
        "== all of it/noise_robustness_en copied/noise_robustness_en",
        "No question on which copied is worse by accuracy; 20 scored in both.",
        "",
        "== all of it/counterfactual_robustness_en copied/counterfactual_robustness_en",
        "No question on which copied is worse by error_detection; 4 scored in both.",
    ]
    apart = cli("show", "all of it", "all of it/noise_robustness_en", "--worse")
    assert apart.code == 2 and "by the same name; name the folders of two runs" in apart.err


def shown(capsys, folder, *more):
    capsys.readouterr()
    assert main(["show", folder, *more]) in (0, None)
    return capsys.readouterr().out


def ask(capsys):
    capsys.readouterr()
    main(["questions", "rgb", "information_integration_en", "--data-dir", "sample"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("task", [("rgb", "negative_rejection_en"), ("crud_rag", "qa_1doc")])
def test_runs_with_a_judge_of_which_none_is_worse(task, cli, judge):
    with ChatServer(models=["m"]) as server:
        for name in ("a", "b"):
            asked = ("--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--max-failed", "1", "--ledger", "L")
            assert cli("run", *task, "--data-dir", "sample", *asked, "--out", name).code == 0
    ran = cli("show", "a", "b", "--worse", "--ledger", "L")
    assert ran.code == 0 and ran.out.splitlines()[-1].startswith("No question on which b is worse by ")


def test_what_failed_stands_before_what_a_metric_does_not_apply_to(cli):
    with ChatServer(models=["m"]) as server:
        server.rules.append(Rule("status", status=400, body={"error": "no"}, times=1))
        asked = ("--llm", f"{server.url}#m", "--limit", "12", "--split", "test")
        ran = cli("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample", *asked, "--out", "a")
        assert ran.code in (0, 3), ran.err
    items = [row for _, row in read_jsonl(Path("a/items.jsonl"))]
    assert sum("not_applicable" in json.dumps(row) for row in items) > 1
    ran = cli("show", "a", "--unscored", "--limit", "1")
    assert "api_error" in ran.out


def test_an_overlap_is_neither_right_nor_wrong(cli):
    assert cli("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--out", "overlap").code == 0
    assert cli("show", "overlap", "--wrong", "--limit", 1).out.endswith(
        "\nbelow full marks by rouge_l: the lowest 1 of 8\n"
    )
    shown = cli("show", "overlap", "--wrong", "--limit", 1, "--labels", "zh").out
    assert shown.endswith("\nrouge_l 未满分的 8 题中，最低的 1 题\n")
