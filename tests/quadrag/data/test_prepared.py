"""What `prepare` leaves in the cache of `datasets`: features, rows, sums, and who reads them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from prepared_data import other_data, released, sample

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError
from quadrag.provenance import Provenance


def test_a_built_config_that_was_altered_is_told_and_built_again(own_cache: Path, tmp_path: Path, capsys: Any) -> None:
    folder = other_data(tmp_path / "other")
    arguments = ("rgb", "noise_robustness_zh", str(folder))
    prepare(*arguments)
    opened, _ = builders.open_builder(*arguments[:2])
    before = [list(builders.rows(opened, split)) for split in builders.splits(opened)]
    damaged = [("rgb-noise_40.arrow", at) for at in (-40, 5)]  # in the rows, and in the head, which `datasets` reads
    for name, at in [*damaged, ("dataset_info.json", -40), ("quadrag.json", -40)]:
        (path,) = own_cache.rglob(name)
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)
        with pytest.raises(QuadragError, match=rf"{name} is damaged; remove .* and run `quadrag prepare` again"):
            opened, _ = builders.open_builder(*arguments[:2])
            list(builders.rows(opened, "noise_40"))
        if name == "quadrag.json":
            continue
        prepare(*arguments)
        assert capsys.readouterr().err == f"{path} is not as it was built; rgb noise_robustness_zh is built again\n"
        opened, _ = builders.open_builder(*arguments[:2])
        assert [list(builders.rows(opened, split)) for split in builders.splits(opened)] == before
    assert not list(own_cache.glob(".quadrag.*"))


def test_features_are_spelled_so_that_every_version_reads_them(own_cache: Path) -> None:
    import pyarrow as pa

    done = prepare("rgb", "information_integration_zh", builders.SAMPLE)
    assert done.built == {"information_integration_zh": {"noise_0": 12, "noise_20": 12, "noise_40": 12}}
    assert done.lacking == {}
    assert set(done.metrics) == set(catalogue.metrics())
    (folder,) = (own_cache / "rgb" / "information_integration_zh" / "1.0.0").glob("[0-9a-f]*/")
    assert len(folder.name) == 64
    spelled = [json.loads((folder / "dataset_info.json").read_text(encoding="utf-8"))["features"]]
    for arrow in folder.glob("*.arrow"):
        with pa.memory_map(str(arrow)) as source, pa.ipc.open_stream(source) as reader:
            spelled.append(json.loads(reader.schema.metadata[b"huggingface"])["info"]["features"])
    text = {"dtype": "string", "_type": "Value"}
    assert len(spelled) == 4
    for features in spelled:
        assert features["answer"] == features["positive"] == [[text]]
        assert features["documents"] == features["negative"] == [text]
    assert not list(own_cache.rglob("*.part"))
    assert not list(own_cache.glob("quadrag-*")), "what was built aside is gone"


def test_progress_is_told_before_each_config_and_a_second_time_costs_no_build(own_cache: Path) -> None:
    told: list[str] = []
    first = prepare("rgb", None, builders.SAMPLE, told.append)
    assert told == list(catalogue.configs("rgb")) == list(first.built)
    stamps = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.arrow")}
    assert len(stamps) == 32
    assert prepare("rgb", None, builders.SAMPLE) == first
    assert {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.arrow")} == stamps


def test_a_run_reads_what_was_prepared_from_real_files_but_never_the_sample(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "downloads"))
    name = "noise_robustness_zh"
    prepare("rgb", name, builders.SAMPLE)
    with pytest.raises(QuadragError, match=r"cannot fetch http://127\.0\.0\.1:9/.*zh_refine\.json"):
        builders.open_builder("rgb", name)
    other = other_data(tmp_path / "other")
    prepare("rgb", name, str(other))
    prepare("rgb", name, builders.SAMPLE)
    builder, source = builders.open_builder("rgb", name)
    assert source.place == str(other) and source.prepared
    assert source.provenance is Provenance.UNVERIFIED and [*source.other] == ["zh_refine.json"]
    assert next(row["query"] for row in builders.rows(builder, "noise_0")) == "另一个问题"
    # Options compose anew, so they need the files.
    with pytest.raises(QuadragError, match="cannot fetch"):
        builders.open_builder("rgb", name, None, {"passage_num": 3})


def test_two_builders_of_a_config_keep_their_own_folders(tmp_path: Path) -> None:
    name, split = "noise_robustness_zh", "noise_0"
    first, _ = builders.open_builder("rgb", name, str(other_data(tmp_path / "a", query="甲")))
    second, _ = builders.open_builder("rgb", name, str(other_data(tmp_path / "b", query="乙")))
    assert [next(builders.rows(builder, split))["query"] for builder in (first, second)] == ["甲", "乙"]
    assert catalogue.config("rgb", name).data_dir is None


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", sorted(catalogue.benchmarks()))
def test_read_and_prepared_rows_are_the_same(own_cache: Path, tmp_path: Path, benchmark: str) -> None:
    shutil.copytree(sample_dir(benchmark), tmp_path / "files")
    for name in catalogue.configs(benchmark):
        prepare(benchmark, name, str(tmp_path / "files"))
        builder, _ = builders.open_builder(benchmark, name)
        for split in released(benchmark, name):
            expected = sample(name, split, benchmark)
            assert list(builders.rows(builder, split)) == expected
            assert list(builder.as_dataset(split=split)) == expected


def test_an_unknown_split_gets_the_nearest() -> None:
    builder, _ = builders.open_builder("rgb", "noise_robustness_zh", builders.SAMPLE)
    assert builders.check_split(builder, "noise_40") == "noise_40"
    with pytest.raises(QuadragError, match=r"unknown split of noise_robustness_zh 'noise_4'; nearest: noise_40"):
        builders.check_split(builder, "noise_4")
