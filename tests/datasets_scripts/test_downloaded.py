"""The scripts without a folder: files are downloaded from where upstream has them, and verified."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import datasets
import pytest
from crag_files import FIVE, PARTS, lines, record
from crud_rag_files import FULL, SPLIT
from sample_rows import rows
from small_servers import serving

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.errors import QuadragError
from quadrag.provenance import Provenance

DOWNLOAD = """
import json, sys
from pathlib import Path
from quadrag import catalogue
path, builder, config, split, streaming = sys.argv[1:]
builder = getattr(catalogue.load_script(Path(path)), builder)(config_name=config)
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
# Config, split, the files behind it, and by what a wrong one is told: its size and sum, or its git blob id.
DOWNLOADED = [
    ("crag", "qa", "public", [FIVE["v5"]], "sha256"),
    ("crag", "task_3", "public", PARTS["v5"], "sha256"),
    ("crud_rag", "qa_1doc", "full", [SPLIT, FULL], "blob"),
    ("rgb", "counterfactual_robustness_zh", "test", ["zh_fact.json"], "blob"),
]
Facts = tuple[int | None, str | None, str | None]


@pytest.fixture
def upstream() -> Iterator[Callable[[str], str]]:
    """A function that starts a server which has a sample where upstream has its files, and gives its address."""
    with ExitStack() as servers:

        def start(name: str) -> str:
            handler = partial(SimpleHTTPRequestHandler, directory=str(files.sample_dir(name)))
            return f"{servers.enter_context(serving(ThreadingHTTPServer(('127.0.0.1', 0), handler)))}/"

        yield start


def facts(name: str, file: str, by: str) -> Facts:
    content = (files.sample_dir(name) / file).read_bytes()
    if by == "blob":
        return None, None, hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return len(content), hashlib.sha256(content).hexdigest(), None


def said(pinned: Facts, by: str) -> str:
    return str(pinned[2]) if by == "blob" else f"{pinned[0]} bytes, sha256 {pinned[1]}"


def written(pinned: Facts, by: str) -> str:
    return str(pinned[2]) if by == "blob" else f'({pinned[0]}, "{pinned[1]}"'


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize(("name", "config", "split", "needed", "by"), DOWNLOADED)
def test_without_a_folder_the_script_downloads_and_verifies(
    tmp_path: Path,
    python: Callable[..., Any],
    environment: Callable[..., dict[str, str]],
    upstream: Callable[[str], str],
    name: str,
    config: str,
    split: str,
    needed: list[str],
    by: str,
    streaming: bool,
) -> None:
    if streaming and int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} streams no remote file; quadrag gives it a folder")
    cls, address = catalogue.builder_class(name), upstream(name)
    text = catalogue.benchmarks()[name].read_text(encoding="utf-8")
    text, changed = re.subn('^_URL = ".*"', f'_URL = "{address}"', text, flags=re.M)
    assert changed == 1
    right, wrong = (tmp_path / f"{name}_{which}.py" for which in ("right", "wrong"))
    wrong.write_text(text, encoding="utf-8")
    for file in needed:
        old, new = (written(pinned, by) for pinned in (cls.FILES[file], facts(name, file, by)))
        assert text.count(old) == 1
        text = text.replace(old, new)
    right.write_text(text, encoding="utf-8")

    def loaded(script: Path) -> Any:
        done = python(DOWNLOAD, script, cls.__name__, config, split, streaming, env=environment(HF_HUB_OFFLINE=None))
        return json.loads(done.stdout)

    assert loaded(right) == rows(name, config, split)
    if not streaming:
        found, expected = said(facts(name, needed[0], by), by), said(cls.FILES[needed[0]], by)
        found = f"git blob id {found}" if by == "blob" else found
        wanted = f"{address}{needed[0]}: {found}, expected {expected}; removed, load it again"
        assert loaded(wrong) == f"ValueError: {wanted}"


def test_quadrag_fetches_verifies_and_names_a_wrong_part(
    tmp_path: Path, upstream: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = catalogue.builder_class("crag")
    here = {name: facts("crag", name, "sha256") for name in PARTS["v5"]}
    wrong = (here[PARTS["v5"][2]][0], "0" * 64, None)
    monkeypatch.setattr(cls, "URL", upstream("crag"))
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here, PARTS["v5"][2]: wrong})
    fetched = tmp_path / "upstream" / "crag"
    with pytest.raises(QuadragError, match=rf"{PARTS['v5'][2]} from .* has sha256 [0-9a-f]+, expected 0+; removed it"):
        builders.open_builder("crag", "task_3", split="public")
    assert sorted(each for each in fetched.rglob("*") if each.is_file()) == [fetched / PARTS["v5"][n] for n in (0, 1)]
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here})
    builder, source = builders.open_builder("crag", "task_3")
    assert source.provenance is Provenance.AUTHORS
    assert builders.splits(builder) == ["validation", "public"]
    assert list(builders.rows(builder, "public")) == rows("crag", "task_3", "public")
    own = tmp_path / "own"
    own.write_bytes(lines(record(1)))
    _, source = builders.open_builder("crag", "task_3", None, {"private_file": str(own)})
    assert source.provenance is Provenance.UNVERIFIED and source.parts[1:] == [str(own)]
    assert files.own_files(builder.config) == {}


def test_quadrag_fetches_what_the_split_needs_alone(
    tmp_path: Path, upstream: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = catalogue.builder_class("crud_rag")
    here = {name: facts("crud_rag", name, "blob") for name in (SPLIT, FULL)}
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here})
    monkeypatch.setattr(cls, "URL", upstream("crud_rag"))
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    builder, source = builders.open_builder("crud_rag", "summary", split="test")
    fetched = tmp_path / "upstream" / "crud_rag"
    assert [path for path in fetched.rglob("*") if path.is_file()] == [fetched / SPLIT]
    assert source.provenance is Provenance.AUTHORS
    assert builders.splits(builder) == ["test"]
    assert list(builders.rows(builder, "test")) == rows("crud_rag", "summary", "test")
    builder, _ = builders.open_builder("crud_rag", "summary")
    assert (fetched / FULL).is_file()
    assert builders.splits(builder) == ["test", "full"]
    assert list(builders.rows(builder, "full")) == rows("crud_rag", "summary", "full")
