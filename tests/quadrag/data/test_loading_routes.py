"""`load_dataset` and `evaluate.load` by every route of this machine, under the `datasets` that runs this file.

`TABLE` are the rows of the page's table that need no Hub; each is done as it is typed there. A repository holds what an
exported folder holds.
"""

import json
from functools import cache
from typing import NamedTuple

import datasets
import evaluate
import pytest

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.hub.export import export

pytestmark = pytest.mark.plugins

THREE = datasets.__version__.startswith("3.")
NO_SCRIPTS = "Dataset scripts are no longer supported"


class Row(NamedTuple):
    """One route, as it is typed for each `{name}`, and what later versions say to it than 3.6; `yes` if it loads."""

    route: str
    call: str
    later: str = "yes"


LOADED = 'load_dataset("{name}", "{config}", split="{split}"'
EXPORTED = LOADED.replace("{name}", "hub/{name}")
TABLE = (
    Row("name, after `quadrag prepare`", f"{LOADED})"),
    Row("exported folder", f"{EXPORTED})"),
    Row("exported folder, streamed", f"{EXPORTED}, streaming=True)"),
    Row("exported folder, some columns", f"{EXPORTED}, columns={{columns}})"),
    Row("exported folder, some columns, streamed", f"{EXPORTED}, columns={{columns}}, streaming=True)"),
    Row("exported folder, its configs", 'get_dataset_config_names("hub/{name}")'),
    Row(
        "script's folder",
        'load_dataset("datasets_scripts/{name}", "{config}", split="{split}",'
        ' data_dir="datasets_scripts/{name}/sample", trust_remote_code=True)',
        NO_SCRIPTS,
    ),
    Row("name, after `quadrag prepare`", 'evaluate.load("{name}")'),
    Row("folder", 'evaluate.load("metrics/{name}")'),
    Row("file", 'evaluate.load("metrics/{name}/{name}.py")'),
)

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


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    export(folder, data_dir=builders.SAMPLE)
    return folder


@pytest.fixture
def elsewhere(tmp_path, exported):
    """The folder that processes run in, with what the calls name below it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "hub").symlink_to(exported)
    (folder / "metrics").symlink_to(catalogue.metric_folder("rgb_accuracy").parent)
    (folder / "datasets_scripts").symlink_to(sample_dir("rgb").parents[1])
    return folder


@cache
def rows(name):
    config, split = READ[name]
    return list(builders.rows(builders.open_builder(name, config, builders.SAMPLE)[0], split))


def columns(name):
    return list(catalogue.builder_class(name)(config_name=READ[name][0]).info.features)[:2]


def expected(row):
    if row.call.startswith("evaluate"):
        loaded = {name: evaluate.load(str(catalogue.metric_folder(name))) for name in COMPUTE}
        return {name: metric.compute(**eval(COMPUTE[name])) for name, metric in loaded.items()}
    if row.call.startswith("get_dataset_config_names"):
        return {name: list(catalogue.configs(name)) for name in READ}
    if "columns" in row.call:
        return {name: [{column: each[column] for column in columns(name)} for each in rows(name)] for name in READ}
    return {name: rows(name) for name in READ}


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.call[:8]}: {row.route}".replace("`", ""))
def test_each_route(row, elsewhere, python, environment):
    env, metric = environment(), row.call.startswith("evaluate")
    if "prepare" in row.route:
        given = [each for name, (config, _) in READ.items() for each in (name, config)]
        done = python(PREPARE, *(given[:2] if metric else given), env=env)
        assert done.returncode == 0, done.stderr
    named = dict.fromkeys(COMPUTE, ("", "")) if metric else READ
    calls = {
        name: row.call.format(name=name, config=config, split=split, columns="" if metric else columns(name))
        for name, (config, split) in named.items()
    }
    done = python(LOAD, json.dumps(calls), json.dumps(COMPUTE), env=env)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if THREE or row.later == "yes":
        assert found == json.loads(json.dumps(expected(row)))
    else:
        assert all(each.startswith(row.later) for each in found.values()), found
