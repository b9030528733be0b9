"""The place where jobs are run: folders, the servers that they ask, processes, and what a job comes to undisturbed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import disturb
from chat_server import ChatServer
from jobs import Job, reply
from warm import LARGE, Run, Warm

QUADRAG = """
import datasets, evaluate, jinja2, rich.console, rich.table, scipy.io
from quadrag.chat.network import engine
from quadrag.baselines.certify import asking
from quadrag.baselines.construct import construct
from quadrag.baselines.runs import campaign, pipeline
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
UNREAD = "what reads it"


@dataclass
class Whole:
    """What a job comes to undisturbed: its files by their sha256, the requests, moments at which files change."""

    files: dict[str, str]
    asked: Counter[str]
    moments: int
    seconds: float
    folder: Path


@dataclass
class Ended:
    """How a process ended."""

    code: int
    out: str
    err: str


class Process:
    """A process and what it says, which stands in files outside of the folder that it works in."""

    def __init__(self, run: Run, said: Path) -> None:
        self.run, self._said = run, said

    def said(self, name: str) -> str:
        """What stands in `stdout` or `stderr` so far."""
        path = self._said.with_name(f"{self._said.name}.{name}")
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def end(self, after: float | None = None) -> Ended:
        """Wait for its end; kill it after some seconds."""
        if after is not None:
            end = time.monotonic() + after
            while time.monotonic() < end and self.run.poll() is None:
                time.sleep(0.002)
            self.run.kill()
        code = self.run.wait(LIMIT)
        return Ended(code, *(self.said(name) for name in ("stdout", "stderr")))


class World:
    """Folders and servers; `plant` is source that every disturbed process runs first."""

    def __init__(self, root: Path, plant: str = "") -> None:
        self.root, self.plant = root, plant
        self.server = ChatServer(models=["m", "maker", "obedient"], text=reply, latency=0.005)
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

    def words(self, command: tuple[str, ...]) -> list[str]:
        """Fill the servers' addresses into a command."""
        models = {"llm": "m", "maker": "maker", "obedient": "obedient"}
        return [word.format_map({name: f"{self.server.url}#{one}" for name, one in models.items()}) for word in command]

    def start(
        self, place: Path, job: Job, command: tuple[str, ...] = (), before: str = "", second: bool = False, **env: str
    ) -> Process:
        """Start a process in a folder; `second` may work beside another."""
        kind = f"{'large' if job.fresh else ' '.join(('quadrag', *job.needs))} {second}"
        if kind not in self._parents:
            folder = self.root / "parents" / kind
            folder.mkdir(parents=True)
            imports = LARGE if job.fresh else QUADRAG + "".join(f"import {name}\n" for name in job.needs)
            self._parents[kind] = Warm(imports, RUN, folder, os.environ)
        env = {"QUADRAG_CACHE": str(place / "cache"), "HF_HOME": str(place / "hf"), "COLUMNS": "80", **env}
        said = self.root / "said" / str(next(self._numbers))
        words = self.words(command or job.command)
        return Process(self._parents[kind].start(str(place), env, self.plant + before, words, str(said)), said)

    def run(self, place: Path, job: Job, command: tuple[str, ...] = (), before: str = "", **env: str) -> Ended:
        """Run a process to its end."""
        return self.start(place, job, command, before, **env).end()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Leave the planted fault out."""
        plant, self.plant = self.plant, ""
        try:
            yield
        finally:
            self.plant = plant

    def asked(self) -> list[str]:
        """What was asked since `forget`."""
        return [json.dumps(body, sort_keys=True) for body in self.server.bodies]

    def forget(self) -> None:
        """Forget what was asked."""
        self.server.bodies.clear()

    def whole(self, job: Job) -> Whole:
        """Return what a job comes to undisturbed; it is run once."""
        if job.name not in self._whole:
            place = self.root / "whole" / job.name
            self._prepare(place, job)
            done = place.with_name(f"{job.name} done")
            shutil.copytree(place, done)
            with self.undisturbed():
                self.forget()
                started = time.perf_counter()
                ended = self.run(done, job, before=disturb.count("events.txt"))
                seconds = time.perf_counter() - started
                assert ended.code == 0, f"{job.name}: {ended.err}"
                asked, moments = Counter(self.asked()), int((done / "events.txt").read_text())
                # Only what makes datasets asks again, for a second sample, where a reply cannot be read.
                assert "construct" in job.command or max(asked.values(), default=1) == 1, f"{job.name} asks twice"
                self._whole[job.name] = Whole(self.result(done, job), asked, moments, seconds, done)
                made = self._whole[job.name].files
                assert made and UNREAD not in made, f"{job.name} makes nothing: {made}"
        return self._whole[job.name]

    def place(self, job: Job) -> Path:
        """Return a new folder in which the job can be run."""
        folder = self.root / "places" / f"{next(self._numbers)}"
        if job.made:
            self.whole(job)
            shutil.copytree(self.root / "whole" / job.name, folder)
        else:
            folder.mkdir(parents=True)
        return folder

    def clear(self) -> None:
        """Remove the folders of the rounds before."""
        shutil.rmtree(self.root / "places", ignore_errors=True)

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
        with self.undisturbed():
            for command in job.before:
                ended = self.run(place, job, command)
                assert ended.code == 0, f"{job.name}: {ended.err}"

    def result(self, place: Path, job: Job) -> dict[str, str]:
        """Return the sha256 of each file that a job has made."""
        if job.then:
            shutil.rmtree(place / "out", ignore_errors=True)
            with self.undisturbed():
                ended = self.run(place, job, job.then)
            if ended.code:
                return {UNREAD: ended.err}
        return self.made(place, job)

    def made(self, place: Path, job: Job) -> dict[str, str]:
        """Return the sha256 of each file that is there."""
        paths = [path for pattern in job.made for path in place.glob(pattern) if path.is_file()]
        paths = [path for path in paths if not path.name.startswith(".")]
        return {path.relative_to(place).as_posix(): sha256(path.read_bytes()) for path in paths}


def sha256(content: Any) -> str:
    """Return the digest of a file's content."""
    return hashlib.sha256(bytes(content)).hexdigest()
