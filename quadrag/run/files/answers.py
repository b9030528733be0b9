"""Answers made elsewhere, read into our records.

Taken are any JSON Lines, or one JSON list, of objects with ``id`` and ``answer`` (and ``split`` where ids repeat); what
the authors' own code of a benchmark wrote, as its record reads it; the logs of harnesses. An ``answer`` of null is a
failed call and may name its reason in ``state``. A file may answer a part of the questions; those that the authors' own
code left out, as it does where a call failed, are put in as unscored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quadrag.benchmark import Benchmark
from quadrag.chat.reply import find_reasoning, read_answer
from quadrag.errors import QuadragError, one_line
from quadrag.passages import find_passages
from quadrag.reading import Unreadable, parse_json
from quadrag.records import Answer, Key, Passage, Question, read_jsonl
from quadrag.systems.system import Generated, make_answer

from . import logs

Line = tuple[str, dict[str, Any]]  # its place, as errors name it, and what stands there
_STATES = ("ok", "api_error", "raised", "truncated", "unparsable", "null")
_THEIRS = "of_the_authors"  # marks a line of the authors' own code


def lines(path: Path, benchmark: Benchmark | None = None, config: str = "") -> Iterator[Line]:
    """Yield every answer of a file, whatever its form, as a line of ours; those of a benchmark's authors by its record.

    Without a benchmark they are as they stand in the file, but for the logs of harnesses.
    """
    for number, row in _read_rows(path):
        where = f"{path}:{number}"
        if not isinstance(row, dict):
            raise QuadragError(f"{where} holds a {type(row).__name__}; expected an object")
        if isinstance(row.get("doc"), Mapping) and "resps" in row:  # of lm-eval
            row = logs.read_sample(where, row)
        if benchmark and "answer" not in row:
            theirs = benchmark.read_result(row, config)
            if theirs is None:
                shown = one_line(", ".join(map(repr, row)), 60)
                said = f'{where} has no answer; found the keys {shown}; expected {{"id": ..., "answer": ...}}'
                raise QuadragError(said)
            state = "api_error" if theirs["answer"] is None else "ok"
            row = {**theirs, "state": state, _THEIRS: True}
        yield where, row


def _read_rows(path: Path) -> Iterable[tuple[int, Any]]:
    if logs.is_inspect(path):
        return enumerate(logs.read_inspect_log(path), 1)
    with suppress(OSError, QuadragError):  # told of where it is read line by line
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            listed = file.read(64).lstrip().startswith("[")
        if listed or path.suffix == ".json":
            whole = parse_json(path.read_bytes(), path)
            rows = whole.get("results", [whole]) if isinstance(whole, dict) else whole
            return enumerate(rows if isinstance(rows, list) else [rows], 1)
    return read_jsonl(path)


def read_head(path: Path) -> dict[str, Any]:
    """Return what the first line of a file says of all: ``benchmark``, ``config``; of a log ``retriever``, ``options``.

    What it does not say is not there.
    """
    _, row = next(lines(path), ("", {}))
    said = {name: row[name] for name in ("benchmark", "config") if isinstance(row.get(name), str)}
    if isinstance(row.get("conditions"), str):
        conditions = parse_json(row["conditions"], f"{path}: conditions")
        if not isinstance(conditions, dict) or not isinstance(conditions.get("options"), dict):
            raise QuadragError(f"{path}: conditions are {conditions!r:.60}; expected those that a quadrag task logs")
        said |= {"retriever": str(conditions.get("retriever")), "options": conditions["options"]}
    return said


def read(rows: Iterable[Line], questions: Sequence[Question], place: Mapping[str, str]) -> Generated:
    """Read lines as answers, in the order of the questions, each with the passages that its line has.

    Args:
        rows: the lines.
        questions: those that they answer, all or a part of them.
        place: ``config`` and ``split`` of lines that do not say them.
    """
    by_id: dict[str, list[Question]] = {}
    for question in questions:
        by_id.setdefault(question.id, []).append(question)
    answers: dict[Key, dict[int, Answer]] = {}
    generated, whole = Generated([]), set()
    for where, row in rows:
        question = _find_question(where, row, place, by_id)
        answer = _read_line(where, row, question)
        there = answers.setdefault(question.key, {})
        if answer.sample in there:
            raise QuadragError(f"{where} answers {answer.split} {answer.id} again; expected once")
        there[answer.sample] = answer
        whole |= {question.split} if _THEIRS in row else set()
        generated.passages[answer.key] = read_passages(where, row)
    samples = sorted({sample for there in answers.values() for sample in there})
    for question in questions:
        there = answers.get(question.key, {})
        for sample in samples if there or question.split in whole else ():
            lacking = make_answer(question, sample, None, state="api_error")  # it stays in the denominator
            generated.answers.append(there.get(sample, lacking))
    return generated


def _find_question(
    where: str, row: Mapping[str, Any], place: Mapping[str, str], by_id: Mapping[str, list[Question]]
) -> Question:
    """Return the question with an id at the place that a line says, or the only one with it."""
    ident = row.get("id")
    if type(ident) not in (str, int):
        raise QuadragError(f"{where}: id is {ident!r}; expected a string or a whole number")
    said = {**place, **{name: row[name] for name in ("benchmark", "config", "split") if row.get(name) is not None}}
    fits = [each for each in by_id.get(str(ident), ()) if all(getattr(each, k) == v for k, v in said.items())]
    if len(fits) > 1:
        names = ", ".join(question.split for question in fits)
        raise QuadragError(f"{where}: id {str(ident)!r} is in the splits {names}; say which in `split`, or by --split")
    if not fits:
        there = one_line(" ".join(f"{name} {value!r}" for name, value in said.items()), 90)
        raise QuadragError(
            f"{where}: unknown id {str(ident)!r} of {there}; expected one of `quadrag questions`, on the same "
            "--data-dir, --config and --split"
        )
    return fits[0]


def _read_line(where: str, row: Mapping[str, Any], question: Question) -> Answer:
    state, sample = row.get("state", "ok"), row.get("sample", 0)
    finish, usage = row.get("finish_reason"), row.get("usage")
    if state not in _STATES:
        raise QuadragError(f"{where}: state is {state!r}; expected one of {', '.join(_STATES)}")
    if type(sample) is not int or sample < 0:
        raise QuadragError(f"{where}: sample is {sample!r}; expected a whole number from 0")
    if any(question.query not in text and text not in question.query for text in texts_asked(row)):
        raise QuadragError(
            f"{where} answers another question than {question.split} {question.id} of these data "
            f"({question.query[:40]!r}); expected the --data-dir of the answers, and ids of `quadrag questions`"
        )
    finish = finish if isinstance(finish, str) else None
    try:
        answer = read_answer(row["answer"], find_reasoning(row), state, finish)
    except Unreadable as error:
        raise QuadragError(f"{where}: {error}, or null for a failed call") from None
    usage = usage if isinstance(usage, dict) else None
    return Answer(question.benchmark, *question.key, sample, *answer, finish, usage)


def texts_asked(row: Mapping[str, Any]) -> list[str]:
    """Return what a line says was asked: the question's text, something that holds it or, of a conversation, a part."""
    return [text for name in ("query", "question") if isinstance(text := row.get(name), str) and text]


def read_passages(where: str, row: Mapping[str, Any]) -> tuple[Passage, ...]:
    """Read the passages that a line has."""
    try:
        return find_passages(row)
    except Unreadable as error:
        raise QuadragError(f"{where}: {error}") from None
