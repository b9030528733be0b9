"""lighteval on our tasks, by its genuine command against a local server: messages and scores are `quadrag run`'s."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from chat_server import ChatServer, Rule
from harness_replies import ASKED, PROFILES, questions

from quadrag import catalogue
from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Task, load_questions
from quadrag.baselines.runs.files.logs import read_lighteval_details
from quadrag.cli import main
from quadrag.errors import QuadragError
from quadrag.harnesses import path
from quadrag.harnesses.examination import one_line
from quadrag.harnesses.lighteval.settings import VARIABLE, settings
from quadrag.harnesses.task_list import all_tasks
from quadrag.records import read_jsonl, write_jsonl

needs_lighteval = pytest.mark.skipif(
    find_spec("lighteval") is None, reason="lighteval is not installed; make test-lighteval"
)
CONFIGS = pytest.mark.parametrize(("benchmark", "config"), [(b, c) for b, c, _, _ in ASKED])


class Ran(NamedTuple):
    """What one run of the command left: the process, its folder, and the messages that the server was sent."""

    done: subprocess.CompletedProcess[str]
    out: Path
    sent: list[str]


def rules() -> list[Rule]:
    """Replies by the question asked: right, right in the protocol's tag, refused, empty, in part, none, failed."""
    found = []
    for asked in questions():
        replies = [*asked.replies, None]
        if asked.place % 8 == 6:
            found.append(Rule("status", match=asked.words, status=400))
        elif asked.place % 8 < len(replies):
            found.append(Rule("reply", match=asked.words, message={"content": replies[asked.place % 8]}))
    return found


def sent(server: ChatServer) -> list[str]:
    return sorted(json.dumps(body["messages"], ensure_ascii=False) for body in server.bodies)


def command(names: list[str], setting: dict[str, Any], home: Path) -> Ran:
    """Run lighteval on a server of its own, with caches under `home` alone."""
    folder = path("lighteval")
    given = {"data_dir": "sample", "ledger": str(home / "ledger.sqlite"), **setting}
    env = {**os.environ, "HOME": str(home), VARIABLE: json.dumps(given), "QUADRAG_CACHE": str(home / "quadrag")}
    # It imports a gigabyte of packages: compiled once they start in half the time.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    with ChatServer(rules=rules()) as server:
        words = ["custom", f"{server.url}#org/m", str(folder / "model.py"), ",".join(names)]
        words += ["--custom-tasks", str(folder / "tasks.py"), "--output-dir", str(home / "out"), "--save-details"]
        server.state.models = ["org/m"]
        start = [str(Path(sys.executable).with_name("lighteval")), *words]
        done = subprocess.run(start, env=env, cwd=home, capture_output=True, text=True, timeout=280)
        return Ran(done, home / "out", sent(server))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """What `quadrag run` makes of the same questions: a folder with one of every config, and the messages sent."""
    home = tmp_path_factory.mktemp("run")
    with ChatServer(rules=rules(), models=["org/m"]) as server:
        for benchmark, config, split, retriever in ASKED:
            place = ["--split", split, "--data-dir", "sample", "--retriever", retriever, "--llm", f"{server.url}#org/m"]
            out = ["--ledger", str(home / "ledger.sqlite"), "--out", str(home / f"{benchmark}-{config}")]
            more = ["--max-failed", "1", "--service", "ours"]
            assert main(["run", benchmark, config, *place, *out, *more]) == 0
        return home, sent(server)


@pytest.fixture(scope="module")
def ran(run: tuple[Path, list[str]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """All tasks by profile, and a setting with a slip; the corrected run is given the ledger of `quadrag run`."""
    names = [f"quadrag_{benchmark}_{config}" for benchmark, config, _, _ in ASKED]
    wanted: dict[str, dict[str, Any]] = {
        "official": {},
        "corrected": {"profile": "corrected", "ledger": str(run[0] / "ledger.sqlite"), "service": "ours"},
        "slip": {"profil": "corrected"},
    }
    with ThreadPoolExecutor(2) as pool:
        jobs = {
            name: pool.submit(command, names, setting, tmp_path_factory.mktemp(name))
            for name, setting in wanted.items()
        }
        return {name: job.result() for name, job in jobs.items()}


def details(ran: Ran, benchmark: str, config: str) -> Path:
    (found,) = (ran.out / "details" / "org" / "m").glob(f"*/details_quadrag_{benchmark}_{config}|0_*.parquet")
    return found


def score_rows(folder: Path, profile: str) -> dict[str, float | None]:
    """The rule metrics over all questions, by name, of a folder with scores."""
    rows = json.loads((folder / "scores.json").read_text("utf-8"))
    rows = [row for row in rows if row["slice"] == "all" and row["profile"] == profile and "not_run" not in row]
    return {f"{row['metric']}.{row['key']}": row["value"] for row in rows}


@pytest.fixture(scope="module")
def tasks() -> Iterator[Any]:
    """The tasks file, loaded into this process as lighteval loads it, with the bundled sample for data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, '{"data_dir": "sample"}')
        yield loaded("tasks")


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path("lighteval") / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_settings_are_those_of_tasks_and_those_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert settings() == ({}, {})
    monkeypatch.setenv(VARIABLE, '{"data_dir": "sample", "max_tokens": 9, "temperature": 0, "split": null}')
    assert settings() == ({"data_dir": "sample"}, {"max_tokens": 9, "temperature": 0})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data_dir=sample", "QUADRAG_LIGHTEVAL is not JSON (Expecting value); expected an"),
        ('["sample"]', "QUADRAG_LIGHTEVAL holds a JSON list; expected an object"),
        ('{"concurrency": "8"}', "concurrency in QUADRAG_LIGHTEVAL is '8'; expected a whole number"),
        ('{"temperature": true}', "temperature in QUADRAG_LIGHTEVAL is True; expected a number"),
        ('{"ledger": 1}', "ledger in QUADRAG_LIGHTEVAL is 1; expected a string"),
    ],
)
def test_settings_of_another_form_are_refused(text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(QuadragError, match=re.escape(said)):
        settings()


def asked(tasks: Any, name: str) -> Any:
    """A task as lighteval has it that was asked for it."""
    (task,) = (task for task in tasks.TASKS_TABLE if task.name == f"quadrag_{name}")
    return copy.deepcopy(task)


def data(task: Any) -> list[dict[str, Any]]:
    """The rows that lighteval is given."""
    found: list[dict[str, Any]] = pq.read_table(Path(task.hf_repo) / "test.parquet").to_pylist()
    return found


@needs_lighteval
def test_every_config_with_questions_is_a_task(tasks: Any) -> None:
    places = [(listed.benchmark, listed.config) for listed in all_tasks()]
    assert [task.place for task in tasks.TASKS_TABLE] == places
    assert [task.name for task in tasks.TASKS_TABLE] == [f"quadrag_{b}_{c}" for b, c in places]


@needs_lighteval
def test_the_lists_of_tasks_name_tasks(tasks: Any) -> None:
    known = {task.name for task in tasks.TASKS_TABLE}
    for name in catalogue.benchmarks():
        assert set((path("lighteval") / f"{name}.txt").read_text("utf-8").split()) <= known


@needs_lighteval
def test_metrics_say_which_way_is_better(tasks: Any) -> None:
    better = {metric.metric_name: metric.higher_is_better for metric in asked(tasks, "crud_rag_qa_1doc").metrics}
    assert better["crud_overlap.rouge_l"] is True
    assert better["crud_overlap.length"] is None
    assert {metric.metric_name for metric in asked(tasks, "rgb_counterfactual_robustness_zh").metrics} == {
        "rgb_accuracy.accuracy",
        "rgb_accuracy.accuracy_bounded",
        "error_detection.error_detection",
        "error_detection.error_correction",
    }


@needs_lighteval
def test_passages_and_noise_come_by_settings(tasks: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = [
        "run",
        "crud_rag",
        "summary",
        "--data-dir",
        "sample",
        "--retriever",
        "bm25",
        "--out",
        str(tmp_path / "run"),
    ]
    assert main(words) == 0
    retrieved = tmp_path / "run" / "retrieved.jsonl"
    monkeypatch.setenv(VARIABLE, json.dumps({"data_dir": "sample", "retrieved": str(retrieved)}))
    shown = {row["id"]: row["passages"] for _, row in read_jsonl(retrieved)}
    rows = data(asked(tasks, "crud_rag_summary"))
    assert {row["id"] for row in rows} == set(shown)
    assert all(shown[row["id"]][0]["text"] in row["messages"][0]["content"] for row in rows)

    setting = {"noise_ratio": 0.5, "passage_num": 4}
    monkeypatch.setenv(VARIABLE, json.dumps({"data_dir": "sample", **setting}))
    task = Task("rgb", "noise_robustness_en", None, "sample", options=setting)
    questions = {question.id: question for question in load_questions(task, load("rgb"))[0]}
    rows = data(asked(tasks, "rgb_noise_robustness_en"))
    assert [row["id"] for row in rows] == list(questions)
    for row in rows:
        assert row["split"] == "noise_50"
        texts = [passage.text for passage in questions[row["id"]].passages]
        assert len(texts) == 4
        assert "\n".join(texts) in row["messages"][1]["content"]


@needs_lighteval
@pytest.mark.parametrize("profile", PROFILES)
@CONFIGS
def test_scores_are_those_of_quadrag_run_to_the_last_digit(
    benchmark: str, config: str, profile: str, ran: dict[str, Ran], run: tuple[Path, list[str]]
) -> None:
    assert ran[profile].done.returncode == 0, ran[profile].done.stderr[-3000:]
    (file,) = (ran[profile].out / "results" / "org" / "m").glob("results_*.json")
    found = json.loads(file.read_text("utf-8"))["results"][f"quadrag_{benchmark}_{config}|0"]
    theirs = {name: None if math.isnan(value) else value for name, value in found.items() if "_stderr" not in name}
    ours = score_rows(run[0] / f"{benchmark}-{config}", profile)
    assert theirs == ours
    assert any(value not in (None, 0.0, 1.0) for value in ours.values())

    items = {row["id"]: row for _, row in read_jsonl(run[0] / f"{benchmark}-{config}" / "items.jsonl")}
    rows = pq.read_table(details(ran[profile], benchmark, config)).to_pylist()
    assert {row["doc"]["specific"]["id"] for row in rows} == set(items)
    assert any(row["doc"]["specific"]["state"] == "api_error" for row in rows)
    for row, name in ((row, name) for row in rows for name in ours):
        entry = items[row["doc"]["specific"]["id"]][name]
        counts = entry[profile] is None and entry.get("reason", {}).get(profile) != "not_applicable"
        wanted = 0.0 if counts and profile == "corrected" else entry[profile]
        assert row["metric"][name] == wanted, (name, row["doc"]["specific"]["id"])


@needs_lighteval
@CONFIGS
def test_what_it_logged_is_scored_as_it_scored_it(
    benchmark: str, config: str, ran: dict[str, Ran], run: tuple[Path, list[str]], tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "answers.jsonl", read_lighteval_details(details(ran["official"], benchmark, config)))
    words = ["score", str(tmp_path / "answers.jsonl"), "--benchmark", benchmark, "--config", config]
    split, retriever = next((s, r) for b, c, s, r in ASKED if (b, c) == (benchmark, config))
    options = ["--split", split, "--data-dir", "sample", "--retriever", retriever, "--out", str(tmp_path / "scored")]
    assert main([*words, *options, "--max-failed", "1"]) == 0
    for profile in PROFILES:
        assert score_rows(tmp_path / "scored", profile) == score_rows(run[0] / f"{benchmark}-{config}", profile)


@needs_lighteval
def test_messages_are_those_of_quadrag_run(ran: dict[str, Ran], run: tuple[Path, list[str]]) -> None:
    assert ran["official"].sent == run[1]
    assert len(set(run[1])) > 50
    # What `quadrag run` left in its ledger is not asked for again, only what failed.
    rows = [row for file in sorted(run[0].glob("*/answers.jsonl")) for _, row in read_jsonl(file)]
    failed = [row for row in rows if row["state"] == "api_error"]
    assert len(ran["corrected"].sent) == len(failed) > 5
    assert "calls failed and are unscored" in ran["corrected"].done.stderr


@needs_lighteval
def test_a_setting_with_a_slip_is_refused_in_one_line(ran: dict[str, Ran]) -> None:
    done = ran["slip"].done
    assert done.returncode == 2
    assert f"quadrag: unknown setting in {VARIABLE} 'profil'; nearest: profile" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert ran["slip"].sent == []


@needs_lighteval
def test_nothing_is_written_beside_its_folders(ran: dict[str, Ran]) -> None:
    home = ran["official"].out.parent
    assert sorted(file.name for file in home.iterdir() if not file.name.startswith("ledger")) == ["out", "quadrag"]


@needs_lighteval
def test_a_dead_server_is_one_line(
    capsys: pytest.CaptureFixture[str], tasks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lighteval.models.custom.custom_model import CustomModelConfig

    monkeypatch.setenv(VARIABLE, json.dumps({"data_dir": "sample", "ledger": str(tmp_path / "ledger.sqlite")}))
    model_file = loaded("model")
    with ChatServer(rules=[Rule("status", status=401)]) as server:
        config = CustomModelConfig(model_name=f"{server.url}#m", model_definition_file_path="model.py")
        model = model_file.ChatModel(config)
        rows = data(asked(tasks, "crag_qa"))
        with pytest.raises(SystemExit, match="2"):
            model.greedy_until([tasks.document(row, "quadrag_crag_qa") for row in rows])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("quadrag: ")
    assert "401" in line
    with pytest.raises(SystemExit, match="2"):
        model.loglikelihood([])
    assert "a chat server gives no likelihoods" in capsys.readouterr().err
    model.cleanup()


def test_a_folder_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="2"), one_line():
        (tmp_path / "none" / "file").write_text("")
    assert capsys.readouterr().err == f"quadrag: {tmp_path}/none/file: No such file or directory\n"


@needs_lighteval
def test_examples_are_refused(capsys: pytest.CaptureFixture[str], tasks: Any) -> None:
    with pytest.raises(SystemExit, match="2"):
        tasks.document({"__few_shots": True}, "quadrag_crag_qa")
    assert "the protocol shows none; write quadrag_crag_qa|0" in capsys.readouterr().err
