"""What is to stand in each repository of a push: datasets as `quadrag export` writes them, metrics as Spaces.

Large files stay on disk, below quadrag's cache, and are summed when somebody asks. Cards name the organisation that
they go to. What stands on the Hub already is read by `quadrag.hub.push.remote`.
"""

import functools
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data import download
from quadrag.data.builders import SAMPLE
from quadrag.errors import QuadragError
from quadrag.hub.export.card import list_licences, split_card
from quadrag.hub.export.manifest import MANIFEST, read_manifest
from quadrag.hub.export.repository import digest_inputs, export
from quadrag.hub.results.tasks import write_eval_yaml
from quadrag.paths import cache_dir

_UNITS = ("*.py", "*.md", "*.txt", "*.yaml")  # what a metric's folder publishes, as in the package


@functools.lru_cache(maxsize=10_000)
def _sha256(path: Path, size: int, written: int) -> str:
    """Sum a file that may have gigabytes once a push, not for every use of its sum."""
    return download.sha256(path)


class File(NamedTuple):
    """A file to be pushed: on disk, or small and in memory."""

    source: Path | bytes
    size: int

    def sha256(self) -> str:
        """Return its sha256, as LFS names it."""
        if isinstance(self.source, bytes):
            return hashlib.sha256(self.source).hexdigest()
        return _sha256(self.source, self.size, self.source.stat().st_mtime_ns)

    def blob(self) -> str:
        """Return git's id of it."""
        if isinstance(self.source, bytes):
            return hashlib.sha1(b"blob %d\0%s" % (self.size, self.source)).hexdigest()
        total = hashlib.sha1(b"blob %d\0" % self.size)
        with self.source.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                total.update(chunk)
        return total.hexdigest()


class Wanted(NamedTuple):
    """One repository as it is to be.

    Attributes:
        kind: ``dataset`` or ``space``.
        repo: ``ORG/NAME``.
        licence: as its card has it.
        content: what is in it, in a few words.
        notes: what configs lack, a line each.
        files: by path, the record of the push included.
    """

    kind: str
    repo: str
    licence: str
    content: str
    notes: list[str]
    files: dict[str, File]


def stage_dataset(
    org: str, benchmark: str, data_dir: str | None, accept_licence: bool, progress: Callable[[str], None]
) -> Wanted:
    """Stage a benchmark's dataset repository; what an interrupted run finished of it is kept.

    Raises:
        QuadragError: as `export` does, or there is no room to stage it.
    """
    home = cache_dir() / "hub" / (SAMPLE if data_dir == SAMPLE else "data")

    def report(label: str, rows: int) -> None:
        if not rows:
            progress(f"staging {label}")

    try:
        _discard_stale(home / benchmark, benchmark, data_dir)
        (done,) = export(home, [benchmark], data_dir, accept_licence, report)
        text = (done.folder / "README.md").read_text(encoding="utf-8")
        record = json.loads((done.folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)  # Arrow's own texts are long
        raise QuadragError(
            f"cannot stage {benchmark} in {home} ({why}); make room there or name a folder in"
            " QUADRAG_CACHE, then run the same command again"
        ) from None
    files = {
        f"{config}/{name}": File(done.folder / config / name, size)
        for config, splits in record["splits"].items()
        for written in splits.values()
        for name, size in written["files"].items()
    }
    if done.kind != "recipe":  # from which nothing can be loaded
        text = text.replace('"ORG/', f'"{org}/')
    files["README.md"] = _hold_text(text)
    # The made-up rows of a sample are no benchmark; those of a recipe can be had by the card.
    if done.kind not in ("sample", "own") and (tasks := write_eval_yaml(benchmark, org, done.rows or None)):
        files["eval.yaml"] = _hold_text(tasks)
    rows = sum(count for splits in done.rows.values() for count in splits.values())
    content = {
        "data": f"{rows:,} rows",
        "sample": f"the bundled sample, {rows:,} rows",
        "own": f"a dataset of one's own, {rows:,} rows",
        "recipe": "a card with the way to the data, which are not hosted again",
    }[done.kind]
    lacking: dict[str, list[str]] = {}
    for config, each in done.lacking.items():
        lacking.setdefault(", ".join(each), []).append(config)
    notes = [f"{', '.join(configs)}: without {each}" for each, configs in lacking.items()]
    return Wanted("dataset", f"{org}/{benchmark}", _read_licence(text), content, notes, _add_record(files, record))


def _discard_stale(folder: Path, benchmark: str, data_dir: str | None) -> None:
    """Remove what was staged of other data or by another version, or is damaged: it is quadrag's own copy."""
    if not folder.exists():
        return
    held = read_manifest(folder)
    if held is None or held.find_fault(folder) or held.inputs != digest_inputs(benchmark, data_dir):
        shutil.rmtree(folder)


def stage_space(org: str, metric: str) -> Wanted:
    """Return a metric's Space: its folder, with a card that loads it from there."""
    folder = catalogue.metric_folder(metric)
    paths = sorted(path for pattern in _UNITS for path in folder.glob(pattern))
    files = {path.name: File(content := path.read_bytes(), len(content)) for path in paths}
    text = (folder / "README.md").read_text(encoding="utf-8")
    text = re.sub(rf'(evaluate\.load\()"{metric}"', rf'\1"{org}/{metric}"', text)
    files["README.md"] = _hold_text(text)
    return Wanted(
        "space", f"{org}/{metric}", _read_licence(text), "the metric with its app", [], _add_record(files, {})
    )


def _add_record(files: dict[str, File], record: dict[str, Any]) -> dict[str, File]:
    """Add the record: by it the next push knows the repository, and its own files in it."""
    # Parquet is kept by LFS, under its sha256; what is small by git itself.
    sums = {path: file.sha256() if path.endswith(".parquet") else file.blob() for path, file in sorted(files.items())}
    return {**files, MANIFEST: _hold_text(json.dumps({**record, "files": sums}, indent=1) + "\n")}


def _hold_text(text: str) -> File:
    content = text.encode()
    return File(content, len(content))


def _read_licence(card: str) -> str:
    return ", ".join(list_licences(split_card(card)[0]))
