"""The script `crag` built, streamed, prepared and downloaded: the rows are those that quadrag reads."""

from __future__ import annotations

import bz2
import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from crag_files import FIVE, PARTS, WITHHELD, lines, put, record, rows

from quadrag import catalogue
from quadrag.data import builders, download, files
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError

LOADED = [("qa", "public"), ("task_1_2", "validation"), ("task_3", "public"), ("qa", "private")]


def with_private(split: str, tmp_path: Path) -> dict[str, Any]:
    if split != "private":
        return {}
    (tmp_path / "own.jsonl").write_bytes(lines(record(1), record(2)))
    return {"private_file": str(tmp_path / "own.jsonl")}


@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize(("config", "split"), LOADED)
def test_datasets_3_runs_the_script_folder(tmp_path: Path, config: str, split: str, streaming: bool) -> None:
    import datasets

    if int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} runs no scripts; 3.6.0 does")
    options = with_private(split, tmp_path)
    folder = catalogue.benchmarks()["crag"].parent
    loaded = datasets.load_dataset(
        str(folder),
        config,
        split=split,
        streaming=streaming,
        trust_remote_code=True,
        data_dir=str(folder / "sample"),
        **options,
    )
    assert list(loaded) == rows(config, split, **options)


@pytest.mark.parametrize(("config", "split"), LOADED)
def test_built_streamed_and_read_rows_are_the_same(tmp_path: Path, config: str, split: str) -> None:
    options = with_private(split, tmp_path)
    builder = catalogue.builder_class("crag")(config_name=config, **options)
    builders.point_to(builder, files.sample_dir("crag"))
    expected = rows(config, split, **options)
    assert list(builder.as_streaming_dataset(split=split)) == expected
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    assert list(builder.as_dataset(split=split)) == expected


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def test_what_is_prepared_is_read_from_the_cache(own_cache: Path, tmp_path: Path) -> None:
    shutil.copytree(files.sample_dir("crag"), tmp_path / "root")
    done = prepare("crag", None, str(tmp_path / "root"))
    assert {name: list(splits) for name, splits in done.built.items()} == {
        name: ["validation", "public"] for name in catalogue.configs("crag")
    }
    assert done.partial == {name: [WITHHELD] for name in done.built}
    for config in done.built:
        for split in ("validation", "public"):
            builder, source = builders.open_builder("crag", config, split=split)
            assert source.endswith("not upstream's pinned file), as prepared")
            assert list(builders.rows(builder, split)) == rows(config, split)


@pytest.mark.slow
def test_nothing_is_left_of_a_broken_archive(own_cache: Path, tmp_path: Path) -> None:
    """The first rows are whole; the fault is found at the end, and named."""
    large = (random.Random(number).randbytes(200_000).hex() for number in range(8))
    records = [record(n, search_results=[{"page_result": text}]) for n, text in enumerate(large)]
    content = bz2.compress(lines(*records))
    path = put(tmp_path / "root", content[:-5]) / FIVE["v5"]
    with pytest.raises(QuadragError) as caught:
        prepare("crag", "task_1_2", str(tmp_path / "root"))
    assert str(caught.value) == f"{path} is cut short, its bzip2 data do not end; fetch it again"
    assert [each for each in own_cache.rglob("*") if each.is_file() and each.suffix != ".lock"] == []
    assert [each for each in own_cache.iterdir() if each.name.startswith("quadrag-")] == []
    # What came before the fault can be streamed.
    found = builders.rows(builders.open_builder("crag", "task_1_2", str(tmp_path / "root"))[0], "public")
    assert [next(found)["id"] for _ in range(2)] == ["id-1", "id-3"]
    with pytest.raises(QuadragError, match="is cut short"):
        list(found)


DOWNLOAD = """
import json, sys
from pathlib import Path
from quadrag import catalogue
path, config, split, streaming = sys.argv[1:]
builder = catalogue.load_script(Path(path)).Crag(config_name=config)
try:
    if streaming == "True":
        rows = list(builder.as_streaming_dataset(split=split))
    else:
        builder.download_and_prepare()
        rows = list(builder.as_dataset(split=split))
except Exception as error:
    while error.__cause__:
        error = error.__cause__
    rows = f"{type(error).__name__}: {error}"
print(json.dumps(rows))
"""


@pytest.fixture
def upstream() -> Any:
    """A server that has the sample where upstream has its files."""
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(files.sample_dir("crag")))
    )
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def facts(name: str) -> tuple[int, str, None]:
    content = (files.sample_dir("crag") / name).read_bytes()
    return len(content), hashlib.sha256(content).hexdigest(), None


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize("config", ["qa", "task_3"])
def test_without_a_folder_the_script_downloads_and_verifies(
    tmp_path: Path,
    python: Callable[..., Any],
    environment: Callable[..., dict[str, str]],
    upstream: str,
    config: str,
    streaming: bool,
) -> None:
    import datasets

    if streaming and int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} streams no remote file; quadrag gives it a folder")
    text = catalogue.benchmarks()["crag"].read_text(encoding="utf-8")
    text, changed = re.subn('^_URL = ".*"', f'_URL = "{upstream}"', text, flags=re.M)
    assert changed == 1
    (tmp_path / "crag_wrong.py").write_text(text, encoding="utf-8")
    pinned = catalogue.builder_class("crag").FILES
    for name in (FIVE["v5"], *PARTS["v5"]):
        old, new = pinned[name], facts(name)
        assert text.count(f'({old[0]}, "{old[1]}"') == 1
        text = text.replace(f'({old[0]}, "{old[1]}"', f'({new[0]}, "{new[1]}"')
    (tmp_path / "crag_right.py").write_text(text, encoding="utf-8")
    env = environment(HF_HUB_OFFLINE=None)
    right = python(DOWNLOAD, tmp_path / "crag_right.py", config, "public", streaming, env=env)
    assert json.loads(right.stdout) == rows(config, "public"), right.stderr
    if not streaming:
        wrong = json.loads(python(DOWNLOAD, tmp_path / "crag_wrong.py", config, "public", streaming, env=env).stdout)
        name = FIVE["v5"] if config == "qa" else PARTS["v5"][0]
        found, expected = ("{} bytes, sha256 {}".format(*each) for each in (facts(name), pinned[name]))
        assert wrong == f"ValueError: {upstream}{name}: {found}, expected {expected}; removed, load it again"


def test_quadrag_fetches_verifies_and_names_a_wrong_part(
    tmp_path: Path, upstream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = catalogue.builder_class("crag")
    here = {name: facts(name) for name in PARTS["v5"]}
    wrong = (here[PARTS["v5"][2]][0], "0" * 64, None)
    monkeypatch.setattr(cls, "URL", upstream)
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here, PARTS["v5"][2]: wrong})
    fetched = tmp_path / "upstream" / "crag"
    with pytest.raises(QuadragError, match=rf"{PARTS['v5'][2]} from .* has sha256 [0-9a-f]+, expected 0+; removed it"):
        builders.open_builder("crag", "task_3", split="public")
    assert sorted(each for each in fetched.rglob("*") if each.is_file()) == [fetched / PARTS["v5"][n] for n in (0, 1)]
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here})
    builder, source = builders.open_builder("crag", "task_3")
    assert source == files.UPSTREAM_SOURCE
    assert builders.splits(builder) == ["validation", "public"]
    assert list(builders.rows(builder, "public")) == rows("task_3", "public")
    own = tmp_path / "own"
    own.write_bytes(lines(record(1)))
    _, source = builders.open_builder("crag", "task_3", None, {"private_file": str(own)})
    assert source == f"{files.UPSTREAM_SOURCE} and {own}"
    assert files.own_files(builder.config) == {}


def test_rows_are_written_one_by_one(tmp_path: Path) -> None:
    """Fifty pages a row: what gathers rows takes gigabytes."""
    import pyarrow as pa

    builder = catalogue.builder_class("crag")(config_name="task_3")
    builders.point_to(builder, files.sample_dir("crag"), "public")
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    (path,) = (tmp_path / "out").glob("*.arrow")
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
        assert {batch.num_rows for batch in reader} == {1}


def test_a_large_file_is_summed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summed = []

    def counted(path: Path, total: Any) -> str:
        summed.append(path.name)
        return digest(path, total)

    digest = download._digest
    monkeypatch.setattr(download, "_digest", counted)
    monkeypatch.setattr(download, "_LARGE", 100)
    for name, size in (("large", 100), ("small", 98)):
        path = tmp_path / name
        for content in (b"a" * size, b"b" * (size + 1)):
            path.write_bytes(content)
            for _ in range(2):
                assert download.sha256(path) == hashlib.sha256(content).hexdigest()
                assert files.digest({name: path})
    assert (summed.count("large"), summed.count("small")) == (2, 8)
