"""One's own system in Python: what it is asked, what may come of it, and what a result shows."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from own_system import SUMMARY, measure, slowly

import quadrag
from quadrag import catalogue
from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Task, load_questions
from quadrag.cli import main
from quadrag.data.files import sample_dir
from quadrag.records import read_jsonl

ROOT = Path(__file__).parents[3]
NOT_SEARCHED = ("rgb", "noise_robustness_en"), ("crag", "task_1_2")


def test_a_question_shows_no_gold():
    for benchmark, config in (
        SUMMARY,
        ("rgb", "noise_robustness_en"),
        ("crag", "task_1_2"),
        ("omnieval", "extractive_qa"),
    ):
        found = quadrag.questions(benchmark, config, data_dir="sample", limit=3)
        assert found and all(one.query for one in found)
        for one in found:
            assert not {"references", "relevant", "slots", "slices"} & set(dir(one))
        assert bool(found[0].passages) == ((benchmark, config) in NOT_SEARCHED)


def test_a_corpus_is_read_as_often_as_it_is_gone_through():
    corpus = quadrag.corpus("crud_rag", data_dir="sample", gold="test")
    found = list(corpus)
    assert list(corpus) == found and len(corpus) == len(found) == 130 and repr(corpus) == "130 passages"
    assert found[-1] in corpus
    with pytest.raises(quadrag.QuadragError, match=r"next\(iter\(corpus\)\) is its first document"):
        corpus[0]


def test_of_a_corpus_of_which_files_are_missing_a_warning_says_which():
    shutil.copytree(sample_dir("crud_rag"), "checkout")
    with pytest.warns(UserWarning, match=r"^the corpus is not whole: \d+ of 48 files, lacking [^;)]+$") as told:
        quadrag.corpus("crud_rag", data_dir="checkout")
    assert told[0].filename == __file__, "the caller's line"


def test_what_a_function_is_handed_is_what_questions_returns():
    for place in (SUMMARY, ("rgb", "noise_robustness_en"), ("omnieval", "conversational_qa")):
        asked = []
        measure(lambda question: asked.append(question) or "", *place, limit=4, name="seen")  # noqa: B023
        assert asked == quadrag.questions(*place, data_dir="sample", limit=4)


class Batches:
    def __init__(self):
        self.sizes = []

    def __call__(self, questions):
        self.sizes.append(len(questions))
        return [question.query for question in questions]


def test_functions_of_every_kind_are_called(tmp_path):
    plain = measure(lambda question: question.query, name="plain")
    assert measure(slowly)["rouge_l"] == plain["rouge_l"]
    batches = Batches()
    assert measure(batches, batch_size=3)["rouge_l"] == plain["rouge_l"]
    assert batches.sizes == [3, 3, 2]

    async def notebook():
        return measure(slowly, name="in a loop")

    assert asyncio.run(notebook())["rouge_l"] == plain["rouge_l"]
    documents = [SimpleNamespace(page_content="text", metadata={"source": "s"}), {"id": "a", "text": "b"}, "c"]
    measure(lambda question: (question.query, documents), name="found", out="found", limit=1)
    ((_, row),) = read_jsonl(Path("found/retrieved.jsonl"))
    assert [(one["id"], one["text"]) for one in row["passages"]] == [("s", "text"), ("a", "b"), ("c", "")]


def failing(question):
    number = int(question.id[-1], 16) % 4
    if question.id == quadrag.questions(*SUMMARY, data_dir="sample", limit=1)[0].id:
        return question.query
    if number == 0:
        raise ValueError("no\nluck\x1b[31m")
    return [None, {"answer": 1}, ("a", "b", "c")][number - 1]


def test_what_is_raised_or_returned_wrong_is_unscored_with_its_reason(capsys):
    result = measure(failing, out="bad")
    score = result["rouge_l"]
    assert not score.valid and score.n == 1 and score.n_total == 8
    assert score.unscored == {"raised": 2, "unparsable": 5}
    assert not result.valid and "7 of 8 items failed" in result.invalid[0]
    assert "), more than max_failed=0.2: rouge_l, bleu, length and 5 more; " in result.invalid[0]
    told = json.loads(Path("bad/run.json").read_text())["failures"].values()
    assert len(told) == 7 and all("\n" not in line for line in told)
    assert result.to_pandas()["unscored"].notna().sum() == 7
    empty = measure(lambda question: "", name="empty")
    assert empty.valid, "an empty answer of one's own is an answer"
    left = iter(range(8))
    partly = measure(lambda question: None if next(left) < 3 else question.query, name="partly")
    with pytest.raises(quadrag.QuadragError, match=r"^nothing to compare: partly is INVALID, .* 3 of 8"):
        quadrag.compare(empty, partly)
    nothing = measure(lambda question: None, name="nothing", limit=7)
    assert "; returned None; expected an answer as a text, (answer, passages), or " in nothing.invalid[0]
    capsys.readouterr()
    assert main(["show", "bad", "--unscored"]) in (0, None)
    shown = capsys.readouterr().out
    assert shown.count("  answer    raised: ValueError: no luck (failing, test_evaluation.py:") == 2
    assert "  answer    unparsable: returned None; expected an answer as a text" in shown
    # The kept answers are a file of answers like any other.
    assert main(["score", "bad/answers.jsonl", "--data-dir", "sample", "--max-failed", "1"]) == 0
    assert "2 raised" in " ".join(capsys.readouterr().out.split())


def test_an_exception_in_a_notebook_names_the_line_of_its_cell(tmp_path):
    file = tmp_path / "ipykernel_12345" / "3223320176.py"
    cell: dict = {}
    exec(compile("def broken(question):\n    raise ValueError('no luck')", str(file), "exec"), cell)
    with pytest.raises(quadrag.QuadragError, match=r"no luck \(broken, line 2 of its cell\)"):
        measure(cell["broken"])


def test_too_many_exceptions_make_a_metric_invalid_and_the_line_names_one():
    def broken(question):
        raise TimeoutError("no reply in 30 s")

    (line,) = measure(broken, name="broken", limit=7).invalid
    assert "7 of 7 items failed (7 raised)" in line
    assert re.search(r"; TimeoutError: no reply in 30 s \(broken, test_evaluation\.py:\d+\)$", line)


def test_a_result_is_read_printed_and_written(capsys, tmp_path):
    result = measure(lambda question: question.query, name="<b>mine</b>", judge=())
    assert set(result) >= {"bleu", "rouge_l"} and result["bertscore"].value is None
    low, high = result["rouge_l"].interval
    assert low < result["rouge_l"].value < high
    with pytest.raises(KeyError, match="rouge_l"):
        result["rouge"]
    result.show()
    assert "rouge_l" in capsys.readouterr().out
    page = result.report(tmp_path / "pages" / "report.html").read_text(encoding="utf-8")
    assert page == (result.folder / "report.html").read_text(encoding="utf-8")
    assert repr(result).endswith(f"\n- The page: {result.folder / 'report.html'}")
    assert "rouge_l" in page and "<b>mine" not in page
    assert "<b>mine" not in result._repr_html_() and result._repr_html_().count("<svg") == 2
    frame = result.to_pandas()
    assert len(frame) == 8 and frame["rouge_l"].mean() == pytest.approx(result["rouge_l"].value)
    several = measure(lambda question: "x", "rgb", "noise_robustness_en", name="s")
    assert several["noise_40/accuracy"].n_total == 12


def test_its_single_questions_stand_in_a_table_and_are_shown(capsys):
    result = measure(lambda question: question.id[::-1])
    frame = result.to_pandas()
    assert list(frame)[:5] == ["id", "split", "query", "answer", "gold"]
    heads = [name for name in result.headlines.values() if name in frame]
    assert heads == ["rouge_l", "bleu", "length"] == list(frame)[5:8]
    assert list(frame)[-3:] == ["unscored", "sample", "config"]
    asked, _ = load_questions(Task(*SUMMARY, data_dir="sample", retriever="none"), load("crud_rag"))
    wanted = [(one.id, one.query, one.id[::-1], one.references) for one in asked]
    assert list(frame[["id", "query", "answer", "gold"]].itertuples(index=False, name=None)) == wanted
    assert list(result.to_pandas(texts=False)) == [name for name in frame if name not in ("query", "answer", "gold")]
    capsys.readouterr()
    assert main(["show", str(result.folder), "--wrong", "--limit", "2"]) in (0, None)
    shown = capsys.readouterr().out
    result.show(wrong=True, limit=2)
    assert capsys.readouterr().out == shown and "\n2 of 8 items" in shown


def test_two_results_are_paired_on_the_questions_that_both_have():
    first = measure(lambda question: question.query, name="v1")
    second = measure(lambda question: question.query * 2, name="v2", limit=5)
    found = quadrag.compare(first, second)
    assert found["rouge_l"].n == 5
    some = {row["id"] for row in second.result.items}
    values = [row["crud_overlap.rouge_l"]["official"] for row in first.result.items if row["id"] in some]
    wanted = second["rouge_l"].value - sum(values) / 5
    assert found["rouge_l"].difference == pytest.approx(wanted)
    with pytest.raises(quadrag.QuadragError, match="config"):
        quadrag.compare(first, measure(slowly, "crud_rag", "qa_1doc"))


def test_a_run_is_read_back(capsys):
    mine = measure(lambda question: question.query, out="mine")
    again = quadrag.result("mine")
    assert again.scores == mine.scores and again.folder == mine.folder
    assert quadrag.compare(again, measure(slowly))["rouge_l"].difference == 0
    with pytest.raises(quadrag.QuadragError, match="mine is named twice"):
        quadrag.compare("mine", again)
    assert quadrag.result("mine", profile="corrected").profile == "corrected"
    with pytest.raises(quadrag.QuadragError, match="official"):
        quadrag.result("mine", profile="oficial")
    with pytest.raises(quadrag.QuadragError, match=r"run\.json"):
        quadrag.result("nowhere")
    for name in "ab":
        measure(slowly, out=f"many/{name}")
    with pytest.raises(quadrag.QuadragError, match="2 runs"):
        quadrag.result("many")


def test_notes_are_what_is_printed_above_the_numbers(capsys):
    left = iter(range(8))
    found = measure(lambda question: None if next(left) < 1 else "x", out="mine", max_failed=0.1, limit=7)
    again = measure(lambda question: "x", out="mine", max_failed=0.2, retry="failed", limit=7)
    for one, begin in ((found, "PARTIAL: "), (again, "6 of 7 answers are kept ones")):
        capsys.readouterr()
        one.show()
        above = capsys.readouterr().out.partition("\nmetric ")[0]
        assert [note for note in one.notes if note not in " ".join(above.replace("\n! ", " ").split())] == []
        assert "The data are the bundled sample, which is made up." in one.notes
        assert [note for note in one.notes if note.startswith(begin)]
        assert above.count("\n! ") in (0, len(one.notes))


def test_the_package_stays_light():
    code = (
        "import sys, quadrag; assert 'datasets' not in sys.modules and 'numpy' not in sys.modules; print(dir(quadrag))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "'evaluate'" in done.stdout
    with pytest.raises(AttributeError, match="no attribute 'measur'"):
        _ = quadrag.measur


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", catalogue.benchmarks())
def test_no_line_of_a_result_is_left_without_chinese(benchmark, capsys):
    for config in load(benchmark).configs[::3]:
        found = quadrag.evaluate(
            benchmark, config, lambda question: question.query, data_dir="sample", limit=6, labels="zh", out=config
        )
        for which in ({"wrong": True}, {"unscored": True}, {"verbose": True}):
            found.show(limit=1, **which)
        said = "\n".join([str(found), found._repr_html_(), capsys.readouterr().out])
        assert "百分数" in said and "还没有中文" not in said and "Percent" not in said


def test_questions_that_come_without_passages_are_asked_so():
    asked = []
    found = quadrag.evaluate("crag", "qa", lambda question: asked.append(question) or "x", data_dir="sample", limit=2)
    assert [one.passages for one in asked] == [()] * 2 and "no documents" in repr(found)
    assert asked == list(quadrag.questions("crag", "qa", data_dir="sample", limit=2))
