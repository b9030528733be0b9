"""Logs of lm-eval and Inspect: what is read and refused, what is one system, what is scored on which data."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from chat_server import ChatServer

import quadrag
from quadrag.data.files import sample_dir
from quadrag.records import write_jsonl
from quadrag.results import read_run
from quadrag.run import answers
from quadrag.run.answers import lines, read_inspect_log

pytestmark = pytest.mark.plugins

TASKS = (("noise_robustness_en", "noise_0"), ("noise_robustness_en", "noise_20"), ("negative_rejection_en", "test"))
SAMPLE = ("--data-dir", "sample")
TIME = "2026-01-01T00-00-00.1"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def rgb_log(folder, config, split, time=TIME, answers=5, text="Oslo", query="?"):
    """Write what lm-eval logs of the first questions of a task of RGB."""
    ending = f"_{split}" if split.startswith("noise_") and split != "noise_0" else ""
    return write_log(folder, "rgb", f"{config}{ending}", config, split, range(answers), time, text, query)


def write_log(folder, benchmark, task, config, split, ids, time=TIME, text="Oslo", query="?", retriever="own"):
    path = Path(folder) / f"samples_quadrag_{benchmark}_{task}_{time}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    said = {"benchmark": benchmark, "config": config, "split": split, "query": query}
    said["conditions"] = json.dumps({"retriever": retriever, "options": {}})
    docs = [{**said, "id": str(one)} for one in ids]
    write_jsonl(path, [{"doc": one, "resps": [[text]], "filtered_resps": [text]} for one in docs])
    return path


def crag_log(folder, time=TIME, text="Oslo"):
    asked = quadrag.questions("crag", "qa", split="public", data_dir="sample")
    ids = [question.id for question in asked][:5]
    return write_log(folder, "crag", "qa", "qa", "public", ids, time, text, retriever="none")


def summarise(log, **metadata):
    """Write what lm-eval writes beside a log."""
    task, time = log.stem.removeprefix("samples_").rsplit("_", 1)
    said = {"results": {}, "configs": {task: {"metadata": metadata}}, "n-shot": {}, "model_name": "m"}
    log.with_name(f"results_{time}.json").write_text(json.dumps(said), "utf-8")


def made(folder):
    """The folders of runs below a folder, with the accuracy of each, by `official`."""
    runs = {str(path.parent.relative_to(folder)): path.parent for path in Path(folder).rglob("run.json")}
    return {name: read_run(place) for name, place in runs.items()}


def test_samples_are_read_as_answers(monkeypatch):
    doc = {"id": "7", "config": "all", "split": "auto", "query": "?"}
    rows = [{"doc": doc, "resps": [[text]], "filtered_resps": [text]} for text in ("yes", "", "[none]")]
    write_jsonl(Path("samples_x.jsonl"), rows)
    assert [row for _, row in lines(Path("samples_x.jsonl"))] == [
        {**doc, "answer": text} for text in ("yes", "", "[none]")
    ]
    monkeypatch.setenv("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "[none]")
    assert [row["answer"] for _, row in lines(Path("samples_x.jsonl"))] == ["yes", "", None]


@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="Inspect is not installed")
def test_a_sample_of_inspect_that_failed_has_no_answer_and_one_that_was_cut_says_so():
    from inspect_ai.log import EvalConfig, EvalDataset, EvalError, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ModelOutput

    spec = EvalSpec(created="2026-01-01T00:00:00Z", task="t", dataset=EvalDataset(), model="m", config=EvalConfig())
    failed = EvalError(message="overloaded", traceback="", traceback_ansi="")
    place = {"epoch": 1, "input": "?", "target": "", "metadata": {"config": "all", "split": "auto"}}
    ends = [(None, "stop"), (failed, "stop"), (None, "max_tokens")]
    samples = [
        EvalSample(id=str(at), output=ModelOutput.from_content("m", "yes", stop_reason=stop), error=error, **place)
        for at, (error, stop) in enumerate(ends)
    ]
    write_eval_log(EvalLog(eval=spec, samples=samples), "a.eval")
    found = [(row["answer"], row["state"], row["finish_reason"]) for row in read_inspect_log(Path("a.eval"))]
    assert found == [("yes", "ok", "stop"), (None, "api_error", "stop"), ("yes", "ok", "length")]


def test_logs_of_one_model_are_one_system(cli):
    files = [rgb_log("out/org__m", *task) for task in TASKS]
    Path(f"out/org__m/results_{TIME}.json").write_text('{"model_name": "org/m"}', "utf-8")
    ran = cli("score", "out/org__m", *SAMPLE, "--out", "scores")
    assert ran.code == 0, ran.err
    runs = made("scores")
    assert {name: (run.llm, run.coverage, run.log) for name, run in runs.items()} == {
        "rgb_noise_robustness_en": ("org/m", (5, 12), True),
        "rgb_noise_robustness_en_noise_20": ("org/m", (5, 12), True),
        "rgb_negative_rejection_en": ("org/m", (5, 12), True),
    }
    assert quadrag.result("scores/rgb_noise_robustness_en")["accuracy"].value == 0.0
    assert cli("score", *sorted(files), *SAMPLE).out.startswith(ran.out.split("\n\nscores/")[0])


def test_logs_of_two_models_are_compared_and_of_one_asked_again_two_systems(cli):
    for at, (model, text) in enumerate((("m", "Oslo"), ("n", "insufficient information"))):
        for task in TASKS:
            rgb_log(f"out/{model}", *task, time=f"2026-01-01T00-00-00.{1 + at}", text=text)
    ran = cli("score", "out", *SAMPLE, "--out", "scores")
    task = "rgb_negative_rejection_en"
    assert ran.code == 0 and Path("scores/report.html").is_file()
    rates = [quadrag.result(f"scores/{model}/{task}")["rejection_rate"].value for model in "mn"]
    assert rates == [0.0, 1.0]
    rgb_log("out/m", *TASKS[0], time="2026-01-01T00-01-07.1", text="Ilse Varnholt")
    again = cli("score", "out/m", *SAMPLE, "--out", "twice")
    assert again.code == 0 and "00-00-00.1" in again.err and len(made("twice")) == len(TASKS), "the last one counts"
    assert quadrag.result("twice/rgb_noise_robustness_en")["accuracy"].value > 0


def test_of_a_folder_broken_logs_are_left_out_and_a_config_chooses_among_the_others(cli, monkeypatch):
    for at, task in enumerate(TASKS[1:]):
        rgb_log("out/m", *task, time=f"2026-01-01T00-00-00.{1 + at}")
    cut = rgb_log("out/n", *TASKS[0])
    cut.write_text(cut.read_text("utf-8")[:-9], "utf-8")
    ran = cli("score", "out", *SAMPLE, "--out", "scores")
    assert ran.code == 2 and f"left out, {cut}" in ran.err and len(made("scores")) == 2, ran.err
    assert cli("score", "out", *SAMPLE, "--config", TASKS[2][0], "--out", "one").code == 0
    assert [run.config for run in made("one").values()] == [TASKS[2][0]]
    for name in ("a", "b"):  # as Inspect names them, whose own library is not needed here
        Path(f"evals/{name}.eval").parent.mkdir(exist_ok=True)
        Path(f"evals/{name}.eval").touch()
    place = {"benchmark": "rgb", "config": TASKS[2][0], "split": "test"}
    monkeypatch.setattr(answers, "read_inspect_log", lambda path: iter([{**place, "id": "0", "answer": path.stem}]))
    times = {"a": "2026-01-02T00:00:00Z", "b": "2026-01-01T00:00:00Z"}
    monkeypatch.setattr(answers, "find_origin", lambda path: answers.LogOrigin("m", times[path.stem], {}))
    ran = cli("score", "evals", *SAMPLE, "--out", "last")
    assert ran.code == 0 and "asked the same again: evals/b.eval" in ran.err and list(made("last")) == ["."], ran.err


def test_logs_of_several_benchmarks_each_on_the_data_that_are_theirs(cli):
    shutil.copytree(sample_dir("rgb"), "RGB")
    for model in "mn":
        summarise(rgb_log(f"out/{model}", *TASKS[0], time="2026-01-01T00-00-00.1"), data_dir="RGB")
        summarise(crag_log(f"out/{model}", "2026-01-02T00-00-00.1"), data_dir="sample")
    assert cli("score", "out", "--out", "done").code == 0
    tasks = {"crag_qa": "sample", "rgb_noise_robustness_en": "RGB"}
    wanted = {f"{model}/{task}": data for model in "mn" for task, data in tasks.items()}
    assert {name: run.spec.data_dir for name, run in made("done").items()} == wanted
    assert {path.name for path in Path("done").glob("*.html")} == {"report.html"}
    described = json.loads(cli("score", "out", *SAMPLE, "--json").out)
    assert [one["benchmark"] for one in described] == ["crag", "rgb"]
    assert cli("score", "out", "--option", "noise=0.2").code == 2


def test_a_log_is_scored_on_the_data_and_by_the_profile_that_its_harness_names(cli):
    log = rgb_log("out/m", *TASKS[0])
    summarise(log, data_dir="sample", profile="corrected", prompts="mine.yaml")
    assert cli("score", "out", "--out", "s").code == 0
    run = read_run(Path("s"))
    assert (run.spec.data_dir, run.profile, run.given) == ("sample", "corrected", ["mine.yaml"])
    summarise(log, data_dir="gone")
    assert "gone" in cli("score", "out").err
    summarise(rgb_log("other/m", *TASKS[0], query="Who won in other data?"), data_dir="sample")
    ran = cli("score", "other")
    assert ran.code == 2 and "--data-dir" in ran.err and ran.err.count("\n") == 1


def test_empty_replies_in_a_log_have_failed(cli):
    log = rgb_log("out/m", *TASKS[2], answers=12, text="")
    assert cli("score", log, *SAMPLE, "--out", "s").code == 3
    assert quadrag.result("s")["rejection_rate"].unscored == {"empty reply": 12}


def test_a_judge_that_some_logs_have_no_use_for_judges_the_others(cli):
    for task in TASKS:
        rgb_log("out/m", *task)
    judged = ("score", "out", *SAMPLE, "--judge")
    with ChatServer(models=["j"], text="No, the question is not addressed by the documents.") as server:
        ran = cli(*judged, f"{server.url}#j", "--out", "scores")
        assert (ran.code, len(server.bodies)) == (0, 5), ran.err
        assert cli(*judged, f"{server.url}#j", "--config", "noise_robustness_en").code == 2
    named = dict.fromkeys(("rgb_noise_robustness_en", "rgb_noise_robustness_en_noise_20"))
    assert {name: run.judge for name, run in made("scores").items()} == {
        **named,
        "rgb_negative_rejection_en": "j",
    }


def test_a_judge_that_rules_leave_nothing_to_is_asked_nothing_and_equal_requests_once(cli):
    ids = [question.id for question in quadrag.questions("crag", "qa", split="public", data_dir="sample")]
    for name, text in (("a", "I don't know"), ("b", "I don't know."), ("c", "It is Oslo."), ("d", "It is Oslo.")):
        write_jsonl(Path(f"{name}.jsonl"), [{"id": one, "answer": text} for one in ids])
    score = ("score", "--benchmark", "crag", "--config", "qa", "--split", "public", *SAMPLE, "--judge")
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        assert cli(*score, f"{server.url}#j", "a.jsonl", "b.jsonl").code == 0 and not server.bodies
        both = cli(*score, f"{server.url}#j", "c.jsonl", "d.jsonl").out
        assert f"judge {len(server.bodies)} made, 0 kept replies used" in both
