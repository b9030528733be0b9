"""Answers that another system made: read from a file, scored as a run's own are.

What forms such a file may have is `answers.py`'s affair.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag import __version__
from quadrag.errors import QuadragError
from quadrag.records import jsonl_text, write_text

from .answers import lines, named_split
from .benchmark import identified, load
from .campaign import task
from .inputs import judges_name
from .pipeline import Result, Session, check_judges, read_answers, score_answers
from .score import score_text
from .task import UNKNOWN, Task, load_questions


def score_file(session: Session, arguments: argparse.Namespace) -> Result:
    """Score a file of answers, and write the score files where the user names a folder.

    Raises:
        QuadragError: a name is unknown, the file is not one of answers, or ids are unknown, missing or given twice.
    """
    one, path = task(arguments), Path(arguments.answers)
    if (load(one.benchmark).CORPUS or load(one.benchmark).OPTIONS) and arguments.retriever is None:
        # The file does not say how its passages were found: least of all by this benchmark's default.
        one.retriever = UNKNOWN
    check_judges(load(one.benchmark), one, session.judges)
    out = Path(arguments.out) if arguments.out else None
    if out and out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise QuadragError(f"{out} is there and is no empty folder; name another one with --out")
    _check_conditions(path, one)
    questions, source = load_questions(one, load(one.benchmark))
    if one.split is None:
        known = list(dict.fromkeys(question.split for question in questions))
        named = [named_split(row, known) for _, row in lines(path)]
        # A file that says its splits answers those; one that does not must answer all.
        if named and all(isinstance(split, str) and split in known for split in named):
            questions = [question for question in questions if question.split in named]
    defaults = {"config": one.config} | ({"split": one.split} if one.split else {})
    answers = read_answers(path, {question.key: question for question in questions}, defaults)
    items, scores, stopped = score_answers(session, load(one.benchmark), questions, answers, one)
    info: dict[str, Any] = {
        "state": "stopped" if stopped else "finished",
        "stopped": stopped,
        "inputs": {
            "quadrag": __version__,
            "benchmark": one.benchmark,
            "config": one.config,
            "splits": list(dict.fromkeys(question.split for question in questions)),
            "retriever": one.retriever,
            "options": identified(load(one.benchmark).OPTIONS, one.options),
            "llm": path.name,
            "parameters": {},
            "judge": judges_name(session.judges, load(one.benchmark), one),
        },
        "files": {},
        "source": source,
        "command": list(session.command),
    }
    if out:
        files = {"items.jsonl": jsonl_text(items), "scores.json": score_text(scores)}
        for name, text in files.items():
            write_text(out / name, text)
            info["files"][name] = hashlib.sha256(text.encode()).hexdigest()
        write_text(out / "run.json", json.dumps(info, ensure_ascii=False, indent=1) + "\n")
    return Result(info, scores, items, stopped=stopped)


def _check_conditions(path: Path, one: Task) -> None:
    """See to it that a harness's log is scored under the conditions that its answers were made under.

    Raises:
        QuadragError: the log says others.
    """
    said = next((row.get("conditions") for _, row in lines(path)), None)
    if not isinstance(said, str):
        return
    try:
        logged = json.loads(said)
        retriever, options = str(logged["retriever"]), dict(logged["options"])
    except (ValueError, TypeError, KeyError):
        raise QuadragError(f"{path}: conditions are {said!r:.60}; expected those that a quadrag task logged") from None
    for name, value in options.items():
        if one.options.get(name) != value:
            raise QuadragError(f"{path} was made with the option {name}={value}; give --option {name}={value}")
    benchmark, there = load(one.benchmark), replace(one, retriever=retriever)
    measured = [[m[:2] for m in benchmark.metrics(one.config, each.conditions)] for each in (one, there)]
    if one.retriever != UNKNOWN and measured[0] != measured[1]:
        raise QuadragError(f"{path} was made with the retriever {retriever}; give --retriever {retriever}")
