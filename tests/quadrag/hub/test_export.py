"""`quadrag export`: what it writes loads and streams under every version of `datasets`, as the builders say it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
import yaml
from exported import copy_sample

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError
from quadrag.hub.export import parquet as export_parquet
from quadrag.hub.export.card import strip_place
from quadrag.hub.export.manifest import MANIFEST
from quadrag.hub.export.repository import Exported, export
from quadrag.hub.record import hub_record

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Environment = Callable[..., dict[str, str]]
BENCHMARKS = sorted(catalogue.benchmarks())
# Each config and split of a repository's card, loaded and streamed; and without the pages, as CRAG's card says.
LOAD = """
import json, sys
from datasets import disable_progress_bars, get_dataset_config_names, load_dataset
disable_progress_bars()
path, rows, features = sys.argv[1], {}, {}
for config in get_dataset_config_names(path):
    whole, streamed = load_dataset(path, config), load_dataset(path, config, streaming=True)
    assert list(whole) == list(streamed)
    rows[config] = {split: list(whole[split]) for split in whole}
    assert {split: list(streamed[split]) for split in whole} == rows[config]
    (features[config],) = {json.dumps(each.features.to_dict()) for each in [*whole.values(), *streamed.values()]}
    if "page_result" in features[config]:
        some = load_dataset(path, config, split="public", columns=["id", "query"], streaming=True)
        assert list(some) == [{name: row[name] for name in ("id", "query")} for row in whole["public"]]
print(json.dumps([rows, features]))
"""


@pytest.fixture
def python(forked_python: Process) -> Process:
    """Those that load many configs start as a fork of a process that has imported the large libraries."""
    return forked_python


def expected(benchmark: str, data_dir: str = builders.SAMPLE) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The rows that quadrag itself reads, of all configs and of the splits that are there."""
    opened = {name: builders.open_builder(benchmark, name, data_dir)[0] for name in catalogue.configs(benchmark)}
    return {
        name: {split: list(builders.rows(builder, split)) for split in builders.splits(builder)}
        for name, builder in opened.items()
    }


def parts_of(readme: Path) -> tuple[dict[str, Any], str]:
    """Header and body of a card."""
    _, header, body = readme.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(header), body


@pytest.mark.parametrize(
    "benchmark", [pytest.param(name, marks=[] if name == "crag" else pytest.mark.slow) for name in BENCHMARKS]
)
def test_every_config_and_split_loads_and_streams(
    python: Process, environment: Environment, samples: dict[str, Exported], benchmark: str
) -> None:
    done = python(LOAD, samples[benchmark].folder, env=environment())
    assert done.returncode == 0, done.stderr
    rows = expected(benchmark)
    loaded, features = json.loads(done.stdout)
    assert loaded == rows
    for config in rows:
        info = catalogue.builder_class(benchmark)(config_name=config).info
        assert json.loads(features[config]) == info.features.to_dict()
    counts = {config: {split: len(each) for split, each in splits.items()} for config, splits in rows.items()}
    assert samples[benchmark].rows == counts


def test_another_version_loads_the_same(
    python: Process, environment: Environment, samples: dict[str, Exported], other_python: str
) -> None:
    done = python(LOAD, samples["crud_rag"].folder, env=environment(), executable=other_python)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0] == expected("crud_rag")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_card_says_what_is_there(samples: dict[str, Exported], benchmark: str) -> None:
    done = samples[benchmark]
    header, body = parts_of(done.folder / "README.md")
    published, original = parts_of(Path(__file__).parents[3] / "hub_cards" / f"{benchmark}.md")
    assert {key: header[key] for key in ("language", "task_categories", "tags")} == {
        key: published[key] for key in ("language", "task_categories", "tags")
    }
    assert (header["license"], header["pretty_name"]) == ("apache-2.0", f"{published['pretty_name']} (sample)")
    total = sum(sum(splits.values()) for splits in done.rows.values())
    assert header["size_categories"] == ["n<1K" if total < 1000 else "1K<n<10K"]
    assert {one["config_name"]: [each["split"] for each in one["data_files"]] for one in header["configs"]} == {
        config: list(splits) for config, splits in done.rows.items()
    }
    size = 0
    for info in header["dataset_info"]:
        name = info["config_name"]
        assert {one["name"]: one["num_examples"] for one in info["splits"]} == done.rows[name]
        assert sum(one["num_bytes"] for one in info["splits"]) == info["dataset_size"] > 0
        features = catalogue.builder_class(benchmark)(config_name=name).info.features
        assert [one["name"] for one in info["features"]] == list(features)
        shards = list((done.folder / name).iterdir())
        assert all(re.fullmatch(r"\w+-00000-of-00001\.parquet", shard.name) for shard in shards)
        assert sum(shard.stat().st_size for shard in shards) == info["download_size"]
        size += info["download_size"]
        for split, count in done.rows[name].items():
            assert f"| `{name}` | `{split}` | {count:,} | 1 |" in body
    assert done.size == size
    # The whole of the hub card, caveats and citation included, with one section put before its others.
    before, after = original.split("\n## ", 1)
    assert body.startswith(f"{before}\n## What is here\n")
    assert body.endswith(f"\n## {after}")
    assert "made up in the form of the benchmark's" in body


def test_features_are_spelled_so_that_every_version_reads_them(samples: dict[str, Exported]) -> None:
    header, _ = parts_of(samples["rgb"].folder / "README.md")
    (info,) = [one for one in header["dataset_info"] if one["config_name"] == "information_integration_zh"]
    features = {one["name"]: {key: one[key] for key in one if key != "name"} for one in info["features"]}
    assert features["id"] == {"dtype": "int64"}
    assert features["documents"] == {"list": "string"}
    assert features["answer"] == features["positive"] == {"list": {"list": "string"}}
    text = (samples["omnieval"].folder / "README.md").read_text(encoding="utf-8")
    assert "sequence:" not in text
    # Nor in the files, whose metadata a reader of theirs alone would go by.
    for path in samples["omnieval"].folder.rglob("*.parquet"):
        assert pq.read_schema(path).metadata is None


def test_non_commercial_data_are_written_under_their_licence_alone(tmp_path: Path) -> None:
    folder = copy_sample("crag", tmp_path / "mine")
    with pytest.raises(QuadragError) as caught:
        export(tmp_path / "out", (), folder)
    assert str(caught.value) == (
        "not for commercial use: crag (cc-by-nc-4.0), rgb (cc-by-nc-sa-4.0); with --accept-licence they are written"
        " under that licence, or name other benchmarks"
    )
    assert not (tmp_path / "out").exists()
    (done,) = export(tmp_path / "out", ["crag"], folder, accept_licence=True)
    header, body = parts_of(done.folder / "README.md")
    assert (header["license"], header["pretty_name"], done.kind) == ("cc-by-nc-4.0", "CRAG", "data")
    assert "made up in the form" not in body
    name = "crag_task_1_and_2_dev_v5.jsonl.bz2: unverified"
    assert f"\nRead from {name}: `qa`, `task_1_2`.\n" in body
    assert folder not in (done.folder / "README.md").read_text(encoding="utf-8")
    assert done.lacking["qa"] == [
        "the split private (withheld by the authors: name a file of yours by the option private_file)"
    ]


def test_a_partial_folder_gives_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    shutil.copy(sample_dir("rgb") / "zh_int.json", tmp_path / "mine")
    (done,) = export(tmp_path / "out", ["rgb"], str(tmp_path / "mine"), accept_licence=True)
    assert done.rows == {"information_integration_zh": {"noise_0": 12, "noise_20": 12, "noise_40": 12}}
    assert len(done.lacking) == 11
    assert done.lacking["negative_rejection_en"] == ["en_refine.json"]
    with pytest.raises(QuadragError, match=r"/mine holds none of the files of crag: lacking data/crag_task_1"):
        export(tmp_path / "out", ["crag"], str(tmp_path / "mine"), accept_licence=True)


def test_a_bad_row_gets_one_line_and_no_repository(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "zh_int.json"
    shutil.copy(sample_dir("rgb") / "zh_int.json", file)
    with file.open("a", encoding="utf-8") as more:
        more.write("\n{'id': 12}\n")
    with pytest.raises(QuadragError) as caught:
        export(tmp_path / "out", ["rgb"], str(tmp_path / "mine"), accept_licence=True)
    assert str(caught.value).startswith(f"rgb information_integration_zh noise_0: {file}:14 is not JSON")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out" / "rgb").exists()


def test_what_was_prepared_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = copy_sample("crag", tmp_path / "mine")
    prepare("crag", None, folder)
    (done,) = export(tmp_path / "out", ["crag"], accept_licence=True)
    name = "crag_task_1_and_2_dev_v5.jsonl.bz2"
    assert done.sources["qa"] == f"{folder} ({name}: unverified), as prepared"
    assert done.lacking == {name: ["the split private"] for name in catalogue.configs("crag")}
    written = pq.read_table(done.folder / "task_3" / "public-00000-of-00001.parquet")
    assert written.to_pylist() == expected("crag")["task_3"]["public"]
    # The same rows, whichever way they are read.
    (again,) = export(tmp_path / "out", ["crag"], folder, accept_licence=True)
    assert not again.made


@pytest.mark.parametrize("benchmark", [name for name in BENCHMARKS if hub_record(name).not_hosted])
def test_data_that_may_not_be_hosted_anew_go_out_as_a_recipe(tmp_path: Path, benchmark: str) -> None:
    (done,) = export(tmp_path / "out", [benchmark], copy_sample(benchmark, tmp_path / "mine"), accept_licence=True)
    assert (done.kind, done.made, done.rows, done.size) == ("recipe", True, {}, 0)
    assert sorted(path.name for path in done.folder.rglob("*")) == [MANIFEST, "README.md"]
    header, body = parts_of(done.folder / "README.md")
    assert not {"configs", "dataset_info"} & set(header)
    assert f"quadrag prepare {benchmark}\n" in body
    assert "not hosted here" in body or "not passed on here" in body
    assert "```bibtex" in body
    # It needs no data at all.
    assert not export(tmp_path / "out", [benchmark])[0].made


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("the authors' files, verified", "the authors' files, verified"),
        ("the authors' files, verified, as prepared", "the authors' files, verified"),
        ("/home/me (1)/RGB (zh.json: not the authors' own file)", "zh.json: not the authors' own file"),
        ("the authors' files, verified and /home/me/private.jsonl", ""),
    ],
)
def test_a_card_names_no_place_on_the_exporters_machine(source: str, said: str) -> None:
    assert strip_place(source) == said


@pytest.mark.slow
def test_real_crag_rows_go_out_whole(tmp_path: Path, real_data: Callable[[str], Path]) -> None:
    root = str(real_data("CRAG"))
    (done,) = export(tmp_path, ["crag"], root, accept_licence=True)
    assert "example file dev_data.jsonl.bz2 in place of" in (done.folder / "README.md").read_text(encoding="utf-8")
    builder, _ = builders.open_builder("crag", "task_1_2", root)
    (split,) = builders.splits(builder)
    table = pq.read_table(done.folder / "task_1_2" / f"{split}-00000-of-00001.parquet")
    assert table.to_pylist() == list(builders.rows(builder, split))
    assert export_parquet.SHARD_BYTES > done.size > 1_000_000
