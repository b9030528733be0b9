"""The scripts without a folder: files are downloaded from where upstream has them, and verified."""

import hashlib
import json
import re
import shutil
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
from sample_rows import refusal, rows
from small_servers import serving

from quadrag import catalogue
from quadrag.data import builders, files
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
# Config, split and the files behind it.
DOWNLOADED = [
    ("crag", "qa", "public", [FIVE["v5"]]),
    ("crag", "task_3", "public", PARTS["v5"]),
    ("crud_rag", "qa_1doc", "full", [SPLIT, FULL]),
    ("rgb", "counterfactual_robustness_zh", "test", ["zh_fact.json"]),
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


def facts(name: str, file: str) -> Facts:
    content = (files.sample_dir(name) / file).read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return len(content), hashlib.sha256(content).hexdigest(), blob


def written(pinned: Facts) -> str:
    return " ".join("-" if fact is None else str(fact) for fact in pinned)


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize(("name", "config", "split", "needed"), DOWNLOADED)
def test_without_a_folder_the_script_downloads_and_verifies(
    tmp_path: Path,
    python: Callable[..., Any],
    environment: Callable[..., dict[str, str]],
    upstream: Callable[[str], str],
    name: str,
    config: str,
    split: str,
    needed: list[str],
    streaming: bool,
) -> None:
    if streaming and int(datasets.__version__.split(".")[0]) >= 4:
        pytest.skip(f"datasets {datasets.__version__} streams no remote file; quadrag gives it a folder")
    cls, address = catalogue.builder_class(name), upstream(name)
    script = catalogue.benchmarks()[name]
    text = re.sub('^_URL = ".*"', f'_URL = "{address}"', script.read_text(encoding="utf-8"), flags=re.M)
    shutil.copy(script.with_name("reading.py"), tmp_path)
    right, wrong = (tmp_path / f"{name}_{which}.py" for which in ("right", "wrong"))
    wrong.write_text(text, encoding="utf-8")
    for file in needed:
        assert text.count(written(cls.FILES[file])) == 1
        text = text.replace(written(cls.FILES[file]), written(facts(name, file)))
    right.write_text(text, encoding="utf-8")

    def loaded(script: Path) -> Any:
        done = python(DOWNLOAD, script, cls.__name__, config, split, streaming, env=environment(HF_HUB_OFFLINE=None))
        return json.loads(done.stdout)

    assert loaded(right) == rows(name, config, split)
    if not streaming:
        said = loaded(wrong)
        assert said.startswith(f"ValueError: {address}{needed[0]}: ") and "expected" in said and "removed" in said


@pytest.fixture
def fetched(tmp_path: Path, upstream: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that lets a script pin a sample's files and fetch them from here; the folder they come to."""

    def pin(name: str, **changes: Facts) -> Path:
        cls = catalogue.builder_class(name)
        here = {file: facts(name, file) for file in cls.FILES if (files.sample_dir(name) / file).is_file()}
        monkeypatch.setattr(cls, "URL", upstream(name))
        monkeypatch.setattr(cls, "FILES", {**cls.FILES, **here, **changes})
        monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
        return tmp_path / "upstream" / name

    return pin


def test_quadrag_fetches_verifies_and_names_a_wrong_part(tmp_path: Path, fetched: Callable[..., Path]) -> None:
    bad = PARTS["v5"][2]
    folder = fetched("crag", **{bad: (facts("crag", bad)[0], "0" * 64, None)})
    said = refusal("crag", "task_3", "public", None)
    assert bad in said and "0" * 64 in said
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    assert there == [folder / PARTS["v5"][n] for n in (0, 1)]
    fetched("crag")
    builder, source = builders.open_builder("crag", "task_3")
    assert source.provenance is Provenance.AUTHORS
    assert builders.splits(builder) == ["validation", "public"]
    assert list(builders.rows(builder, "public")) == rows("crag", "task_3", "public")
    own = tmp_path / "own"
    own.write_bytes(lines(record(1)))
    _, source = builders.open_builder("crag", "task_3", None, {"private_file": str(own)})
    assert source.provenance is Provenance.UNVERIFIED and source.parts[1:] == [str(own)]


def test_quadrag_fetches_what_the_split_needs_alone(fetched: Callable[..., Path]) -> None:
    folder = fetched("crud_rag")
    builder, _ = builders.open_builder("crud_rag", "summary", split="test")
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / SPLIT]
    assert builders.splits(builder) == ["test"]
    assert list(builders.rows(builder, "test")) == rows("crud_rag", "summary", "test")
    builder, _ = builders.open_builder("crud_rag", "summary")
    assert builders.splits(builder) == ["test", "full"]
    assert list(builders.rows(builder, "full")) == rows("crud_rag", "summary", "full")
