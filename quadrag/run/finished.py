"""Runs that are there, read back: which folders hold them, what they came to, and what is kept of their questions."""

import hashlib
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.benchmark import Benchmark, Stratum, load
from quadrag.errors import QuadragError
from quadrag.parts import Conditions
from quadrag.progress import remark
from quadrag.records import Key, Question, dumps, jsonl_text, read_jsonl
from quadrag.results.record import NAME, RunRecord, is_as_written, read_items, read_run
from quadrag.results.run import Asked, Run, read_scores
from quadrag.results.status import settle_scores
from quadrag.scoring.rows import find_units
from quadrag.spec import NONE

from .folder import ANSWERS, QUESTIONS, SCORES


def run_folders(folder: Path) -> list[Path]:
    """Return the folder of every run in a folder: itself, or those of ``--all``, or those of a table of recipes."""
    if (folder / NAME).exists():
        return [folder]
    return sorted(path.parent for path in {*folder.glob(f"*/{NAME}"), *folder.glob(f"*/*/{NAME}")})


def read_runs(folders: Sequence[str], profile: str | None = None) -> list[tuple[str, list[Run]]]:
    """Read finished runs back, by folder, which may hold several.

    A run among several that did not finish is named on stderr and left out. What is told of them, as which metrics are
    invalid, is of the `profile`; of the one that each was made with when None. Pages that stand beside folders, as
    ``out/*`` names them too, are passed over.
    """
    read, paths = [], [*map(Path, folders)]
    for folder in [path for path in paths if not (path.suffix == ".html" and path.is_file())] or paths:
        parts = run_folders(folder)
        finished = [part for part in parts if (part / SCORES).exists()]
        if not finished:
            read_result(parts[0] if parts else folder)  # says why not
        if left := [str(part) for part in parts if part not in finished]:
            remark(f"not finished and left out: {', '.join(left)}")
        results = [read_result(part, profile) for part in finished]
        read.append((str(folder), sorted(results, key=_place_in_benchmark)))
    return read


def _place_in_benchmark(result: Run) -> tuple[str, int, bool]:
    """Return where a run stands among those of a folder: its config as in its benchmark, without documents last."""
    run = result.record
    configs = [*catalogue.configs(run.benchmark)]
    known = configs.index(run.config) if run.config in configs else len(configs)
    return run.benchmark, known, run.retriever == NONE


def read_result(folder: Path, profile: str | None = None, run: RunRecord | None = None) -> Run:
    """Read a run back that has scores.

    Args:
        folder: of the run.
        profile: whose values are told of; the one that it was made with when None.
        run: its record, where that was read.
    """
    run = run or read_run(folder)
    run.profile = profile or run.profile
    if run.state != "finished" and not (folder / SCORES).exists():
        raise QuadragError(f"{folder} is not finished; run the same command again: {shlex.join(run.command)}")
    scores, items, asked = read_scores(folder, run), read_items(folder, run), read_asked(folder, run)
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
