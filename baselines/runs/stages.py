"""The stages that make answers, each a file of the run folder: done where the file does not stand, else read back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quadrag.chat.estimate import Estimate
from quadrag.chat.prices import BudgetReached
from quadrag.errors import QuadragError
from quadrag.progress import Progress
from quadrag.records import Answer, Key, Passage, Question, jsonl_text, read_jsonl
from quadrag.stats import spread

from ..core.benchmark import Finder
from ..core.task import Corpus
from ..systems.system import Assignment, Completer, Generated, System
from . import retrieve
from .folder import ANSWERING, PARTIAL, RunFolder


@dataclass(frozen=True, slots=True)
class Job:
    """A run at work: its folder, what answers, what was taken on, the questions, and what finds their passages.

    `entity_llm` finds the entities of questions in place of the model that answers. `tell_spent` says what was spent.
    `estimate` is where calls are noted in place of being made.
    """

    folder: RunFolder
    system: System
    work: Assignment
    questions: Sequence[Question]
    corpus: Corpus | None = None
    finder: Finder | None = None
    entity_llm: Completer | None = None
    tell_spent: Callable[[], str] = str
    estimate: Estimate | None = None


def retrieve_stage(job: Job) -> dict[Key, tuple[Passage, ...]]:
    """Find passages, unless they were found before; return those of every question."""
    folder, finder, questions = job.folder, job.finder, job.questions
    path = folder.path / "retrieved.jsonl"
    if not folder.stands(path.name) or (finder is not None and folder.run.failed_entities):
        if finder is not None:
            partial = folder.path / PARTIAL
            llm = job.entity_llm or job.system.completer
            found = retrieve.supplied(questions, finder, llm, job.work.prompts, partial)
            told = finder.found
        else:
            found, told = retrieve.retrieve(questions, job.work.task, job.corpus, job.estimate)
        folder.run.found = dict(told)
        folder.write(path.name, jsonl_text(retrieve.rows(questions, found)))
        (folder.path / PARTIAL).unlink(missing_ok=True)
    return retrieve.read(path, questions)


def generate_stage(job: Job, passages: Mapping[Key, Sequence[Passage]]) -> tuple[Generated, str | None]:
    """Answer the questions, unless that was done before; on a budget stop, return what there is and the reason."""
    folder = job.folder
    if _is_answered(job):
        return _read_back(job), None
    stopped = None
    try:
        generated = _answer(job, passages)
    except BudgetReached as stop:
        (generated,), stopped = stop.results, str(stop)
    _write_answers(folder, generated, stopped)
    return generated, stopped


def find_and_generate_stage(job: Job) -> tuple[dict[Key, tuple[Passage, ...]], Generated]:
    """Have a system answer that finds its passages too: one call a question makes two files."""
    retrieved = job.folder.path / "retrieved.jsonl"
    if job.folder.stands(retrieved.name) and _is_answered(job):
        return retrieve.read(retrieved, job.questions), _read_back(job)
    generated = _answer(job, {})
    job.folder.write(retrieved.name, jsonl_text(retrieve.rows(job.questions, generated.passages)))
    _write_answers(job.folder, generated)
    return retrieve.read(retrieved, job.questions), generated


def _is_answered(job: Job) -> bool:
    """Whether the answers stand: calls that failed are made again, those of a user's function where that is asked."""
    failed = job.folder.run.failures and job.system.asks_failed
    return job.folder.stands("answers.jsonl") and not failed


def _answer(job: Job, passages: Mapping[Key, Sequence[Passage]]) -> Generated:
    task = job.work.task
    job.system.keep(job.folder.path / ANSWERING)
    _recall(job)
    with Progress(f"{task.config}: answers", len(job.questions) * task.samples, job.tell_spent) as progress:
        generated = job.system.answer(job.work, job.questions, passages, progress.update)
    job.folder.run.unread, job.folder.run.searched = generated.unread, generated.searched
    return generated


def _recall(job: Job) -> None:
    """Hand a function its answers that stand, where only those that failed are wanted."""
    found, path = (job.folder.path / name for name in ("retrieved.jsonl", "answers.jsonl"))
    if not job.system.asks_models and all(job.folder.stands(one.name) for one in (found, path)):
        answers = read_answers(path)
        told = job.system.finds_passages and job.folder.run.searched
        passages = retrieve.read(found, job.questions) if told else {}
        job.system.recall(answers, passages, job.folder.run.latency_seconds, path.stat().st_mtime)


def _read_back(job: Job) -> Generated:
    path = job.folder.path / "answers.jsonl"
    answers = read_answers(path)
    job.system.take_kept(len(answers), path.stat().st_mtime)
    return Generated(answers)


def _write_answers(folder: RunFolder, generated: Generated, stopped: str | None = None) -> None:
    folder.run.failures, folder.run.latency_seconds = generated.failures, generated.latency
    folder.run.latency = spread(list(generated.latency.values()))
    if stopped:
        folder.save()
    else:
        folder.write("answers.jsonl", jsonl_text(answer.as_row() for answer in generated.answers))
        (folder.path / ANSWERING).unlink(missing_ok=True)


def read_answers(path: Path) -> list[Answer]:
    """Read the answers that a run or `quadrag score` wrote."""
    answers = []
    for number, row in read_jsonl(path):
        try:
            answers.append(Answer(**row))
        except TypeError:
            raise QuadragError(f"{path}:{number} is no answer of a run; remove the file and run again") from None
    return answers
