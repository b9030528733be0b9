"""Answers that another system made: read from a file, they enter a run where a model's do.

What forms such a file may have is said by `answers.py`.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.provenance import Provenance, Source
from quadrag.records import Answer, Question

from ...core.benchmark import Benchmark, load
from ...core.result import Result
from ...core.run_record import NAME, RunRecord, read_run, sha256
from ...core.spec import UNKNOWN, CallPolicy, RunSpec
from ...systems.own import take_served
from ...systems.system import Assignment, Generated, Passages, Questions, System, Tell
from ..folder import QUESTIONS, is_empty
from ..models import Models
from ..questions import digest_each, read_asked
from ..run import run
from .answers import Answered, has_passages, lines, named_split, read_conditions
from .answers import read as read_file
from .logs import ForeignLog, Maker, find_maker, is_log, name_task, name_time

_COMMAND = ["quadrag", "score"]  # how the commands begin whose folders are scores
_ASKED_AGAIN = r"\0(?:--fresh|--retry[\0=][^\0]+)"  # of which kept replies, which is no other command
_JUDGED = rf"{_ASKED_AGAIN}|\0--(?:judge[a-z-]*|certificate|max-failed|concurrency|timeout|ledger)[\0=][^\0]+"


def score_file(spec: RunSpec, policy: CallPolicy, models: Models, path: Path, out: Path | None = None) -> Result:
    """Score a file of answers, and write the score files where a folder is named.

    Lines with `passages` are measured as a RAG service's are. A file that answers a part of the questions is scored on
    that part.
    """
    if out:
        refuse_full(out, policy.command)
    if policy.fresh:
        models.reuse.since = models.reuse.began
    return run(spec, policy, replace(models, system=AnswersFile(path, spec)), out)


class AnswersFile(System):
    """Answers that another system made, in a file of whatever form `answers.py` knows."""

    has_answers = True
    asks_models = False

    def __init__(self, path: Path, spec: RunSpec) -> None:
        """Read what the file says of itself; its answers are read once the questions are known."""
        self.path = path
        self._logged = _check_conditions(path, spec)  # its retriever
        self._maker = find_maker(path)
        self._made = _read_maker(path)
        benchmark = load(spec.benchmark)
        unsaid = spec.retriever == UNKNOWN or not (benchmark.corpus or benchmark.options)
        searched = benchmark.supplied is None and unsaid
        self._spec = spec
        self.finds_passages = searched and has_passages(path)
        self.parameters = {"contract": "file"} if self.finds_passages else {}
        self._read: Answered | None = None

    @property
    def name(self) -> str:
        """What made them, else the file's name."""
        return self._maker.model if self._maker else _name_plainly(self.path)

    def take(self, benchmark: Benchmark, task: RunSpec) -> Assignment:
        """Take a run on, as a RAG service where lines have passages."""
        return take_served(benchmark, task) if self.finds_passages else Assignment(benchmark, task, {})

    def choose(self, questions: Questions, source: Source) -> tuple[Questions, int]:
        """Read the answers; return the questions that they are of, among how many."""
        if self._spec.split is None:
            known = list(dict.fromkeys(question.split for question in questions))
            named = [named_split(row, known) for _, row in lines(self.path)]
            # A file that says its splits answers those; one that does not must answer all.
            if named and all(isinstance(split, str) and split in known for split in named):
                questions = [question for question in questions if question.split in named]
        _check_asked(self.path, self._made, questions)
        defaults = {"config": self._spec.config} | ({"split": self._spec.split} if self._spec.split else {})
        sample = source.provenance is Provenance.SAMPLE
        by_key = {question.key: question for question in questions}
        self._read = read_file(self.path, by_key, defaults, partial=True, sample=sample)
        if not self._read.answers:
            raise QuadragError(f"{self.path} holds no answer to any of {len(questions)} questions")
        answered = {answer.key for answer in self._read.answers}
        return [question for question in questions if question.key in answered], len(questions)

    def note(self, record: RunRecord) -> None:
        """Say how they were made, as far as the file does."""
        assert self._read is not None
        if self._logged and record.retriever == UNKNOWN:
            record.digests["retrieval"] = _read_retrieval(self._logged, self._maker)
            record.spec = record.spec.changed(retriever=self._logged)
        record.log = self._logged is not None
        if self._logged and self._maker and (prompts := (self._maker.settings or {}).get("prompts")):
            record.given = [Path(prompts).name]
        record.by_ids = self._read.by_ids and not (self._made and QUESTIONS in self._made.files)

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Return the answers; see `System.answer`."""
        assert self._read is not None
        generated = Generated([*self._read.answers], latency=_pick_latencies(self._made, self._read.answers))
        if self.finds_passages:
            generated.passages = {question.key: self._read.passages.get(question.key, ()) for question in questions}
        return generated


def _read_maker(path: Path) -> RunRecord | None:
    """Return the run of ours that made a file and left it beside its `run.json`; None of any other file."""
    try:
        made = read_run(path.parent)
    except QuadragError:  # it is not a run's folder, and need be none
        return None
    return made if made.files.get(path.name) == sha256(path) else None


def _check_asked(path: Path, made: RunRecord | None, questions: Sequence[Question]) -> None:
    """Refuse a run's answers to questions that have its ids, and none of its texts and gold."""
    before, now = read_asked(path.parent, made.files.get(QUESTIONS)) if made else {}, digest_each(questions)
    shared = before.keys() & now.keys()
    if made and shared and all(before[key].sha256 != now[key] for key in shared):
        there = f"--data-dir {made.spec.data_dir}" if made.spec.data_dir else made.source
        raise QuadragError(
            f"{path} answers other questions than these data have under its ids; expected those of the run: {there}"
        )


def _pick_latencies(made: RunRecord | None, answers: Sequence[Answer]) -> dict[str, float]:
    if made is None:
        return {}
    places = ("/".join((*answer.key, str(answer.sample))) for answer in answers)
    return {place: made.latency_seconds[place] for place in places if place in made.latency_seconds}


def name_folders(files: Sequence[Path], out: Path) -> list[Path]:
    """Name the folders of files' scores: of one `out` itself, of several one in it for each, as the files lie.

    ``answers/a/m.jsonl`` and ``answers/b/m.jsonl`` have ``out/a/m`` and ``out/b/m``. That of a log is called as its
    task, with the time of day where other logs are of the same.
    """
    if len(files) == 1:
        return [out]
    shared = Path(os.path.commonpath([file.parent.absolute() for file in files]))
    tasks = [name_task(file) for file in files]
    plain = [_name_plainly(file) for file in files]
    timed = [
        f"{task}_{name_time(file)}" if task else name for file, task, name in zip(files, tasks, plain, strict=True)
    ]
    named = [task or name for task, name in zip(tasks, plain, strict=True)]
    places = [file.absolute().relative_to(shared) for file in files]
    return [out / place for place in _name_apart(places, named, timed, plain)]


def name_systems(files: Sequence[Path]) -> list[Path]:
    """Name what made files: a log by itself, which says it, others without their endings, where these are not all."""
    return _name_apart(files, [file.name if find_maker(file) else _name_plainly(file) for file in files])


def _name_apart(places: Sequence[Path], *ways: Sequence[str]) -> list[Path]:
    """Name each file in the first of several ways in which no other has its name."""
    called = [*places]
    for names in reversed(ways):
        there = [place.with_name(name) for place, name in zip(places, names, strict=True)]
        called = [name if there.count(name) == 1 else before for name, before in zip(there, called, strict=True)]
    return called


def _name_plainly(file: Path) -> str:
    return file.stem if file.suffix in (".json", ".jsonl") else file.name


def refuse_full(out: Path, command: Sequence[str]) -> None:
    """Refuse a folder for scores that is not empty.

    Not where scoring has stopped there, as where the judge was dead, nor where the same command made them: it may have
    been cut short before its page was there, or now have the judge asked again. Where no judge was asked, or in vain,
    it may name one, or another.
    """
    made = read_run(out) if (out / NAME).exists() else None
    if made and made.command[:2] == _COMMAND:
        unjudged = made.judge is None or made.judged_in_vain
        before, now = (
            re.sub(_JUDGED if unjudged else _ASKED_AGAIN, "", "\0".join(typed)) for typed in (made.command, command)
        )
        if made.state == "stopped" or before == now:
            return
    if out.exists() and not (out.is_dir() and is_empty(out)):
        raise QuadragError(f"{out} is there and is no empty folder; name another one with --out")


def _read_retrieval(retriever: str | None, maker: Maker | None) -> dict[str, Any] | None:
    """Return how the run searched whose passages a log's model was shown; None where that cannot be read here."""
    found = maker.settings.get("retrieved") if maker and maker.settings else None
    try:
        made = read_run(Path(found).expanduser().parent) if isinstance(found, str) else None
    except QuadragError:
        return None
    return made.retrieval if made and made.retriever == retriever else None


def _check_conditions(path: Path, spec: RunSpec) -> str | None:
    """Refuse a harness's log that is to be scored under other conditions than its answers were made under.

    Returns:
        The retriever that the log says; None where the file is no such log.
    """
    logged = read_conditions(path)
    if logged is None:
        return None
    retriever, options = logged
    for name, value in options.items():
        if spec.options.get(name) != value:
            raise QuadragError(f"{path} was made with the option {name}={value}; give --option {name}={value}")
    benchmark, there = load(spec.benchmark), spec.changed(retriever=retriever)
    measured = [[m[:2] for m in benchmark.metrics(spec.config, each.conditions)] for each in (spec, there)]
    if spec.retriever != UNKNOWN and measured[0] != measured[1]:
        raise QuadragError(f"{path} was made with the retriever {retriever}; give --retriever {retriever}")
    return retriever


def sift_logs(files: Sequence[Path]) -> tuple[list[Path], list[Path], list[str]]:
    """Read logs, of which one that is cut, or of another task, does not keep the others from being scored.

    Returns:
        The files that can be scored, the logs of other tasks, and of each log that cannot be read whole, why.
    """
    refused: dict[Path, QuadragError] = {}
    for path in filter(is_log, files):
        try:
            _check_whole(path)
        except QuadragError as error:
            refused[path] = error
    if refused and len(refused) == len(files):
        raise refused[files[0]]
    foreign = [path for path, error in refused.items() if isinstance(error, ForeignLog)]
    broken = [str(error) for path, error in refused.items() if path not in foreign]
    return [path for path in files if path not in refused], foreign, broken


def _check_whole(path: Path) -> None:
    """Read a log to its end.

    Raises:
        ForeignLog: it is of another task than quadrag's.
        QuadragError: a line cannot be read, or there are fewer than its harness says.
    """
    answered = len({(row.get("split"), row.get("id")) for _, row in lines(path)})
    maker = find_maker(path)
    if maker and maker.asked and answered < maker.asked:
        raise QuadragError(
            f"{path} is cut: it has {answered} of the {maker.asked} lines that results_{maker.time}.json tells of; "
            f"copy it again, or score a copy of another name as a part, with {maker.tell_data()}"
        )
