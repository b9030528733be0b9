"""`load_dataset` and `evaluate.load` by every route there is, under the version of `datasets` that runs this file.

`TABLE` is the README's table of routes. Each of its rows is done here as it is typed there, for every benchmark or
metric: from the caches that `quadrag prepare` fills, from repositories on a Hub, from folders.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import evaluate
import pytest
from hub_server import HubServer

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.hub.export.repository import export

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Environment = Callable[..., dict[str, str]]

THREE = datasets.__version__.startswith("3.")
NO_SCRIPTS = "Dataset scripts are no longer supported"


class Row(NamedTuple):
    """One route.

    Attributes:
        what: ``dataset`` or ``metric``.
        route: what is named.
        call: as it is typed, once for each `{name}`; `{config}` and `{split}` are that benchmark's.
        three: under `datasets` 3.6: ``yes``, or how the refusal begins.
        later: the same under `datasets` 4 and later.
    """

    what: str
    route: str
    call: str
    three: str = "yes"
    later: str = "yes"


TABLE = (
    Row("dataset", "name, after `quadrag prepare`", 'load_dataset("{name}", "{config}", split="{split}")'),
    Row("dataset", "repository", 'load_dataset("ORG/{name}", "{config}", split="{split}")'),
    Row("dataset", "repository, streamed", 'load_dataset("ORG/{name}", "{config}", split="{split}", streaming=True)'),
    Row(
        "dataset",
        "repository, some columns",
        'load_dataset("ORG/{name}", "{config}", split="{split}", columns={columns})',
    ),
    Row(
        "dataset",
        "repository, some columns, streamed",
        'load_dataset("ORG/{name}", "{config}", split="{split}", columns={columns}, streaming=True)',
    ),
    Row("dataset", "repository, its configs", 'get_dataset_config_names("ORG/{name}")'),
    Row("dataset", "exported folder", 'load_dataset("hub/{name}", "{config}", split="{split}")'),
    Row(
        "dataset",
        "script's folder",
        'load_dataset("datasets_scripts/{name}", "{config}", split="{split}",'
        ' data_dir="datasets_scripts/{name}/sample", trust_remote_code=True)',
        later=NO_SCRIPTS,
    ),
    Row("metric", "name, after `quadrag prepare`", 'evaluate.load("{name}")'),
    Row("metric", "Space", 'evaluate.load("ORG/{name}")'),
    Row("metric", "folder", 'evaluate.load("metrics/{name}")'),
    Row("metric", "file", 'evaluate.load("metrics/{name}/{name}.py")'),
)

ROOT = Path(__file__).parents[3]
ORG = "quadrag-test"
READ = {
    "rgb": ("noise_robustness_zh", "noise_40"),
    "crud_rag": ("qa_2doc", "test"),
    "crag": ("task_1_2", "public"),
    "omnieval": ("conversational_qa", "auto"),
}
# What each metric is asked, as an expression.
COMPUTE = {
    "rgb_accuracy": 'dict(predictions=["About 170 km.", "On 3 January."], references=["70", ["3 January", "9 May"]])',
    "crud_overlap": 'dict(predictions=["上海市体育局发放了", ""], references=["上海市体育局发放了500万元。"] * 2)',
    "ragquesteval": """dict(
        predictions=["西安市发放500万元。"], references=["西安市发放500万元，173家场馆可用。"], ids=["a"],
        question_cache={"a": {"question": ["哪里？", "多少？", "几家？"], "answers": ["西安市", "500万元", "173家"]}},
        judge=lambda requests: ["\\n".join(
            f"问题 {n}\\n<response>\\n{text}\\n</response>"
            for n, text in enumerate(["西安市", "500万元", "无法推断"], 1)
        ) for _ in requests],
    )""",
}
LOAD = """
import json, sys
import evaluate
from datasets import disable_progress_bars, get_dataset_config_names, load_dataset
disable_progress_bars()
evaluate.disable_progress_bar()
calls, compute, loaded = json.loads(sys.argv[1]), json.loads(sys.argv[2]), {}
for name, call in calls.items():
    try:
        found = eval(call)
        loaded[name] = found.compute(**eval(compute[name])) if name in compute else list(found)
    except RuntimeError as error:
        loaded[name] = f"{error}"
print(json.dumps(loaded))
"""
PREPARE = """
import sys
from quadrag.cli import main
for name, config in zip(sys.argv[1::2], sys.argv[2::2]):
    sys.argv[1:] = ["prepare", name, "--config", config, "--data-dir", "sample"]
    if main():
        sys.exit(1)
"""
# A dataset that somebody pushes by `datasets` itself, twice.
PUSH = """
import json, sys
from datasets import disable_progress_bars, load_dataset
disable_progress_bars()
folder, config, name = sys.argv[1:]
loaded = load_dataset(folder, config)
for _ in range(2):
    print(loaded.push_to_hub(name, config).oid)
"""
UPLOAD = """
import sys
from huggingface_hub import HfApi
from huggingface_hub.utils import disable_progress_bars
disable_progress_bars()
api = HfApi()
for kind, name, folder in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]):
    api.create_repo(name, repo_type=kind, space_sdk="gradio" if kind == "space" else None)
    api.upload_folder(repo_id=name, repo_type=kind, folder_path=folder, ignore_patterns="__pycache__/*")
"""


class Place(NamedTuple):
    hub: HubServer
    exported: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A Hub, and the samples of all benchmarks exported."""
    folder = tmp_path_factory.mktemp("exported")
    export(folder, data_dir=builders.SAMPLE)
    with HubServer({"hf_ann": {"name": "ann", "orgs": {ORG: "write"}}}) as hub:
        yield Place(hub, folder)


@pytest.fixture
def elsewhere(tmp_path: Path, place: Place) -> Path:
    """The folder that processes run in, with what the calls name below it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "hub").symlink_to(place.exported)
    (folder / "metrics").symlink_to(catalogue.metric_folder("rgb_accuracy").parent)
    (folder / "datasets_scripts").symlink_to(sample_dir("rgb").parents[1])
    return folder


@pytest.fixture
def uploaded(place: Place, forked_python: Process, environment: Environment, tmp_path: Path) -> HubServer:
    """The Hub, to which the genuine client has uploaded every benchmark and metric."""
    if not place.hub.repos:
        folders = [("dataset", name, place.exported / name) for name in catalogue.benchmarks()]
        folders += [("space", name, catalogue.metric_folder(name)) for name in catalogue.metrics()]
        given = [each for kind, name, folder in folders for each in (kind, f"{ORG}/{name}", folder)]
        done = forked_python(UPLOAD, *given, env=environment(tmp_path / "uploader", **place.hub.environment("hf_ann")))
        assert done.returncode == 0, done.stderr
    return place.hub


@cache
def rows(name: str) -> list[dict[str, Any]]:
    config, split = READ[name]
    return list(builders.rows(builders.open_builder(name, config, builders.SAMPLE)[0], split))


@cache
def results() -> dict[str, Any]:
    """What the metrics compute, by name."""
    loaded = {name: evaluate.load(str(catalogue.metric_folder(name))) for name in COMPUTE}
    return {name: metric.compute(**eval(COMPUTE[name])) for name, metric in loaded.items()}


def expected(row: Row) -> dict[str, Any]:
    """What a row is to bring, by name."""
    if row.what == "metric":
        return results()
    if "get_dataset_config_names" in row.call:
        return {name: list(catalogue.configs(name)) for name in READ}
    if "columns" in row.call:
        return {name: [{column: each[column] for column in columns(name)} for each in rows(name)] for name in READ}
    return {name: rows(name) for name in READ}


def columns(name: str) -> list[str]:
    return list(catalogue.builder_class(name)(config_name=READ[name][0]).info.features)[:2]


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.what}: {row.route}".replace("`", ""))
def test_each_route(
    row: Row, request: pytest.FixtureRequest, elsewhere: Path, forked_python: Process, environment: Environment
) -> None:
    hub = request.getfixturevalue("uploaded") if "ORG" in row.call else request.getfixturevalue("place").hub
    env = environment(**hub.environment())
    if "prepare" in row.route:
        given = [each for name, (config, _) in READ.items() for each in (name, config)]
        done = forked_python(PREPARE, *(given[:2] if row.what == "metric" else given), env=env)
        assert done.returncode == 0, done.stderr
    named = READ if row.what == "dataset" else dict.fromkeys(COMPUTE, ("", ""))
    calls = {
        name: row.call.replace("ORG/", f"{ORG}/").format(
            name=name, config=config, split=split, columns=columns(name) if row.what == "dataset" else ""
        )
        for name, (config, split) in named.items()
    }
    hub.clear()
    done = forked_python(LOAD, json.dumps(calls), json.dumps(COMPUTE), env=env)
    assert done.returncode == 0, done.stderr
    found, said = json.loads(done.stdout), row.three if THREE else row.later
    if said == "yes":
        assert found == json.loads(json.dumps(expected(row)))
    else:
        assert all(each.startswith(said) for each in found.values()), found
    # What names a repository is read from there, and a name or folder from nowhere else.
    read = {path for _, path in hub.requests if "/resolve/" in path}
    for name in named:
        assert any(f"/{ORG}/{name}/resolve/" in path for path in read) == ("ORG/" in row.call)


@pytest.mark.slow
def test_pushed_by_datasets_itself(
    elsewhere: Path, place: Place, forked_python: Process, environment: Environment, tmp_path: Path
) -> None:
    config, split = READ["crag"]
    env = environment(tmp_path / "pusher", **place.hub.environment("hf_ann"))
    done = forked_python(PUSH, "hub/crag", config, f"{ORG}/mine", env=env)
    assert done.returncode == 0, done.stderr
    repo = place.hub.repos["dataset", f"{ORG}/mine"]
    assert done.stdout.split()[-1] == repo.head and repo.objects
    # The second push sends no object again.
    objects = {path: size for path, size in place.hub.bytes_in.items() if path.startswith(f"/lfs/datasets/{ORG}/mine/")}
    assert sorted(objects.values()) == sorted(map(len, repo.objects.values()))
    call = f'load_dataset("{ORG}/mine", "{config}", split="{split}")'
    other = os.environ.get("QUADRAG_OTHER_PYTHON")
    for executable in filter(None, (sys.executable, other)):
        env = environment(tmp_path / Path(executable).parts[-3], **place.hub.environment())
        done = forked_python(LOAD, json.dumps({"crag": call}), "{}", env=env, executable=executable)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["crag"] == rows("crag")


def test_the_page_of_the_hub_shows_the_table() -> None:
    text = (ROOT / "docs" / "hub.md").read_text(encoding="utf-8")
    calls = re.findall(
        r"^\| [^|]+ \| `((?:load_dataset|get_dataset|evaluate)[^`]+)` \| ([^|]+) \| ([^|]+) \|$", text, re.M
    )
    shown = {call: tuple(not said.startswith(("no", "不")) for said in columns) for call, *columns in calls}
    config, split = READ["rgb"]
    wanted = {}
    for row in TABLE:
        name = "rgb" if row.what == "dataset" else "rgb_accuracy"
        call = row.call.format(name=name, config=config, split=split, columns='["id", "query"]')
        call = call.replace(' data_dir="datasets_scripts/rgb/sample",', "")  # where the script's own files are
        wanted[call] = (row.three == "yes", row.later == "yes")
    assert shown == wanted
