"""`quadrag export`: what it writes loads and streams under every version of `datasets`, as the builders say it."""

import json
import random
import shutil
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from exported import copy_sample, files_below

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.builders import prepare
from quadrag.data.card_facts import card_facts
from quadrag.data.files import sample_dir
from quadrag.errors import QuadragError
from quadrag.hub.export import MANIFEST, export, split_card, write_split

pytestmark = pytest.mark.plugins

BENCHMARKS = sorted(catalogue.benchmarks())
# Each config and split of a repository's card, loaded and streamed; and without the pages.
LOAD = """
import json, sys
from datasets import disable_progress_bars, get_dataset_config_names, load_dataset
disable_progress_bars()
path, rows, features = sys.argv[1], {}, {}
for config in get_dataset_config_names(path):
    whole, streamed = load_dataset(path, config), load_dataset(path, config, streaming=True)
    rows[config] = {split: list(whole[split]) for split in whole}
    assert {split: list(streamed[split]) for split in whole} == rows[config]
    (features[config],) = {json.dumps(each.features.to_dict()) for each in [*whole.values(), *streamed.values()]}
    if "page_result" in features[config]:
        some = load_dataset(path, config, split="public", columns=["id", "query"], streaming=True)
        assert list(some) == [{name: row[name] for name in ("id", "query")} for row in whole["public"]]
print(json.dumps([rows, features]))
"""


def expected(benchmark):
    """The rows of the sample that quadrag itself reads, of all configs and splits."""
    opened = {name: builders.open_builder(benchmark, name, builders.SAMPLE)[0] for name in catalogue.configs(benchmark)}
    return {
        name: {split: list(builders.rows(builder, split)) for split in builders.splits(builder)}
        for name, builder in opened.items()
    }


def parts_of(folder):
    return split_card((folder / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "benchmark", [pytest.param(name, marks=[] if name == "crag" else pytest.mark.slow) for name in BENCHMARKS]
)
def test_every_config_and_split_loads_and_streams(forked_python, environment, samples, benchmark):
    done = forked_python(LOAD, samples / benchmark, env=environment())
    assert done.returncode == 0, done.stderr
    rows = expected(benchmark)
    loaded, features = json.loads(done.stdout)
    assert loaded == rows
    for config in rows:
        info = catalogue.builder_class(benchmark)(config_name=config).info
        assert json.loads(features[config]) == info.features.to_dict()


def test_another_version_loads_the_same(forked_python, environment, samples, other_python):
    done = forked_python(LOAD, samples / "crud_rag", env=environment(), executable=other_python)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0] == expected("crud_rag")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_card_says_what_is_there(samples, benchmark):
    header, body = parts_of(samples / benchmark)
    hand, original = split_card(catalogue.card(benchmark).read_text(encoding="utf-8"))
    assert all(pq.read_schema(path).metadata is None for path in (samples / benchmark).rglob("*.parquet"))
    assert header.keys() == hand.keys() - {"quadrag"} | {"configs"}, "our own facts are nothing to the Hub"
    assert {key: header[key] for key in ("language", "tags")} == {key: hand[key] for key in ("language", "tags")}
    assert (header["license"], header["pretty_name"]) == ("apache-2.0", f"{hand['pretty_name']} (sample)")
    rows = {config: {split: len(each) for split, each in own.items()} for config, own in expected(benchmark).items()}
    files = {one["config_name"]: [each["split"] for each in one["data_files"]] for one in header["configs"]}
    assert files == {config: list(splits) for config, splits in rows.items()}
    for info in header["dataset_info"]:
        name = info["config_name"]
        assert {one["name"]: one["num_examples"] for one in info["splits"]} == rows[name]
        assert sum(one["num_bytes"] for one in info["splits"]) == info["dataset_size"] > 0
        shards = sorted((samples / benchmark / name).iterdir())
        assert [path.name for path in shards] == sorted(f"{split}-00000-of-00001.parquet" for split in rows[name])
        assert info["download_size"] == sum(path.stat().st_size for path in shards)
        assert all(f"| `{name}` | `{split}` | {count:,} | 1 |" in body for split, count in rows[name].items())
    # The whole of the hub card, caveats and citation included, with one section put before its others.
    before, after = original.split("\n## ", 1)
    assert body.startswith(f"{before}\n## What is here\n") and body.endswith(f"\n## {after}")


def test_non_commercial_data_are_written_under_their_licence_alone(tmp_path):
    folder = copy_sample("crag", tmp_path / "mine")
    with pytest.raises(QuadragError) as refused:
        export(tmp_path / "out", (), folder)
    assert "crag (cc-by-nc-4.0), rgb (cc-by-nc-sa-4.0)" in str(refused.value) and not (tmp_path / "out").exists()
    (done,) = export(tmp_path / "out", ["crag"], folder, accept_licence=True)
    header, body = parts_of(tmp_path / "out" / "crag")
    assert (header["license"], header["pretty_name"], done.kind) == ("cc-by-nc-4.0", "CRAG", "data")
    assert "\nRead from crag_task_1_and_2_dev_v5.jsonl.bz2: unverified: `qa`, `task_1_2`.\n" in body
    assert folder not in body, "a place on the exporter's machine"
    assert [len(lacking) for lacking in done.lacking.values()] == [1, 1, 1]


def test_a_partial_folder_gives_what_it_holds_and_a_bad_row_nothing(tmp_path):
    (tmp_path / "mine").mkdir()
    file = Path(shutil.copy(sample_dir("rgb") / "zh_int.json", tmp_path / "mine"))
    (done,) = export(tmp_path / "out", ["rgb"], str(tmp_path / "mine"), accept_licence=True)
    assert done.rows == {"information_integration_zh": {"noise_0": 12, "noise_20": 12, "noise_40": 12}}
    assert len(done.lacking) == 11 and done.lacking["negative_rejection_en"] == ["en_refine.json"]
    with pytest.raises(QuadragError, match="crag"):
        export(tmp_path / "out", ["crag"], str(tmp_path / "mine"), accept_licence=True)
    before = files_below(tmp_path / "out")
    with file.open("a", encoding="utf-8") as more:
        more.write("\n{'id': 12}\n")
    with pytest.raises(QuadragError, match=rf"^rgb information_integration_zh noise_0: {file}:14 "):
        export(tmp_path / "out", ["rgb"], str(tmp_path / "mine"), accept_licence=True)
    assert files_below(tmp_path / "out") == before


def test_what_was_prepared_is_exported(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    prepare("crag", None, copy_sample("crag", tmp_path / "mine"))
    export(tmp_path / "out", ["crag"], accept_licence=True)
    written = pq.read_table(tmp_path / "out" / "crag" / "task_3" / "public-00000-of-00001.parquet")
    assert written.to_pylist() == expected("crag")["task_3"]["public"]


@pytest.mark.parametrize("benchmark", [name for name in BENCHMARKS if card_facts(name).not_hosted])
def test_data_that_may_not_be_hosted_anew_go_out_as_a_recipe(tmp_path, benchmark):
    (done,) = export(tmp_path, [benchmark])
    assert (done.kind, done.rows) == ("recipe", {})
    assert sorted(path.name for path in (tmp_path / benchmark).rglob("*")) == [MANIFEST, "README.md"]
    header, body = parts_of(tmp_path / benchmark)
    assert not {"configs", "dataset_info", "quadrag"} & set(header) and header["viewer"] is False
    assert f"quadrag prepare {benchmark}\n" in body


def test_an_export_takes_the_place_of_one_and_of_nothing_else(tmp_path):
    export(tmp_path / "out", ["rgb"], builders.SAMPLE)
    (tmp_path / "mine").mkdir()
    shutil.copy(sample_dir("rgb") / "zh_int.json", tmp_path / "mine")
    export(tmp_path / "out", ["rgb"], str(tmp_path / "mine"), accept_licence=True)
    assert [path.name for path in (tmp_path / "out" / "rgb").glob("*/")] == ["information_integration_zh"]
    (tmp_path / "out" / "rgb" / ".git").mkdir()
    for benchmarks in (["crag", "rgb"], ["crag", "rgbb"]):
        before = files_below(tmp_path / "out")
        with pytest.raises(QuadragError, match="rgb"):
            export(tmp_path / "out", benchmarks, builders.SAMPLE)
        assert files_below(tmp_path / "out") == before
        shutil.rmtree(tmp_path / "out" / "rgb" / ".git", ignore_errors=True)
    (tmp_path / "out" / "rgb" / MANIFEST).unlink()
    with pytest.raises(QuadragError, match="rgb"):
        export(tmp_path / "out", ["rgb"], builders.SAMPLE)


def test_row_groups_are_small_and_shards_of_the_size_asked(tmp_path):
    draw = random.Random(6)
    schema = pa.schema([("id", pa.string()), ("page_result", pa.list_(pa.string()))])

    def row(number):
        return {"id": str(number), "page_result": [draw.randbytes(300_000).hex() for _ in range(5)]}  # 3 MB

    written = write_split(map(row, range(22)), schema, tmp_path, "public", shard_bytes=12_000_000)
    assert [pq.ParquetFile(tmp_path / name).num_row_groups for name in written.files] == [2, 2, 1]
    assert list(written.files) == [f"public-0000{number}-of-00003.parquet" for number in range(3)]
    ids = [pq.read_table(tmp_path / name, columns=["id"])["id"].to_pylist() for name in written.files]
    assert [each for part in ids for each in part] == [str(number) for number in range(written.rows)]
    # One that is larger than a group may be is a group of its own; small ones are a thousand together.
    for text, count, groups in [("x" * 17_000_000, 2, [1, 1]), ("x", 2500, [1000, 1000, 500]), ("", 0, [])]:
        rows = [{"id": "a", "page_result": [text]}] * count
        (file,) = write_split(rows, schema, tmp_path / str(count), "all").files
        metadata = pq.ParquetFile(tmp_path / str(count) / file).metadata
        assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == groups
    with pytest.raises(QuadragError, match=r"^rows 0 to 1: "):
        write_split([{"id": "a"}, {"id": ["b"]}], pa.schema([("id", pa.string())]), tmp_path / "bad", "all")
    assert not list((tmp_path / "bad").glob("*.parquet"))
