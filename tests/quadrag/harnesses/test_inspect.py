"""Inspect on our tasks, by its genuine command against a local server: messages, values and verdicts are our own."""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from chat_server import ChatServer, Rule
from harness_replies import ASKED, PROFILES, questions, run_all
from specs import spec_of

from quadrag.benchmark import load
from quadrag.cli import main
from quadrag.loading import load_questions
from quadrag.metric_record import show_key
from quadrag.records import read_jsonl
from quadrag.run.answers import read_inspect_log

pytest.importorskip("inspect_ai", reason="Inspect is not installed; pip install '.[harness]'")
IDS = [f"{b}-{c}" for b, c, _, _ in ASKED]
# What the graders of all benchmarks understand; the last is none of theirs.
VERDICTS = (
    '{"score": 1, "prediction": 1} <response>甲</response> Yes, it is addressed; the model has identified the errors.',
    '{"score": 0, "prediction": 0} <response>无法推断</response> No, it is not addressed; it has not identified them.',
    "perhaps",
)


def rules():
    """Replies by the question asked: right, tagged, refused, empty, half, none of these; failed, cut."""
    found = []
    for asked in questions():
        place, words = asked.place, asked.words
        if place == 2 and asked.question.benchmark in ("rgb", "crag"):  # Inspect takes a second to print what failed
            found.append(Rule("status", status=400, match=words, model="m"))
        elif place == 4:
            cut = {"finish_reason": "length"}
            found.append(Rule("reply", match=words, model="m", message={"content": ""}, reply=cut))
        elif place % 6 < len(asked.replies):
            found.append(Rule("reply", match=words, model="m", message={"content": asked.replies[place % 6]}))
        for model, shift in (("j", 0), ("k", 1)):
            verdict = {"content": VERDICTS[(place // 2 + shift) % 3]}
            if place == 6:
                found.append(Rule("status", status=400, match=words, model=model))
            found += [Rule("reply", match=text, model=model, message=verdict) for text in (words, asked.gold)]
    found += [Rule("reply", model=model, message={"content": VERDICTS[0]}) for model in ("j", "k")]
    # No echo, which depends on more than the messages.
    found.append(Rule("reply", model="m", message={"content": "about 70 万元"}))
    return found


@pytest.fixture(scope="module")
def model():
    with ChatServer(models=["m", "j", "k"], rules=rules()) as server:
        yield server


@pytest.fixture(scope="module")
def inspect(model, tmp_path_factory):
    """A function that runs the command; what it returns has the process, its logs by task, and the requests sent."""

    def run(names, settings, *options):
        from inspect_ai.log import read_eval_log

        out, before = tmp_path_factory.mktemp("inspect"), len(model.bodies)
        command = [str(Path(sys.executable).with_name("inspect")), "eval", *names, "--model", "openai-api/local/m"]
        for name, value in {"data_dir": "sample", **settings}.items():
            command += ["-T", f"{name}={json.dumps(value)}"]
        command += ["--display", "plain", "--log-dir", str(out), "--no-fail-on-error", *options]
        env = {**os.environ, "LOCAL_API_KEY": "x", "LOCAL_BASE_URL": model.url, "COLUMNS": "200"}
        done = subprocess.run(command, env=env, cwd=out, capture_output=True, text=True, timeout=250)
        files = {read_eval_log(str(file), header_only=True).eval.task: file for file in out.glob("*_*")}
        bodies = model.bodies[before:]
        return SimpleNamespace(code=done.returncode, text=done.stdout + done.stderr, logs=files, bodies=bodies)

    return run


@pytest.fixture(scope="module")
def ran(inspect):
    """What Inspect left of all tasks asked, by profile: without a grader under ``official``, then with one."""
    names = [f"quadrag/{b}_{c}" for b, c, _, _ in ASKED]
    found = {"official": inspect(names, {"profile": "official"})}
    found["corrected"] = inspect(names, {"profile": "corrected"}, "--model-role", "grader=openai-api/local/j")
    for profile, run in found.items():
        assert run.code == 0, run.text[-3000:]
        assert len(run.logs) == len(ASKED), (profile, run.text[-3000:])
    return found


def sent(bodies, model="m"):
    return {json.dumps(body["messages"], ensure_ascii=False) for body in bodies if body["model"] == model}


def logged(file):
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(file), resolve_attachments=True)


def means(log):
    """The means in a log by the names shown; of NaN None."""
    found = {score.name: score.metrics["quadrag/mean"].value for score in log.results.scores}
    return {name: None if math.isnan(value) else value for name, value in found.items()}


def check(log, folder, profile):
    """Hold the values, reasons and means of a log against those of a folder of `quadrag score`."""
    found = json.loads((folder / "scores.json").read_text("utf-8"))
    rows = [row for row in found if (row["profile"], row["slice"]) == (profile, "all")]
    rows = [row for row in rows if row["key"] != "bertscore"]  # there is no embedding
    whole = {f"{row['metric']}.{row['key']}": row for row in rows}
    names = {name: show_key(row["metric"], row["key"]) for name, row in whole.items()}
    assert means(log) == {names[name]: row["value"] for name, row in whole.items()}
    not_run = {names[name] for name, row in whole.items() if "not_run" in row}
    for score in log.results.scores:
        assert score.name not in not_run or score.unscored_samples == len(log.samples)
    samples = {sample.id: sample for sample in log.samples}
    for _, item in read_jsonl(folder / "items.jsonl"):
        score = samples[item["id"]].scores["score"]
        for name, row in whole.items():
            if "not_run" in row:
                assert score.metadata["reasons"][name].startswith("not_run")
                continue
            value, reason = item[name][profile], item[name].get("reason", {}).get(profile)
            assert score.metadata["reasons"].get(name) == reason, (name, item["id"])
            if value is not None:
                assert score.value[names[name]] == value, (name, item["id"])
            elif profile == "corrected" and reason != "not_applicable":
                assert score.value[names[name]] == (1.0 if name == "omnieval.hal" else 0.0)
            else:
                assert math.isnan(score.value[names[name]])


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("benchmark", "config", "split", "retriever"), ASKED, ids=IDS)
def test_values_are_those_of_quadrag_score_to_the_last_digit(
    benchmark, config, split, retriever, profile, ran, model, tmp_path
):
    file = ran[profile].logs[f"quadrag/{benchmark}_{config}"]
    states = Counter(line["state"] for line in read_inspect_log(file))
    assert states["ok"] > 2
    assert states["truncated"]
    assert bool(states["api_error"]) == (benchmark in ("rgb", "crag"))
    command = ["score", str(file), "--benchmark", benchmark, "--config", config, "--split", split]
    command += ["--data-dir", "sample", "--retriever", retriever, "--out", str(tmp_path / "scored")]
    command += ["--max-failed", "1"]
    before = len(model.bodies)
    if profile == "corrected" and not config.startswith("information_integration"):  # which asks no judge
        command += ["--judge", f"{model.url}#j", "--ledger", str(tmp_path / "ledger.sqlite")]
    assert main(command) == 0
    log = logged(file)
    check(log, tmp_path / "scored", profile)
    values = means(log).values()
    assert any(value not in (None, 0.0, 1.0) for value in values)
    # The grader is asked what the judge of `quadrag score` is asked for this profile, and no more.
    calls = [event for sample in log.samples for event in sample.events if event.event == "model"]
    heard = [[{"role": m.role, "content": m.text} for m in call.input] for call in calls if call.role == "grader"]
    assert {json.dumps(chat, ensure_ascii=False) for chat in heard} <= sent(model.bodies[before:], "j")
    assert bool(heard) == (profile == "corrected" and config != "information_integration_zh")


def test_messages_are_those_of_quadrag_run(ran, model, tmp_path):
    before = len(model.bodies)
    run_all(model.url, tmp_path)
    ours = {json.dumps([b["messages"], b["temperature"]]) for b in model.bodies[before:]}
    theirs = {json.dumps([b["messages"], b["temperature"]]) for b in ran["official"].bodies}
    assert theirs == ours
    assert len(ours) > 50


SOLVER = """
from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.solver import solver

@solver
def rag():
    async def solve(state, generate):
        found = [passage["text"] for passage in state.metadata["passages"]]
        message = ChatMessageUser(content="\\n".join([*found, state.metadata["query"]]))
        state.output = await get_model().generate([message])
        return state

    return solve
"""


def test_a_task_with_noise_and_an_own_solver(inspect, tmp_path):
    (tmp_path / "rag.py").write_text(SOLVER, "utf-8")
    rag = ["--solver", f"{tmp_path / 'rag.py'}@rag", "--log-format", "json"]
    options = {"noise_ratio": 0.5, "passage_num": 4}
    done = inspect(["quadrag/rgb_noise_robustness_en"], options, *rag)
    assert done.code == 0, done.text[-3000:]
    (file,) = done.logs.values()
    assert file.suffix == ".json"
    task = spec_of("rgb", "noise_robustness_en", None, "sample", options=options)
    questions = {question.id: question for question in load_questions(task, load("rgb"))[0]}
    log = logged(file)
    asked = [message["content"] for body in done.bodies for message in body["messages"]]
    assert {sample.id for sample in log.samples} == set(questions)
    for sample in log.samples:
        shown = [passage.text for passage in questions[sample.id].passages]
        assert (sample.metadata["split"], len(shown)) == ("noise_50", 4)
        assert "\n".join(shown) in sample.input[1].text
        assert "\n".join([*shown, sample.metadata["query"]]) in asked
    place = ["--benchmark", "rgb", "--config", "noise_robustness_en", "--data-dir", "sample"]
    place += ["--option", "noise_ratio=0.5", "--option", "passage_num=4", "--out", str(tmp_path / "scored")]
    assert main(["score", str(file), *place, "--max-failed", "1"]) == 0
    check(log, tmp_path / "scored", "official")


def test_passages_of_a_run_are_shown_judged_and_ranked_as_in_the_run(inspect, model, tmp_path):
    judges = ["--judge", f"{model.url}#j", "--judge", f"{model.url}#k"]
    place = ["run", "omnieval", "contrast_qa", "--data-dir", "sample", "--llm", f"{model.url}#m", *judges]
    place += ["--max-failed", "1"]
    before = len(model.bodies)
    assert main([*place, "--ledger", str(tmp_path / "ledger.sqlite"), "--out", str(tmp_path / "run")]) == 0
    ours = model.bodies[before:]
    graders = ["--model-role", "grader=openai-api/local/j,openai-api/local/k"]
    done = inspect(["quadrag/omnieval_contrast_qa"], {"retrieved": str(tmp_path / "run" / "retrieved.jsonl")}, *graders)
    assert done.code == 0, done.text[-3000:]
    assert sent(done.bodies, "m") == sent(ours, "m")
    assert sent(done.bodies, "k") == sent(ours, "k")
    log = logged(done.logs["quadrag/omnieval_contrast_qa"])
    check(log, tmp_path / "run", "official")
    assert {"f1", "acc", "hal", "map"} <= means(log).keys()


@pytest.mark.parametrize(
    ("name", "settings", "graders", "error"),
    [
        ("noise_robustness_en", {"noise_ration": 0.4}, "j", "noise_ration"),
        ("negative_rejection_en", {}, "j,openai-api/local/k", "negative_rejection_en"),
    ],
)
def test_a_command_is_refused_before_any_model_is_asked(inspect, name, settings, graders, error):
    done = inspect([f"quadrag/rgb_{name}"], settings, "--model-role", f"grader=openai-api/local/{graders}")
    assert done.code != 0
    assert error in " ".join(done.text.split()) and "Traceback" not in done.text
    assert done.bodies == []
