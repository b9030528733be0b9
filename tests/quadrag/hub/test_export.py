"""`quadrag export`: what it writes loads and streams under every version of `datasets`, as the builders say it."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from filelock import FileLock

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError
from quadrag.hub.export import parquet as export_parquet
from quadrag.hub.export.card import strip_place
from quadrag.hub.export.manifest import MANIFEST
from quadrag.hub.export.parquet import write_split
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


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exported]:
    """The samples of all benchmarks, exported."""
    done = export(tmp_path_factory.mktemp("exported"), data_dir=builders.SAMPLE)
    assert [one.benchmark for one in done] == BENCHMARKS
    return {one.benchmark: one for one in done}


def expected(benchmark: str, data_dir: str = builders.SAMPLE) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The rows that quadrag itself reads, of all configs and of the splits that are there."""
    opened = {name: builders.open_builder(benchmark, name, data_dir)[0] for name in catalogue.configs(benchmark)}
    return {
        name: {split: list(builders.rows(builder, split)) for split in builders.splits(builder)}
        for name, builder in opened.items()
    }


def files_below(folder: Path) -> dict[str, tuple[int, str]]:
    """Time of writing and content of each file of a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def contents(folder: Path) -> dict[str, str]:
    """Content of each file of a folder."""
    return {name: content for name, (_, content) in files_below(folder).items()}


def parts_of(readme: Path) -> tuple[dict[str, Any], str]:
    """Header and body of a card."""
    _, header, body = readme.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(header), body


def copied(benchmark: str, folder: Path) -> str:
    """The sample under another name: files that the user has."""
    shutil.copytree(sample_dir(benchmark), folder)
    return str(folder)


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
    python: Process, environment: Environment, samples: dict[str, Exported]
) -> None:
    other = os.environ.get("QUADRAG_OTHER_PYTHON")
    if not other:
        pytest.skip("QUADRAG_OTHER_PYTHON names no interpreter with another version of datasets")
    done = python(LOAD, samples["crud_rag"].folder, env=environment(), executable=other)
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


def test_row_groups_are_small_and_shards_of_the_size_asked(tmp_path: Path) -> None:
    draw = random.Random(6)
    builder = catalogue.builder_class("crag")(config_name="task_1_2")
    schema = builder.info.features.arrow_schema

    def row(number: int) -> dict[str, Any]:
        pages = [draw.randbytes(300_000).hex() for _ in range(5)]  # 3 MB that hardly pack
        return {"id": str(number), "alternatives": [], "search_results": [], "page_result": pages}

    told: list[int] = []
    written = write_split(map(row, range(22)), schema, tmp_path, "public", told.append, shard_bytes=12_000_000)
    assert told == [5, 10, 15, 20, 22]
    assert list(written.files) == [f"public-0000{number}-of-00003.parquet" for number in range(3)]
    assert written.rows == 22
    ids = []
    for name, size in written.files.items():
        file = pq.ParquetFile(tmp_path / name)
        assert size < 25_000_000
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            assert group.num_rows <= 5
            columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
            others = [c.total_compressed_size for path, c in columns.items() if not path.startswith("page_result")]
            assert sum(others) < 10_000
        ids += file.read(columns=["id"])["id"].to_pylist()
    assert ids == [str(number) for number in range(22)]
    # One that is larger than a group may be is a group of its own; small ones are a thousand together.
    large = [{"id": str(number), "page_result": ["x" * 17_000_000]} for number in range(2)]
    written = write_split(iter(large), schema, tmp_path / "large", "public")
    assert pq.ParquetFile(tmp_path / "large" / next(iter(written.files))).num_row_groups == 2
    written = write_split(({"id": str(number)} for number in range(2500)), schema, tmp_path / "small", "public")
    metadata = pq.ParquetFile(tmp_path / "small" / next(iter(written.files))).metadata
    assert [metadata.row_group(number).num_rows for number in range(3)] == [1000, 1000, 500]


def test_rows_are_taken_a_group_at_a_time(tmp_path: Path) -> None:
    ahead = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal ahead
        for number in range(3500):
            ahead += 1
            yield {"id": str(number)}

    def told(count: int) -> None:
        assert ahead <= count + 1, "no more than the row that begins the next group"

    write_split(rows(), pa.schema([("id", pa.string())]), tmp_path, "all", told)
    assert ahead == 3500


def test_a_row_that_does_not_fit_gets_one_line(tmp_path: Path) -> None:
    rows = [{"id": "a"}, {"id": ["b"]}]
    with pytest.raises(QuadragError, match=r"^rows 0 to 1: .*; expected the columns of the card$"):
        write_split(rows, pa.schema([("id", pa.string())]), tmp_path, "all")
    assert not list(tmp_path.glob("*.parquet"))


def test_an_empty_split_is_one_file(tmp_path: Path) -> None:
    written = write_split([], pa.schema([("id", pa.string())]), tmp_path, "all")
    assert (written.rows, list(written.files)) == (0, ["all-00000-of-00001.parquet"])
    assert pq.read_table(tmp_path / "all-00000-of-00001.parquet").num_rows == 0


def test_what_stands_there_is_left_alone(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    (first,) = export(tmp_path, ["rgb"], builders.SAMPLE, progress=lambda *now: told.append(now))
    assert told[:2] == [("rgb noise_robustness_en noise_0", 0), ("rgb noise_robustness_en noise_0", 12)]
    before = files_below(tmp_path)
    (second,) = export(tmp_path, ["rgb", "rgb"], builders.SAMPLE, progress=lambda *now: told.append(now))
    assert len(told) == 2 * 32
    assert second == first._replace(made=False)
    assert files_below(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rgb"], "nothing else is left"


def test_an_interrupted_export_goes_on(samples: dict[str, Exported], tmp_path: Path) -> None:
    class Stop(Exception):
        """The process ends here."""

    def stop(label: str, rows: int) -> None:
        if label == "crag task_1_2 validation" and rows:
            raise Stop

    with pytest.raises(Stop):
        export(tmp_path, ["crag"], builders.SAMPLE, progress=stop)
    assert not (tmp_path / "crag").exists()
    (aside,) = (path for path in tmp_path.iterdir() if path.is_dir())
    kept = {name: found for name, found in files_below(aside).items() if name.startswith("qa/")}
    assert len(kept) == 2
    (aside / "qa" / "public-00000-of-00001.parquet").write_bytes(b"PAR1")  # a power cut may leave so much
    kept = {name: found for name, found in kept.items() if "validation" in name}
    told: dict[str, int] = {}
    (done,) = export(tmp_path, ["crag"], builders.SAMPLE, progress=lambda label, rows: told.update({label: rows}))
    assert list(told) == [
        "crag qa public",
        *(f"crag {config} {split}" for config in ("task_1_2", "task_3") for split in ("validation", "public")),
    ]
    assert done.made
    assert kept.items() <= files_below(done.folder).items()
    assert contents(done.folder) == contents(samples["crag"].folder), "as if never interrupted"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crag"]
    assert not list(tmp_path.rglob("*.part"))
    # What was begun on other inputs is begun anew.
    done.folder.rename(tmp_path / ".crag.part")
    folder = copied("crag", tmp_path / "mine")
    told.clear()
    (done,) = export(
        tmp_path, ["crag"], folder, accept_licence=True, progress=lambda label, rows: told.update({label: rows})
    )
    assert len(told) == 6
    assert done.kind == "data"


def test_a_full_disk_is_said_with_the_place(forked_python: Process, environment: Environment, tmp_path: Path) -> None:
    # A limit on the size of files fails a write as a full disk does.
    code = """
import resource, sys
from quadrag.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, resource.RLIM_INFINITY))
sys.exit(main(["export", sys.argv[1], "--benchmark", "crag", "--data-dir", "sample"]))
"""
    done = forked_python(code, str(tmp_path / "out"), env=environment())
    assert done.returncode == 2
    *_, said = done.stderr.splitlines()
    assert said.startswith(f"quadrag: {tmp_path / 'out'}")
    assert said.endswith(": File too large")


def test_what_another_wrote_is_refused_by_name(tmp_path: Path) -> None:
    folder = copied("rgb", tmp_path / "mine")
    out = tmp_path / "out"
    export(out, ["rgb"], builders.SAMPLE)
    before = files_below(out)
    with pytest.raises(QuadragError, match=rf"^{out}/rgb holds an export of other data or another version; remove it"):
        export(out, ["omnieval", "rgb"], folder, accept_licence=True)
    shard = out / "rgb" / "negative_rejection_en" / "test-00000-of-00001.parquet"
    content = shard.read_bytes()
    shard.write_bytes(content[:-1])
    with pytest.raises(QuadragError, match=r"/rgb is damaged: expected negative_rejection_en/test-\S+ with \d+ bytes"):
        export(out, ["rgb"], builders.SAMPLE)
    shard.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(
        QuadragError, match=r"/rgb is damaged: expected negative_rejection_en/test-\S+ as it was written"
    ):
        export(out, ["rgb"], builders.SAMPLE)
    shard.write_bytes(content)
    (out / "rgb" / "README.md").rename(out / "card")
    with pytest.raises(QuadragError, match=r"/rgb is damaged: expected README\.md; remove the folder and export again"):
        export(out, ["rgb"], builders.SAMPLE)
    (out / "card").rename(out / "rgb" / "README.md")
    assert files_below(out).keys() == before.keys(), "and nothing was written beside it"
    (out / "rgb" / MANIFEST).write_text("[]", encoding="utf-8")
    with pytest.raises(QuadragError, match=r"/rgb is there and is no export of quadrag; remove it or name another"):
        export(out, ["rgb"], builders.SAMPLE)
    (out / "crag").mkdir()
    assert export(out, ["crag"], builders.SAMPLE)[0].made, "an empty folder is nobody's"
    with (
        FileLock(tmp_path / ".omnieval.lock"),
        pytest.raises(QuadragError, match=r"another process is writing .*/omni"),
    ):
        export(tmp_path, ["omnieval"], builders.SAMPLE)
    (tmp_path / "file").touch()
    with pytest.raises(QuadragError, match=r"/file is a file; expected a folder"):
        export(tmp_path / "file", ["rgb"], builders.SAMPLE)
    with pytest.raises(QuadragError, match=r"^unknown benchmark 'rgbb'; nearest: rgb"):
        export(tmp_path / "new", ["crag", "rgbb"], builders.SAMPLE)
    assert not (tmp_path / "new").exists()


def test_non_commercial_data_are_written_under_their_licence_alone(tmp_path: Path) -> None:
    folder = copied("crag", tmp_path / "mine")
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
    name = "crag_task_1_and_2_dev_v5.jsonl.bz2: not upstream's pinned file"
    assert f"\nRead from {name}: `qa`, `task_1_2`.\n" in body
    assert folder not in (done.folder / "README.md").read_text(encoding="utf-8")
    assert done.lacking["qa"] == [
        "the split private (withheld upstream: name a file of yours by the option private_file)"
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
    folder = copied("crag", tmp_path / "mine")
    prepare("crag", None, folder)
    (done,) = export(tmp_path / "out", ["crag"], accept_licence=True)
    name = "crag_task_1_and_2_dev_v5.jsonl.bz2"
    assert done.sources["qa"] == f"{folder} ({name}: not upstream's pinned file), as prepared"
    assert done.lacking == {name: ["the split private"] for name in catalogue.configs("crag")}
    written = pq.read_table(done.folder / "task_3" / "public-00000-of-00001.parquet")
    assert written.to_pylist() == expected("crag")["task_3"]["public"]
    # The same rows, whichever way they are read.
    (again,) = export(tmp_path / "out", ["crag"], folder, accept_licence=True)
    assert not again.made


@pytest.mark.parametrize("benchmark", [name for name in BENCHMARKS if hub_record(name).not_hosted])
def test_data_that_may_not_be_hosted_anew_go_out_as_a_recipe(tmp_path: Path, benchmark: str) -> None:
    (done,) = export(tmp_path / "out", [benchmark], copied(benchmark, tmp_path / "mine"), accept_licence=True)
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
        ("upstream files, verified", "upstream files, verified"),
        ("upstream files, verified, as prepared", "upstream files, verified"),
        ("/home/me (1)/RGB (zh.json: not upstream's pinned file)", "zh.json: not upstream's pinned file"),
        ("upstream files, verified and /home/me/private.jsonl", ""),
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
