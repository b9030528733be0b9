"""The script `crud_rag` built, streamed and downloaded: the rows are those that quadrag reads."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from crud_rag_files import (
    FULL,
    SPLIT,
    rows,
)

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import UPSTREAM_SOURCE, sample_dir

LOADED: list[tuple[str, str, dict[str, Any]]] = [
    ("summary", "test", {}),
    ("hallucination", "full", {}),
    ("qa_3doc", "full", {}),
    ("corpus", "corpus", {}),
    ("corpus", "corpus", {"gold": "test"}),
    ("corpus", "corpus", {"gold": "full"}),
    ("ragquesteval", "hallucination", {}),
]


@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize(("config", "split", "options"), LOADED)
def test_datasets_3_runs_the_script_folder(config: str, split: str, options: dict[str, Any], streaming: bool) -> None:
    import datasets

    if int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} runs no scripts; 3.6.0 does")
    folder = catalogue.benchmarks()["crud_rag"].parent
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


@pytest.mark.parametrize(("config", "split", "options"), LOADED)
def test_built_streamed_and_read_rows_are_the_same(
    tmp_path: Path, config: str, split: str, options: dict[str, Any]
) -> None:
    builder = catalogue.builder_class("crud_rag")(config_name=config, **options)
    builders.point_to(builder, sample_dir("crud_rag"))
    expected = rows(config, split, **options)
    assert list(builder.as_streaming_dataset(split=split)) == expected
    builder.download_and_prepare(output_dir=str(tmp_path))
    assert list(builder.as_dataset(split=split)) == expected


DOWNLOAD = """
import json, sys
from pathlib import Path
from quadrag import catalogue
path, config, split, streaming = sys.argv[1:]
module = catalogue.load_script(Path(path))
builder = module.CrudRag(config_name=config)
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


def blob(path: Path) -> str:
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def upstream() -> Any:
    """A server that has the sample where upstream has its files."""
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(sample_dir("crud_rag")))
    )
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
def test_without_a_folder_the_script_downloads_and_verifies(
    tmp_path: Path,
    python: Callable[..., Any],
    environment: Callable[..., dict[str, str]],
    upstream: str,
    streaming: bool,
) -> None:
    import datasets

    if streaming and int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} streams no remote file; quadrag gives it a folder")
    text = catalogue.benchmarks()["crud_rag"].read_text(encoding="utf-8")
    text, changed = re.subn('^_URL = ".*"', f'_URL = "{upstream}"', text, flags=re.M)
    assert changed == 1
    (tmp_path / "crud_wrong.py").write_text(text, encoding="utf-8")
    pinned = catalogue.builder_class("crud_rag").FILES
    for name in (SPLIT, FULL):
        assert text.count(pinned[name][2]) == 1
        text = text.replace(pinned[name][2], blob(sample_dir("crud_rag") / name))
    (tmp_path / "crud_right.py").write_text(text, encoding="utf-8")
    env = environment(HF_HUB_OFFLINE=None)
    right = python(DOWNLOAD, tmp_path / "crud_right.py", "qa_1doc", "full", streaming, env=env)
    assert json.loads(right.stdout) == rows("qa_1doc", "full")
    if not streaming:
        wrong = json.loads(python(DOWNLOAD, tmp_path / "crud_wrong.py", "qa_1doc", "full", streaming, env=env).stdout)
        found = blob(sample_dir("crud_rag") / SPLIT)
        assert wrong == (
            f"ValueError: {upstream}{SPLIT}: git blob id {found}, expected {pinned[SPLIT][2]}; removed, load it again"
        )


def test_quadrag_fetches_what_the_split_needs_alone(
    tmp_path: Path, upstream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = catalogue.builder_class("crud_rag")
    sample = sample_dir("crud_rag")
    here = {name: (None, None, blob(sample / name)) for name in (SPLIT, FULL)}
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here})
    monkeypatch.setattr(cls, "URL", upstream)
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    builder, source = builders.open_builder("crud_rag", "summary", split="test")
    fetched = tmp_path / "upstream" / "crud_rag"
    assert [path for path in fetched.rglob("*") if path.is_file()] == [fetched / SPLIT]
    assert source == UPSTREAM_SOURCE
    assert builders.splits(builder) == ["test"]
    assert list(builders.rows(builder, "test")) == rows("summary", "test")
    builder, _ = builders.open_builder("crud_rag", "summary")
    assert (fetched / FULL).is_file()
    assert builders.splits(builder) == ["test", "full"]
    assert list(builders.rows(builder, "full")) == rows("summary", "full")
