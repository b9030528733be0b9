"""The stages that make answers, each a file of the run folder: done where the file does not stand, else read back.

The user's own file may stand in for a stage's; it is then kept as it is, and told in `run.json`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quadrag.chat.estimate import Estimate
from quadrag.chat.prices import BudgetReached
from quadrag.progress import Progress
from quadrag.records import Answer, Key, Passage, Question, jsonl_text
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
    """Find passages, unless they were found before or the user's own file stands in; return those of every question.

    Raises:
        QuadragError: they cannot be found, or a file is not of its form.
    """
    folder, finder, questions = job.folder, job.finder, job.questions
    path = folder.path / "retrieved.jsonl"
    if folder.is_replaced(path.name):
        with folder.reading(path.name):
            passages = retrieve.read(path, questions)
        folder.keep(path.name)
        return passages
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
    """Answer the questions, unless that was done before; on a budget stop, return what there is and the reason.

    Raises:
        QuadragError: the server is dead, or a file is not of its form.
    """
    folder = job.folder
    replaced = folder.is_replaced("answers.jsonl")
    if replaced or _is_answered(job):
        return _read_back(job, replaced), None
    stopped = None
    try:
        generated = _answer(job, passages)
    except BudgetReached as stop:
        (generated,), stopped = stop.results, str(stop)
    _write_answers(folder, generated, stopped)
    return generated, stopped


def find_and_generate_stage(job: Job) -> tuple[dict[Key, tuple[Passage, ...]], Generated]:
    """Have a system answer that finds its passages too: one call a question makes two files.

    Raises:
        QuadragError: the service is dead, or a file is not of its form.
    """
    folder, questions = job.folder, job.questions
    retrieved, path = folder.path / "retrieved.jsonl", folder.path / "answers.jsonl"
    found_elsewhere, answered_elsewhere = (folder.is_given(one.name) for one in (retrieved, path))
    if found_elsewhere:
        with folder.reading(retrieved.name):
            retrieve.read(retrieved, questions)  # before it is kept: it may not be of its form
        folder.keep(retrieved.name)
    found = found_elsewhere or folder.stands(retrieved.name)
    answered = answered_elsewhere or _is_answered(job)
    if answered_elsewhere:
        folder.run.files.pop(path.name, None)  # else it would go with the passages it is not made from
    if not (found and answered):
        generated = _answer(job, {})
        if not found_elsewhere:
            folder.write(retrieved.name, jsonl_text(retrieve.rows(questions, generated.passages)))
        if not answered_elsewhere:
            _write_answers(folder, generated)
            return retrieve.read(retrieved, questions), generated
    return retrieve.read(retrieved, questions), _read_back(job, answered_elsewhere)


def _is_answered(job: Job) -> bool:
    """Whether the answers stand: calls that failed are made again, those of a user's function where that is asked."""
    failed = job.folder.run.failures and job.system.asks_failed
    return job.folder.stands("answers.jsonl") and not failed


def _answer(job: Job, passages: Mapping[Key, Sequence[Passage]]) -> Generated:
    task = job.work.task
    _recall(job)
    with Progress(f"{task.config}: answers", len(job.questions) * task.samples, job.tell_spent) as progress:
        generated = job.system.answer(job.work, job.questions, passages, progress.update)
    job.folder.run.unread, job.folder.run.searched = generated.unread, generated.searched
    return generated


def _recall(job: Job) -> None:
    """Hand a function its answers that stand, where only those that failed are wanted."""
    found, path = (job.folder.path / name for name in ("retrieved.jsonl", "answers.jsonl"))
    if not job.system.asks_models and all(job.folder.stands(one.name) for one in (found, path)):
        answers = read_answers(path, {question.key: question for question in job.questions})
        told = job.system.finds_passages and job.folder.run.searched
        passages = retrieve.read(found, job.questions) if told else {}
        job.system.recall(answers, passages, job.folder.run.latency_seconds, path.stat().st_mtime)


def _read_back(job: Job, given: bool) -> Generated:
    """Read the answers that stand; the user's own bring no latencies and no failures."""
    folder, path = job.folder, job.folder.path / "answers.jsonl"
    with folder.reading(path.name):
        answers = read_answers(path, {question.key: question for question in job.questions})
    if given:
        folder.run.failures, folder.run.latency_seconds, folder.run.latency = {}, {}, None
        folder.keep(path.name)
    else:
        job.system.take_kept(len(answers), path.stat().st_mtime)
    return Generated(answers)


def _write_answers(folder: RunFolder, generated: Generated, stopped: str | None = None) -> None:
    """Write answers, or of a run that stopped what is to be told of them."""
    folder.run.failures, folder.run.latency_seconds = generated.failures, generated.latency
    folder.run.latency = spread(list(generated.latency.values()))
    if stopped:
        folder.mark("answers.jsonl", given=False)
        folder.save()
    else:
        folder.write("answers.jsonl", jsonl_text(answer.as_row() for answer in generated.answers))
        (folder.path / ANSWERING).unlink(missing_ok=True)


def read_answers(
    path: Path, questions: Mapping[Key, Question], defaults: Mapping[str, str] | None = None
) -> list[Answer]:
    """Read answers, in the order of the questions.

    Args:
        path: JSON Lines with ``id`` and ``answer`` at least; see `answers.py` for the forms.
        questions: every question by its key.
        defaults: ``config`` and ``split`` of lines that do not say them.

    Raises:
        QuadragError: a line is not an answer, or ids are unknown, missing or given twice.
    """
    from .files.answers import read

    found = read(path, questions, defaults or {}).answers
    order = {key: place for place, key in enumerate(questions)}
    return sorted(found, key=lambda answer: (order[answer.key], answer.sample))
