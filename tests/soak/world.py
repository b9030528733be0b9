"""The place where jobs are run: folders, the servers that they ask, processes, and what a job comes to undisturbed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

from chat_server import ChatServer
from jobs import Job, reply
from warm import LARGE, Run, Warm

QUADRAG = """
import datasets, evaluate, jinja2, rich.console, rich.table, scipy.io
from quadrag.chat import calls
from quadrag.judges import certificate
from quadrag.construct import construct
from quadrag.run import run, sweep
from quadrag.cli import main
"""
# As `quadrag` would be started in that folder, with its output in files.
RUN = """
import pathlib, sys
folder, env, before, given, said = arguments
os.environ.update(env)
os.chdir(folder)
for number, name in ((1, "stdout"), (2, "stderr")):
    os.dup2(os.open(f"{said}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
exec(compile(before, "<disturbance>", "exec"), {})
from quadrag.cli import main
sys.exit(main(given))
"""
LIMIT = 600.0  # seconds that a process may take; the slowest job takes ten, on a machine of its own
# `_at` is told of everything that changes files; threads call it too.
WATCH = """
import os, signal, sys
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND
_KINDS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "sqlite3.connect"}
_seen = [0]
def _hook(name, given):
    opens = name == "open" and isinstance(given[2], int) and given[2] & _WRITES
    if opens or name in _KINDS:
        _seen[0] += 1
        _at(_seen[0], opens)
sys.addaudithook(_hook)
"""
_COUNT = f"""
def _at(number, opens): pass
{WATCH}
import atexit, pathlib
atexit.register(lambda: pathlib.Path("events.txt").write_text(str(_seen[0])))
"""


@dataclass
class Whole:
    """What a job comes to undisturbed: its files by their sha256, the requests, moments at which files change."""

    files: dict[str, str]
    asked: Counter[str]
    moments: int
    seconds: float


@dataclass
class Process:
    """A process, and what it says in files outside of the folder that it works in."""

    run: Run
    said: Path

    def end(self, after: float | None = None) -> tuple[int, str]:
        """Wait for its end, or kill it after some seconds; returns its code and what it said on stderr."""
        if after is not None:
            end = time.monotonic() + after
            while time.monotonic() < end and self.run.poll() is None:
                time.sleep(0.002)
            self.run.kill()
        code = self.run.wait(LIMIT)
        path = self.said.with_name(f"{self.said.name}.stderr")
        return code, path.read_text("utf-8", "replace") if path.exists() else ""


class World:
    """Folders and servers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.server = ChatServer(models=["m", "maker"], text=reply, latency=0.005)
        self._parents: dict[str, Warm] = {}
        self._whole: dict[str, Whole] = {}
        self._numbers = count()

    def __enter__(self) -> World:
        (self.root / "said").mkdir(parents=True)
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        for parent in self._parents.values():
            parent.__exit__()
        self.server.stop()

    def start(
        self, place: Path, job: Job, command: tuple[str, ...] = (), before: str = "", second: bool = False
    ) -> Process:
        kind = f"{'large' if job.fresh else 'quadrag'} {second}"
        if kind not in self._parents:
            folder = self.root / "parents" / kind
            folder.mkdir(parents=True)
            self._parents[kind] = Warm(LARGE if job.fresh else QUADRAG, RUN, folder, os.environ)
        env = {"QUADRAG_CACHE": str(place / "cache"), "HF_HOME": str(place / "hf"), "COLUMNS": "80"}
        said = self.root / "said" / str(next(self._numbers))
        models = {"llm": f"{self.server.url}#m", "maker": f"{self.server.url}#maker"}
        words = [word.format_map(models) for word in command or job.command]
        return Process(self._parents[kind].start(str(place), env, before, words, str(said)), said)

    def run(self, place: Path, job: Job, command: tuple[str, ...] = (), before: str = "") -> tuple[int, str]:
        return self.start(place, job, command, before).end()

    def asked(self) -> Counter[str]:
        return Counter(json.dumps(body, sort_keys=True) for body in self.server.bodies)

    def whole(self, job: Job) -> Whole:
        if job.name not in self._whole:
            place = self.root / "whole" / job.name
            self._prepare(place, job)
            done = place.with_name(f"{job.name} done")
            shutil.copytree(place, done)
            self.server.bodies.clear()
            started = time.perf_counter()
            code, said = self.run(done, job, before=_COUNT)
            seconds = time.perf_counter() - started
            assert code == 0, f"{job.name}: {said}"
            asked, moments = self.asked(), int((done / "events.txt").read_text())
            self._whole[job.name] = Whole(self.result(done, job), asked, moments, seconds)
            assert self._whole[job.name].files, f"{job.name} makes nothing"
        return self._whole[job.name]

    def place(self, job: Job) -> Path:
        self.whole(job)
        folder = self.root / "places" / f"{next(self._numbers)}"
        shutil.copytree(self.root / "whole" / job.name, folder)
        return folder

    def _prepare(self, place: Path, job: Job) -> None:
        from quadrag.data.builders import SAMPLE, open_builder, rows
        from quadrag.data.files import sample_dir

        place.mkdir(parents=True)
        if "documents" in job.command:
            builder, _ = open_builder("crud_rag", "corpus", SAMPLE, None, "corpus")
            (place / "documents").mkdir()
            lines = [{"id": row["id"], "text": row["body"]} for row in islice(rows(builder, "corpus"), 12)]
            text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
            (place / "documents" / "news.jsonl").write_text(text, encoding="utf-8")
        if job.data:
            shutil.copytree(sample_dir(job.data), place / "data")
        if job.before:
            code, said = self.run(place, job, job.before)
            assert code == 0, f"{job.name}: {said}"

    def result(self, place: Path, job: Job) -> dict[str, str]:
        if job.then:
            shutil.rmtree(place / "out", ignore_errors=True)
            code, said = self.run(place, job, job.then)
            if code:
                return {"what reads it": said}
        paths = [path for pattern in job.made for path in place.glob(pattern) if path.is_file()]
        return {path.relative_to(place).as_posix(): sha256(path.read_bytes()) for path in paths if path.name[0] != "."}


def sha256(content: Any) -> str:
    return hashlib.sha256(bytes(content)).hexdigest()
