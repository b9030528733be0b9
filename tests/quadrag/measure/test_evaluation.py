"""One's own system in Python: what it is asked, what may come of it, and that all routes give the same scores."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from chat_server import ChatServer
from rag_server import RagServer

import quadrag
from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Task, load_questions
from quadrag.cli import main
from quadrag.errors import QuadragError
from quadrag.records import read_jsonl

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    ("d1", "", "沛溪县第七届龙舟公开赛22日在石鹭湖落下帷幕。"),
    ("d2", "", "石鹭大桥开始封闭维修，工期120天。"),
]
SUMMARY = ("crud_rag", "summary")
NOT_SEARCHED = ("rgb", "noise_robustness_en"), ("crag", "task_1_2")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def measure(system, *place, **more):
    return quadrag.evaluate(*(place or SUMMARY), system, data_dir="sample", **more)


def items(folder):
    return [{k: v for k, v in row.items()} for _, row in read_jsonl(Path(folder) / "items.jsonl")]


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


def test_what_a_function_is_handed_is_what_questions_returns():
    for place in (SUMMARY, ("rgb", "noise_robustness_en"), ("omnieval", "conversational_qa")):
        asked = []
        measure(lambda question: asked.append(question) or "", *place, limit=4, name="seen")  # noqa: B023
        assert asked == quadrag.questions(*place, data_dir="sample", limit=4)


def test_function_file_and_service_have_the_same_scores_to_the_digit(tmp_path):
    with RagServer(DOCUMENTS) as server:
        run = ["run", *SUMMARY, "--data-dir", "sample", "--rag", server.url, "--ledger", "ledger", "--out", "http"]
        assert main(run) == 0
    answers = {row["id"]: row["answer"] for _, row in read_jsonl(Path("http/answers.jsonl"))}
    found = {row["id"]: row["passages"] for _, row in read_jsonl(Path("http/retrieved.jsonl"))}
    result = measure(lambda question: (answers[question.id], found[question.id]), name="mine", out="python")
    assert items("python") == items("http")
    assert Path("python/scores.json").read_bytes() == Path("http/scores.json").read_bytes()
    lines = [json.dumps({"id": ident, "answer": text}) for ident, text in answers.items()]
    Path("mine.jsonl").write_text("\n".join(lines))
    score = ["score", "mine.jsonl", "--benchmark", "crud_rag", "--config", "summary", "--data-dir", "sample"]
    assert main([*score, "--out", "file"]) == 0
    for mine, theirs in zip(items("python"), items("file"), strict=True):
        shared = mine.keys() & theirs.keys()
        assert "crud_overlap.rouge_l" in shared
        assert {k: mine[k] for k in shared} == {k: theirs[k] for k in shared}
    assert result["rouge_l"].value == pytest.approx(0.2, abs=0.2)


async def slowly(question):
    await asyncio.sleep(0.01)
    return question.query


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
    assert "): rouge_l, bleu, length, bleu_bp and 4 more; " in result.invalid[0]
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
    assert repr(result).endswith(f"\nThe page: {result.folder / 'report.html'}")
    assert "rouge_l" in page and "<b>mine" not in page
    assert "<b>mine" not in result._repr_html_() and result._repr_html_().count("<svg") == 2
    frame = result.to_pandas()
    assert len(frame) == 8 and frame["crud_overlap.rouge_l"].mean() == pytest.approx(result["rouge_l"].value)
    several = measure(lambda question: "x", "rgb", "noise_robustness_en", name="s")
    assert several["noise_40/accuracy"].n_total == 12


def test_its_single_questions_stand_in_a_table_and_are_shown(capsys):
    result = measure(lambda question: question.id[::-1])
    frame = result.to_pandas()
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


def test_a_finished_folder_is_never_taken_for_a_new_system():
    measure(lambda question: "x", out="mine")
    with pytest.raises(quadrag.QuadragError, match=r"finished run, whose answers are of 20.* UTC; .* fresh=True asks"):
        measure(lambda question: "y", out="mine")
    anew = measure(lambda question: "y", out="mine", fresh=True)
    assert set(anew.to_pandas()["answer"]) == {"y"} and anew.scores == quadrag.result("mine").scores
    first, second = (measure(slowly) for _ in range(2))
    assert second.folder != first.folder and first["rouge_l"] == second["rouge_l"]


def test_what_a_stopped_run_was_answered_counts_unless_it_is_asked_anew():
    def stopping(question):
        if Path("mine/answering.jsonl").exists():
            raise KeyboardInterrupt
        return "old"

    for more, wanted in (({}, {"old", "new"}), ({"fresh": True}, {"new"})):
        shutil.rmtree("mine", ignore_errors=True)
        with pytest.raises(KeyboardInterrupt):
            measure(stopping, name="s", out="mine")
        done = measure(lambda question: "new", name="s", out="mine", **more)
        assert set(done.to_pandas()["answer"]) == wanted


def test_a_run_is_read_back(capsys):
    mine = measure(lambda question: question.query, out="mine")
    again = quadrag.result("mine")
    assert again.scores == mine.scores and again.folder == mine.folder
    assert quadrag.compare(again, measure(slowly))["rouge_l"].difference == 0
    assert quadrag.compare("mine", again)["rouge_l"].difference == quadrag.compare("mine", "mine")["rouge_l"].difference
    assert quadrag.result("mine", profile="corrected").profile == "corrected"
    with pytest.raises(quadrag.QuadragError, match="official"):
        quadrag.result("mine", profile="oficial")
    with pytest.raises(quadrag.QuadragError, match=r"run\.json"):
        quadrag.result("nowhere")
    for name in "ab":
        measure(slowly, out=f"many/{name}")
    with pytest.raises(quadrag.QuadragError, match="2 runs"):
        quadrag.result("many")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"profile": "oficial"}, "official"),
        ({"batch_size": 0}, "batch_size is 0"),
        (
            {"gold": "test"},
            "option gold is of the corpus, and the function searches that itself; give it to quadrag.corpus",
        ),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"noise": 1}, "noise"),
        ({"split": "tset"}, "test"),
        ({"judge": "gpt"}, "expected"),
    ],
)
def test_a_wrong_argument_is_one_line(changes, message):
    asked = []
    with pytest.raises(quadrag.QuadragError, match=message) as told:
        measure(asked.append, **changes)
    assert "\n" not in str(told.value) and not asked
    with pytest.raises(quadrag.QuadragError, match="expected a function"):
        measure("text")


def test_a_misspelt_argument_is_refused_with_the_right_name():
    found = measure(slowly)
    both = quadrag.compare(found, found)
    for use, misspelt, meant in (
        (quadrag.evaluate, "profil", "profile"),
        (quadrag.evaluate, "data_dirs", "data_dir"),
        (quadrag.evaluate, "querry", "query"),
        (quadrag.questions, "datadir", "data_dir"),
        (quadrag.corpus, "datadir", "data_dir"),
        (quadrag.compare, "aftr", "after"),
        (quadrag.result, "profil", "profile"),
        (found.to_pandas, "text", "texts"),
        (found.show, "wrose", "verbose, wrong"),
        (found.report, "paht", "path"),
        (both.to_pandas, "text", "texts"),
        (both.show, "wrose", "worse, verbose"),
        (both.report, "paht", "path"),
    ):
        places = {quadrag.evaluate: (*SUMMARY, str), quadrag.questions: SUMMARY, quadrag.corpus: ("crud_rag",)}
        with pytest.raises(QuadragError) as told:
            use(*places.get(use, ()), **{misspelt: "sample"})
        wanted = f"unknown argument of {use.__name__} '{misspelt}'; nearest: {meant}"
        assert str(told.value) == wanted or str(told.value).startswith(f"{wanted}, ")
    for frame in (found, both):
        with pytest.raises(QuadragError, match="unknown value of by 'metrics'; nearest: metric"):
            frame.to_pandas(by="metrics")
    # What is near to an argument, and an option: `data_dir` and OmniEval's `auto_dir`.
    with pytest.raises(QuadragError, match="no_folder"):
        quadrag.questions("omnieval", "extractive_qa", auto_dir="no_folder")


@pytest.mark.parametrize("judge", [5, ["http://127.0.0.1:9/v1#m", 5]])
def test_a_judge_is_an_address_or_none(tmp_path, monkeypatch, judge):
    monkeypatch.chdir(tmp_path)
    asked = ("rgb", "negative_rejection_en", lambda question: "I do not know.")
    assert quadrag.evaluate(*asked, data_dir="sample", limit=2, judge=None).result.run.inputs.judge is None
    with pytest.raises(quadrag.QuadragError, match="judge is 5; expected the address of a model"):
        quadrag.evaluate(*asked, data_dir="sample", judge=judge)


def test_a_judge_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    with ChatServer(models=["j"]) as server:
        result = measure(lambda q: "Paris", "crag", "task_1_2", judge=f"{server.url}#j", split="public", limit=3)
    assert any("judge:j" in score.signature for score in result.values())


def test_a_judge_may_be_added_to_a_finished_run_and_the_function_is_not_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    asked = []

    def mine(question):
        asked.append(question.id)
        if len(asked) == 2:
            raise ValueError("no luck")
        return "Paris"

    place = ("crag", "task_1_2")
    part = {"split": "public", "limit": 6, "out": "mine"}
    plain = measure(mine, *place, **part)
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        judge = {"judge": f"{server.url}#j"}
        for other in ({"limit": 8}, {"split": "validation"}, {"name": "other"}):
            with pytest.raises(QuadragError):
                measure(mine, *place, **{**part, **other, **judge})
        assert plain.scores == quadrag.result("mine").scores and not server.bodies
        capsys.readouterr()
        judged = measure(mine, *place, **part, **judge)
        said = capsys.readouterr().err
        with pytest.raises(QuadragError, match="holds a finished run"):
            measure(mine, *place, **part, judge=f"{server.url}#j")
    assert re.search(r"quadrag: the answers of 20.* UTC are judged; the function was not asked\n", said)
    assert len(asked) == 6 and judged["truthfulness"].n == 5 and judged["truthfulness"].unscored == {"raised": 1}
    assert list(judged.to_pandas()["answer"]) == list(plain.to_pandas()["answer"])


KILLED = """
import sys, time, quadrag
def slow(question):
    time.sleep(0.15)
    with open("asked", "a") as file:
        file.write(question.id + "\\n")
    return question.query + "\\u2028"
result = quadrag.evaluate("crud_rag", "summary", slow, data_dir="sample", out="killed")
"""


@pytest.mark.slow
def test_killed_twice_it_asks_nothing_twice(tmp_path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *sys.path[:1]]))}
    for goal in (2, 4):
        with subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path, env=env) as process:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                kept = tmp_path / "killed" / "answering.jsonl"
                if kept.exists() and kept.read_text().count("answer") >= goal:
                    break
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "of 8 answers are kept from the earlier run" in done.stderr
    asked = (tmp_path / "asked").read_text().split()
    # A kill may fall between an answer and its line.
    assert len(set(asked)) == 8 and len(asked) <= 10
    assert not (tmp_path / "killed" / "answering.jsonl").exists()
    whole = measure(lambda question: question.query + "\u2028", name="slow", out="whole")
    assert items("killed") == items("whole") and whole.valid


def test_the_package_stays_light():
    code = (
        "import sys, quadrag; assert 'datasets' not in sys.modules and 'numpy' not in sys.modules; print(dir(quadrag))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "'evaluate'" in done.stdout
    with pytest.raises(AttributeError, match="no attribute 'measur'"):
        _ = quadrag.measur


def test_a_file_made_of_questions_needs_no_flags_and_its_passages_are_measured(capsys):
    assert main(["questions", *SUMMARY, "--data-dir", "sample"]) in (0, None)
    asked = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(asked) == 8 and all({"benchmark", "config", "split", "id", "query"} <= set(row) for row in asked)
    golds, _ = load_questions(Task(*SUMMARY, data_dir="sample", retriever="bm25"), load("crud_rag"))
    assert len(golds) == 8 and not any(str(one.references) in json.dumps(asked, ensure_ascii=False) for one in golds)
    found = {row["id"]: [] for row in asked}
    relevant = {question.id: question for question in quadrag.questions(*SUMMARY, data_dir="sample")}

    def system(question):
        return question.query, found[question.id]

    for passage in quadrag.corpus("crud_rag", data_dir="sample", gold="test"):
        for ident in found:
            if passage.text[:12] in relevant[ident].query:
                found[ident].append(passage)
    result = measure(system, out="python")
    rows = [row | {"answer": row["query"], "passages": [one._asdict() for one in found[row["id"]]]} for row in asked]
    Path("mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["score", "mine.jsonl", "--data-dir", "sample", "--out", "file"]) == 0
    assert items("file") == items("python")
    assert Path("file/scores.json").read_bytes() == Path("python/scores.json").read_bytes()
    assert "gpt-4" in capsys.readouterr().out, "the published rows"
    assert result.valid
    Path("mine.jsonl").write_text(json.dumps(rows[0] | {"query": "a question of other data"}))
    assert main(["score", "mine.jsonl", "--data-dir", "sample"]) == 2
    assert "mine.jsonl:1 answers another question than test" in capsys.readouterr().err


def test_a_part_of_the_questions_is_scored_as_a_part(capsys):
    rows = [{"id": one.id, "answer": one.query} for one in quadrag.questions(*SUMMARY, data_dir="sample")]
    Path("part.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:5]))
    score = ["score", "part.jsonl", "--benchmark", "crud_rag", "--config", "summary", "--data-dir", "sample"]
    assert main([*score, "--out", "part"]) == 0
    assert "PARTIAL: 5 of 8 questions are answered." in capsys.readouterr().out
    assert json.loads(Path("part/run.json").read_text())["coverage"] == "5 of 8"
    assert len(items("part")) == 5
    assert measure(lambda question: question.query, limit=5)["rouge_l"].value == next(
        row["value"] for row in json.loads(Path("part/scores.json").read_text()) if row["key"] == "rouge_l"
    )
