"""The tasks of all harnesses are those of the catalogue, with the split and the passages that their settings name."""

import json

import pytest
import yaml

from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.cli import main
from quadrag.errors import QuadragError
from quadrag.harnesses.examination import Examination

pytestmark = pytest.mark.plugins

PLACE = ("rgb", "noise_robustness_en", "noise_0")
WITHOUT = {"corpus", "ragquesteval"}  # configs that hold no questions


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Every YAML file that is written for lm-eval, by the name of its task or group."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
    folder = tmp_path_factory.mktemp("tasks") / "new"
    assert main(["harness", "lm-eval", str(folder)]) == 0
    found = [yaml.load(file.read_text(encoding="utf-8"), Loader) for file in folder.iterdir()]
    return {read.get("group") or read["task"]: read for read in found}


def test_every_config_with_questions_is_a_task_and_in_the_split_that_is_there(written, capsys):
    single = [task for task in written.values() if "dataset_name" in task]
    wanted, names = set(), set()
    for benchmark in catalogue.benchmarks():
        for config in set(catalogue.configs(benchmark)) - WITHOUT:
            name, usual = f"quadrag_{benchmark}_{config}", load(benchmark).default_split
            first, *others = [usual] if usual else catalogue.config(benchmark, config).splits
            wanted |= {(name, benchmark, config, first)}
            wanted |= {(f"{name}_{split}", benchmark, config, split) for split in others}
            names |= {f"quadrag/{benchmark}_{config}"}
    found = {(task["task"], task["dataset_path"], task["dataset_name"], task["test_split"]) for task in single}
    assert found == wanted
    assert len(found) == len(single) == 47
    for task in single:
        assert task["generation_kwargs"]["temperature"] == load(task["dataset_path"]).temperature
    assert main(["harness", "inspect"]) == 0
    assert set(capsys.readouterr().out.split()) == names


def test_the_groups_are_the_configs_of_the_papers_tables(written):
    groups = {name: task for name, task in written.items() if "group" in task}
    assert set(groups) == {f"quadrag_{benchmark}" for benchmark in catalogue.benchmarks()}
    for benchmark in catalogue.benchmarks():
        members = groups[f"quadrag_{benchmark}"]["task"]
        asked = {written[name]["dataset_name"] for name in members}
        # CRAG's model alone is asked the same questions without pages.
        assert asked == {config for config, _ in load(benchmark).paper_runs(False)} | (
            {"qa"} & {*catalogue.configs(benchmark)}
        )


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"noise_ration": 0.4}, "unknown setting 'noise_ration'; nearest: noise_ratio"),
        ({"profile": "offical"}, "unknown profile 'offical'; nearest: official"),
        ({"data_dir": 2024}, "data_dir is 2024"),
        ({"split": ["test"]}, "split is"),
        ({"retriever": "pages"}, "retriever pages is not run within a harness; expected none or own"),
        ({"data_dir": "nowhere"}, "nowhere"),
    ],
)
def test_a_setting_that_cannot_be_had_is_refused_in_one_line(setting, error):
    with pytest.raises(QuadragError) as caught:
        Examination(*PLACE, {"data_dir": "sample", **setting})
    assert error in str(caught.value) and "\n" not in str(caught.value)


def test_passages_of_another_split_are_refused_and_those_of_a_run_bring_its_retriever(tmp_path):
    run = ["run", *PLACE[:2], "--split", "noise_0", "--data-dir", "sample", "--out", str(tmp_path)]
    assert main(run) == 0
    settings = {"data_dir": "sample", "retrieved": str(tmp_path / "retrieved.jsonl")}
    with pytest.raises(QuadragError):
        Examination(*PLACE, {**settings, "split": "noise_20"})
    examination = Examination(*PLACE, settings)
    first = examination.questions[0]
    assert json.loads(examination.document(first)["conditions"]) == {"retriever": "own", "options": {}}
    assert examination.passages[first.key] == first.passages
