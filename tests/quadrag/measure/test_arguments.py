"""Arguments that cannot be, or are misspelt, are refused in one line before anything is asked."""

import shutil
from pathlib import Path

import pytest
from own_system import SUMMARY, measure, slowly

import quadrag
from quadrag.errors import QuadragError


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
    found = measure(slowly, out="mine")
    shutil.copytree("mine", "copied")
    both = quadrag.compare(found, "copied")
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


def judging(chats):
    return ["no"] * len(chats)


@pytest.mark.parametrize(
    ("place", "way"),
    [(("crag", "task_1_2"), '; evaluate.load("truthfulness") takes a function'), (("rgb", "noise_robustness_en"), "")],
)
def test_a_function_as_a_judge_is_told_which_metric_takes_one(place, way):
    with pytest.raises(quadrag.QuadragError, match=r"^judge is a function; expected the address of a model") as told:
        quadrag.evaluate(*place, str, data_dir="sample", judge=judging)
    assert str(told.value).endswith(f", or several{way}") and "0x" not in str(told.value)


def test_a_run_that_is_not_there_is_not_retried():
    asked = []
    for named, folder in (({"out": "typo"}, "typo"), ({"name": "typo"}, "runs/crud_rag-summary-typo")):
        with pytest.raises(quadrag.QuadragError, match=f"^{folder} holds no run to retry; name the run's folder"):
            measure(asked.append, retry="failed", **named)
    assert not asked and not list(Path().iterdir())


def test_a_question_shows_itself_in_a_short_line():
    every = quadrag.questions("rgb", "noise_robustness_en", split="noise_60", data_dir="sample")
    head, first, *_, last = repr(every).splitlines()
    assert head == "12 questions of rgb noise_robustness_en (noise_60 12):" and last == "  ... and 2 more"
    assert first.strip() == repr(every[0])
    chinese = quadrag.questions("rgb", "noise_robustness_en", split="noise_60", data_dir="sample", labels="zh")
    assert repr(chinese).splitlines()[::11] == ["rgb noise_robustness_en：12 题（noise_60 12）：", "  ……另有 2 题"]
    for one in every:
        assert repr(one).startswith(f"OpenQuestion('{one.id}', '{one.query[:40]}") and "\n" not in repr(one)
        assert repr(one).endswith(f", passages={len(one.passages)})") and len(repr(one)) < 100
