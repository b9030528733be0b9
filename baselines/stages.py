"""The stages that make answers, each a file of the run folder: done where the file does not stand, else read back.

The user's own file may stand in for a stage's; it is then kept as it is, and told in `run.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from quadrag.prices import BudgetReached
from quadrag.progress import Progress
from quadrag.records import Answer, Key, Passage, Question, jsonl_text

from . import retrieve
from .benchmark import Benchmark, Finder
from .challenge import ChallengeModel
from .folder import PARTIAL, RunFolder
from .generate import Completer, Generated, ask, ask_challenge, ask_service, extract
from .rag_service import RagService
from .served import asked_how
from .task import Corpus, Task


def retrieve_stage(
    folder: RunFolder,
    task: Task,
    questions: Sequence[Question],
    corpus: Corpus | None,
    finder: Finder | None,
    llm: Completer | ChallengeModel | None,
    prompts: Mapping[str, Mapping[str, str]],
) -> dict[Key, tuple[Passage, ...]]:
    """Find passages, unless they were found before or the user's own file stands in; return those of every question.

    Raises:
        QuadragError: they cannot be found, or a file is not of its form.
    """
    path = folder.path / "retrieved.jsonl"
    if folder.replaced(path.name):
        passages = retrieve.read(path, questions)
        folder.keep(path.name, given=given_stages(folder, path.name, True))
        return passages
    if not folder.stands(path.name) or (finder is not None and failed_entities(folder)):
        if finder is not None:
            asked = None if isinstance(llm, ChallengeModel) else llm
            found = retrieve.supplied(questions, finder, asked, prompts, folder.path / PARTIAL)
            folder.save(found=dict(finder.found))
        else:
            found = retrieve.retrieve(questions, task, corpus)
        text = jsonl_text(retrieve.rows(questions, found))
        folder.write(path.name, text, given=given_stages(folder, path.name, False))
        (folder.path / PARTIAL).unlink(missing_ok=True)
    return retrieve.read(path, questions)


def generate_stage(
    folder: RunFolder,
    benchmark: Benchmark,
    task: Task,
    questions: Sequence[Question],
    passages: Mapping[Key, Sequence[Passage]],
    llm: Completer | ChallengeModel | None,
    prompts: Mapping[str, Mapping[str, str]],
) -> tuple[Generated, str | None]:
    """Answer the questions, unless that was done before; on a budget stop, return what there is and the reason.

    Raises:
        QuadragError: the server is dead, or a file is not of its form.
    """
    replaced = folder.replaced("answers.jsonl")
    if replaced or (folder.stands("answers.jsonl") and not folder.info.get("failures")):
        return _read_back(folder, questions, replaced), None
    stopped = None
    if llm is None:
        generated = extract(questions, passages)
    else:
        with Progress(f"{task.config}: answers", len(questions) * task.samples) as progress:
            llm.on_progress = progress.update
            try:
                if isinstance(llm, ChallengeModel):
                    from .crag_finder import challenge_records

                    generated = ask_challenge(questions, challenge_records(task, questions), llm)
                else:
                    generated = ask(benchmark, questions, passages, prompts, llm, task.samples, task.retriever)
            except BudgetReached as stop:
                (generated,), stopped = stop.results, str(stop)
    _write_answers(folder, generated, stopped)
    return generated, stopped


def service_stage(
    folder: RunFolder,
    benchmark: Benchmark,
    task: Task,
    questions: Sequence[Question],
    service: RagService,
    words: Mapping[str, Mapping[str, str]],
) -> tuple[dict[Key, tuple[Passage, ...]], Generated]:
    """Have a RAG service answer, which finds its passages too: one call a question makes two files.

    Raises:
        QuadragError: the service is dead, or a file is not of its form.
    """
    retrieved, path = folder.path / "retrieved.jsonl", folder.path / "answers.jsonl"
    found_elsewhere, answered_elsewhere = (_is_given(folder, one.name) for one in (retrieved, path))
    if found_elsewhere:
        retrieve.read(retrieved, questions)  # before it is kept: it may not be of its form
        folder.keep(retrieved.name, given=given_stages(folder, retrieved.name, True))
    found = found_elsewhere or folder.stands(retrieved.name)
    answered = answered_elsewhere or (folder.stands(path.name) and not folder.info.get("failures"))
    if answered_elsewhere:
        folder.info["files"].pop(path.name, None)  # else it would go with the passages it is not made from
    if not (found and answered):
        with Progress(f"{task.config}: answers", len(questions)) as progress:
            service.on_progress = progress.update
            generated, passages = ask_service(questions, service, words, asked_how(benchmark, task))
        if not found_elsewhere:
            text = jsonl_text(retrieve.rows(questions, passages))
            folder.write(retrieved.name, text, given=given_stages(folder, retrieved.name, False))
        if not answered_elsewhere:
            _write_answers(folder, generated)
            return retrieve.read(retrieved, questions), generated
    return retrieve.read(retrieved, questions), _read_back(folder, questions, answered_elsewhere)


def _is_given(folder: RunFolder, stage: str) -> bool:
    """Whether a stage's file is the user's own, put there now or before an earlier run."""
    return folder.replaced(stage) or (folder.stands(stage) and stage in folder.info.get("given", []))


def _read_back(folder: RunFolder, questions: Sequence[Question], given: bool) -> Generated:
    """Read the answers that stand; the user's own bring no latencies and no failures."""
    path = folder.path / "answers.jsonl"
    answers = read_answers(path, {question.key: question for question in questions})
    if given:
        stages = given_stages(folder, path.name, True)
        folder.keep(path.name, failures={}, latency_seconds={}, latency=None, given=stages)
    return Generated(answers)


def _write_answers(folder: RunFolder, generated: Generated, stopped: str | None = None) -> None:
    """Write answers, or of a run that stopped what is to be told of them."""
    entries = {
        "failures": generated.failures,
        "latency_seconds": generated.latency,
        "latency": spread(list(generated.latency.values())),
        "given": given_stages(folder, "answers.jsonl", False),
    }
    if stopped:
        folder.save(**entries)
    else:
        folder.write("answers.jsonl", jsonl_text(answer.as_row() for answer in generated.answers), **entries)


def failed_entities(folder: RunFolder) -> int:
    """Count the questions whose entities a model was asked for in vain; a later run asks again."""
    return int(folder.info.get("found", {}).get("entities", {}).get("failed", 0))


def given_stages(folder: RunFolder, stage: str, given: bool) -> list[str]:
    """List the stages whose files are the user's own, this one among them or not."""
    others = [name for name in folder.info.get("given", []) if name != stage]
    return sorted([*others, stage]) if given else others


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
    from .answers import read

    found = read(path, questions, defaults or {})
    order = {key: place for place, key in enumerate(questions)}
    return sorted(found, key=lambda answer: (order[answer.key], answer.sample))


def spread(seconds: list[float]) -> dict[str, float] | None:
    """Median and 95th percentile, in seconds."""
    if not seconds:
        return None
    import numpy as np

    median, high = np.quantile(seconds, [0.5, 0.95])
    return {"median": round(float(median), 4), "p95": round(float(high), 4)}
