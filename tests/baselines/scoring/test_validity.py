"""No number stands unmarked where the judge, or the model, gave nothing that can be scored."""

import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule, asked_of
from judged_runs import CRAG, REJECTION, REJECTION_FILE, run

import quadrag
from quadrag.baselines.page.answers import collect_answers
from quadrag.baselines.runs.finished import read_runs
from quadrag.cli import main
from quadrag.records import read_jsonl

BAD = {
    "yes": "Yes",
    "garbage": "lorem ipsum 0",
    "cut": '{"score": ',
    "nothing": "",
    "error": '{"error": {"message": "overloaded"}}',
    "fenced prose": "```\nI think so\n```",
}


def record(tmp_path):
    return json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("said", BAD.values(), ids=BAD)
def test_verdicts_that_cannot_be_read_are_no_number(said, tmp_path, capsys):
    with ChatServer(models=["j"], text=said) as judge:
        assert run(tmp_path, CRAG, "--judge", f"{judge.url}#j") == 3
        out, err = capsys.readouterr()
        assert err == "" and out.count("INVALID, ") == 1, "said once, above the table"
        line = next(line for line in out.splitlines() if line.startswith("truthfulness "))
        assert re.fullmatch(r"truthfulness +INVALID +– +\d of 10.*", line)
        assert "INVALID, task_1_2 public" in " ".join(out.split())
        page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        assert re.search(r">truthfulness</th><td>INVALID.*\n.*>n</th><td>\d/10</td>", page)
        # Every figure is still in the file; what is shown again is marked again.
        rows = json.loads((tmp_path / "run" / "scores.json").read_text(encoding="utf-8"))
        assert next(row["value"] for row in rows if (row["key"], row["profile"]) == ("truthfulness", "official")) < 0
        assert main(["report", str(tmp_path / "run")]) in (0, None)
        assert line in capsys.readouterr().out
        assert run(tmp_path, CRAG, "--judge", f"{judge.url}#j") == 3, "shown again"


@pytest.fixture
def unread(tmp_path, capsys):
    """A folder whose judge was never understood, but gave `official` a value for every item."""
    with ChatServer(models=["j"], text="I think the weather is nice.") as judge:
        assert run(tmp_path, CRAG, "--judge", f"{judge.url}#j") == 3
    capsys.readouterr()
    items = [row["truthfulness.truthfulness"] for _, row in read_jsonl(tmp_path / "run" / "items.jsonl")]
    assert all(item["official"] is not None for item in items), "the files keep what official makes of it"
    assert 0 < sum("reason" in item for item in items) < len(items), "two answers need no judge"
    return tmp_path


def test_what_cannot_be_read_has_no_value_in_python(unread):
    result = quadrag.result(unread / "run")
    score = result["truthfulness"]
    assert (score.value, score.interval, score.valid) == (None, None, False)
    assert score.n + score.unscored["unparsable"] == score.n_total == 10
    missing = result["missing"]
    assert (missing.valid, missing.n, missing.unscored) == (True, 10, {}), "a rule decides it, as where a judge is dead"
    assert result["accuracy_bounded"].valid and result["accuracy_bounded"].value is not None
    frame = result.to_pandas()
    lacking = frame["unscored"] == "unparsable: the judge's verdict could not be read"
    assert lacking.sum() == 10 - score.n
    assert frame.loc[lacking, "truthfulness"].isna().all()
    assert frame.loc[~lacking, "truthfulness"].notna().all()
    assert frame["accuracy_bounded"].notna().all()


def test_what_cannot_be_read_has_no_value_on_the_page(unread):
    index = collect_answers(read_runs([unread / "run"])).index
    labels = [metric["label"] for metric in index["metrics"]]
    assert labels[0] == "accuracy_bounded", "the metric that is chosen first is a valid one"
    column = [item["values"][0][labels.index("truthfulness")] for item in index["items"]]
    failed = quadrag.result(unread / "run")["truthfulness"].unscored["unparsable"]
    assert len(column) == 10 and column.count(None) == failed
    page = (unread / "run" / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<title>INVALID: quadrag: crag .*</title>", page) and "<h1>INVALID: " in page
    first = page.split("</header>")[1].split("</p>")[0]
    assert re.search(r'<p class="alarm loud">INVALID, task_1_2 public: 8 of 8 items failed', first), "before all else"
    assert page.count("INVALID, task_1_2 public") == 1


def test_what_cannot_be_read_has_no_value_in_show(unread, capsys):
    def show(*more):
        assert main(["show", str(unread / "run"), "--ledger", str(unread / "ledger"), *more]) in (0, None)
        return capsys.readouterr().out

    out = show("--unscored", "--limit", "1")
    assert (
        "accuracy, hallucination: – (unparsable: the judge's verdict could not be read)\n" in out
        and "official" not in out
    )
    assert "  missing: 0\n" in out, "a rule decides it"
    assert "the worst by accuracy_bounded first" in show("--wrong")
    read = quadrag.result(unread / "run")["truthfulness"].n
    assert f"{read} of {read} items, the worst by truthfulness first" in show("--wrong", "--metric", "truthfulness")


def test_a_share_that_no_verdict_stands_behind_is_none(tmp_path, capsys):
    with ChatServer(models=["j"], text="lorem ipsum") as judge:
        assert run(tmp_path, REJECTION, "--judge", f"{judge.url}#j") == 3
    score = quadrag.result(tmp_path / "run")["rejection_rate_judged"]
    assert (score.value, score.interval, score.n, score.valid) == (None, None, 0, False)
    assert score.unscored == {"unparsable": 12}
    assert main(["show", str(tmp_path / "run"), "--ledger", str(tmp_path / "ledger"), "--limit", "1"]) in (0, None)
    assert "  rejection_rate_judged, the judge: lorem ipsum\n" in capsys.readouterr().out, "named as in tables"
    like = "where a verdict is like 'No, the question is not addressed by the documents.': name another judge"
    assert like in " ".join(repr(quadrag.result(tmp_path / "run")).split())


def test_what_is_quoted_is_a_reply_that_could_not_be_read_however_many_could(tmp_path):
    readable = "No, the question is not addressed by the documents."
    said = iter([readable, readable, "lorem", "ipsum"] * 3)
    with ChatServer(models=["j"], text=lambda body: next(said)) as judge:
        assert run(tmp_path, REJECTION, "--judge", f"{judge.url}#j") == 3
    (line,) = record(tmp_path)["invalid"]
    assert re.search(r"6 of 12 items failed .* a judge said '(lorem|ipsum)', where a verdict is like 'No, ", line), line


def test_metrics_that_failed_for_one_cause_share_a_line_which_says_that_the_verdicts_are_kept_ones(tmp_path):
    place = ("run", "rgb", "counterfactual_robustness_zh", "--data-dir", "sample")
    said = iter(["Yes, it has identified them.", "garbage", "garbage"] * 4)
    with ChatServer(models=["j"], text=lambda body: next(said, "Yes, it has identified them.")) as judge:
        for folder, cure in (
            ("a", "name another judge, or ask this one again with --retry unreadable"),
            ("b", "these are kept verdicts: --retry unreadable asks this judge again, or name another"),
        ):
            assert run(tmp_path / folder, place, "--ledger", tmp_path / "ledger", "--judge", f"{judge.url}#j") == 3
            (line,) = record(tmp_path / folder)["invalid"]
            assert (
                "8 of 12 items failed (8 unparsable), more than --max-failed 0.2: error_detection_judged, "
                "error_correction; " in line
            )
            assert line.endswith(f": {cure}")
        again = ("--ledger", tmp_path / "ledger", "--retry", "unreadable")
        assert run(tmp_path / "c", place, *again, "--judge", f"{judge.url}#j") in (0, None)


@pytest.mark.parametrize("said", [asked_of, lambda body: asked_of(body)[-200:]], ids=["all", "a piece"])
def test_a_judge_that_repeats_its_instructions_has_not_judged(said, tmp_path, capsys):
    with ChatServer(models=["j"], text=said) as judge:
        assert (
            run(
                tmp_path,
                ("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample"),
                "--judge",
                f"{judge.url}#j",
            )
            == 3
        )
    assert "INVALID, counterfactual_robustness_en test: 12 of 12 items failed" in " ".join(
        capsys.readouterr().out.split()
    )
    found = quadrag.result(tmp_path / "run")
    assert not found.valid and found["error_detection_judged"].value is None
    rows = json.loads((tmp_path / "run" / "scores.json").read_text(encoding="utf-8"))
    judged = [row["value"] for row in rows if row["key"] == "error_detection_judged"]
    assert judged == [1.0, 0.0], "the file keeps what the authors' code makes of it"


@pytest.mark.slow
def test_where_results_are_for_a_program_people_are_told_on_stderr(tmp_path, capsys):
    with ChatServer(models=["j"], text="well") as judge:
        assert run(tmp_path, CRAG, "--judge", f"{judge.url}#j", "--json") == 3
    out, err = capsys.readouterr()
    assert err.count("quadrag: INVALID, task_1_2 public") == 1
    assert not json.loads(out)["valid"]


def test_how_many_may_fail_is_the_users_choice(tmp_path, capsys):
    with ChatServer(models=["j"], text='{"score": 1}') as judge:
        judge.rules.append(Rule("reply", times=4, message={"content": "well"}))
        spec = ("--judge", f"{judge.url}#j", "--concurrency", "1")
        assert run(tmp_path, CRAG, *spec, "--max-failed", "0.1") == 3
        # Rules decide two of the ten, which cannot fail.
        failed = int(re.search(r"(\d) of 8 items failed", " ".join(capsys.readouterr().out.split()))[1])
        assert failed >= 2
        # The share itself is not too much; kept replies answer here.
        again = ("--out", str(tmp_path / "again"), "--max-failed", f"{failed / 8}")
        assert run(tmp_path, CRAG, *spec, *again) == 0
        shown = capsys.readouterr().out
        assert re.search(r"^truthfulness .* 10 of 10\b", shown, re.MULTILINE), "those that failed count, and it is said"
        assert f"{failed} of 8 verdicts could not be read, they count as wrong" in " ".join(shown.split())


def test_a_model_that_replies_with_nothing_is_invalid_and_an_empty_line_of_a_file_is_an_answer(tmp_path, capsys):
    with ChatServer(models=["m"], text="") as model:
        assert run(tmp_path, REJECTION, "--llm", f"{model.url}#m") == 3
    assert "12 of 12 replies are empty" in capsys.readouterr().out
    assert [*record(tmp_path)["short"].values()] == ["empty"] * 12
    assert quadrag.result(tmp_path / "run")["rejection_rate"].unscored == {"empty reply": 12}
    answers = tmp_path / "run" / "answers.jsonl"
    assert main(["score", str(answers), *REJECTION_FILE]) == 0


def test_a_reply_of_a_model_that_was_cut_has_failed(tmp_path, capsys):
    cut = [Rule("reply", times=3, reply={"finish_reason": "length"})]
    with ChatServer(models=["m"], rules=cut) as model:
        spec = ("--llm", f"{model.url}#m")
        assert run(tmp_path, REJECTION, *spec) == 3
        out = " ".join(capsys.readouterr().out.split())
        raised = "name a larger --max-tokens and another --out, or take them as they are with --max-failed 1"
        assert "INVALID, negative_rejection_en test: 3 of 12 replies are cut by length, more than" in out
        assert raised in out
        assert main(["show", str(tmp_path / "run"), "--unscored", "--ledger", str(tmp_path / "ledger")]) in (0, None)
        assert capsys.readouterr().out.count("unsupported_correct: – (cut reply)") == 3
        assert run(tmp_path, REJECTION, *spec, "--max-failed", "1") == 0
        told = "3 of 12 replies are cut by length, they are scored as they are: "
        assert told in " ".join(capsys.readouterr().out.split())
        assert run(tmp_path, REJECTION, *spec, "--retry", "cut") == 0
        assert "cut by length" not in capsys.readouterr().out and model.requests == 15, "three are asked again"


def test_an_item_fails_once_by_its_reply_before_its_verdict(tmp_path, capsys):
    manners = iter([Rule("status", status=400), Rule("reply", message={"content": ""})])
    with (
        ChatServer(models=["m"], manner=lambda body: next(manners, None)) as model,
        ChatServer(models=["j"], text=lambda body: "No." if "nothing" in asked_of(body) else "lorem") as judge,
    ):
        spec = ("--llm", f"{model.url}#m", "--judge", f"{judge.url}#j")
        assert run(tmp_path, REJECTION, *spec) == 3
        out = " ".join(capsys.readouterr().out.split())
    assert "12 of 12 items failed (1 api_error, 10 unparsable, 1 empty reply), more than --max-failed" in out
    lost = "1 of 12 items failed (1 api_error), official leaves them out, corrected counts them as wrong"
    more = "replies that are empty are scored as they are (1 more)"
    assert f"{lost}, {more}: rejection_rate, unsupported_correct." in out


def test_an_empty_reply_that_a_metric_leaves_out_is_not_said_to_be_scored(tmp_path, capsys):
    replies = iter([Rule("reply", message={"content": ""})])
    with ChatServer(models=["m"], manner=lambda body: next(replies, None)) as model:
        place = ("run", "crud_rag", "summary", "--data-dir", "sample", "--retriever", "bm25")
        assert run(tmp_path, place, "--llm", f"{model.url}#m") == 0
    told = "1 of 8 replies are empty, official leaves them out, corrected counts them as wrong: all metrics."
    assert told in " ".join(capsys.readouterr().out.split())


def test_each_profile_is_held_against_what_it_has_judged(tmp_path, capsys):
    # `corrected` decides by rule that each answer is missing; `official` has all but two of them judged.
    with (
        ChatServer(models=["m"], text="I can not answer the question because the references do not say it.") as model,
        ChatServer(models=["j"], text="blub") as judge,
    ):
        spec = ("--llm", f"{model.url}#m", "--judge", f"{judge.url}#j")
        assert run(tmp_path, CRAG, *spec) == 3
        out = capsys.readouterr().out
        assert "INVALID, task_1_2 public: 8 of 8 items failed (official: 8 unparsable)" in " ".join(out.split())
        assert re.search(r"^truthfulness +INVALID +– +2 of 10$", out, re.MULTILINE)
        found = quadrag.result(tmp_path / "run")
        assert not found.valid and (found["truthfulness"].value, found["truthfulness"].n) == (None, 2)
        column = collect_answers(read_runs([tmp_path / "run"])).index
        labels = [metric["label"] for metric in column["metrics"]]
        assert [item["values"][0][labels.index("truthfulness")] for item in column["items"]].count(None) == 8
        corrected = ("--profile", "corrected", "--out", tmp_path / "corrected")
        assert run(tmp_path, CRAG, *spec, *corrected) in (0, None)
        assert re.search(r"^truthfulness +0\.0 .* 10 of 10$", capsys.readouterr().out, re.MULTILINE)
        found = quadrag.result(tmp_path / "corrected")
        assert found.valid and (found["truthfulness"].value, found["missing"].value) == (0, 1)
        assert not quadrag.result(tmp_path / "corrected", profile="official").valid
        assert quadrag.result(tmp_path / "run", profile="corrected").valid
        assert main(["report", str(tmp_path / "corrected"), "--profile", "official"]) in (0, None)
        out = " ".join(capsys.readouterr().out.split())
        assert "truthfulness INVALID – 2 of 10" in out and "missing (official)" not in out


def test_code_2_wins(tmp_path, capsys):
    with ChatServer(models=["j"], text="Yes") as judge:
        assert run(tmp_path, CRAG, "--judge", f"{judge.url}#j", "--limit", "3", "--split", "nowhere") == 2
    assert "INVALID" not in capsys.readouterr().err
    assert not Path(tmp_path / "run").exists()


def test_an_invalid_run_is_no_result_on_the_hub(tmp_path):
    from quadrag.errors import QuadragError
    from quadrag.hub.results.plan import plan_results

    with ChatServer(models=["o/m"], text="") as model:
        assert run(tmp_path, REJECTION, "--llm", f"{model.url}#o/m") == 3
    with pytest.raises(QuadragError, match="INVALID"):
        plan_results("org", "o/m", [tmp_path / "run"], accept_data=True)
