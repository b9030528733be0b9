"""The run folder: its files, what made them, and whether they may be used again.

`run.json` records what identifies the run, and the sha256 of each stage's file before it is written. A folder of
another run is refused once it holds answers; a file that is gone sends every later stage back to work, and one that was
altered is refused. A finished run that is done again, as where calls had failed, keeps its files until the new ones are
all there. Times, cost, host and command are in `run.json` alone, so that the other files of equal runs are equal to the
byte.
"""

import contextlib
import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quadrag.errors import QuadragError
from quadrag.records import Answer, read_jsonl, write_text
from quadrag.results.record import NAME, RunRecord, read_run, sha256

ASIDE = ".new"  # where files of a run that is done again lie until all are there
LOCK = ".lock"  # held by the run that is at work in the folder
PARTIAL = "retrieving.jsonl"  # passages found so far, where finding them takes long
ANSWERING = "answering.jsonl"  # what a function of the user's has answered so far
QUESTIONS = "questions.jsonl"  # what is kept of each question
RETRIEVED, ANSWERS, VERDICTS, ITEMS, SCORES = STAGES = (
    "retrieved.jsonl",
    "answers.jsonl",
    "verdicts.jsonl",
    "items.jsonl",
    "scores.json",
)


class RunFolder:
    """A run folder open for writing; `run` is its record, `finished` whether all of it is done."""

    def __init__(self, path: Path | None, run: RunRecord, whole: bool = False) -> None:
        """Open a folder for a run, and make it where there is none; without a path nothing stays.

        One without a judge may get one: its answers stand, and are scored anew. Where the run is made as a `whole`, as
        scores of answers that are there, what the folder holds is replaced at its end.
        """
        self.path = path
        self.record = run
        self.finished = False
        self.whole = whole or path is None
        self.fresh: float | None = None  # from when on replies count in a run that asks all anew, and was killed
        self._aside: Path | None = None  # where files lie until all are there
        if path is None:
            self._scratch = TemporaryDirectory()
            self._aside = Path(self._scratch.name)
            return
        if whole:
            self._aside = path / ASIDE
        if whole or not (path / NAME).exists():
            return
        for stray in path.glob(".*.part"):  # what a killed run was writing
            stray.unlink(missing_ok=True)
        self.fresh = _read_fresh(path)
        shutil.rmtree(path / ASIDE, ignore_errors=True)
        before = read_run(path)
        answering = before.answering == run.answering
        if answering and before.judging == run.judging:
            self._take_over(before)
        elif answering and (before.judge is None or before.judged_in_vain):
            self._take_over(before)
            self.redo(STAGES[2:])
            self.record = replace(self.record, judging=run.judging, judge=run.judge)
            self.record.verdict, self.record.unread_judge = None, None
            self.record.notes, self.record.certificates = [], []
        elif any((path / name).exists() and (path / name).stat().st_size for name in (ANSWERING, *STAGES[1:])):
            raise QuadragError(f"{path} holds a run {tell_difference(before, run)}")
        else:  # nothing is answered yet, as after a mistyped model: there is nothing to lose
            for name in (*STAGES, PARTIAL):
                (path / name).unlink(missing_ok=True)

    def _take_over(self, before: RunRecord) -> None:
        self.record = replace(before, spec=self.record.spec)
        self.finished = before.state == "finished" and all(map(self.stands, {RETRIEVED, ANSWERS, ITEMS, SCORES}))
        if self.finished and self.path:
            self._aside = self.path / ASIDE

    @property
    def was_finished(self) -> bool:
        """Whether the folder holds a finished run, which stays as it is until all of another is there."""
        return self._aside is not None and not self.whole

    def redo(self, stages: Iterable[str]) -> None:
        """Send stages back to work; of a finished run their files stay until the new ones are there."""
        self.finished = False
        left = {name: digest for name, digest in self.record.files.items() if name not in set(stages)}
        self.record = replace(self.record, files=left)

    def refuse_altered(self) -> None:
        """Refuse to write over passages, answers or items that are not as the run wrote them."""
        known = {**self.record.partial, **self.record.files}
        for stage in STAGES:
            path = None if self.path is None else self.path / stage
            if stage in known and stage != SCORES and path and path.is_file() and known[stage] != sha256(path):
                again = "remove it and run again, which makes it anew; answers of your own: quadrag score FILE"
                raise QuadragError(f"{path} is not as the run wrote it; {again}")

    def place(self, stage: str) -> Path:
        """Return where the file of a stage lies, or will."""
        aside = self._aside / stage if self._aside else None
        return aside if aside and (self.path is None or aside.exists()) else Path(self.path or "") / stage

    def stands(self, stage: str) -> bool:
        """Whether a stage is done."""
        place = self.place(stage)
        return stage in self.record.files and place.is_file() and self.record.files[stage] == sha256(place)

    def write(self, stage: str, text: str) -> None:
        """Record a stage's text, then write its file; what was made of another text goes."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        if self.record.files.get(stage) != digest:
            for later in STAGES[STAGES.index(stage) + 1 :] if stage in STAGES else ():
                self.record.files.pop(later, None)
                if not self._aside:
                    self.place(later).unlink(missing_ok=True)
        self.record.files[stage] = digest
        self.record.partial.pop(stage, None)
        if self._aside:
            self._aside.mkdir(exist_ok=True)
            self.save()
            write_text(self._aside / stage, text)
        else:
            self.place(stage).unlink(missing_ok=True)
            self.save()
            write_text(self.place(stage), text)

    def write_partial(self, texts: Mapping[str, str]) -> None:
        """Write files of a run that stopped: known as ours, but finished stages they are not."""
        if self._aside:  # what was finished before stays
            return
        for stage in texts:
            self.record.files.pop(stage, None)
            self.place(stage).unlink(missing_ok=True)
        self.record.partial |= {stage: hashlib.sha256(text.encode()).hexdigest() for stage, text in texts.items()}
        self.save()
        for stage, text in texts.items():
            write_text(self.place(stage), text)

    def close(self) -> None:
        """Remove what is aside still: of a run that came to nothing."""
        if self.path and self._aside:
            shutil.rmtree(self._aside, ignore_errors=True)

    def commit(self) -> None:
        """Put in place what was made aside, and write `run.json`."""
        if self.path is None:
            self._scratch.cleanup()
            return
        if self._aside:
            (self._aside / NAME).unlink(missing_ok=True)
        made = sorted(self._aside.iterdir()) if self._aside and self._aside.is_dir() else []
        self._aside = None
        if made:
            for path in made:
                (self.path / path.name).unlink(missing_ok=True)
            self.save()
            for path in made:
                path.replace(self.path / path.name)
            made[0].parent.rmdir()
        self.save()

    def save(self) -> None:
        """Write `run.json`, which names judges, and where they are, once one has replied or all is scored."""
        if self.path is None or (self.whole and self._aside):
            return
        run, heard = self.record, self.record.verdict is not None or ITEMS in self.record.files
        bare = replace(run, spec=run.spec.changed(judges=()), judging={}, judge=None)
        (run if heard else bare).write(self._aside or self.path)


def find_fresh(folders: Iterable[Path]) -> float:
    """Return from when on replies count in fresh runs: from now on, or, where one was stopped, from when it began."""
    places = [*folders]
    killed = [moment for folder in places if (moment := _read_fresh(folder))]
    runs = [read_run(folder) if (folder / NAME).exists() else None for folder in places]
    last = max([*killed, *(run.fresh for run in runs if run and run.fresh)], default=None)
    done = all(run and run.state == "finished" and run.fresh == last for run in runs)
    return time.time() if last is None or done else last


def _read_fresh(folder: Path) -> float | None:
    """Return from when on replies count in a run that was to replace a finished one, and was killed."""
    try:
        return read_run(folder / ASIDE).fresh
    except QuadragError:
        return None


def is_as_written(path: Path, run: RunRecord, stage: str) -> bool:
    """Whether a stage's file is in a folder as the run wrote it."""
    return stage in run.files and (path / stage).is_file() and run.files[stage] == sha256(path / stage)


def read_answers(path: Path) -> list[Answer]:
    """Read the answers that a run wrote."""
    answers = []
    for number, row in read_jsonl(path):
        try:
            answers.append(Answer(**row))
        except TypeError:
            raise QuadragError(f"{path}:{number} is no answer of a run; remove the file and run again") from None
    return answers


def is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing but what a run leaves that failed or was killed at once."""
    ours = re.compile(rf"{re.escape(LOCK)}|{re.escape(ASIDE)}|\..*\.part")
    return all(ours.fullmatch(path.name) for path in folder.iterdir())


@contextlib.contextmanager
def lock_folder(out: Path) -> Iterator[None]:
    """Keep two runs out of one folder, which is made; the lock lies in it, and goes with the process that holds it."""
    from filelock import FileLock, Timeout

    for part in (out, *out.parents):
        if part.exists() and not part.is_dir():
            raise QuadragError(f"{part} is a file; expected a folder for the run, name another with --out")
    if out.exists() and not (out / NAME).exists() and not is_empty(out):
        raise QuadragError(f"{out} is not empty and holds no run.json; name another folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise QuadragError(f"another run is at work in {out}; wait for it, or name another folder with --out") from None
    try:
        yield
    finally:
        lock.release()


def tell_difference(before: RunRecord, now: RunRecord) -> str:
    """Say in what two runs differ first, and what to do who asks for the second in the folder of the first."""
    parts = [{**run.answering, "judge": run.judging} for run in (before, now)]
    if parts[0]["questions"] != parts[1]["questions"]:
        parts = [
            {"data": run.source.partition(" (")[0], **part} for run, part in zip((before, now), parts, strict=True)
        ]
    name, had, wanted = _first_difference("", *parts)
    way = "; if only its place is another, name it from its first run on (--llm-name)" * name.endswith("service")
    return f"with {name} {_short(had)}, not {_short(wanted)}; name another folder with --out, or remove it{way}"


def _first_difference(name: str, was: Any, now: Any) -> tuple[str, Any, Any]:
    while isinstance(was, dict | list) and type(was) is type(now):
        if isinstance(was, list):
            if len(was) != len(now):
                break
            was, now = dict(enumerate(was)), dict(enumerate(now))
        key = next(key for key in {**was, **now} if was.get(key) != now.get(key))
        name, was, now = f"{name}.{key}".removeprefix("."), was.get(key), now.get(key)
    return name, was, now


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
