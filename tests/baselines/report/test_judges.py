"""Two runs whose verdicts differ for another reason than their answers: by judged metrics neither is the better one."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer

import quadrag
from quadrag.baselines.certify.certificate import lay_beside
from quadrag.baselines.certify.notes import note_judges
from quadrag.baselines.core.result import Result
from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.compared.glance.leader import tell_leader
from quadrag.baselines.report.compared.paired.shared import doubt_verdicts, tell_judges
from quadrag.baselines.report.compared.said.rankings import tell_rankings
from quadrag.baselines.report.compared.several import tabulate_several
from quadrag.baselines.report.facts import list_facts
from quadrag.baselines.report.paper import tabulate_paper
from quadrag.baselines.scoring.validity import discredit, is_alike
from quadrag.baselines.tables.language import speak
from quadrag.baselines.tables.names import name_apart
from quadrag.baselines.tables.run_notes import note_partial
from quadrag.measure.comparison import Comparison
from quadrag.measure.evaluation import Evaluation
from quadrag.run_record import Inputs, RunRecord

PLACE = {"benchmark": "crud_rag", "config": "qa_1doc", "split": "test"}
JUDGED = "ragquesteval.precision"
TOLD = "Judged by different judges (m; m2): differences of judged metrics are the judges' as well as the answers'."


def run(value: float, text: str = "A", judge: str | None = "m", prompt: str = "", services: Any = None) -> Result:
    """A run whose 40 answers all have one value of a judged metric, and of one without a judge."""
    judging = {"prompt": prompt} if prompt else {}
    inputs = Inputs(quadrag="0", benchmark="crud_rag", config="qa_1doc", splits=["test"], retriever="bm25", llm="l")
    record = RunRecord(replace(inputs, judge=judge, judging=judging, services=services or {}))
    values = {"official": value, "corrected": value}
    keys = [("ragquesteval", "precision"), ("crud_overlap", "rouge_l")]
    names = [".".join(key) for key in keys]
    items = [PLACE | {"id": str(i), "sample": 0} | dict.fromkeys(names, values) for i in range(40)]
    counts = {"interval": None, "n_total": 40, "n_scored": 40, "unscored": {}, "signature": "s"}
    rows = [
        PLACE | {"slice": "all", "metric": metric, "key": key, "profile": name, "value": value} | counts
        for metric, key in keys
        for name in values
    ]
    return Result(record, rows, items, texts={(("qa_1doc", "test", str(i)), 0): f"{text}{i}" for i in range(40)})


def test_between_runs_of_different_judges_no_judged_metric_has_a_winner() -> None:
    grid = compare_runs([("A", run(0.1)), ("B", run(0.9, "B", "m2"))])
    assert grid.notes[:2] == ["B is better on rouge_l: +80.0 points (95% 68.8 to 80.0; p < 0.001).", TOLD], (
        "no judge is behind it"
    )
    assert "Not compared, the judges are not the same: RAGQuestEval precision." in grid.notes
    assert [note for note in grid.notes if "better" in note and "precision" in note] == []
    cells = {line.label.split()[-1].split("/")[-1]: [cell.text for cell in line.cells] for line in grid.lines}
    assert cells["precision"] == ["10.0", "90.0", "–", "–"] and cells["rouge_l"][2:] == ["+80.0", "better"]
    several = tabulate_several([("A", run(0.1)), ("B", run(0.9, "B", "m2")), ("C", run(0.9, "C"))])[1].notes
    assert f"B minus A: {TOLD}" in several
    assert any(note.startswith("C is better") and "better on RAGQuestEval precision" in note for note in several)


def test_a_judge_whose_name_is_a_word_of_ours_keeps_it() -> None:
    runs = [run(0.1, judge="judge"), run(0.9, "B", "m2; empty")]
    (told,) = tell_judges(*runs)
    assert speak(told, "en") == TOLD.replace("m; m2", "judge; m2; empty")
    assert speak(told, "zh").startswith("两次由不同的裁判评判（judge；m2；empty）：")
    facts = dict(list_facts(runs))
    assert speak(facts["judge"], "zh") == "judge; m2; empty"
    signed = [
        row | {"signature": "x|judge:judge|prompt:p"} for row in runs[0].scores if row["metric"] == "ragquesteval"
    ]
    (note,) = note_judges([replace(runs[0], scores=signed)])
    assert speak(note, "zh").startswith("裁判未经认证：judge（RAGQuestEval precision）")


def test_python_says_why_a_metric_is_not_compared() -> None:
    sides = [Evaluation(one, Path(one.run.inputs.judge), "official") for one in (run(0.1), run(0.9, "B", "m2"))]
    with pytest.raises(KeyError, match="Not compared, the judges are not the same: precision"):
        Comparison(*sides)["ragquesteval.precision"]
    assert Comparison(*sides)["rouge_l"].difference == pytest.approx(0.8)


def test_judges_differ_by_model_service_or_prompt_where_both_are_known() -> None:
    def named(first: Result, second: Result) -> str:
        return "".join(tell_judges(first, second)).partition(")")[0]

    assert named(run(0.1), run(0.9)) == named(run(0.1), run(0.9, judge=None)) == ""
    here, there, moved = ({"judge": f"http://{a}/v1", "llm": b} for a, b in (("a", "x"), ("b", "x"), ("a", "y")))
    assert named(run(0.1, services=here), run(0.9, services=there)).endswith("(m at http://a/v1; m at http://b/v1")
    assert named(run(0.1, services=here), run(0.9, services=moved)) == named(run(0.1, services=here), run(0.9)) == ""
    assert named(run(0.1), run(0.9, prompt="12ab")).endswith("(m, no own prompt; m, own prompt 12ab")


def test_of_the_same_answers_only_the_verdicts_differ() -> None:
    notes = compare_runs([("A", run(0.1)), ("B", run(0.9))]).notes
    assert "Not compared, the answers are the same; only the verdicts differ: RAGQuestEval precision." in notes
    assert not any("precision" in note and "better" in note for note in notes)
    assert doubt_verdicts(run(0.1), run(0.1), JUDGED) == "", "nor do the verdicts differ"
    one_text = run(0.9, "B")
    one_text.run.constant_verdicts = {"All 40 verdicts are the same": [JUDGED]}
    assert doubt_verdicts(run(0.1), one_text, JUDGED) == "the judge says the same of every answer"
    other = run(0.1)
    other.items[0][JUDGED] = {"official": 0.9}
    assert doubt_verdicts(other, one_text, JUDGED) == "", "a judge that says more than one thing may be right each time"
    other.items[0][JUDGED]["ruled"] = ["official"]
    assert doubt_verdicts(other, one_text, JUDGED) != "", "a rule said so"
    assert doubt_verdicts(one_text, one_text, "crud_overlap.rouge_l") == ""
    assert doubt_verdicts(one_text, one_text, JUDGED).endswith("says the same of every answer")


def test_a_difference_that_is_answers_like_error_texts_alone_is_told() -> None:
    def fail(result: Result, value: float) -> Result:
        for at in range(20):
            result.texts[("qa_1doc", "test", str(at)), 0] = f"Error {at}: timed out"
            result.items[at]["crud_overlap.rouge_l"] = dict.fromkeys(("official", "corrected"), value)
        return result

    told = (
        "Answers that read like error texts make the difference: without the 20 questions that were answered so it is"
    )
    left = "0.0 points on rouge_l (20 questions left)"
    for profile in ("official", "corrected"):
        notes = compare_runs([("A", fail(run(0.5), 0.0)), ("B", run(0.5, "B"))], profile).notes
        assert f"{told} {left}." in notes
        assert any("B is better on rouge_l" in note for note in notes)
        apart = compare_runs([("A", fail(run(0.1), 0.1)), ("B", run(0.9, "B"))], profile).notes
        assert not any(note.startswith(told) for note in apart), "B is better on the others too"
        balanced = compare_runs([("A", fail(run(0.5), 0.9)), ("B", fail(run(0.9, "B"), 0.5))], profile).notes
        hidden = told.replace("make the", "hide a")
        assert f"{hidden} +40.0 points on rouge_l (20 questions left)." in balanced
    three = [("Z", run(0.4, "Z")), ("A", fail(run(0.45), 0.0)), ("B", run(0.5, "B"))]
    leads, errors, *_ = tell_leader(three)
    assert leads == "B is best on rouge_l with 50.0: better than A, Z (p < 0.001)."
    assert errors == f"A minus B: {told} {left.replace('0.0', '-5.0')}.", "neither is the first one"
    ours = "差别出自读起来像报错信息的回答：去掉这样回答的 20 题，差值为 rouge_l 0.0 个百分点（剩 20 题）。"
    assert speak(f"{told} {left}.", "zh") == ours


def test_whether_the_answers_are_the_same_is_seen_once_for_all_metrics() -> None:
    class Texts(dict[Any, Any]):
        read = 0

        def __getitem__(self, key: Any) -> Any:
            self.read += 1
            return super().__getitem__(key)

        def get(self, key: Any, default: Any = None) -> Any:
            self.read += 1
            return super().get(key, default)

    first, second = run(0.1), run(0.9)
    second.texts = Texts(second.texts)
    compare_runs([("A", first), ("B", second)])
    assert second.texts.read == 3 * 40, "for the verdicts, and to say how long they are, and how many are the same"


def test_what_a_judge_says_whether_there_is_rests_on_the_judge() -> None:
    constant = run(0.9, "B")
    constant.run.constant_verdicts = {"All 40 verdicts are the same.": ["error_detection.error_detection_judged"]}
    assert doubt_verdicts(constant, constant, "error_detection.error_correction").endswith("of every answer")
    assert doubt_verdicts(constant, constant, "error_detection.error_detection") == "", "that is by a phrase"


def test_runs_of_different_judges_are_not_ranked_by_verdicts() -> None:
    def ranked(*judges: str) -> str:
        values = zip((0.1, 0.9, 0.5), "ABC", judges, strict=True)
        runs = [run(value, text, judge) for value, text, judge in values]
        for value, one in zip((0.9, 0.1, 0.5), runs, strict=True):
            for row in one.scores:
                row["value"] = value if row["profile"] == "official" else row["value"]
        return " ".join(tell_rankings(runs))

    assert "RAGQuestEval precision" in ranked("m", "m", "m")
    assert "RAGQuestEval precision" not in ranked("m", "m", "m2")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """CRAG's sample answered by two systems, and judged mildly the second time."""

    def judge(share: int) -> ChatServer:
        def said(body: dict) -> str:
            return json.dumps({"score": int(zlib.crc32(json.dumps(body["messages"]).encode()) % 10 < share)})

        return ChatServer(models=[f"m{share}"], text=said)

    folder = tmp_path_factory.mktemp("judged")
    for name, share in (("a", 1), ("b", 9)):
        with judge(share) as server:
            given = {"judge": f"{server.url}#m{share}", "out": folder / name, "ledger": str(folder / "L")}
            quadrag.evaluate("crag", "task_1_2", lambda one: f"{name} {one.id}", data_dir="sample", name=name, **given)  # noqa: B023
    return [folder / "a", folder / "b"]


def test_neither_python_nor_show_nor_the_page_names_a_winner(judged, cli, tmp_path) -> None:
    told = "Judged by different judges (m1; m9): "
    shown = " ".join(repr(quadrag.compare(*judged)).split())
    assert f"Comparison: b minus a, task_1_2 public ! {told}" in shown and "b is better" not in shown
    shown = cli("show", *judged, "--worse").out
    assert told in shown and "accuracy_bounded" in shown and "The rest" not in shown
    assert (
        "Not compared, the judges are not the same: accuracy.\n"
        in cli("show", *judged, "--better", "--metric", "accuracy").out
    )
    page = quadrag.compare(*judged).report(tmp_path / "p.html").read_text(encoding="utf-8")
    assert page.index(told) < page.index('class="cards"')
    assert page.count('<span class="told">not compared</span><span class="by">the judges are not the same</span>') == 3
    assert ">b is better · " not in page
    assert '<span class="told">b is' not in page and '<span class="told">a is' not in page


def test_the_lines_are_said_in_chinese() -> None:
    assert speak(TOLD, "zh").startswith("两次由不同的裁判评判（m；m2）")
    assert "更好" not in speak("Not compared, the answers are the same; only the verdicts differ: acc.", "zh")


def test_a_judge_without_certificate_is_told_of_once_for_all_its_runs() -> None:
    signed = {"signature": "x|judge:j|prompt:p"}
    runs = [run(0.1), run(0.9)]
    told = note_judges([replace(one, scores=[row | signed for row in one.scores]) for one in runs])
    assert [note.count("not certified") for note in told] == [1]
    assert told[0].endswith("`quadrag label RUN --out sheet.csv`, and so of 1 other run.")
    alike = [replace(one, scores=[row | signed | {"alike": True} for row in one.scores]) for one in runs]
    assert note_judges(alike) == [], "that its verdicts are all the same says more"


def test_of_several_runs_what_is_not_compared_for_one_reason_is_told_in_one_line() -> None:
    runs = [run(value, text) for value, text in zip((0.1, 0.2, 0.3, 0.4, 0.5), "abcde", strict=True)]
    for one in runs:
        one.run.constant_verdicts = {"All 40 verdicts are the same": [JUDGED]}
        for row in one.scores:
            if row["metric"] == "ragquesteval":
                discredit(row)
    grid, values = tabulate_several([(f"runs/{at}", one) for at, one in enumerate(runs)], every=False)
    why = "Not compared, the judge of each says the same of every answer: RAGQuestEval precision."
    notes = [*grid.notes, *values.notes]
    assert [note for note in notes if "Not compared" in note] == [f"B–E minus A: {why}"]
    assert "All 40 verdicts are the same; ! marks what rests on them." in notes
    assert grid.title.endswith(" rouge_l") and values.columns == ["RAGQuestEval precision"]
    assert [line.cells[0].text for line in values.lines] == ["50.0!", "40.0!", "30.0!", "20.0!", "10.0!"]
    assert [line.label[:1] for line in grid.lines] == [*"EDCBA"], "no line that says nothing"


def test_where_a_judge_is_marked_in_one_run_what_rests_on_it_in_another_is_marked_too() -> None:
    runs = [run(0.1), run(0.9, "B"), run(0.9, "C", "m2"), run(0.9, "D")]
    runs[3].run.inputs.services["judge"] = "http://elsewhere/v1"
    runs[0].run.doubtful_verdicts = {"39 of 40 verdicts are wrong": [JUDGED]}
    lay_beside(runs)
    marked = [{row["metric"] for row in one.scores if is_alike(row)} for one in runs]
    assert marked == [{"ragquesteval"}, {"ragquesteval"}, set(), set()], "another judge is not known to err"
    second = name_apart(runs)[1]
    assert f"! marks {second} too: the judge is the same." in note_partial(runs)
    lay_beside([alone := run(0.9, "B")])
    assert not any("too: the judge" in note for note in note_partial([alone]))


def test_what_rules_alone_decided_rests_on_no_judge() -> None:
    one = run(0.1)
    one.run.doubtful_verdicts = {"39 of 40 verdicts are wrong": [JUDGED]}
    one.scores = [row | {"n_ruled": 40 - at % 2} for at, row in enumerate(one.scores)]
    lay_beside([one])
    assert [is_alike(row) for row in one.scores] == [False, True, False, False]


def test_no_printed_value_stands_in_the_papers_table_beside_what_is_marked() -> None:
    inputs = Inputs(
        quadrag="0", benchmark="crag", config="task_1_2", splits=["public"], retriever="snippets", llm="l", judge="m"
    )
    place = {"benchmark": "crag", "config": "task_1_2", "split": "public", "slice": "all", "metric": "truthfulness"}
    counts = {"interval": None, "n_total": 40, "n_scored": 40, "unscored": {}, "signature": "s", "value": 0.1}
    rows = [place | {"key": key, "profile": "official"} | counts for key in ("accuracy", "missing")]
    printed: list[list[str]] = []
    for marked in (False, True):
        if marked:
            discredit(rows[0])
        (grid,) = tabulate_paper("crag", [Result(RunRecord(inputs), rows, [])], ["official"])
        line = next(line for line in grid.lines if line.kind == "published")
        printed.append([line.cells[at].text for at in (0, 2)])
    (accuracy, missing), beside = printed
    assert accuracy != "–" and beside == ["–", missing]


def test_what_marks_mean_is_told_only_where_one_stands() -> None:
    one = run(0.1)
    one.run.constant_verdicts = {"All 40 verdicts are the same": [JUDGED]}
    assert "All 40 verdicts are the same." in note_partial([one])
    for row in one.scores:
        if row["metric"] == "ragquesteval":
            discredit(row)
    assert "All 40 verdicts are the same; ! marks what rests on them." in note_partial([one])
