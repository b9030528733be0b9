"""A judge that says the same of every answer is told of, and what rests on its verdicts is marked."""

import html
import json
import re

import pytest
from chat_server import ChatServer, asked_of
from exported import copy_as_authors
from judged_runs import CRAG, REJECTION, REJECTION_FILE, run

import quadrag
from quadrag.baselines.tables.cells import value_cell
from quadrag.cli import main
from quadrag.metric_record import find_verdict

SAME = "All {} verdicts of the judge j are the same, {}: all answers may be so, or it says so of any; {}."
FEW = "The {} verdicts of the judge j are the same, {}: too few to tell whether it says so of any answer; {}."
MARKED = "! marks what rests on them"


@pytest.mark.parametrize(
    ("said", "limit", "told"),
    [
        ("No, it is not addressed.", 12, SAME.format(12, "rejection_rate_judged 1", MARKED)),
        (
            lambda body: f"Yes, it is addressed. {len(asked_of(body))}",
            5,
            SAME.format(5, "rejection_rate_judged 0", MARKED),
        ),
        ("No, it is not addressed.", 4, FEW.format(4, "rejection_rate_judged 1", MARKED)),
        ("No, it is not addressed.", 2, FEW.format(2, "rejection_rate_judged 1", MARKED)),
        ("No, it is not addressed.", 1, None),
        (lambda body: ("Yes, it is addressed.", "No, it is not addressed.")[len(asked_of(body)) % 2], 12, None),
    ],
)
def test_a_judge_that_says_the_same_of_all_is_told_of(said, limit, told, tmp_path, capsys):
    with ChatServer(models=["j"], text=said) as judge:
        assert run(tmp_path, REJECTION, "--limit", limit, "--judge", f"{judge.url}#j") == 0
    page = html.unescape((tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    result = quadrag.result(tmp_path / "run")
    assert result.valid
    for shown in (capsys.readouterr().out, repr(result), page):
        shown = " ".join(shown.split())
        assert shown.count(told) == 1 if told else "are the same" not in shown
    file = ("score", str(tmp_path / "run" / "answers.jsonl"), *REJECTION_FILE)
    with ChatServer(models=["j"], text=said) as judge:
        assert main([*file, "--judge", f"{judge.url}#j", "--json", "--ledger", str(tmp_path / "other")]) == 0
    for notes in (result.notes, json.loads(capsys.readouterr().out)["notes"]):
        assert notes.count(told) == 1 if told else not any("are the same" in note for note in notes)


def _answer_nothing(body):
    """Say of each question about a text that it has no answer there."""
    return "\n".join(
        ["<response>\n无法推断\n</response>"] * len(re.findall(r"^问题 \d+：", asked_of(body), re.MULTILINE))
    )


@pytest.mark.parametrize(
    ("place", "said", "told"),
    [
        (
            CRAG,
            lambda body: json.dumps({"score": 0, "explanation": f"{len(asked_of(body))}"}),
            "8 verdicts of the judge j are the same, truthfulness -1, accuracy 0, hallucination 1:",
        ),
        (
            ("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample"),
            lambda body: f"Yes, the model has identified the factual errors.{'!' * (len(asked_of(body)) % 2)}",
            "12 verdicts of the judge j are the same, error_detection_judged 1:",
        ),
        (
            ("run", "omnieval", "extractive_qa", "--retriever", "none", "--data-dir", "sample", "--limit", "6"),
            lambda body: '{"prediction":' + " " * (len(asked_of(body)) % 2) + "1}",
            "18 verdicts of the judge j are the same, acc 0.5, com 0.5, nac 1:",
        ),
        (
            ("run", "crud_rag", "summary", "--data-dir", "sample"),
            _answer_nothing,
            "5 verdicts of the judge j are the same, RAGQuestEval recall 0:",
        ),
    ],
)
def test_every_judged_metric_is_told_of(place, said, told, tmp_path, capsys):
    with ChatServer(models=["j"], text=said) as judge:
        run(tmp_path, place, "--llm", "extractive", "--judge", f"{judge.url}#j")
    assert f"All {told}" in " ".join(capsys.readouterr().out.split())


def test_what_rests_on_verdicts_that_are_the_same_is_marked_and_stands_beside_no_published_value(
    tmp_path, capsys, monkeypatch
):
    asked = [
        *CRAG[: CRAG.index("sample")],
        copy_as_authors("crag", tmp_path / "CRAG", monkeypatch),
        *CRAG[CRAG.index("sample") + 1 :],
    ]
    with ChatServer(models=["j"], text='{"score": 1}') as judge:
        assert run(tmp_path, asked, "--llm", "extractive", "--judge", f"{judge.url}#j") == 0
    marked = re.compile(r"^ *(truthfulness|accuracy|hallucination) +\d+\.\d! .+ 10 of 10 *$", re.MULTILINE)
    out, result = capsys.readouterr().out, quadrag.result(tmp_path / "run")
    for shown in (out, repr(result)):
        assert len(marked.findall(shown)) == 3
        assert re.sub("^! ", "", shown, flags=re.MULTILINE).count("!") == 4, "and once where it is explained"
    assert re.search(r"^missing .+ 0.5 llama-2-7b-chat", out, re.MULTILINE), "no verdict is behind it"
    assert result._repr_html_().count("<svg") == 2, "no bar for what is not measured"
    judged = [
        row for row in result.result.scores if row["value"] is not None and row.get("n_ruled", 0) < row["n_scored"]
    ]
    drawn = {row["key"]: value_cell(row).figure is not None for row in judged}
    assert [key for key, there in drawn.items() if there] == ["missing", "accuracy_bounded"], "nor a place in a chart"
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    cards = page.split("</header>")[1].partition("best published")[0]
    assert all(re.search(rf">{key}<.*\s*.*\d\.\d!<", cards) for key in ("truthfulness", "accuracy", "hallucination"))
    assert main(["report", str(tmp_path / "run"), "--verbose"]) in (0, None)
    beside = capsys.readouterr().out.partition("\nPublished\n")[2]
    assert "missing" in beside and "accuracy" not in beside.partition("\nPublished:")[0]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("truthfulness.accuracy", "truthfulness.accuracy"),
        ("truthfulness.accuracy_weighted", "truthfulness.accuracy"),
        ("truthfulness.missing", ""),
        ("error_detection.error_correction", "error_detection.error_detection_judged"),
        ("error_detection.error_detection", ""),
    ],
)
def test_a_value_rests_on_its_own_verdict_or_on_that_which_says_whether_it_is_there(name, verdict):
    assert find_verdict(*name.split(".")) == verdict


def test_between_judges_that_say_the_same_of_all_nothing_is_better(tmp_path):
    runs = []
    for said in (
        "No, it is not addressed.",
        lambda body: f"Yes, it is addressed. {len(asked_of(body))}",
    ):
        with ChatServer(models=["j"], text=said) as judge:
            out = tmp_path / str(len(runs))
            assert run(out, REJECTION, "--judge", f"{judge.url}#j", "--llm", "extractive") == 0
        runs.append(out / "run")
    told = " ".join(repr(quadrag.compare(*runs[:2])).split())
    assert "Not compared, the judge of each says the same of every answer: rejection_rate_judged." in told
    assert "better" not in told.replace("lower is better", "")
