"""Answers made elsewhere, read into our records.

Taken are any JSON Lines, or one JSON list, of objects with ``id`` and ``answer`` (and ``split`` where ids repeat); the
prediction files of RGB's own code (``prediction``, ``noise_rate``); the result files of CRUD-RAG's (``results`` with
``log.generated_text``); the samples that lm-eval logs and the logs of Inspect. An ``answer`` of null is a failed call
and may name its reason in ``state``; else that is ``null``. Every question that is answered must be so exactly as often
as the others; of files of the authors' own code, which leave failed calls out, those are put in as unscored. A file may
answer a part of the questions, as a harness with a limit does: that part is scored, and said to be one.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.chat.reply import find_reasoning, read_answer
from quadrag.errors import QuadragError, one_line
from quadrag.passages import find_passages
from quadrag.reading import Unreadable, parse_json
from quadrag.records import Answer, Key, Passage, Question, read_jsonl

from ...systems.system import make_answer
from . import logs

_ASKED = ("query", "question")  # what was asked, where a line says it
_COUNTED = re.compile(r"(.*/)?[\d.]{1,6}")  # an id that counts, as other data's do
_STATES = ("ok", "api_error", "raised", "truncated", "unparsable", "null")


class Answered(NamedTuple):
    """What a file holds: answers in the order of the questions, and the passages that lines have.

    `by_ids`: no line says what was asked, and ids that count may as well be those of other data.
    """

    answers: list[Answer]
    passages: dict[Key, tuple[Passage, ...]]
    by_ids: bool


def read(
    path: Path,
    questions: Mapping[Key, Question],
    defaults: Mapping[str, str],
    partial: bool = False,
    sample: bool = False,
) -> Answered:
    """Read a file of answers.

    Args:
        path: the file.
        questions: those that it answers, by their keys.
        defaults: ``config`` and ``split`` of lines that do not say them.
        partial: whether it may answer a part of them.
        sample: whether the questions are those of the bundled sample.
    """
    asked = _Asked(path, questions, defaults, sample)
    answers: dict[Key, dict[int, tuple[str, Answer]]] = {key: {} for key in questions}  # by sample, with its place
    passages: dict[Key, tuple[Passage, ...]] = {}
    theirs, by_ids = False, True
    for number, row in lines(path):
        where = f"{path}:{number}"
        answer = _read_line(where, row, asked)
        if again := answers[answer.key].get(answer.sample):
            raise QuadragError(f"{where} answers {_place(answer.key)} again, after {again[0]}; expected once")
        answers[answer.key][answer.sample] = (where, answer)
        by_ids = by_ids and not any(_texts_asked(row)) and _COUNTED.fullmatch(answer.id) is not None
        theirs = "answer" not in row
        if not theirs and (found := _read_passages(where, row)):
            passages[answer.key] = found
    most = max(map(len, answers.values()), default=0) or 1
    missing = [key for key, there in answers.items() if len(there) < most and (there or theirs or not partial)]
    if missing and not theirs:
        shown = ", ".join(map(_place, missing[:3])) + ", ..." * (len(missing) > 3)
        times = f" {most} times" if most > 1 else ""
        raise QuadragError(
            f"{path} does not answer {len(missing)} of {len(questions)} questions{times} ({shown}); "
            'write {"id": ..., "answer": null} for a call that failed'
        )
    for key in missing:  # the authors' code leaves out what failed; here it stays in the denominator
        for at in range(len(answers[key]), most):
            answers[key][at] = ("", make_answer(questions[key], at, None, state="api_error"))
    ordered = [answer for there in answers.values() for _, (_, answer) in sorted(there.items())]
    return Answered(ordered, passages, by_ids)


def has_passages(path: Path) -> bool:
    """Whether a line of a file has passages."""
    rows = ((f"{path}:{number}", row) for number, row in lines(path) if "answer" in row)
    return any(_read_passages(where, row) for where, row in rows)


def read_place(path: Path) -> dict[str, str]:
    """Return the benchmark and the config that the first line of a file names, as far as it does."""
    _, row = next(lines(path), (0, None))
    if row is None:
        raise QuadragError(f"{path} is empty; expected an answer a line")
    return {name: row[name] for name in ("benchmark", "config") if isinstance(row.get(name), str)}


def read_conditions(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Return the retriever and the options that the answers of a harness's log were made with; None of other files."""
    said = next((row.get("conditions") for _, row in lines(path)), None)
    if not isinstance(said, str):
        return None
    try:
        logged = parse_json(said, path)
        return str(logged["retriever"]), dict(logged["options"])
    except (QuadragError, ValueError, TypeError, KeyError):
        raise QuadragError(f"{path}: conditions are {said!r:.60}; expected those that a quadrag task logged") from None


def named_split(row: Mapping[str, Any], known: Collection[str]) -> Any:
    """Return the split that a line names, itself or by the noise ratio that RGB's code writes; None where neither.

    A testbed whose only split is ``test`` has one noise ratio, which then says nothing.
    """
    noise = row.get("noise_rate")
    if row.get("split") is not None or not isinstance(noise, (int, float)) or list(known) == ["test"]:
        return row.get("split")
    return f"noise_{noise * 100:.6g}".replace(".", "_")


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of every line of a file of answers, whatever its form; of a list every entry."""
    if logs.is_inspect(path):
        yield from enumerate(logs.read_inspect_log(path), 1)
        return
    whole = _read_whole(path)
    if isinstance(whole, dict) and isinstance(whole.get("results"), list):
        rows: Any = ((number, _read_crud_rag(path, number, row)) for number, row in enumerate(whole["results"], 1))
    elif whole is not None:
        rows = enumerate(whole if isinstance(whole, list) else [whole], 1)
    else:
        rows = read_jsonl(path)
    for number, row in rows:
        if not isinstance(row, dict):
            raise QuadragError(f"{path}:{number} holds a {type(row).__name__}; expected an object")
        yield number, logs.read_sample(f"{path}:{number}", row) if logs.is_sample(row) else row


def _read_whole(path: Path) -> Any:
    """Return what a file that is one JSON value holds; None where it is not one: its first line is then an object."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = file.readline().strip()
        if first == "{" or first.startswith("[") or path.suffix == ".json":
            return parse_json(path.read_bytes(), path)
    except (OSError, UnicodeDecodeError, QuadragError):  # told of where it is read line by line
        pass
    return None


def _read_crud_rag(path: Path, number: int, result: Any) -> dict[str, Any]:
    log = result.get("log") if isinstance(result, dict) else None
    if not isinstance(log, dict) or "generated_text" not in log or "id" not in result:
        raise QuadragError(f"{path}: result {number} has no id or no log.generated_text; expected CRUD-RAG's form")
    return {"id": result["id"], "prediction": log["generated_text"] if result.get("valid", True) else None}


class _Asked:
    """Finds the question that a line answers: by what it says, by the defaults, else by the only one with its id."""

    def __init__(
        self, path: Path, questions: Mapping[Key, Question], defaults: Mapping[str, str], sample: bool
    ) -> None:
        self._path, self._questions, self._defaults, self._sample = path, questions, defaults, sample
        self._known = {
            "benchmark": list(dict.fromkeys(question.benchmark for question in questions.values())),
            "config": list(dict.fromkeys(key[0] for key in questions)),
            "split": list(dict.fromkeys(key[1] for key in questions)),
        }
        self._by_id: dict[str, list[Key]] = {}
        for key in questions:
            self._by_id.setdefault(key[2], []).append(key)

    def find(self, where: str, row: Mapping[str, Any]) -> Question:
        """Return the question that a line answers."""
        named = {**row, "split": named_split(row, self._known["split"])}
        place = {**self._defaults, **{name: named[name] for name in self._known if named.get(name) is not None}}
        for name, known in self._known.items():
            value = place.get(name)
            meant = [each for each in known if each == value]
            if value is not None and not meant:
                shown = one_line(repr(value), 60)
                raise QuadragError(
                    f"{where}: {name} is {shown}, and {' or '.join(known)} is scored here; give --{name}, or name "
                    "another file"
                )
        ident = row["id"]
        if type(ident) not in (str, int):
            raise QuadragError(f"{where}: id is {ident!r}; expected a string or a whole number")
        config, split = place.get("config"), place.get("split")
        fits = [key for key in self._by_id.get(str(ident), ()) if config in (None, key[0]) and split in (None, key[1])]
        if not fits:
            there = f" in {' '.join(filter(None, (config, split)))}" if config or split else ""
            sample = "the data here are the bundled sample, --data-dir names others; " * self._sample
            cure = self.tell_data(row, f"{sample}ids are those of `quadrag questions`")
            raise QuadragError(f"{where}: unknown id {str(ident)!r}{there}; {cure}")
        if len(fits) > 1:
            names = ", ".join(key[1] for key in fits)
            raise QuadragError(
                f"{where}: id {str(ident)!r} is in the splits {names}; say which in `split`, or as --split {fits[0][1]}"
            )
        return self._questions[fits[0]]

    def check(self, where: str, row: Mapping[str, Any], question: Question) -> None:
        """Hold what a line says was asked against the data: ids may have moved, and sample and real data share them.

        What was asked holds the question's text or, of a conversation, is a part of it.
        """
        if any(question.query not in text and text not in question.query for text in _texts_asked(row)):
            cure = self.tell_data(
                row,
                "expected the --data-dir and the ids of `quadrag questions`, or lines without `query` and `question`",
            )
            raise QuadragError(
                f"{where} answers another question than {_place(question.key)} of these data "
                f"({question.query[:40]!r}); {cure}"
            )

    def tell_data(self, row: Mapping[str, Any], cure: str) -> str:
        """Say on which data the log was made that a line is of; of any other file, what cures it."""
        return logs.tell_data(self._path) if "conditions" in row else cure


def _read_line(where: str, row: Mapping[str, Any], asked: _Asked) -> Answer:
    text_key = "answer" if "answer" in row else "prediction"
    if lacking := [name for name, needed in (("id", "id"), ("answer", text_key)) if needed not in row]:
        shown = ", ".join([*map(repr, [*row][:6]), *["..."] * (len(row) > 6)])
        expected = 'expected lines of objects like {"id": ..., "answer": ...}'
        raise QuadragError(f"{where} has no {' and no '.join(lacking)}; found the keys {shown}; {expected}")
    state, sample = row.get("state", "ok"), row.get("sample", 0)
    finish, usage = row.get("finish_reason"), row.get("usage")
    if state not in _STATES:
        raise QuadragError(f"{where}: state is {state!r}; expected one of {', '.join(_STATES)}")
    if type(sample) is not int or sample < 0:
        raise QuadragError(f"{where}: sample is {sample!r}; expected a whole number from 0")
    if row[text_key] is None and state == "ok" and text_key != "answer":
        state = "api_error"  # which it is in files of the authors' own code
    finish = finish if isinstance(finish, str) else None
    try:
        read = read_answer(row[text_key], find_reasoning(row), state, finish)
    except Unreadable as error:
        raise QuadragError(f"{where}: {error}, or null for a failed call") from None
    question = asked.find(where, row)
    asked.check(where, row, question)
    return Answer(question.benchmark, *question.key, sample, *read, finish, usage if isinstance(usage, dict) else None)


def _texts_asked(row: Mapping[str, Any]) -> list[str]:
    return [asked for name in _ASKED if isinstance(asked := row.get(name), str) and asked]


def _read_passages(where: str, row: Mapping[str, Any]) -> tuple[Passage, ...]:
    try:
        return find_passages(row)
    except Unreadable as error:
        raise QuadragError(f"{where}: {error}") from None


def _place(key: Key) -> str:
    return f"{key[1]} {key[2]}"
