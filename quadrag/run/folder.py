"""The run folder as a run writes it: its files, what made them, and whether they may be used again.

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
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.benchmark import Benchmark, Stratum, load
from quadrag.errors import QuadragError
from quadrag.parts import Conditions
from quadrag.printing import remark
from quadrag.records import Key, Question, dumps, jsonl_text, read_jsonl, write_text
from quadrag.results.certificates import Certificate
from quadrag.results.check import settle_scores
from quadrag.results.record import NAME, RunRecord, check_stage, is_as_written, read_run, sha256
from quadrag.results.run import Asked, Run, read_scores
from quadrag.scoring.drive import find_units
from quadrag.spec import NONE


def run_folders(folder: Path) -> list[Path]:
    """Return the folder of every run in a folder: itself, or those of ``--all``, or those of a table of recipes."""
    if (folder / NAME).exists():
        return [folder]
    return sorted(path.parent for path in {*folder.glob(f"*/{NAME}"), *folder.glob(f"*/*/{NAME}")})


def read_runs(
    folders: Sequence[str], profile: str | None = None, certificates: Sequence[Certificate] = ()
) -> list[tuple[str, list[Run]]]:
    """Read finished runs back, by folder, which may hold several.

    A run among several that did not finish is named on stderr and left out. What is told of them, as which metrics are
    invalid, is of the `profile`; of the one that each was made with when None. `certificates` go before those that are
    kept with a run. Pages that stand beside folders, as ``out/*`` names them too, are passed over.
    """
    read, paths = [], [*map(Path, folders)]
    named = [certificate.row for certificate in certificates]
    for folder in [path for path in paths if not (path.suffix == ".html" and path.is_file())] or paths:
        parts = run_folders(folder)
        finished = [part for part in parts if (part / SCORES).exists()]
        if not finished:
            read_result(parts[0] if parts else folder)  # says why not
        if left := [str(part) for part in parts if part not in finished]:
            remark(f"not finished and left out: {', '.join(left)}")
        results = []
        for part in finished:
            run = read_run(part)
            run.profile = profile or run.profile
            run.certificates = [*named, *(row for row in run.certificates if row not in named)]
            results.append(read_result(part, run))
        read.append((str(folder), sorted(results, key=_place_in_benchmark)))
    return read


def _place_in_benchmark(result: Run) -> tuple[str, int, bool]:
    """Return where a run stands among those of a folder: its config as in its benchmark, without documents last."""
    run = result.record
    configs = [*catalogue.configs(run.benchmark)]
    known = configs.index(run.config) if run.config in configs else len(configs)
    return run.benchmark, known, run.retriever == NONE


def read_result(folder: Path, run: RunRecord | None = None) -> Run:
    """Read a run back that has scores; `run` is its record, where that was read."""
    run = run or read_run(folder)
    if run.state != "finished" and not (folder / SCORES).exists():
        raise QuadragError(f"{folder} is not finished; run the same command again: {shlex.join(run.command)}")
    scores, asked = read_scores(folder, run), read_asked(folder, run)
    check_stage(folder, run, ITEMS)
    items = [row for _, row in read_jsonl(folder / ITEMS)]
    rows = [row for _, row in read_jsonl(folder / ANSWERS)] if is_as_written(folder, run, ANSWERS) else []
    texts = {((row["config"], row["split"], row["id"]), row["sample"]): row["answer"] for row in rows}
    marked = settle_scores(scores, run, items)
    return Run(run, marked, items, asked=asked, folder=folder, texts=texts)


def refuse_repeated_tasks(name: str, results: Sequence[Run]) -> None:
    """Refuse a folder to be compared that holds a task twice."""
    tasks = Counter(
        # The tables of a paper without a corpus have a task with several retrievers: with documents and without.
        (run.config, split, run.retriever if run.retriever == NONE or not load(run.benchmark).corpus else "")
        for run in (result.record for result in results)
        for split in run.splits
    )
    for (config, split, _), times in tasks.items():
        if times > 1:
            raise QuadragError(
                f"{name} holds several runs of {config} {split}; compare single folders of it, or report it alone"
            )


def digest(value: Any) -> str:
    """Return a digest of a value of JSON."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:16]


def digest_questions(questions: Sequence[Question]) -> str:
    """Return the digest by which `run.json` knows the questions."""
    content = hashlib.sha256()
    for question in questions:
        passages = [passage.text for passage in question.passages]
        more: list[Any] = [passages, question.relevant, dict(question.slots)]
        more += [dict(question.slices)] if question.slices else []
        more += [question.history] if question.history else []
        content.update(dumps([*question.key, question.query, question.references, *more]).encode())
    return content.hexdigest()[:16]


def digest_each(questions: Sequence[Question]) -> dict[Key, str]:
    """Return a digest of every question with its gold, by which two runs know the questions that they share."""
    return {question.key: digest([question.query, question.references]) for question in questions}


def describe_each(benchmark: Benchmark, questions: Sequence[Question], conditions: Conditions) -> dict[Key, Asked]:
    """Return what is kept of every question."""
    units, strata, digests = find_units(questions), benchmark.strata(questions, conditions), digest_each(questions)
    return {
        question.key: Asked(digests[question.key], units.get(question.key), question.slices, strata.get(question.key))
        for question in questions
    }


def text_of(asked: Mapping[Key, Asked]) -> str:
    """Return the text of the file of what is kept of the questions."""
    return jsonl_text(
        {"config": config, "split": split, "id": ident}
        | {name: value for name, value in facts._asdict().items() if value}
        for (config, split, ident), facts in asked.items()
    )


def read_asked(folder: Path, run: RunRecord) -> dict[Key, Asked]:
    """Read what is kept of the questions; nothing of a folder that has none."""
    path = folder / QUESTIONS
    if not path.exists():
        return {}
    if not is_as_written(folder, run, QUESTIONS):
        raise QuadragError(f"{path} is not as the run wrote it; remove the file, and runs pair by their ids")
    return {
        (row["config"], row["split"], row["id"]): Asked(
            row["sha256"],
            row.get("unit"),
            row.get("slices", {}),
            Stratum(*row["stratum"]) if "stratum" in row else None,
        )
        for _, row in read_jsonl(path)
    }


LOCK = ".lock"  # held by the run that is at work in the folder
FRESH = ".fresh"  # while a run asks all anew: the moment from which replies count
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
        """Open a folder for a run, in which files may stand; without a path nothing is written.

        One without a judge, or whose judge came to nothing, may get one: its answers stand, and are scored anew. A run
        that is made as a `whole`, as scores of answers that are there, takes nothing over.
        """
        self.path = path
        self.record = run
        self.finished = False
        self.whole = whole or path is None
        self._held: dict[str, str] | None = {} if self.whole else None  # texts that are kept back until all are there
        if path is None or whole or not (path / NAME).exists():
            return
        for stray in path.glob(".*.part"):  # what a killed run was writing
            stray.unlink(missing_ok=True)
        before = read_run(path)
        answering = before.answering == run.answering
        if answering and before.judging == run.judging:
            self._take_over(before)
        elif answering and (before.judge is None or before.judged_in_vain or before.state != "finished"):
            self._take_over(before)
            self.redo(VERDICTS)
            self.record.judging, self.record.judge, self.record.unread_judge = run.judging, run.judge, None
            self.record.verdict, self.record.notes, self.record.certificates = None, [], []
        elif any((path / name).exists() and (path / name).stat().st_size for name in (ANSWERING, *STAGES[1:])):
            raise QuadragError(f"{path} holds a run {_tell_difference(before, run)}")
        else:  # nothing is answered yet, as after a mistyped model: there is nothing to lose
            for name in (*STAGES, PARTIAL):
                (path / name).unlink(missing_ok=True)

    def _take_over(self, before: RunRecord) -> None:
        self.record = replace(before, spec=self.record.spec)
        self.finished = before.state == "finished" and all(map(self.stands, {RETRIEVED, ANSWERS, ITEMS, SCORES}))
        self._held = {} if self.finished else None

    @property
    def was_finished(self) -> bool:
        """Whether the folder holds a finished run, which stays as it is until all of another is there."""
        return self._held is not None and not self.whole

    def redo(self, first: str) -> None:
        """Send a stage and all after it back to work."""
        self.finished = False
        for stage in STAGES[STAGES.index(first) :]:
            self.record.files.pop(stage, None)

    def refuse_altered(self) -> None:
        """Refuse to write over passages, answers or items that are not as the run wrote them."""
        for stage in (RETRIEVED, ANSWERS, VERDICTS, ITEMS):
            if stage in self.record.files and self.place(stage).is_file() and not self.stands(stage):
                again = "remove it and run again, which makes it anew; answers of your own: quadrag score FILE"
                raise QuadragError(f"{self.place(stage)} is not as the run wrote it; {again}")

    def place(self, name: str) -> Path:
        """Return where a file of the folder lies, or will."""
        return (self.path or Path()) / name

    def stands(self, stage: str) -> bool:
        """Whether a stage is done."""
        place = self.place(stage)
        return stage in (self._held or ()) or (place.is_file() and self.record.files.get(stage) == sha256(place))

    def read(self, stage: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield number and object of each line of a stage."""
        if self._held and stage in self._held:
            lines = enumerate(self._held[stage].split("\n"), 1)
            return ((number, json.loads(line)) for number, line in lines if line)
        return read_jsonl(self.place(stage))

    def write(self, stage: str, text: str) -> None:
        """Record a stage's text, then write its file; what was made of another text goes."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        if self.record.files.get(stage) != digest:
            for later in STAGES[STAGES.index(stage) + 1 :] if stage in STAGES else ():
                self.record.files.pop(later, None)
                if self._held is None:
                    self.place(later).unlink(missing_ok=True)
        self.record.files[stage] = digest
        if self._held is None:
            self.place(stage).unlink(missing_ok=True)
            self.save()
            write_text(self.place(stage), text)
        else:
            self._held[stage] = text

    def begin_fresh(self, since: float) -> None:
        """Ask all anew, but for what was asked since a moment, as by a command that was killed."""
        self.record.fresh = since
        if self.path and _read_fresh(self.path) != since:
            self.place(ANSWERING).unlink(missing_ok=True)
            write_text(self.place(FRESH), repr(since))

    def commit(self) -> None:
        """Put in place what was kept back, and write `run.json`."""
        held, self._held = self._held or {}, None
        if self.path is None:
            return
        for stage in held:
            self.place(stage).unlink(missing_ok=True)
        self.save()
        for stage, text in held.items():
            write_text(self.place(stage), text)
        self.place(FRESH).unlink(missing_ok=True)

    def save(self) -> None:
        """Write `run.json`, but of a run that is kept back."""
        if self.path and self._held is None:
            self.record.write(self.path)


def find_fresh(folders: Iterable[Path]) -> float:
    """Return from when on replies count in fresh runs: from now on, or, where one was stopped, from when it began."""
    places = [*folders]
    begun = [moment for folder in places if (moment := _read_fresh(folder))]
    runs = [read_run(folder) if (folder / NAME).exists() else None for folder in places]
    last = max([*begun, *(run.fresh for run in runs if run and run.fresh)], default=None)
    done = all(run and run.state == "finished" and run.fresh == last for run in runs)
    return time.time() if last is None or done else last


def _read_fresh(folder: Path) -> float | None:
    return float((folder / FRESH).read_text()) if (folder / FRESH).is_file() else None


def is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing but what a run leaves that failed or was killed at once."""
    return all(re.fullmatch(rf"\{LOCK}|\{FRESH}|\..*\.part", path.name) for path in folder.iterdir())


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
    try:
        with FileLock(out / LOCK, timeout=0):
            yield
    except Timeout:
        raise QuadragError(f"another run is at work in {out}; wait for it, or name another folder with --out") from None


def _identify(run: RunRecord) -> Any:
    return {"data": run.source.partition(" (")[0], **run.answering, "judge": run.judging}


def _tell_difference(before: RunRecord, now: RunRecord) -> str:
    """Say in what two runs differ first, and what to do who asks for the second in the folder of the first."""
    name, was, wanted = "", _identify(before), _identify(now)
    while isinstance(was, dict | list) and type(was) is type(wanted) and len(was) and len(wanted):
        if isinstance(was, list):
            was, wanted = dict(enumerate(was)), dict(enumerate(wanted))
        key = next(key for key in {**was, **wanted} if was.get(key) != wanted.get(key))
        name, was, wanted = f"{name}.{key}".removeprefix("."), was.get(key), wanted.get(key)
    way = "; if only its place is another, name it from its first run on (--llm-name)" * name.endswith("service")
    return f"with {name} {was!r:.60}, not {wanted!r:.60}; name another folder with --out, or remove it{way}"
