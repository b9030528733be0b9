"""The run folder: its files, what made them, and whether they may be used again.

`run.json` records the inputs that decide the answers, and the sha256 of each stage's file before it is written, so that
a file which a kill left unwritten is never taken for one of the user's. A folder made from other inputs is refused once
it holds answers; a file that is gone or was replaced sends every later stage back to work.
Times, cost, host and command are in `run.json` alone, so that the other files of equal runs are equal to the byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir
from quadrag.records import write_text

_FRESH: dict[str, Any] = {"state": "new", "inputs": {}, "files": {}}
PARTIAL = "retrieving.jsonl"  # passages found so far, where finding them takes long
STAGES = ("retrieved.jsonl", "answers.jsonl", "items.jsonl", "scores.json")


class RunFolder:
    """A run folder open for writing."""

    def __init__(self, path: Path, inputs: dict[str, Any]) -> None:
        """Open a folder for a run with these inputs, and make it where there is none.

        Raises:
            QuadragError: the folder holds something else, or a run with other inputs.
        """
        self.path = path
        self.info: dict[str, Any] = {**_FRESH, "inputs": inputs, "files": {}}
        for part in (path, *path.parents):
            if part.exists() and not part.is_dir():
                raise QuadragError(f"{part} is a file; expected a folder for the run, name another with --out")
        # What a killed run was writing.
        for stray in path.glob(".*.part"):
            stray.unlink(missing_ok=True)
        if (path / "run.json").exists():
            self.info = read_run(path)
            found = self.info["inputs"]
            differing = [name for name in {**found, **inputs} if found.get(name) != inputs.get(name)]
            if differing and not any((path / stage).exists() for stage in STAGES[1:]):
                # Nothing is answered yet, as after a mistyped model: there is nothing to lose.
                if self.stands(STAGES[0]):
                    (path / STAGES[0]).unlink()
                (path / PARTIAL).unlink(missing_ok=True)
                self.info = {**_FRESH, "inputs": inputs, "files": {}}
            elif differing:
                name, was, now = _first(differing[0], found.get(differing[0]), inputs.get(differing[0]))
                raise QuadragError(
                    f"{path} holds a run with {name} {_short(was)}, not {_short(now)}; name another folder with --out, "
                    "or remove it"
                )
        elif path.exists() and any(path.iterdir()):
            raise QuadragError(f"{path} is not empty and holds no run.json; name another folder with --out")

    @property
    def finished(self) -> bool:
        """Whether the run was finished and every stage's file is as it was left."""
        return self.info["state"] == "finished" and all(self.stands(stage) for stage in STAGES)

    def stands(self, stage: str) -> bool:
        """Whether a stage's file is there as the run wrote it."""
        path = self.path / stage
        return stage in self.info["files"] and path.is_file() and self.info["files"][stage] == _sha256(path)

    def replaced(self, stage: str) -> bool:
        """Whether a stage's file is there, but is not what the run wrote: the user's own stands in for the stage."""
        path = self.path / stage
        return path.is_file() and not self.stands(stage) and self.info.get("partial", {}).get(stage) != _sha256(path)

    def write(self, stage: str, text: str, **entries: Any) -> None:
        """Record a stage's text and further entries of `run.json`, then write its file."""
        (self.path / stage).unlink(missing_ok=True)
        self._record(stage, hashlib.sha256(text.encode()).hexdigest(), entries)
        write_text(self.path / stage, text)

    def write_partial(self, texts: dict[str, str]) -> None:
        """Write files of a run that stopped: known as ours, but finished stages they are not."""
        for stage in texts:
            self.info["files"].pop(stage, None)
        self.save(partial={stage: hashlib.sha256(text.encode()).hexdigest() for stage, text in texts.items()})
        for stage, text in texts.items():
            write_text(self.path / stage, text)

    def keep(self, stage: str, **entries: Any) -> None:
        """Record the user's own file as the stage's."""
        self._record(stage, _sha256(self.path / stage), entries)

    def _record(self, stage: str, digest: str, entries: dict[str, Any]) -> None:
        if self.info["files"].get(stage) != digest:
            for later in STAGES[STAGES.index(stage) + 1 :]:
                # Left in place it would pass for the user's own; what the user did replace stays.
                if self.stands(later):
                    (self.path / later).unlink()
                self.info["files"].pop(later, None)
        self.info["files"][stage] = digest
        self.save(**entries)

    def save(self, **entries: Any) -> None:
        """Write `run.json` with further entries."""
        self.info.update(entries)
        write_text(self.path / "run.json", json.dumps(self.info, ensure_ascii=False, indent=1) + "\n")


def read_run(path: Path) -> dict[str, Any]:
    """Read a folder's `run.json`.

    Raises:
        QuadragError: it is missing or not of its form.
    """
    try:
        info = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except OSError:
        raise QuadragError(f"{path} holds no run.json; expected the folder of a run") from None
    except ValueError:
        info = None
    if not isinstance(info, dict) or not all(
        isinstance(info.get(name), kind) for name, kind in (("inputs", dict), ("files", dict), ("state", str))
    ):
        raise QuadragError(f"{path / 'run.json'} is damaged; remove the folder, replies are in the ledger")
    return info


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _first(name: str, was: Any, now: Any) -> tuple[str, Any, Any]:
    """Return the first part in which two values of an input differ: of a mapping, the entry."""
    while isinstance(was, dict) and isinstance(now, dict):
        key = next(key for key in {**was, **now} if was.get(key) != now.get(key))
        name, was, now = f"{name}.{key}", was.get(key), now.get(key)
    return name, was, now


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep two runs out of one folder; the lock lies in the cache folder and goes with the process that holds it.

    Raises:
        QuadragError: another run is at work there.
    """
    from filelock import FileLock, Timeout

    locks = cache_dir() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    lock = FileLock(locks / f"{hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:32]}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise QuadragError(f"another run is at work in {out}; wait for it, or name another folder with --out") from None
    try:
        yield
    finally:
        lock.release()
