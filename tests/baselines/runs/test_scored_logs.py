"""Logs of harnesses scored: what is one system, what is left out, what is told of them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Rule

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Task, load_questions
from quadrag.baselines.runs.files.makers import find_maker
from quadrag.baselines.tables.paper_notes import note_beside
from quadrag.data.files import sample_dir
from quadrag.records import write_jsonl
from quadrag.run_record import Inputs, RunRecord, read_run

NO_CONTENT = "[no content]"


def test_empty_replies_in_a_log_have_failed_those_of_a_file_have_not(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = {"config": "negative_rejection_en", "split": "test"}
    said = {"conditions": '{"retriever": "own", "options": {}}'}
    docs = [{**place, "id": str(at), "query": "?"} for at in range(12)]
    write_jsonl(Path("log.jsonl"), [{"doc": {**one, **said}, "resps": [[""]], "filtered_resps": [""]} for one in docs])
    write_jsonl(Path("own.jsonl"), [{**place, "id": one["id"], "answer": ""} for one in docs])
    score = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")
    logged, own = (cli("score", file, *score) for file in ("log.jsonl", "own.jsonl"))
    said = " ".join(logged.out.split())
    assert logged.code == 3 and said.count("12 of 12 replies are empty, more than --max-failed 0.2") == 1
    assert said.count("empty") == 1, "it is told once"
    assert own.code == 0 and "INVALID" not in own.out


def lm_eval_log(folder: str, config: str, split: str, time: str = "2026-01-01T00-00-00.1", answers: int = 5) -> Path:
    """Write what lm-eval logs of the first questions of a task of RGB."""
    ending = f"_{split}" if split.startswith("noise_") and split != "noise_0" else ""
    path = Path(folder) / f"samples_quadrag_rgb_{config}{ending}_{time}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    said = {"benchmark": "rgb", "config": config, "split": split, "conditions": '{"retriever": "own", "options": {}}'}
    docs = [{**said, "id": str(at), "query": "?"} for at in range(answers)]
    write_jsonl(path, [{"doc": one, "resps": [["Oslo"]], "filtered_resps": ["Oslo"]} for one in docs])
    return path


ROOT = Path(__file__).parents[3]
TASKS = (("noise_robustness_en", "noise_0"), ("noise_robustness_en", "noise_20"), ("negative_rejection_en", "test"))


def test_logs_of_one_model_are_one_system_and_name_what_they_answer(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    files = [lm_eval_log("out/org__m", *task) for task in TASKS]
    Path("out/org__m/results_2026-01-01T00-00-00.1.json").write_text('{"model_name": "org/m"}', "utf-8")
    ran = cli("score", "out/org__m", "--data-dir", "sample", "--out", "scores")
    assert ran.code == 0 and ran.out.startswith("\nrgb, m\n"), ran.err
    starts = ("noise_robustness_en noise_0: accuracy ", "noise_robustness_en noise_20: accuracy ")
    text = " ".join(ran.out.split())
    assert all(f"{start}0.0 0.0–43.4 5 of 5" in text for start in starts) and "negative_rejection_en: " in ran.out
    assert ran.out.count("The data are the bundled sample, which is made up.") == 1 and "– " not in ran.out
    assert (
        "\n- Of unsupported_correct lower is better." in ran.out and "\n\nnoise_robustness_en noise_20" not in ran.out
    )
    assert cli("score", *sorted(files), "--data-dir", "sample").out.startswith(ran.out.split("\n\nscores/")[0])
    one = cli("score", "out", "--config", "negative_rejection_en", "--data-dir", "sample")
    assert one.out.startswith("\nrgb negative_rejection_en test, m\n")


def test_logs_of_two_models_are_two_columns_and_of_one_asked_again_two_systems(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for at, model in enumerate(("m", "n")):
        for task in TASKS:
            more = at * (task == TASKS[-1])
            log = lm_eval_log(f"out/{model}", *task, time=f"2026-01-01T00-00-00.{1 + at}", answers=5 + more)
    log.write_text(log.read_text("utf-8").replace("Oslo", "insufficient information"), "utf-8")
    ran = cli("score", "out", "--data-dir", "sample", "--out", "scores")
    head = next(line for line in ran.out.splitlines() if line.startswith("split/metric"))
    assert head.split()[-4:] == ["m", "n", "difference", "verdict"]
    rows = [line for line in ran.out.splitlines() if line.startswith(" noise_20/accuracy ")]
    assert sum(row.endswith(" all equal") for row in rows) == 1
    assert ran.out.count("The data are the bundled sample, which is made up.") == 1, "what is of both is said once"
    task = "rgb_negative_rejection_en"
    named = ("show", "scores/m", "scores/n", "--better", "--metric")
    one = cli("show", f"scores/m/{task}", f"scores/n/{task}", "--better").out
    for metric in ("negative_rejection_en: test/rejection_rate", "test/rejection_rate", "rejection_rate"):
        assert cli(*named, metric).out == one, "as tables name it"
    told = json.loads(cli("score", "out", "--data-dir", "sample", "--json").out)["notes"]
    assert "n negative_rejection_en test: PARTIAL: 6 of 12 questions are answered." in told
    again = lm_eval_log("out/m", *TASKS[0], time="2026-01-01T00-01-07.1")
    ran = cli("score", "out/m", "--config", TASKS[0][0], "--data-dir", "sample", "--out", "twice")
    folders = {place.parent.name.removeprefix("rgb_noise_robustness_en") for place in Path("twice").rglob("run.json")}
    assert folders == {"_00-00-00", "_00-01-07", "_noise_20"}
    assert "Comparison: m 00:01:07 minus m 00:00:00" in " ".join(ran.out.split()) and again.exists()
    assert "\nm was asked noise_robustness_en noise_0 more than once: its logs stand side by side" in ran.out
    whole = cli("score", "out/m", "--data-dir", "sample").out
    assert "Not compared, only m 00:00:00 has it" in whole, "each log stands under its own time"


def test_logs_stand_under_their_own_time_and_on_the_questions_they_answered(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    lm_eval_log("out/m", *TASKS[0], time="2026-01-01T00-00-00.1")
    lm_eval_log("out/m", "negative_rejection_en", "test", "2026-01-01T00-00-05.1")
    sample = ROOT / "datasets_scripts/rgb/sample/en_refine.json"
    rows = map(json.loads, sample.read_text("utf-8").splitlines())
    golds = {str(row["id"]): row["answer"] for row in rows}
    for at, count in ((1, 12), (2, 6)):
        log = lm_eval_log("out/m", *TASKS[0], time=f"2026-01-01T00-0{at}-00.1", answers=count)
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        right = (
            line | {"filtered_resps": [str(golds[line["doc"]["id"]])]} if number > 5 else line
            for number, line in enumerate(lines)
        )
        write_jsonl(log, right)
    told = cli("score", "out", "--data-dir", "sample").out
    assert "only m 00:00:00–00:00:05 has it: negative_rejection_en" in told
    assert "m 00:02:00: PARTIAL: 6 of 12 questions are answered." in told
    assert "equal on the questions that both of any two scored" in told
    assert "The same in every run that has it: noise_robustness_en" not in told, "values of other questions differ"


def test_many_invalid_tasks_are_counted_with_one_of_them_for_an_example(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    ratios = {"information_integration_en": (0, 20, 40), "noise_robustness_en": (0, 20, 40, 60, 80)}
    for config, ratio in ((one, ratio) for one in ratios for ratio in ratios[one]):
        log = lm_eval_log("out/m", config, f"noise_{ratio}")
        log.write_text(log.read_text("utf-8").replace("Oslo", "Oslo" if ratio in (20, 60) else ""), "utf-8")
    ran = cli("score", "out", "--data-dir", "sample")
    told = "INVALID, 5 of 8 tasks, as information_integration_en noise_0: 5 of 5 replies are empty"
    assert ran.code == 3 and told in ran.out and ran.out.count("INVALID, ") == 1
    assert cli("score", "out", "--data-dir", "sample", "--verbose").out.count("INVALID, ") == 5


def test_a_log_of_other_data_is_refused_whatever_its_ids(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = lm_eval_log("out/m", *TASKS[0])
    log.write_text(log.read_text("utf-8").replace('"?"', '"Who won in other data?"'), "utf-8")
    ran = cli("score", log, "--data-dir", "sample")
    assert (ran.code, ran.out) == (2, "") and "answers another question than noise_0 0 of these data" in ran.err
    assert ran.err.endswith("expected the data that the log was made on: its data_dir as --data-dir\n")


def test_a_judge_that_some_logs_of_a_folder_have_no_use_for_judges_the_others(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for task in TASKS:
        lm_eval_log("out/m", *task)
    judged = ("score", "out", "--data-dir", "sample", "--judge")
    with ChatServer(models=["j"], text="No, the question is not addressed by the documents.") as server:
        ran = cli(*judged, f"{server.url}#j", "--out", "scores")
        assert (ran.code, len(server.bodies)) == (0, 5), ran.err
        assert ran.out.startswith("No metric of noise_robustness_en asks a judge: scored without\n\nrgb, m\n")
        assert "rejection_rate_judged  100.0!" in ran.out and "noise_20: accuracy" in ran.out
        none = cli(*judged, f"{server.url}#j", "--config", "noise_robustness_en")
        assert none.code == 2 and none.err.endswith("asks a judge as it is run here; leave out --judge\n")
    judges = {place.parent.name: read_run(place.parent).inputs.judge for place in Path("scores").rglob("run.json")}
    named = dict.fromkeys(("rgb_noise_robustness_en", "rgb_noise_robustness_en_noise_20"))
    assert judges == {**named, "rgb_negative_rejection_en": "j"}


def test_a_dead_judge_takes_no_rule_metric_of_any_log_along(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for task in (("counterfactual_robustness_en", "test"), TASKS[2], TASKS[0]):
        lm_eval_log("out/m", *task)
    with ChatServer(models=["j"], rules=[Rule("garbage")]) as server:
        ran = cli("score", "out", "--data-dir", "sample", "--judge", f"{server.url}#j")
        asked = {body["messages"][-1]["content"] for body in server.bodies}
    values = {line.split()[1]: line.split()[2] for line in ran.out.splitlines() if re.match(r"\w+_\w+: \w+ +", line)}
    assert ran.code == 2 and "the judge j does not answer" in " ".join(ran.out.split()) and len(asked) == 5, (
        "it is asked once"
    )
    assert {name: values[name] for name in ("error_detection", "error_detection_judged")} == {
        "error_detection": "0.0",
        "error_detection_judged": "INVALID",
    }
    assert (values["rejection_rate"], values["rejection_rate_judged"], values["accuracy"]) == ("0.0", "INVALID", "0.0")


def summary(log: Path, **metadata: str) -> None:
    """Write what lm-eval writes beside a log."""
    task, time = log.stem.removeprefix("samples_").rsplit("_", 1)
    said = {"results": {}, "configs": {task: {"metadata": metadata}}, "n-shot": {}, "model_name": "m"}
    log.with_name(f"results_{time}.json").write_text(json.dumps(said), "utf-8")


def crag_log(folder: str, time: str = "2026-01-01T00-00-00.1") -> Path:
    """Write what lm-eval logs of the first questions of a task of CRAG."""
    path = Path(folder) / f"samples_quadrag_crag_qa_{time}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    conditions = '{"retriever": "none", "options": {}}'
    said = {"benchmark": "crag", "config": "qa", "split": "public", "conditions": conditions, "query": "?"}
    asked, _ = load_questions(Task("crag", "qa", data_dir="sample"), load("crag"))
    docs = [{**said, "id": question.id} for question in asked[:5]]
    write_jsonl(path, [{"doc": one, "resps": [["Oslo"]], "filtered_resps": ["Oslo"]} for one in docs])
    return path


def test_logs_of_several_benchmarks_are_scored_one_benchmark_after_the_other(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for day, model in enumerate("mn", 1):
        time = f"2026-01-0{day}T00-00-00.1"  # else they were copies
        lm_eval_log(f"out/{model}", *TASKS[0], time=time)
        crag_log(f"out/{model}", time)
    ran = cli("score", "out", "--data-dir", "sample", "--out", "done")
    first, second = ran.out.index("== crag\n"), ran.out.index("== rgb\n")
    assert ran.code == 0 and "accuracy_bounded" in ran.out[first:second] and "accuracy_bounded" not in ran.out[second:]
    made = {str(path.relative_to("done")) for path in Path("done").rglob("run.json")}
    assert made == {f"{model}/{task}/run.json" for model in "mn" for task in ("crag_qa", "rgb_noise_robustness_en")}
    assert {path.name for path in Path("done").glob("*.html")} == {"report_crag.html", "report_rgb.html"}
    one = cli("score", "out", "--data-dir", "sample", "--benchmark", "rgb").out
    table = one.partition("\n\n")[2].partition("Nothing was saved")[0]
    assert "accuracy" in table and "== " not in one and table in ran.out[second:], "as by itself"
    alone = cli("score", "out/m", "--data-dir", "sample", "--out", "alone").out
    assert "alone/report_rgb.html" in alone and cli("show", "alone", "--wrong").code == 0
    assert cli("view", "done", "--no-browser").out == "done/report.html\n"
    described = json.loads(cli("score", "out", "--data-dir", "sample", "--json").out)
    assert [one["benchmark"] for one in described] == ["crag", "rgb"]
    told = "quadrag: the files answer crag and rgb, and --option is of one of them; name it with --benchmark\n"
    ran = cli("score", "out", "--option", "noise=0.2")
    assert (ran.code, ran.err) == (2, told)


def test_data_hold_for_the_benchmark_whose_files_they_are(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sample_dir("rgb"), "RGB")
    lm_eval_log("out/m", *TASKS[0])
    summary(crag_log("out/m"), data_dir="sample")
    assert cli("score", "out", "--data-dir", "RGB", "--out", "done").code == 0
    data = {path.parent.name: read_run(path.parent).data_dir for path in Path("done").rglob("run.json")}
    assert data == {"crag_qa": "sample", "rgb_noise_robustness_en": "RGB"}


def test_a_log_is_scored_on_the_data_that_its_harness_names(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = lm_eval_log("out/m", *TASKS[0])
    told = cli("score", "out").err
    assert told.startswith(f"quadrag: {log} ") and f"results_{find_maker(log).time}.json" in told
    summary(log, data_dir="sample")
    assert "The data are the bundled sample, which is made up." in cli("score", "out").out
    summary(log, data_dir="sample", profile="corrected")
    assert "Percent; corrected profile." in cli("score", "out").out
    assert "Percent; official profile." in cli("score", "out", "--profile", "official").out
    summary(log, data_dir="gone")
    assert cli("score", "out").err.endswith("was made on the data in gone, which is no folder here; give --data-dir\n")
    log.write_text(log.read_text("utf-8").replace('"?"', '"Who won in other data?"'), "utf-8")
    for named, cure in (({"data_dir": "my RGB"}, "--data-dir 'my RGB'"), ({}, "no --data-dir")):
        summary(log, **named)
        told = cli("score", "out", "--data-dir", "sample").err
        assert told.endswith(f"expected the data that the log was made on: {cure}\n")
    log.write_text(log.read_text("utf-8").replace('"id": "', '"id": "none-'), "utf-8")
    assert "unknown id 'none-0'" in (told := cli("score", log, "--data-dir", "sample").err)
    assert told.endswith("on: no --data-dir\n")


def test_a_log_says_what_found_the_passages_and_the_run_that_found_them_how(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--top-k", "3", "--out", "found").code == 0
    log = Path("out/m/samples_quadrag_crud_rag_qa_1doc_2026-01-01T00-00-00.1.jsonl")
    log.parent.mkdir(parents=True)
    asked, _ = load_questions(Task("crud_rag", "qa_1doc", data_dir="sample"), load("crud_rag"))
    said = {"benchmark": "crud_rag", "config": "qa_1doc", "split": "test"}
    doc = {**said, "conditions": '{"retriever": "bm25", "options": {}}'}
    rows = [{"doc": {**doc, "id": one.id}, "resps": [["x"]], "filtered_resps": ["x"]} for one in asked]
    write_jsonl(log, rows)
    for found, top_k in (("found/retrieved.jsonl", 3), ("gone/retrieved.jsonl", None)):
        summary(log, data_dir="sample", retrieved=found)
        assert cli("score", "out", "--out", f"s{top_k}").code == 0
        inputs = read_run(Path(f"s{top_k}")).inputs
        assert (inputs.retriever, (inputs.retrieval or {}).get("top_k")) == ("bm25", top_k)
        assert cli("show", f"s{top_k}").code == 0
    assert "Settings: retriever bm25; " in cli("report", "s3", "-v").out


@pytest.mark.parametrize(("args", "name"), [({}, "dummy"), ({"model": "m"}, "m")])
def test_a_model_that_lm_eval_has_no_name_for_is_called_by_its_kind(args: Any, name: str, tmp_path: Path) -> None:
    log = tmp_path / "samples_quadrag_crag_qa_2026-01-01T00-00-00.1.jsonl"
    said = {"model_name": "m" if args else "5uoozpxb", "config": {"model": "dummy", "model_args": args}}
    log.with_name("results_2026-01-01T00-00-00.1.json").write_text(json.dumps(said), "utf-8")
    made = find_maker(log)
    assert made is not None and made.model == name


def test_a_log_says_with_which_prompts_a_model_was_asked(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = lm_eval_log("out/m", *TASKS[0])
    summary(log, data_dir="sample", prompts="mine.yaml")
    assert "The user's own files in place of ours: mine.yaml." in cli("score", "out").out
    said = "With which prompts these answers were made is not known"
    place = Inputs(
        quadrag="0", benchmark="rgb", config="noise_robustness_en", splits=["noise_0"], retriever="own", llm="m"
    )
    for logged in (False, True):
        run = RunRecord(place, log=logged, command=["quadrag", "score"], source="upstream files, verified")
        assert any(said in note for note in note_beside([run])) == (not logged)


def test_copies_of_logs_are_left_out(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log, more = (lm_eval_log("out/m", *task) for task in TASKS[:2])
    alone = cli("score", "out", "--data-dir", "sample")
    shutil.copytree("out", "again")
    ran = cli("score", "out", "again", "--data-dir", "sample")
    told, _, rest = ran.out.partition("\n")
    assert (ran.code, ran.err, rest) == (0, "", alone.out)
    assert told == f"{Path('again/m') / log.name} is a copy of {log} and left out (and 1 more)"
    beside = shutil.copy(log, log.with_stem(f"{log.stem} (copy)"))
    ran = cli("score", "out", "--data-dir", "sample")
    assert ran.code == 0 and ran.out.startswith(log.stem) and "is a copy of" in ran.out, "it is one by any name"
    beside.unlink()
    more.unlink()
    lm_eval_log("again/n", *TASKS[0], time="2026-01-02T00-00-00.1")
    shutil.rmtree("again/m")
    ran = cli("score", "out", "again", "--data-dir", "sample")
    assert ran.code == 0 and f" is the same as {log}, a copy or answers all alike\n" in ran.out


def test_a_log_that_was_cut_off_is_told(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = lm_eval_log("out/m", *TASKS[0])
    log.write_bytes(log.read_bytes()[:-30])
    ran = cli("score", "out", "--data-dir", "sample")
    assert ran.code == 2 and ran.err.startswith(f"quadrag: {log}:5 is not JSON")
    assert ran.err.endswith("; the file ends within this line: copy it again\n")


def test_a_folder_without_logs_is_told_from_one_without_those_asked_for(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lm_eval_log("out/m", *TASKS[0])
    Path("none").mkdir()
    assert "none is a folder without a harness's log" in cli("score", "none").err
    assert "out holds no log of crag qa; leave" in cli("score", "out", "--benchmark", "CRAG", "--config", "qa").err
    Path("none/results_1.json").write_text('{"results": {}, "n-shot": {}}', "utf-8")
    assert "none/results_1.json is lm-eval's summary, which holds no answers; give" in cli("score", "none").err
    Path("none/samples_gsm8k_1.jsonl").write_text("{}", "utf-8")
    assert "none holds logs, as samples_gsm8k_1.jsonl, but of no quadrag tasks" in cli("score", "none").err


def test_a_cut_log_and_those_of_other_tasks_do_not_keep_the_rest_from_being_scored(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good, cut = (lm_eval_log("out/m", *task) for task in TASKS[1:])
    alone = cli("score", good, "--data-dir", "sample").out
    cut.write_bytes(cut.read_bytes()[:-30])
    for name in ("gsm8k", "mmlu"):
        Path(f"out/m/samples_{name}_1.jsonl").write_text("{}\n", "utf-8")
    ran = cli("score", "out", "--data-dir", "sample")
    first, last = ran.err.splitlines()
    assert (ran.code, ran.out) == (2, alone)
    assert first == "of no quadrag task and left out: out/m/samples_gsm8k_1.jsonl (and 1 more)"
    assert last.startswith(f"quadrag: left out, {cut}:5 is not JSON")
    assert cli("score", "out", "--config", TASKS[1][0], "--data-dir", "sample").code == 0, "it is of another task"
    assert cli("score", "out", "--config", TASKS[2][0], "--data-dir", "sample").code == 2


def test_a_log_that_lacks_lines_is_refused_and_show_sends_to_score(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = lm_eval_log("out/m", *TASKS[2])
    asked = {"n-samples": {"quadrag_rgb_negative_rejection_en": {"effective": 12}}}
    said = {"results": {}, "configs": {}, "n-shot": {}, "model_name": "m", **asked}
    log.with_name("results_2026-01-01T00-00-00.1.json").write_text(json.dumps(said), "utf-8")
    assert f"{log} is cut: it has 5 of the 12 lines that " in cli("score", "out", "--data-dir", "sample").err
    shown = cli("show", "out/m")
    assert shown.code == 2 and "score them first: quadrag score out/m --out DIR" in shown.err


def test_an_empty_reply_is_right_by_no_metric_whatever_judge_or_rule_say_of_it(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    asked = cli("questions", "crag", "qa", "--data-dir", "sample", "--split", "public").out
    said = {"benchmark": "crag", "config": "qa", "conditions": '{"retriever": "none", "options": {}}'}
    docs = [{**said, "split": "public", "id": json.loads(line)["id"]} for line in asked.splitlines()]
    rows = [(doc, "" if at % 3 == 0 else "I don't know") for at, doc in enumerate(docs)]
    write_jsonl(Path("log.jsonl"), [{"doc": doc, "resps": [[text]], "filtered_resps": [text]} for doc, text in rows])
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        ran = cli("score", "log.jsonl", "--data-dir", "sample", "--judge", f"{server.url}#j", "--out", "scores")
    assert ran.code == 3 and "5 of 15 replies are empty, more than --max-failed 0.2: truthfulness" in ran.out
    assert re.search(r"\ntruthfulness +INVALID +– +10 of 15\n", ran.out) and "judge not certified" not in ran.out
    assert "answer    (empty)" in cli("show", "scores", "--unscored").out + cli("show", "scores").out


def test_a_judge_that_is_asked_about_none_needs_no_certificate_and_equal_requests_are_told(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    asked = cli("questions", "crag", "qa", "--data-dir", "sample", "--split", "public").out
    ids = [json.loads(line)["id"] for line in asked.splitlines()]
    for name, text in (("a", "I don't know"), ("b", "I don't know."), ("c", "It is Oslo."), ("d", "It is Oslo.")):
        write_jsonl(Path(f"{name}.jsonl"), [{"id": one, "answer": text} for one in ids])
    score = ("score", "--benchmark", "crag", "--config", "qa", "--split", "public", "--data-dir", "sample", "--judge")
    with ChatServer(models=["j"], text='{"score": 1}') as server:
        none = cli(*score, f"{server.url}#j", "a.jsonl", "b.jsonl").out
        assert "The judge j was asked about none: rules decide all answers (truthfulness, accuracy, hall" in none
        assert "judge not certified" not in none and not server.bodies
        both = cli(*score, f"{server.url}#j", "c.jsonl", "d.jsonl").out
        n = len(server.bodies)
        assert f"judge {n} made, 0 kept replies used\n{n} of the judge's requests equal others, which were" in both
        assert "; asking once saved " in both and "asked about none" not in both
