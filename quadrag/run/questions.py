"""What is kept of the questions of a run, and the digests by which two runs know what they share."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.benchmark import Benchmark, Stratum
from quadrag.errors import QuadragError
from quadrag.parts import Conditions
from quadrag.records import Key, Question, dumps, jsonl_text, read_jsonl
from quadrag.results.record import sha256
from quadrag.results.run import Asked
from quadrag.scoring.rows import find_units

from .folder import QUESTIONS


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


def read_asked(folder: Path, known: str | None) -> dict[Key, Asked]:
    """Read what is kept of the questions; nothing of a folder that has none."""
    path = folder / QUESTIONS
    if not path.exists():
        return {}
    if known != sha256(path):
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
