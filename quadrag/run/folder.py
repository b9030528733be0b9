"""The run folder: its files, what made them, whether they may be used again, and finished runs read back from it.

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
from quadrag.errors import QuadragError, Unreadable
from quadrag.passages import read_passages
from quadrag.printing import remark
from quadrag.records import Key, Passage, Question, digest, dumps, jsonl_text, read_jsonl, write_text
from quadrag.results import NAME, Asked, Run, RunRecord, read_run, read_scores
from quadrag.results.certificates import Certificate
from quadrag.results.check import settle_scores
from quadrag.results.record import check_stage, is_as_written, sha256
from quadrag.scoring.drive import find_units
from quadrag.spec import NONE, RunSpec

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
    """A run folder open for writing; without a path nothing is written.

    One without a judge, or whose judge came to nothing, may get one: its answers stand, and are scored anew. With
    `takes_nothing_over`, as for scores of answers that are there, all is made anew.
    """

    def __init__(self, path: Path | None, record: RunRecord, takes_nothing_over: bool = False) -> None:
        self.path = path
        self.record = record
        self.finished = False  # whether all of it is done
        self.was_finished = False  # whether it holds a finished run, which stays until all of another is there
        anew = takes_nothing_over or path is None
        self._uncommitted: dict[str, str] | None = {} if anew else None  # texts kept back until all are there
        if path is None or anew or not (path / NAME).exists():
            return
        for leftover in path.glob(".*.part"):  # what a killed run was writing
            leftover.unlink(missing_ok=True)
        previous = read_run(path)
        same_answers = previous.answering == record.answering
        if same_answers and previous.judging == record.judging:
            self._take_over(previous)
        elif same_answers and (previous.judge is None or previous.judged_in_vain or previous.state != "finished"):
            self._take_over(previous)
            self.redo(VERDICTS)
            self.record.judging, self.record.judge, self.record.unread_judge = record.judging, record.judge, None
            self.record.verdict, self.record.notes, self.record.certificates = None, [], []
        elif any((path / name).exists() and (path / name).stat().st_size for name in (ANSWERING, *STAGES[1:])):
            raise QuadragError(f"{path} holds a run {_tell_difference(previous, record)}")
        else:  # nothing is answered yet, as after a mistyped model: there is nothing to lose
            for name in (*STAGES, PARTIAL):
                (path / name).unlink(missing_ok=True)

    def _take_over(self, previous: RunRecord) -> None:
        self.record = replace(previous, spec=self.record.spec)
        self.finished = previous.state == "finished" and all(map(self.stands, {RETRIEVED, ANSWERS, ITEMS, SCORES}))
        self.was_finished = self.finished
        self._uncommitted = {} if self.finished else None

    def redo(self, first: str) -> None:
        self.finished = False
        for stage in STAGES[STAGES.index(first) :]:
            self.record.files.pop(stage, None)

    def refuse_altered(self) -> None:
        for stage in (RETRIEVED, ANSWERS, VERDICTS, ITEMS):
            if stage in self.record.files and self.place(stage).is_file() and not self.stands(stage):
                again = "remove it and run again, which makes it anew; answers of your own: quadrag score FILE"
                raise QuadragError(f"{self.place(stage)} is not as the run wrote it; {again}")

    def place(self, name: str) -> Path:
        return (self.path or Path()) / name

    def stands(self, stage: str) -> bool:
        place = self.place(stage)
        return stage in (self._uncommitted or ()) or (place.is_file() and self.record.files.get(stage) == sha256(place))

    def read(self, stage: str) -> Iterator[tuple[int, dict[str, Any]]]:
        if self._uncommitted and stage in self._uncommitted:
            lines = enumerate(self._uncommitted[stage].split("\n"), 1)
            return ((number, json.loads(line)) for number, line in lines if line)
        return read_jsonl(self.place(stage))

    def write(self, stage: str, text: str) -> None:
        """Record a stage's text, then write its file; what was made of another text goes."""
        text_sum = hashlib.sha256(text.encode()).hexdigest()
        if self.record.files.get(stage) != text_sum:
            for later in STAGES[STAGES.index(stage) + 1 :] if stage in STAGES else ():
                self.record.files.pop(later, None)
                if self._uncommitted is None:
                    self.place(later).unlink(missing_ok=True)
        self.record.files[stage] = text_sum
        if self._uncommitted is None:
            self.place(stage).unlink(missing_ok=True)
            self.save()
            write_text(self.place(stage), text)
        else:
            self._uncommitted[stage] = text

    def begin_fresh(self, since: float) -> None:
        """Ask all anew, but for what was asked since a moment, as by a command that was killed."""
        self.record.fresh = since
        if self.path and _read_fresh(self.path) != since:
            self.place(ANSWERING).unlink(missing_ok=True)
            write_text(self.place(FRESH), repr(since))

    def commit(self) -> None:
        texts, self._uncommitted = self._uncommitted or {}, None
        if self.path is None:
            return
        for stage in texts:
            self.place(stage).unlink(missing_ok=True)
        self.save()
        for stage, text in texts.items():
            write_text(self.place(stage), text)
        self.place(FRESH).unlink(missing_ok=True)

    def save(self) -> None:
        if self.path and self._uncommitted is None:
            self.record.write(self.path)


def find_fresh(folders: Iterable[Path]) -> float:
    """Return from when on replies count in fresh runs: from now on, or, where one was stopped, from when it began."""
    places = [*folders]
    started = [moment for folder in places if (moment := _read_fresh(folder))]
    runs = [read_run(folder) if (folder / NAME).exists() else None for folder in places]
    last = max([*started, *(run.fresh for run in runs if run and run.fresh)], default=None)
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


def _tell_difference(previous: RunRecord, record: RunRecord) -> str:
    name = ""
    sides: list[Any] = [
        {"data": run.source.partition(" (")[0], **run.answering, "judge": run.judging} for run in (previous, record)
    ]
    was, wanted = sides
    while isinstance(was, dict | list) and type(was) is type(wanted) and len(was) and len(wanted):
        if isinstance(was, list):
            was, wanted = dict(enumerate(was)), dict(enumerate(wanted))
        key = next(key for key in {**was, **wanted} if was.get(key) != wanted.get(key))
        name, was, wanted = f"{name}.{key}".removeprefix("."), was.get(key), wanted.get(key)
    hint = "; if only its place is another, name it from its first run on (--llm-name)" * name.endswith("service")
    return f"with {name} {was!r:.60}, not {wanted!r:.60}; name another folder with --out, or remove it{hint}"


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


def retrieved_rows(
    questions: Iterable[Question], passages: Mapping[Key, Sequence[Passage]]
) -> Iterator[dict[str, Any]]:
    for question in questions:
        place = {name: getattr(question, name) for name in ("benchmark", "config", "split", "id")}
        yield {**place, "passages": [passage._asdict() for passage in passages[question.key]]}


def read_retrieved(
    path: Path, questions: Sequence[Question], lines: Iterable[tuple[int, Mapping[str, Any]]] | None = None
) -> dict[Key, tuple[Passage, ...]]:
    """Read ``retrieved.jsonl`` back, or `lines` that are to stand there, each with its number."""
    passages: dict[Key, tuple[Passage, ...]] = {}
    for number, row in lines or read_jsonl(path):
        try:
            key, found = read_passages_row(row)
        except (KeyError, TypeError, Unreadable) as error:
            raise QuadragError(f"{path}:{number} is not a retrieval result ({error!r})") from None
        passages[key] = found
    keys = {question.key for question in questions}
    if passages.keys() != keys:
        raise QuadragError(
            f"{path} holds {len(passages)} questions of which {len(passages.keys() & keys)} are among the {len(keys)} "
            "asked; expected the retrieved.jsonl of a run of just these"
        )
    return passages


def read_passages_row(row: Mapping[str, Any]) -> tuple[Key, tuple[Passage, ...]]:
    passages = read_passages([{"id": passage["id"], "text": passage["text"], **passage} for passage in row["passages"]])
    return (row["config"], row["split"], str(row["id"])), passages


def refuse_repeated_tasks(name: str, results: Sequence[Run]) -> None:
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


def digest_questions(questions: Sequence[Question]) -> str:
    content = hashlib.sha256()
    for question in questions:
        passages = [passage.text for passage in question.passages]
        fields: list[Any] = [question.query, question.references, passages, question.relevant, dict(question.slots)]
        fields += [dict(question.slices)] if question.slices else []
        fields += [question.history] if question.history else []
        content.update(dumps([*question.key, *fields]).encode())
    return content.hexdigest()[:16]


def digest_each(questions: Sequence[Question]) -> dict[Key, str]:
    """Return a digest of every question with its gold, by which two runs know the questions that they share."""
    return {question.key: digest([question.query, question.references]) for question in questions}


def describe_each(benchmark: Benchmark, questions: Sequence[Question], spec: RunSpec) -> dict[Key, Asked]:
    units, strata, digests = find_units(questions), benchmark.strata(questions, spec), digest_each(questions)
    return {
        question.key: Asked(digests[question.key], units.get(question.key), question.slices, strata.get(question.key))
        for question in questions
    }


def questions_text(asked: Mapping[Key, Asked]) -> str:
    return jsonl_text(
        {"config": config, "split": split, "id": ident}
        | {name: value for name, value in facts._asdict().items() if value}
        for (config, split, ident), facts in asked.items()
    )


def read_asked(folder: Path, run: RunRecord) -> dict[Key, Asked]:
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
