"""`quadrag show`: single questions of a run or of two, as the terminal, Python and the page select and write them."""

import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Rule

import quadrag
from quadrag.baselines.core.run_record import read_run, sha256
from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.page.page import read_words
from quadrag.baselines.report.items.gold import place_gold
from quadrag.baselines.report.items.lines import Manner
from quadrag.baselines.report.items.reader import RunReader
from quadrag.baselines.report.items.spelled import match_ids, shorten_ids
from quadrag.baselines.runs.finished import read_runs
from quadrag.cli import main
from quadrag.records import Question, read_jsonl, write_jsonl

SAMPLE = ("--data-dir", "sample")
CRAG = ("run", "crag", "task_1_2", "--split", "public", *SAMPLE)
PLACE = ("rgb", "information_integration_en")
ROBUST = ("rgb", "noise_robustness_en")
FAILED = ("3", "9")


def ids(ran: Any) -> list[str]:
    """The ids of the questions that were shown, in order."""
    assert ran.code == 0, ran.err
    return re.findall(r"^\w+ (?:noise_\d+|public|test) (\S+)$", ran.out, re.MULTILINE)


def ask(cli: Any, *place: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cli("questions", *place, *SAMPLE).out.splitlines()]


def score(cli: Any, name: str, rows: Any, *more: str) -> None:
    write_jsonl(Path(f"{name}.jsonl"), rows)
    assert cli("score", f"{name}.jsonl", *more, *SAMPLE, "--out", name).code == 0


@pytest.fixture
def two(cli: Any) -> tuple[Any, Any]:
    """The runs `a` and `b`: questions 0 and 1 are right in `a` alone, 2 in both, 3 in `b` alone."""

    def measure(folder: str, right: tuple[str, ...]) -> Any:
        def answer(question: Any) -> str:
            found = " ".join(one.text for one in question.passages)
            return found if question.id in right else f"no idea of {question.id}"

        return quadrag.evaluate(*PLACE, answer, split="noise_40", data_dir="sample", out=folder, name="mine")

    return measure("a", ("0", "1", "2")), measure("b", ("2", "3"))


def test_what_became_worse_or_better_is_selected(two, cli, capsys):
    worse = cli("show", "a", "b", "--worse")
    assert ids(worse) == ["0", "1"] and worse.out == cli("show", "a", "b").out
    first = worse.out.split("\n\n")[0]
    heads = [line.split("  ")[1].split()[0] for line in first.splitlines() if line.startswith("  ")]
    assert heads == ["question", "a", "b", "gold", "found", "a", "b"] + ["passage"] * 5, "passages of both stand once"
    assert ids(cli("show", "a", "b", "--better")) == ["3"] == ids(cli("show", "b", "a", "--worse"))
    assert ids(cli("show", "a", "b", "--worse", "--limit", "1")) == ["0"]
    shutil.copytree("a", "c")
    assert ids(cli("show", "a", "c", "--worse")) == []
    capsys.readouterr()
    quadrag.compare(*two).show(better=True)
    assert "  a answer  no idea of 3" in capsys.readouterr().out
    Path("one").mkdir()
    shutil.copytree("a", "one/a")
    assert ids(cli("show", "one", "b", "--worse")) == ["0", "1"], "a folder of one run is that run"


def test_the_greatest_difference_comes_first(cli):
    def part(question: Any) -> str:
        return str(question.query[: 3 * (1 + len(question.query) % 4)])

    systems = (lambda question: question.query, part)
    before, after = (quadrag.evaluate("crud_rag", "summary", one, data_dir="sample") for one in systems)
    first, second = (
        {row["id"]: row["crud_overlap.rouge_l"]["official"] for row in one.result.items} for one in (before, after)
    )
    lost = {name: first[name] - second[name] for name in first if first[name] > second[name]}
    called = shorten_ids(first)
    wanted = [called[name] for name in sorted(lost, key=lambda name: -lost[name])]
    assert ids(cli("show", before.folder, after.folder, "--worse", "--metric", "rouge_l")) == wanted
    assert len({*lost.values()}) > 2


def test_terminal_python_and_page_go_by_one_metric(cli, capsys):
    def search(found: list[Any], name: str) -> Any:
        given = {"data_dir": "sample", "limit": 3, "name": name, "out": name}
        return quadrag.evaluate("crud_rag", "qa_1doc", lambda question: (question.query, found), **given)

    gold = RunReader(Path("a"), search([], "a").result).questions.values()
    every = [{"id": ident, "text": "t"} for question in gold for ident in question.relevant]
    both = [search([every[0]], "b"), search(every, "c")]
    assert ids(cli("show", "b", "c", "--worse", "--metric", "rouge_l")) == []
    better = ids(cli("show", "b", "c", "--better"))
    assert len(better) == 2, "by the headlines before it all answers are alike"
    capsys.readouterr()
    quadrag.compare(*both).show(better=True)
    assert "better by recall@8" in capsys.readouterr().out
    index = collect_answers(read_runs(["b", "c"]), read_words("en")).index
    assert index["metrics"][0]["label"] == "recall@8"
    changed = [item["texts"] for item in index["items"] if item["values"][0][0] != item["values"][1][0]]
    assert [(before[0], after[0]) for before, after in changed] == [("0", "100")] * 2, "in percent"


@pytest.mark.parametrize(
    "typed",
    [
        ("a", "--worse"),
        ("a", "b", "--wrong"),
        ("a", "b", "--worse", "--metric", "beauty"),
        ("a", "b", "--worse", "--split", "noise"),
        ("a", "--id", "nobody"),
        ("a", "--wrong", "--metric", "beauty"),
        ("a", "a"),
    ],
)
def test_what_cannot_be_shown_is_one_line(cli, shared_two, typed):
    shutil.copytree(shared_two, ".", dirs_exist_ok=True)
    ran = cli("show", *typed)
    assert (ran.code, ran.out) == (2, "") and ran.err.startswith("quadrag: ") and ran.err.count("\n") == 1


@pytest.fixture(scope="module")
def shared_two(shared_cli: Any) -> Path:
    """A folder with the runs `a` and `b` of three questions."""
    for name in "ab":
        assert shared_cli("run", *PLACE, *SAMPLE, "--split", "noise_40", "--limit", "3", "--out", name).code == 0
    folder: Path = shared_cli.folder
    return folder


def measure_failing(name: str, failed: tuple[str, ...] = (), **more: Any) -> Any:
    """A run in which all passages are the answer; the function raises at the questions of these ids."""

    def answer(question: Any) -> str:
        if question.id in failed:
            raise ValueError("no luck")
        return " ".join(one.text for one in question.passages)

    given = {"split": "noise_60", "data_dir": "sample", "out": name, "name": name}
    return quadrag.evaluate(*ROBUST, answer, **{**given, **more})


@pytest.fixture
def failing(cli: Any) -> tuple[Any, Any]:
    """Runs `a` and `b`, made with the corrected profile: two questions failed in `b`, else they are the same."""
    return measure_failing("a", profile="corrected"), measure_failing("b", FAILED, profile="corrected")


@pytest.mark.parametrize("profile", ["official", "corrected"])
def test_the_mean_of_a_column_is_the_score(failing, profile):
    one = quadrag.result("b", profile)
    frame = one.to_pandas(texts=False)
    assert frame["accuracy"].mean() == pytest.approx(one["accuracy"].value)
    assert frame["accuracy"].isna().sum() == (2 if profile == "official" else 0)
    assert list(frame[frame["unscored"].str.startswith("raised: ", na=False)]["id"]) == list(FAILED)
    both = quadrag.compare("a", "b", profile=profile)
    difference = both.to_pandas(texts=False)["accuracy_difference"]
    assert difference.mean() == pytest.approx(both["accuracy"].difference)
    assert difference.count() == both["accuracy"].n == (10 if profile == "official" else 12)
    listed = collect_answers(read_runs(["a", "b"]), read_words("en"), profile).index["items"]
    values = {item["place"].split("/")[3]: [run[0] for run in item["values"]] for item in listed}
    lost = [name for name, (before, after) in values.items() if after is not None and after < before]
    assert lost == (list(FAILED) if profile == "corrected" else [])


def test_what_failed_is_worse_under_the_profile_that_counts_it(failing, cli):
    assert ids(cli("show", "a", "b", "--worse")) == list(FAILED), "the runs' own profile"
    assert ids(cli("show", "a", "b", "--worse", "--profile", "official")) == []
    ran = cli("show", "a", "b", "--worse", "--profile", "corrected", "--limit", "1")
    assert "ValueError: no luck" in ran.out and "  b accuracy, accuracy_bounded: 0 (raised)\n" in ran.out
    one = ("show", "b", "--id", FAILED[0], "--profile", "official")
    assert "  accuracy, accuracy_bounded: – (raised)\n" in cli(*one).out
    assert ids(cli("show", "b", "--wrong")) == list(FAILED)
    measure_failing("c")
    assert "official profile" in cli("report", "c", "b").out, "of runs with two profiles"
    with pytest.raises(quadrag.QuadragError, match='profile="official"'):
        quadrag.compare(quadrag.result("a", "official"), failing[1])


def test_an_answer_and_a_verdict_that_failed_are_counted_and_told_together(cli):
    def answer(question: Any) -> str:
        if question.id == FAILED[0]:
            raise ValueError("no luck")
        return f"There are factual errors in document {question.id}."

    with ChatServer(models=["j"], text="Yes, it does.") as server:
        server.rules.append(Rule("reply", times=1, message={"content": "who knows"}))
        given = {"data_dir": "sample", "judge": f"{server.url}#j", "concurrency": 1}
        found = quadrag.evaluate("rgb", "counterfactual_robustness_en", answer, out="j", **given)
    assert [found[key].n for key in ("error_detection_judged", "error_correction")] == [11, 10]
    (failed,) = [note for note in found.notes if "2 of 12 items failed" in note]
    assert "1 raised" in failed and "1 unparsable" in failed
    assert not any(note.count(" test") > 1 for note in found.notes), "a place is named once"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    with ChatServer(models=["j"], text='{"score": 0} it is wrong') as judge:
        judge.rules.append(Rule("reply", times=1, message={"content": "who knows"}))
        more = ("--judge", f"{judge.url}#j", "--judge-name", "j", "--concurrency", "1", "--ledger", str(folder / "L"))
        assert main([*CRAG, *more, "--out", str(folder / "run")]) == 0
    return folder


@pytest.fixture
def judged(once: Path, cli: Any) -> Any:
    """A function that shows a run in which the judge said something of its own about every question."""
    shutil.copytree(once, ".", dirs_exist_ok=True)
    return lambda *more: cli("show", "run", *more)


def test_the_judges_words_stand_beside_the_question_they_are_about(judged, cli):
    out = judged("--limit", "100").out
    assert out.count("the judge: who knows") == 1 and 'the judge: {"score": 0} it is wrong' in out
    odd = next(part for part in out.split("\n\n") if "who knows" in part)
    unscored = judged("--unscored").out
    assert odd.split("\n")[0] in unscored and "unparsable" in unscored
    shown = collect_answers(read_runs(["run"]), read_words("en")).items
    said = {reply for item in shown for _, reply in item["runs"][0]["verdicts"]}
    assert said == {"who knows", '{"score": 0} it is wrong'}
    rows = [row for _, row in read_jsonl(Path("run/verdicts.jsonl"))]
    answered = [row["id"] for _, row in read_jsonl(Path("run/answers.jsonl"))]
    assert [*dict.fromkeys(row["id"] for row in rows)] == [one for one in answered if one in {r["id"] for r in rows}]
    assert {*rows[0]} == {"benchmark", "config", "split", "id", "sample", "metric", "about", "request", "reply"}
    Path("run/verdicts.jsonl").unlink()
    assert judged("--limit", "100").code == 0, "without them all else is shown"


def test_wrong_ones_are_selected_by_the_metric_that_is_asked_for_and_ids_by_their_beginnings(judged):
    items = [row for _, row in read_jsonl(Path("run/items.jsonl"))]
    wrong = [row["id"] for row in items if row["rgb_accuracy.accuracy_bounded"]["official"] == 0]
    called = shorten_ids(row["id"] for row in items)
    shown = ids(judged("--wrong", "--metric", "accuracy_bounded", "--limit", "100"))
    assert sorted(shown) == sorted(called[name] for name in wrong) and len(wrong) < len(items)
    first = called[items[0]["id"]]
    whole = judged("--id", items[0]["id"]).out
    assert len(first) < len(items[0]["id"]) and items[0]["id"] not in whole
    assert {judged("--id", typed).out for typed in (first, first.rstrip("…"))} == {whole}
    several = next(one["id"][0] for one in items if sum(other["id"][0] == one["id"][0] for other in items) > 1)
    assert judged("--id", several).code == 2
    alike = ["0123456789abcdef-1", "0123456789abcdef-2", "fedcba98765432100", "17", "some-long-name-of-a-document"]
    assert [*shorten_ids(alike).values()] == [*alike[:2], "17", "fedcba98…", alike[-1]]
    assert match_ids("0123", alike) == alike[:2] and match_ids("1", alike) == match_ids("some", alike) == []


def test_questions_that_have_changed_are_not_shown_beside_the_old_answers(judged):
    path = Path("run/questions.jsonl")
    first, *others = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"sha256": "0"}), *others]), encoding="utf-8")
    run = read_run(path.parent)
    run.files[path.name] = sha256(path)
    run.write(path.parent)
    ran = judged()
    assert ran.code == 2 and ran.err.count("\n") == 1


def test_each_search_and_each_sample_is_shown_with_its_own(cli):
    def search(number: int) -> None:
        given = {"data_dir": "sample", "limit": 1, "name": f"v{number}", "out": f"v{number}"}
        found = [{"id": f"{number}" * 64, "text": f"text {number}"}]
        quadrag.evaluate("crud_rag", "qa_1doc", lambda one: ("甲" if number else one.query, found), **given)

    search(0)
    search(1)
    out = cli("show", "v0", "v1", "--worse").out
    assert "  v0 passage 1 [00000000…] text 0" in out and "  v1 passage 1 [11111111…] text 1" in out
    assert len(re.findall(r"(?m)^  v[01] missed \(gold\) \[\w+…\] \d+-\d\d-.*，正文：", out)) == 2
    lines = [{"id": 0, "sample": number, "answer": f"answer {number}"} for number in (0, 1)]
    score(cli, "two", lines, "--benchmark", "rgb", "--config", "negative_rejection_en")
    assert re.findall("  answer +(.*)", cli("show", "two", "--id", "0").out) == ["answer 0", "answer 1"]


def test_right_and_idle_questions_are_no_wrong_or_unscored_ones(cli):
    asked = ask(cli, *PLACE)
    right = [row | {"answer": " ".join(one["text"] for one in row["passages"])} for row in asked]
    score(cli, "right", right)
    score(cli, "wrong", [row | {"answer": "?"} if row["id"] in ("3", "5", "11") else row for row in right])
    assert cli("show", "wrong", "--wrong", "--ids").out == "3\n5\n11\n", "each once, though in three splits"
    assert cli("show", "right", "wrong", "--ids").out == "3\n5\n11\n"
    assert cli("show", "wrong", "--wrong", "--ids", "--limit", "2", "--labels", "zh").out == "3\n5\n"
    assert cli("show", "right", "--wrong", "--ids").out == "" == cli("show", "right", "--unscored", "--ids").out
    assert {*ids(cli("show", "wrong", "--wrong", "--split", "noise_20"))} == {"3", "5", "11"}
    named = {"benchmark": "rgb", "config": "counterfactual_robustness_en"}
    lines = [{**named, "id": str(at), "answer": "x" if at else None} for at in range(12)]
    score(cli, "null", lines, "--max-failed", "1")
    assert ids(cli("show", "null", "--unscored")) == ["0"], "a metric that does not apply hides no failure"


def test_a_folder_of_several_runs_lists_them_or_shows_all_of_them(cli):
    for config in ("noise_robustness_en", "counterfactual_robustness_en"):
        assert cli("run", "rgb", config, *SAMPLE, "--limit", 4, "--out", f"all of it/{config}").code == 0
    listed = cli("show", "all of it").out
    assert "quadrag show 'all of it/noise_robustness_en'" in listed and listed.count("\n") == 3
    parts = cli("show", "all of it", "--wrong").out.split("== all of it/")[1:]
    assert [part.partition("\n")[0] for part in parts] == ["noise_robustness_en", "counterfactual_robustness_en"]
    assert [part.count("  question  ") for part in parts] == [3, 3]
    shutil.copytree("all of it", "copied")
    assert cli("show", "all of it", "copied", "--worse").out.count("== ") == 2
    assert cli("show", "all of it", "all of it/noise_robustness_en", "--worse").code == 2


def test_what_a_rule_decided_which_gold_the_judge_was_told_and_what_is_scored(cli):
    with ChatServer(models=["j"], text='{"score": 0} it is wrong') as judge:

        def answer(question: Any) -> str:
            return "I don't know" if "forward p/e" in question.query else "perhaps"

        given = {"judge": f"{judge.url}#j", "ledger": "L", "out": "run", "data_dir": "sample", "split": "public"}
        quadrag.evaluate("crag", "task_1_2", answer, **given)
    first, second = cli("show", "run", "--limit", "2").out.split("\n\n")[:2]
    assert "decided by rule" in first and ", the judge:" not in first and "decided by rule" not in second
    for gold in ("$1.12", "1.12"):
        assert f'  truthfulness ({gold}), the judge: {{"score": 0}} it is wrong\n' in second
    one, two = (item["runs"][0] for item in collect_answers(read_runs(["run"]), read_words("en")).items[:2])
    assert any("rule" in why for *_, why in one["values"])
    assert [name for name, _ in two["verdicts"]] == ["truthfulness ($1.12)", "truthfulness (1.12)"]
    answers = ("Let me think. <response>十九座</response>", " 十九座 ")
    asked = ask(cli, "crud_rag", "qa_1doc")
    score(cli, "a", [row | {"answer": text} for row, text in zip(asked, answers, strict=False)])
    assert [item["runs"][0]["scored"] for item in collect_answers(read_runs(["a"]), read_words("en")).items] == [
        "十九座",
        "",
    ]
    assert cli("show", "a").out.count("  scored    十九座\n") == 1


def test_texts_are_cut_alike_in_a_terminal_and_whole_elsewhere(cli, monkeypatch):
    lines = [{"id": str(at), "answer": f"the {at} end of it " * 20 + "at last"} for at in range(12)]
    score(cli, "long", lines, "--benchmark", "rgb", "--config", "negative_rejection_en")
    one = ("show", "long", "--id", "3")
    assert "at last\n" in cli(*one).out, "in a pipe"
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "at last" not in cli(*one).out and "at last\n" in cli(*one, "--verbose").out


def test_a_passage_is_cut_around_the_gold():
    question = Question("rgb", "c", "s", "1", "?", ["May 6"], "en")
    manner, find = Manner(longest=80), partial(place_gold, question)
    far, near = "An early word. " * 30, "A late word. " * 30
    shown = manner.line(f"{far}It came on May 6. {near}", find)
    assert "It came on May 6." in shown and shown[0] == shown[-1] == "…" and len(shown) == 80 and manner.cut
    for text in (f"On May 6. {near}", near):
        assert manner.line(text, find) == text[:79] + "…"
    assert Manner().line(f"{far}May 6", find) == f"{far}May 6"
