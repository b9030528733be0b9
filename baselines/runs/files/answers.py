"""Answers made elsewhere, read into our records.

Taken are any JSON Lines, or one JSON list, of objects with ``id`` and ``answer`` (and ``split`` where ids repeat); the
prediction files of RGB's own code (``prediction``, ``noise_rate``); the result files of CRUD-RAG's (``results`` with
``log.generated_text``); the samples that lm-eval logs and the logs of Inspect. An ``answer`` of null is a failed call
and may name its reason in ``state``; else that is ``null``. Every question that is answered must be so exactly as often
as the others; of files of the authors' own code, which leave failed calls out, those are put in as unscored. A file may
answer a part of the questions, as a harness with a limit does: that part is scored, and said to be one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.catalogue import is_called
from quadrag.chat.reply import find_reasoning, read_answer
from quadrag.errors import QuadragError
from quadrag.passages import Found, find_passages
from quadrag.reading import Unreadable, parse_json
from quadrag.records import Answer, Key, Passage, Question, read_jsonl

from ...systems.system import make_answer
from . import logs
from .logs import Maker, find_maker

# What is read no better than by pandas, and what reads it there.
_TABLES = {".csv": "read_csv", ".tsv": "read_table", ".xlsx": "read_excel", ".parquet": "read_parquet"}
_ASKED = ("query", "question")  # what was asked, where a line says it
_COUNTED = re.compile(r"(.*/)?[\d.]{1,6}")  # an id that counts, as other data's do
_OF_SAMPLE = "the data here are the bundled sample, --data-dir names others; "
_IDS = "ids are those of `quadrag questions`"
_MOST_SHOWN = 6  # of the keys of a line
_STATES = ("ok", "api_error", "raised", "truncated", "unparsable", "null")


class Answered(NamedTuple):
    """What a file holds: answers in the order of the questions, and the passages that lines have.

    `unread` are the keys of the other lines that look as if they held some, and those of passages that look as if they
    held their texts. `by_ids`: no line says what was asked, and ids that count may as well be those of other data.
    """

    answers: list[Answer]
    passages: dict[Key, tuple[Passage, ...]]
    unread: list[str]
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
    places = _Places(path, questions, defaults, sample)
    passages: dict[Key, tuple[Passage, ...]] = {}
    answers: list[Answer] = []
    counts: Counter[Key] = Counter()
    places_of: dict[tuple[Key, int], int] = {}
    unread: dict[str, None] = {}
    theirs, by_ids = False, True
    for number, row in lines(path):
        answer = _answer(f"{path}:{number}", row, places)
        said = _check_query(path, number, row, questions[answer.key])
        by_ids = by_ids and not said and _COUNTED.fullmatch(answer.id) is not None
        counts[answer.key] += 1
        theirs = "answer" not in row
        if (answer.key, answer.sample) in places_of:
            first = places_of[(answer.key, answer.sample)]
            raise QuadragError(f"{path}:{number} answers {_place(answer.key)} again, after line {first}; expected once")
        places_of[(answer.key, answer.sample)] = number
        answers.append(answer)
        found = Found(None) if theirs else _read_passages(f"{path}:{number}", row)
        unread |= dict.fromkeys(found.unread)
        if found.passages is not None:
            passages[answer.key] = found.passages
    most = max(counts.values(), default=1)
    missing = [key for key in questions if counts[key] < most and (counts[key] or theirs or not partial)]
    if theirs:
        # The authors' code leaves out what failed; here it stays in the denominator.
        lost = ((questions[key], sample) for key in missing for sample in range(counts[key], most))
        answers += [make_answer(*one, None, state="api_error") for one in lost]
    elif missing:
        shown = ", ".join(_place(key) for key in missing[:3]) + (", ..." if len(missing) > 3 else "")
        times = f" {most} times" if most > 1 else ""
        raise QuadragError(
            f"{path} does not answer {len(missing)} of {len(questions)} questions{times} ({shown}); "
            'write {"id": ..., "answer": null} for a call that failed'
        )
    order = {key: place for place, key in enumerate(questions)}
    answers.sort(key=lambda answer: (order[answer.key], answer.sample))
    return Answered(answers, passages, sorted(unread), by_ids)


def has_passages(path: Path) -> bool:
    """Whether a line of a file has passages."""
    rows = ((f"{path}:{number}", row) for number, row in lines(path) if "answer" in row)
    return any(_read_passages(where, row).passages is not None for where, row in rows)


def _read_passages(where: str, row: Mapping[str, Any]) -> Found:
    try:
        return find_passages(row)
    except Unreadable as error:
        raise QuadragError(f"{where}: {error}") from None


def read_place(path: Path) -> dict[str, str]:
    """Return the benchmark and the config that the first line of a file names, as far as it does."""
    _, row = next(lines(path), (0, None))
    if row is None:
        raise QuadragError(f"{path} is empty; expected an answer a line")
    return {name: row[name] for name in ("benchmark", "config") if isinstance(row.get(name), str)}


def named_split(row: Mapping[str, Any], known: Collection[str]) -> Any:
    """Return the split that a line names, itself or by the noise ratio that RGB's code writes; None where neither.

    A testbed whose only split is ``test`` has one noise ratio, which then says nothing.
    """
    noise = row.get("noise_rate")
    if row.get("split") is not None or not isinstance(noise, (int, float)) or list(known) == ["test"]:
        return row.get("split")
    return f"noise_{noise * 100:.6g}".replace(".", "_")


class _Places:
    """Finds the question that a line answers: by what it says, by the defaults, else by the only one with its id."""

    def __init__(
        self, path: Path, questions: Mapping[Key, Question], defaults: Mapping[str, str], sample: bool
    ) -> None:
        self.questions = questions
        self._path = path
        self._defaults = defaults
        self._sample = sample
        self._benchmarks = dict.fromkeys(question.benchmark for question in questions.values())
        self._configs = dict.fromkeys(key[0] for key in questions)
        self._splits = dict.fromkeys(key[1] for key in questions)
        self._by_id: defaultdict[str, list[Key]] = defaultdict(list)
        for key in questions:
            self._by_id[key[2]].append(key)

    def find(self, where: str, row: Mapping[str, Any]) -> Key:
        """Return the key of the question that a line answers."""
        named = {"config": row.get("config"), "split": named_split(row, self._splits)}
        said = {name: self._defaults.get(name) if value is None else value for name, value in named.items()}
        for name, value in said.items():
            if not isinstance(value, (str, type(None))):
                raise QuadragError(f"{where}: {name} is {value!r}; expected a string")
        if type(row["id"]) not in (str, int):
            raise QuadragError(f"{where}: id is {row['id']!r}; expected a string or a whole number")
        ident, config, split = str(row["id"]), said["config"], said["split"]
        benchmark = row.get("benchmark")
        meant = next((one for one in self._benchmarks if is_called(str(benchmark), one)), benchmark)
        for name, one, scored in (("benchmark", meant, self._benchmarks), ("config", config, self._configs)):
            if one is not None and one not in scored:
                raise QuadragError(
                    f"{where} answers a question of {str(one)!r}, and {' or '.join(scored)} is scored here; expected "
                    f"--{name} {one}, or another file"
                )
        if split is not None and split not in self._splits:
            raise QuadragError(f"{where}: the split {split!r} is not scored here; expected {' or '.join(self._splits)}")
        fits = [key for key in self._by_id[ident] if config in (None, key[0]) and split in (None, key[1])]
        if not fits:
            place = " ".join(filter(None, (config, split)))
            cure = _find_data(self._path, row) or f"{_OF_SAMPLE * self._sample}{_IDS}"
            raise QuadragError(f"{where}: unknown id {ident!r}{f' in {place}' if place else ''}; {cure}")
        if len(fits) > 1:
            names = ", ".join(key[1] for key in fits)
            raise QuadragError(
                f"{where}: id {ident!r} is in the splits {names}; say which in `split`, or as --split {fits[0][1]}"
            )
        return fits[0]


def _answer(where: str, row: Mapping[str, Any], places: _Places) -> Answer:
    text_key = "answer" if "answer" in row else "prediction"
    if lacking := [name for name, needed in (("id", "id"), ("answer", text_key)) if needed not in row]:
        shown = ", ".join([*map(repr, [*row][:_MOST_SHOWN]), *["..."] * (len(row) > _MOST_SHOWN)])
        expected = 'expected lines of objects like {"id": ..., "answer": ...}'
        raise QuadragError(f"{where} has no {' and no '.join(lacking)}; found the keys {shown}; {expected}")
    state, finish, usage = row.get("state", "ok"), row.get("finish_reason"), row.get("usage")
    if state not in _STATES:
        raise QuadragError(f"{where}: state is {state!r}; expected one of {', '.join(_STATES)}")
    if row[text_key] is None and state == "ok" and text_key != "answer":
        state = "api_error"  # which it is in files of the authors' own code
    finish = finish if isinstance(finish, str) else None
    try:
        read = read_answer(row[text_key], find_reasoning(row), state, finish)
    except Unreadable as error:
        raise QuadragError(f"{where}: {error}, or null for a failed call") from None
    question = places.questions[places.find(where, row)]
    sample = row.get("sample", 0)
    if type(sample) is not int or sample < 0:
        raise QuadragError(f"{where}: sample is {sample!r}; expected a whole number from 0")
    usage = usage if isinstance(usage, dict) else None
    return Answer(question.benchmark, *question.key, sample, *read, finish, usage)


def _check_query(path: Path, number: int, row: Mapping[str, Any], question: Question) -> bool:
    """Hold what a line says was asked against the data: ids may have moved, and sample and real data share them.

    What is asked holds the question's text or, of a conversation, is a part of it.

    Returns:
        Whether the line says it.
    """
    said = {name: asked for name in _ASKED if isinstance(asked := row.get(name), str) and asked}
    for name, asked in said.items():
        if question.query not in asked and asked not in question.query:
            cure = f"expected the --data-dir and the ids of `quadrag questions`, or lines without `{name}`"
            raise QuadragError(
                f"{path}:{number} answers another question than {_place(question.key)} of these data "
                f"({question.query[:40]!r}); {_find_data(path, row) or cure}"
            )
    return bool(said)


def _find_data(path: Path, row: Mapping[str, Any]) -> str | None:
    """Say on which data the log was made that a line is of; None where it is of no log."""
    if "conditions" not in row:
        return None
    maker = find_maker(path) or Maker(path.stem, "")
    return f"expected the data that the log was made on: {maker.tell_data()}"


def _place(key: Key) -> str:
    return f"{key[1]} {key[2]}"


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of every line of a file of answers; of a JSON list, and of CRUD-RAG's, every entry."""
    if (read_log := logs.reader_of(path)) is not None:
        yield from enumerate(read_log(path), 1)
        return
    if (reader := _TABLES.get(path.suffix.lower())) and path.is_file():
        frame = f"pandas.{reader}({path.name!r}, dtype=str, keep_default_na=False)"
        way = f"{frame}.to_json({path.with_suffix('.jsonl').name!r}, orient='records', lines=True)"
        raise QuadragError(f"{path}: {path.suffix[1:].upper()} is not read, JSON Lines are; `{way}` makes them")
    whole = _whole(path)
    if isinstance(whole, list):
        for number, row in enumerate(whole, 1):
            if not isinstance(row, dict):
                raise QuadragError(f"{path}:{number} holds a {type(row).__name__}; expected an object")
            yield number, row
        return
    if told := logs.tell_summary(whole):
        raise QuadragError(f"{path} is {told}")
    results = whole.get("results") if isinstance(whole, dict) else None
    if not isinstance(results, list):
        for number, row in [(1, whole)] if isinstance(whole, dict) else read_jsonl(path):
            yield number, logs.read_sample(f"{path}:{number}", row) if logs.is_sample(row) else row
        return
    for number, result in enumerate(results, 1):
        log = result.get("log") if isinstance(result, dict) else None
        if not isinstance(log, dict) or "generated_text" not in log or "id" not in result:
            raise QuadragError(f"{path}: result {number} has no id or no log.generated_text; expected CRUD-RAG's form")
        valid = result.get("valid", True)
        yield number, {"id": result["id"], "prediction": log["generated_text"] if valid else None}


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


def _whole(path: Path) -> Any:
    """Return what a file that is one JSON value holds, as CRUD-RAG's result files are; None where it is not one."""
    try:
        # Its first line is no object, where each line of JSON Lines is one.
        with path.open(encoding="utf-8-sig") as file:
            first = file.readline().strip()
        if not (first == "{" or first.startswith("[") or path.suffix == ".json"):
            return None
        return parse_json(path.read_bytes(), path)
    except (OSError, UnicodeDecodeError, QuadragError):
        return None
