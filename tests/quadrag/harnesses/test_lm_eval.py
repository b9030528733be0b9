"""lm-eval on our tasks, by its genuine command against a local server: messages and scores are `quadrag`'s own."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from harness_replies import ASKED, PROFILES, questions, run_all
from specs import spec_of

from quadrag.benchmark import load
from quadrag.cli import main
from quadrag.harnesses.examination import Examination
from quadrag.loading import load_questions
from quadrag.records import read_jsonl
from quadrag.run.answers import lines

pytest.importorskip("lm_eval", reason="lm-eval is not installed; pip install '.[harness]'")
NO_CONTENT = "[no content]"


def rules():
    """Replies by the question asked: right, right in the protocol's tag, refused, empty, in part, none, echoed."""
    found = []
    for asked in questions():
        replies = [*asked.replies, None]
        if asked.place % 7 < len(replies):
            found.append(Rule("reply", match=asked.words, message={"content": replies[asked.place % 7]}))
    return found


@pytest.fixture(scope="module")
def model():
    with ChatServer(rules=rules()) as server:
        yield server


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """The folder of tasks that is written for lm-eval."""
    folder = tmp_path_factory.mktemp("lm-eval") / "tasks"
    assert main(["harness", "lm-eval", str(folder)]) == 0
    return str(folder)


@pytest.fixture(scope="module")
def lm_eval(model, tasks, tmp_path_factory):
    """A function that runs the command; it returns the process, the folder of results, and the messages sent."""

    def run(names, metadata, *options):
        out, before = tmp_path_factory.mktemp("lm-eval"), len(model.bodies)
        arguments = f"model=m,base_url={model.url}/chat/completions,num_concurrent=4,tokenizer_backend=None"
        command = [str(Path(sys.executable).with_name("lm_eval")), "--model", "local-chat-completions"]
        command += ["--model_args", arguments, "--tasks", ",".join(names), "--include_path", tasks]
        command += ["--apply_chat_template", "--log_samples", "--output_path", str(out)]
        given = {name: value for name, value in {"data_dir": "sample", **metadata}.items() if value is not None}
        command += ["--metadata", json.dumps(given), *options]
        cache = str(tmp_path_factory.getbasetemp() / "requests")
        env = {
            **os.environ,
            "LM_HARNESS_CACHE_PATH": cache,
            "OPENAI_API_KEY": "x",
            "LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER": NO_CONTENT,
        }
        done = subprocess.run(command, env=env, cwd=out, capture_output=True, text=True, timeout=250)
        return done, out / "m", [body["messages"] for body in model.bodies[before:]]

    return run


@pytest.fixture(scope="module")
def ran(lm_eval):
    """What lm-eval left of all tasks asked, by profile: the folder, and the messages sent."""
    found = {}
    for profile in PROFILES:
        done, out, messages = lm_eval([f"quadrag_{b}_{c}" for b, c, _, _ in ASKED], {"profile": profile})
        assert done.returncode == 0, done.stderr[-3000:]
        found[profile] = (out, messages)
    return found


def samples(folder, benchmark, config):
    (found,) = folder.glob(f"samples_quadrag_{benchmark}_{config}_2*.jsonl")
    return found


def sent(messages):
    return sorted(json.dumps(chat, ensure_ascii=False) for chat in messages)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("benchmark", "config", "split", "retriever"), ASKED, ids=[f"{b}-{c}" for b, c, _, _ in ASKED])
def test_scores_are_those_of_quadrag_score_to_the_last_digit(
    benchmark, config, split, retriever, profile, ran, tmp_path, monkeypatch
):
    monkeypatch.setenv("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", NO_CONTENT)
    folder, _ = ran[profile]
    logged = {row["doc"]["id"]: row for _, row in read_jsonl(samples(folder, benchmark, config))}
    file = samples(folder, benchmark, config)
    found = [line for _, line in lines(file)]
    assert any(line["answer"] is None for line in found)
    assert sum(bool(line["answer"]) for line in found) > 2
    command = ["score", str(file), "--benchmark", benchmark, "--config", config]
    options = ["--split", split, "--data-dir", "sample", "--retriever", retriever, "--out", str(tmp_path / "scored")]
    assert main([*command, *options, "--max-failed", "1"]) == 0

    rows = json.loads((tmp_path / "scored" / "scores.json").read_text("utf-8"))
    rows = [row for row in rows if row["slice"] == "all" and row["profile"] == profile and "not_run" not in row]
    (file,) = folder.glob("results_*.json")
    theirs = json.loads(file.read_text("utf-8"))["results"][f"quadrag_{benchmark}_{config}"]
    ours = {f"{row['metric']}.{row['key']}": row["value"] for row in rows}
    assert {
        name.removesuffix(",none"): theirs[name] for name in theirs if re.search(r"\.\w+(?<!_stderr),", name)
    } == ours
    assert any(value not in (None, 0.0, 1.0) for value in ours.values())

    for _, item in read_jsonl(tmp_path / "scored" / "items.jsonl"):
        for name in ours:
            value, reason = item[name][profile], item[name].get("reason", {}).get(profile)
            counts = profile == "corrected" and value is None and reason != "not_applicable"
            assert logged[item["id"]].get(name) == (0.0 if counts else value), (name, item["id"])


@pytest.mark.parametrize("processes", [1, 2])
def test_each_of_several_processes_gives_every_metric(processes, tasks):
    """lm-eval looks the metrics of the first process up in all others; here no item of this one has an error found."""
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=tasks, include_defaults=False, metadata={"data_dir": "sample"})
    name = "quadrag_rgb_counterfactual_robustness_en"
    task = manager.load([name])["tasks"][name]
    task.build_all_requests(rank=0, world_size=processes)
    assert len(task.instances) == 12 // processes
    for instance in task.instances:
        instance.resps = ["no idea"]
    task.apply_filters()
    found = [task.process_results(instance.doc, ["no idea"]) for instance in task.instances]
    corrected = [each.get("error_detection.error_correction") for each in found]
    value = task.aggregation()["error_detection.error_correction"]([0.5, float("nan")] if processes > 1 else [0.5])
    assert value == 0.5
    if processes == 1:
        assert corrected == [None] * 12
    else:
        assert all(math.isnan(each) for each in corrected)
        assert math.isnan(task.aggregation()["error_detection.error_correction"](corrected))
    assert task.aggregation()["rgb_accuracy.accuracy"]([each["rgb_accuracy.accuracy"] for each in found]) == 0


def test_the_table_has_every_noise_ratio_of_a_group(lm_eval):
    done, out, _ = lm_eval(["quadrag_rgb"], {})
    assert done.returncode == 0, done.stderr[-3000:]
    for ratio in ("", "_noise_20", "_noise_40", "_noise_60", "_noise_80"):
        assert re.search(rf"quadrag_rgb_noise_robustness_zh{ratio} +\|.*\|rgb_accuracy.accuracy +\|", done.stdout)
    (file,) = out.glob("results_*.json")
    better = json.loads(file.read_text("utf-8"))["higher_is_better"]
    rejected = {"rejection_rate.rejection_rate": True, "rejection_rate.unsupported_correct": False}
    assert better["quadrag_rgb_negative_rejection_zh"] == rejected


def test_messages_are_those_of_quadrag_run(ran, model, tmp_path):
    before = len(model.bodies)
    run_all(model.url, tmp_path)
    ours = sent([body["messages"] for body in model.bodies[before:]])
    # `quadrag run` asks once what is asked twice, and again where a reply has no content.
    assert set(sent(ran["official"][1])) == set(ours)
    assert len(set(ours)) > 50


@pytest.mark.parametrize("noise", [0.5, 0.25])
def test_noise_and_passages_come_by_metadata_and_no_kept_requests_of_others_are_sent(lm_eval, noise):
    options = {"noise_ratio": noise, "passage_num": 4}
    done, out, messages = lm_eval(["quadrag_rgb_noise_robustness_en"], options, "--cache_requests", "true")
    assert done.returncode == 0, done.stderr[-3000:]
    examined = Examination("rgb", "noise_robustness_en", "noise_0", {"data_dir": "sample", **options})
    assert sent(messages) == sent([examined.messages(question) for question in examined.questions])
    task = spec_of("rgb", "noise_robustness_en", None, "sample", options=options)
    questions = {question.id: question for question in load_questions(task, load("rgb"))[0]}
    logged = [row["doc"] for _, row in read_jsonl(samples(out, "rgb", "noise_robustness_en"))]
    assert [doc["id"] for doc in logged] == list(questions)
    assert f"|quadrag_rgb_noise_robustness_en_noise_{noise * 100:g}|" in done.stdout
    for doc in logged:
        shown = questions[doc["id"]].passages
        assert (doc["split"], len(shown)) == (f"noise_{noise * 100:g}", 4)
        assert "\n".join(passage.text for passage in shown) in doc["messages"][1]["content"]


@pytest.mark.parametrize(
    ("name", "setting", "options", "error"),
    [
        ("noise_robustness_en", {"noise_ration": 0.4}, (), "unknown setting 'noise_ration'; nearest"),
        ("noise_robustness_en", {}, ("--num_fewshot", "2"), "num_fewshot or system_instruction was given"),
        ("noise_robustness_en", {"data_dir": "nowhere"}, (), "no folder 'nowhere'"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_line(name, setting, options, error, lm_eval):
    done, _, messages = lm_eval([f"quadrag_rgb_{name}"], setting, *options)
    assert done.returncode == 2 and messages == [] and "Traceback" not in done.stderr
    assert f"quadrag: {error}" in done.stderr
