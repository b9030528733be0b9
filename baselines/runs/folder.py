"""The run folder: its files, what made them, and whether they may be used again.

`run.json` records the inputs that decide the answers, and the sha256 of each stage's file before it is written. A
folder made from other inputs is refused once it holds answers; a file that is gone sends every later stage back to
work, and one that was altered is refused.
Times, cost, host and command are in `run.json` alone, so that the other files of equal runs are equal to the byte.
"""

import contextlib
import copy
import hashlib
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from quadrag.errors import OtherRun, QuadragError
from quadrag.records import write_text
from quadrag.run_files import sha256
from quadrag.run_record import NAME, Inputs, RunRecord, read_run

from .inputs import QUESTIONS, is_longer, tell_difference, with_judges, without_judges

LOCK = ".lock"  # held by the run that is at work in the folder
PARTIAL = "retrieving.jsonl"  # passages found so far, where finding them takes long
ANSWERING = "answering.jsonl"  # what a function of the user's has answered so far
STAGES = ("retrieved.jsonl", "answers.jsonl", "items.jsonl", "scores.json")
_ANSWERED = (ANSWERING, *STAGES[1:3])  # what holds a line where something is answered


class RunFolder:
    """A run folder open for writing; `run` is its record."""

    def __init__(
        self, path: Path, inputs: Inputs, limited: Callable[[int], Inputs] | None = None, source: str = "unknown"
    ) -> None:
        """Open a folder for a run with these inputs, and make it where there is none.

        A run over fewer of the same questions is extended: its files are ours, and none of its stages is done. One
        without a judge may get one: its answers stand, and are scored anew.

        Args:
            path: the folder.
            inputs: of the run.
            limited: returns the inputs that the same run has with a lower limit.
            source: where its questions come from.
        """
        self.path = path
        self.run = RunRecord(inputs)
        # A finished run that is at work again, and its files that are written before any answer.
        self._before: tuple[RunRecord, dict[str, str]] | None = None
        # What a killed run was writing.
        for stray in path.glob(".*.part"):
            stray.unlink(missing_ok=True)
        if (path / NAME).exists():
            found = read_run(path)
            was = found.inputs.limit
            alike = limited(was) if limited and was is not None and is_longer(was, inputs.limit) else inputs
            # Nothing is judged yet, as without a judge, where it was dead or mistyped, or too little it said was read.
            unjudged = found.inputs.judge is None or found.judged_in_vain
            had, part = [with_judges(found.inputs, one) if unjudged else found.inputs for one in (inputs, alike)]
            if found.inputs == inputs:
                self.run = found
            elif had == inputs:
                self._judge(found, inputs)
            elif part == alike and all(is_as_written(path, found, name) for name in found.files):
                self._extend(found, inputs)
            elif any(path.joinpath(name).exists() and path.joinpath(name).stat().st_size for name in _ANSWERED):
                other = inputs if part == alike else alike
                raise OtherRun(path, tell_difference(found.inputs, other, (found.source, source)))
            else:
                # Nothing is answered yet, as after a mistyped model: there is nothing to lose.
                for name, digest in {**found.partial, **found.files}.items():
                    if (path / name).is_file() and sha256(path / name) == digest:
                        (path / name).unlink()
                (path / PARTIAL).unlink(missing_ok=True)

    def _extend(self, found: RunRecord, inputs: Inputs) -> None:
        part = found.stopped or f"the first {found.inputs.limit} questions of a split"
        self._set_back(found, found.files, part)
        self.run.inputs = inputs

    def _judge(self, found: RunRecord, inputs: Inputs) -> None:
        """Take over a run that was not judged, or in vain: what comes before the scores stands."""
        self._set_back(found, [name for name in STAGES[2:] if name in found.files], found.stopped or "not judged yet")
        self.run.inputs, self.run.verdict, self.run.unread_judge = inputs, None, None
        self.run.notes, self.run.certificates = [], []

    def reopen(self, answers: bool = True) -> None:
        """Send what models made back to work, verdicts and (if `answers`) answers."""
        found = self.run
        # Where a model was asked about the questions first, passages are its work too.
        made = STAGES[2:] if not answers else STAGES if "entities" in found.found else STAGES[1:]
        stages = [stage for stage in made if stage in found.files]
        if stages:
            self._set_back(found, stages, found.stopped or "replies are asked for again")

    def _set_back(self, found: RunRecord, stages: Collection[str], part: str) -> None:
        """Take a run's stages for undone, whose files are shown as a part until they are written again."""
        if found.state == "finished" and (self.path / STAGES[0]).is_file():
            first = [path for path in (self.path / STAGES[0], self.path / QUESTIONS) if path.is_file()]
            with contextlib.suppress(UnicodeDecodeError):  # of one that is damaged
                self._before = (copy.deepcopy(found), {path.name: path.read_text(encoding="utf-8") for path in first})
        files = {name: digest for name, digest in found.files.items() if name not in stages}
        partial = {**found.partial, **{name: found.files[name] for name in stages}}
        self.run = replace(found, state="stopped", files=files, partial=partial, stopped=part)

    def take_back(self) -> None:
        """Leave a finished run as it was that could not be done again, unless there are new answers."""
        if self._before is not None:
            found, texts = self._before
            if all(is_as_written(self.path, found, name) for name in found.files if name != STAGES[0]):
                for name, text in texts.items():
                    write_text(self.path / name, text)
                found.write(self.path)

    @property
    def was_finished(self) -> bool:
        """Whether a finished run is there, be it at work again."""
        return self.run.state == "finished" or self._before is not None

    @property
    def finished(self) -> bool:
        """Whether the run was finished and every stage's file is as it was left."""
        return self.run.state == "finished" and all(self.stands(stage) for stage in STAGES)

    def refuse_altered(self) -> None:
        """Refuse to write over passages, answers or items that are not as the run wrote them."""
        for stage in STAGES[:3]:
            path = self.path / stage
            if path.is_file() and not self.stands(stage) and self.run.partial.get(stage) != sha256(path):
                again = "remove it and run again, which makes it anew; answers of your own: quadrag score FILE"
                raise QuadragError(f"{path} is not as the run wrote it; {again}")

    def stands(self, stage: str) -> bool:
        """Whether a stage's file is there as the run wrote it."""
        return is_as_written(self.path, self.run, stage)

    def write(self, stage: str, text: str) -> None:
        """Record a stage's text, then write its file."""
        (self.path / stage).unlink(missing_ok=True)
        self._record(stage, hashlib.sha256(text.encode()).hexdigest())
        write_text(self.path / stage, text)

    def write_partial(self, texts: dict[str, str]) -> None:
        """Write files of a run that stopped: known as ours, but finished stages they are not."""
        for stage in texts:
            self.run.files.pop(stage, None)
            (self.path / stage).unlink(missing_ok=True)
        self.run.partial |= {stage: hashlib.sha256(text.encode()).hexdigest() for stage, text in texts.items()}
        self.save()
        for stage, text in texts.items():
            write_text(self.path / stage, text)

    def _record(self, stage: str, digest: str) -> None:
        if self.run.files.get(stage) != digest:
            for later in STAGES[STAGES.index(stage) + 1 :]:
                if self.stands(later):
                    (self.path / later).unlink()
                self.run.files.pop(later, None)
        self.run.files[stage] = digest
        self.run.partial.pop(stage, None)
        self.save()

    def save(self) -> None:
        """Write `run.json`, which names judges, and where they are, once one has replied or all is scored."""
        heard = self.run.verdict is not None or STAGES[2] in self.run.files
        (self.run if heard else replace(self.run, inputs=without_judges(self.run.inputs))).write(self.path)


def find_fresh(folders: Iterable[Path]) -> float:
    """Return from when on replies count in fresh runs: from now on, or, where one was stopped, from when it began."""
    runs = [read_run(folder) if (folder / NAME).exists() else None for folder in folders]
    last = max((run.fresh for run in runs if run and run.fresh), default=None)
    done = all(run and run.state == "finished" and run.fresh == last for run in runs)
    return time.time() if last is None or done else last


def is_as_written(path: Path, run: RunRecord, stage: str) -> bool:
    """Whether a stage's file is in a folder as the run wrote it."""
    return stage in run.files and (path / stage).is_file() and run.files[stage] == sha256(path / stage)


@contextlib.contextmanager
def lock_folder(out: Path) -> Iterator[None]:
    """Keep two runs out of one folder, which is made; the lock lies in it, and goes with the process that holds it."""
    from filelock import FileLock, Timeout

    for part in (out, *out.parents):
        if part.exists() and not part.is_dir():
            raise QuadragError(f"{part} is a file; expected a folder for the run, name another with --out")
    ours = re.compile(rf"{re.escape(LOCK)}|\..*\.part")  # what a run that was killed at once leaves
    if out.exists() and not (out / NAME).exists() and not all(ours.fullmatch(one.name) for one in out.iterdir()):
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
