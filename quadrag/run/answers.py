"""Answers made elsewhere, read into our records, where they enter a run as a model's do.

Taken are any JSON Lines, or one JSON list, of objects with ``id`` and ``answer`` (and ``split`` where ids repeat); what
the authors' own code of a benchmark wrote, as its record reads it; the logs of harnesses. An ``answer`` of null is a
failed call and may name its reason in ``state``. A file may answer a part of the questions; those that the authors' own
code left out, as it does where a call failed, are put in as unscored. A log of lm-eval (``--log_samples``) or Inspect
(``.eval``, ``.json``) is of quadrag's own tasks; its scores are left aside. Inspect is needed to read its own logs.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.benchmark import Benchmark, load
from quadrag.chat.reply import ReadAnswer, find_reasoning, read_answer
from quadrag.errors import QuadragError, Unreadable, one_line, parse_json, tell_extra
from quadrag.passages import find_passages
from quadrag.printing import remark
from quadrag.records import Answer, Key, Passage, Question, read_jsonl
from quadrag.results import NAME, RunRecord, read_run
from quadrag.results.record import is_as_written
from quadrag.spec import UNKNOWN, RunSpec
from quadrag.systems.own import take_served
from quadrag.systems.system import Assignment, Generated, OnProgress, Passages, Questions, System, make_answer

from .folder import digest_each, is_empty, read_asked

Line = tuple[str, dict[str, Any]]  # its place, as errors name it, and what stands there
_STATES = ("ok", "api_error", "raised", "truncated", "unparsable", "null")
_AUTHORS = "of_the_authors"  # marks a line of the authors' own code
_COUNTED = re.compile(r"(.*/)?[\d.]{1,6}")  # an id that counts, as other data's do
_SAME = ("benchmark", "config", "split", "data_dir", "options", "prompts")  # parts of the specs of the same scores
_PLACE = ("id", "config", "split")
_FAILED: ReadAnswer = (None, None, "api_error")
_CUT = "max_tokens"  # how Inspect calls why a reply was cut by length
LOG = re.compile(r"samples_quadrag_(.+)_(\d{4}-\d\d-\d\dT[\d:.+-]+).*\.jsonl")  # of lm-eval: the task, and the time


def lines(path: Path, benchmark: Benchmark | None = None, config: str = "") -> Iterator[Line]:
    """Yield every answer of a file, whatever its form, as a line of ours; those of a benchmark's authors by its record.

    Without a benchmark they are as they stand in the file, but for the logs of harnesses.
    """
    for number, row in _read_rows(path):
        where = f"{path}:{number}"
        if not isinstance(row, dict):
            raise QuadragError(f"{where} holds a {type(row).__name__}; expected an object")
        if isinstance(row.get("doc"), Mapping) and "resps" in row:  # of lm-eval
            row = read_sample(where, row)
        if benchmark and "answer" not in row:
            authors_line = benchmark.read_result(row, config)
            if authors_line is None:
                keys = one_line(", ".join(map(repr, row)), 60)
                raise QuadragError(
                    f'{where} has no answer; found the keys {keys}; expected {{"id": ..., "answer": ...}}'
                )
            state = "api_error" if authors_line["answer"] is None else "ok"
            row = {**authors_line, "state": state, _AUTHORS: True}
        yield where, row


def _read_rows(path: Path) -> Iterable[tuple[int, Any]]:
    if is_inspect(path):
        return enumerate(read_inspect_log(path), 1)
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

    They answer all questions or a part; `place` is the ``config`` and ``split`` of lines that do not say them.
    """
    by_id: dict[str, list[Question]] = {}
    for question in questions:
        by_id.setdefault(question.id, []).append(question)
    answers: dict[Key, dict[int, Answer]] = {}
    generated, complete_splits = Generated([]), set()
    for where, row in rows:
        question = _find_question(where, row, place, by_id)
        answer = _read_line(where, row, question)
        by_sample = answers.setdefault(question.key, {})
        if answer.sample in by_sample:
            raise QuadragError(f"{where} answers {answer.split} {answer.id} again; expected once")
        by_sample[answer.sample] = answer
        complete_splits |= {question.split} if _AUTHORS in row else set()
        generated.passages[answer.key] = read_passages(where, row)
    samples = sorted({sample for by_sample in answers.values() for sample in by_sample})
    for question in questions:
        by_sample = answers.get(question.key, {})
        for sample in samples if by_sample or question.split in complete_splits else ():
            lacking = make_answer(question, sample, None, state="api_error")  # it stays in the denominator
            generated.answers.append(by_sample.get(sample, lacking))
    return generated


def _find_question(
    where: str, row: Mapping[str, Any], place: Mapping[str, str], by_id: Mapping[str, list[Question]]
) -> Question:
    ident = row.get("id")
    if type(ident) not in (str, int):
        raise QuadragError(f"{where}: id is {ident!r}; expected a string or a whole number")
    placed = {**place, **{name: row[name] for name in ("benchmark", "config", "split") if row.get(name) is not None}}
    fitting = [each for each in by_id.get(str(ident), ()) if all(getattr(each, k) == v for k, v in placed.items())]
    if len(fitting) > 1:
        names = ", ".join(question.split for question in fitting)
        raise QuadragError(f"{where}: id {str(ident)!r} is in the splits {names}; say which in `split`, or by --split")
    if not fitting:
        shown = one_line(" ".join(f"{name} {value!r}" for name, value in placed.items()), 90)
        raise QuadragError(
            f"{where}: unknown id {str(ident)!r} of {shown}; expected one of `quadrag questions`, on the same "
            "--data-dir, --config and --split"
        )
    return fitting[0]


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
    try:
        return find_passages(row)
    except Unreadable as error:
        raise QuadragError(f"{where}: {error}") from None


class AnswersFile(System):
    """Answers that another system made, in a file; lines with `passages` are measured as a RAG service's are."""

    has_answers = True
    asks_models = False

    def __init__(self, path: Path, spec: RunSpec) -> None:
        benchmark = load(spec.benchmark)
        self._path, self._spec = path, spec
        self._rows = [*lines(path, benchmark, spec.config)]
        self._retriever = read_head(path).get("retriever")  # as a log says it
        unsaid = spec.retriever == UNKNOWN or not (benchmark.corpus or benchmark.options)
        searches = unsaid and benchmark.default_context is None
        given = any(read_passages(*line) for line in self._rows)
        self.finds_passages = searches and given
        self.parameters = {"contract": "file"} if self.finds_passages else {}
        unread = {name: None for _, row in self._rows for name, value in row.items() if isinstance(value, list)}
        if unread and not given and benchmark.default_context is None:
            shown = one_line(", ".join(map(repr, unread)), 60)
            remark(f"not read of {path}: {shown}; what was found belongs under 'passages'")
        self._generated, self._checked = Generated([]), False

    @property
    def name(self) -> str:
        return name_system(self._path)

    def take(self, benchmark: Benchmark, task: RunSpec) -> Assignment:
        return take_served(benchmark, task) if self.finds_passages else Assignment(benchmark, task, {})

    def choose(self, questions: Questions, source: Any) -> tuple[Questions, int]:
        place = {"config": self._spec.config} | ({"split": self._spec.split} if self._spec.split else {})
        self._generated = read(self._rows, questions, place)
        answered = {answer.key for answer in self._generated.answers}
        if not answered:
            raise QuadragError(f"{self._path} answers none of {len(questions)} questions; expected an answer a line")
        splits = {split for _, split, _ in answered}
        chosen = [question for question in questions if question.key in answered]
        self._checked = _check_asked(self._path, chosen)
        return chosen, sum(question.split in splits for question in questions)

    def note(self, record: RunRecord) -> None:
        record.log = self._retriever is not None
        if self._retriever and record.retriever == UNKNOWN:
            record.spec = record.spec.changed(retriever=self._retriever)
        if (origin := find_origin(self._path)) and (prompts := origin.settings.get("prompts")):
            record.given = [Path(str(prompts)).name]
        record.by_ids = not self._checked and all(
            _COUNTED.fullmatch(str(row["id"])) and not texts_asked(row) for _, row in self._rows
        )

    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        generated = self._generated
        generated.passages = {question.key: generated.passages.get(question.key, ()) for question in questions}
        return generated


def _check_asked(path: Path, questions: Questions) -> bool:
    """Refuse answers of a run of ours to questions of other data that have the same ids; whether it is one of ours."""
    try:
        made = read_run(path.parent)
    except QuadragError:  # it is not a run's folder, and need be none
        return False
    if not is_as_written(path.parent, made, path.name):
        return False
    before, now = read_asked(path.parent, made), digest_each(questions)
    shared = before.keys() & now.keys()
    if shared and all(before[key].sha256 != now[key] for key in shared):
        there = f"--data-dir {made.spec.data_dir}" if made.spec.data_dir else made.source
        raise QuadragError(
            f"{path} answers other questions than these data have under its ids; expected those of its run: {there}"
        )
    return bool(shared)


def name_system(path: Path) -> str:
    if origin := find_origin(path):
        return origin.model
    return path.stem if path.suffix in (".json", ".jsonl", ".eval") else path.name


def name_files(files: Sequence[Path]) -> list[Path]:
    """Name files as they lie below the folder that all are in; two of one name keep their endings."""
    shared = Path(os.path.commonpath([file.absolute().parent for file in files]))
    places = [file.absolute().relative_to(shared) for file in files]
    short = [place.with_name(match[1]) if (match := LOG.fullmatch(place.name)) else place for place in places]
    short = [place.with_suffix("") if place.suffix in (".json", ".jsonl", ".eval") else place for place in short]
    return [name if short.count(name) == 1 else place for name, place in zip(short, places, strict=True)]


def refuse_full(out: Path, spec: RunSpec, file: Path) -> None:
    """Refuse a folder that is not empty, but one of scores of the same; where no judge was heard, these may get one."""
    made = read_run(out) if (out / NAME).exists() else None
    if made and made.command[1:2] == ["score"]:
        parts = _SAME if made.judge is None or made.judged_in_vain else (*_SAME, "judges")
        alike = all(getattr(made.spec, part) == getattr(spec, part) for part in parts)
        if made.state == "stopped" or (alike and made.llm == name_system(file)):
            return
    if out.exists() and not (out.is_dir() and is_empty(out)):
        raise QuadragError(f"{out} is there and is no empty folder; name another one with --out")


def sift_logs(
    named: Sequence[Path], benchmark: str | None = None, config: str | None = None
) -> tuple[list[Path], list[str]]:
    """List the files that are named, and of folders the logs: one that cannot be read does not keep others from scores.

    Of a folder's logs those of the benchmark and the config that are named count; of a task that a model of one folder
    was asked again, the last one. Also returned is of each log that cannot be scored, why.
    """
    wanted = {name: value for name, value in (("benchmark", benchmark), ("config", config)) if value}
    listed = {path: list_logs(path) if path.is_dir() else [] for path in named}
    refused: dict[Path, QuadragError] = {}
    made: list[tuple[str, Path, set[tuple[Any, ...]]]] = []
    for path in dict.fromkeys(log for listed_logs in listed.values() for log in listed_logs):
        try:
            head, origin = read_head(path), find_origin(path)
            if any(head.get(name, value) != value for name, value in wanted.items()):
                continue
            place = (path.absolute().parent, origin and origin.model)
            tasks = {
                (*place, *(str(row.get(part)) for part in ("benchmark", "config", "split"))) for _, row in lines(path)
            }
            if not tasks:
                raise QuadragError(f"{path} holds no samples; expected a log of a whole run")
            made.append((origin.time if origin else "", path, tasks))
        except QuadragError as error:
            refused[path] = error
    last = {task: path for _, path, tasks in sorted(made, key=itemgetter(0, 1)) for task in tasks}
    again = [path for _, path, tasks in made if any(last[task] != path for task in tasks)]
    for path in again:
        remark(f"left out, its model was asked the same again: {path}")
    kept = {path for _, path, _ in made}.difference(again)
    found = [log for path, logs in listed.items() for log in logs or [path]]
    files = [path for path in dict.fromkeys(found) if path in kept or path in listed]
    if not files and refused:
        raise next(iter(refused.values()))
    if not files:
        raise QuadragError(f"no log there is of {' '.join(wanted.values())}; name another config, or none")
    return files, [*map(str, refused.values())]


class LogOrigin(NamedTuple):
    """What made a log: the model by the harness's name, when, and what the task was given, as ``data_dir``."""

    model: str
    time: str
    settings: Mapping[str, Any]


def list_logs(folder: Path) -> list[Path]:
    logs = sorted([*folder.rglob("samples_quadrag_*.jsonl"), *folder.rglob("*.eval")])
    if not logs:
        raise QuadragError(
            f"{folder} is a folder without a harness's log of a quadrag task (samples_quadrag_*.jsonl, which "
            "--log_samples writes, or *.eval); expected one, or a file of answers"
        )
    return logs


def find_origin(path: Path) -> LogOrigin | None:
    """Return what made a log; None of any other file.

    lm-eval says the model in the results beside the samples; where these are gone, it is what the folder is called.
    """
    if is_inspect(path):
        made = open_inspect_log(path, header_only=True).eval
        return LogOrigin(made.model, made.created, made.task_args)
    match = LOG.fullmatch(path.name)
    if match is None:
        return None
    results = path.with_name(f"results_{match[2]}.json")
    said = parse_json(results.read_bytes(), results) if results.is_file() else {}
    try:
        settings = dict(said["configs"][f"quadrag_{match[1]}"]["metadata"])
    except (KeyError, TypeError, ValueError):
        settings = {}
    named = said.get("model_name") if isinstance(said, dict) else None
    return LogOrigin(str(named or path.absolute().parent.name), match[2], settings)


def read_sample(where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    replies = row.get("filtered_resps")
    if not isinstance(replies, list) or len(replies) != 1 or not isinstance(replies[0], str):
        raise QuadragError(f"{where} has filtered_resps {replies!r:.60}; expected one reply")
    return {**_read_logged(where, row["doc"]), "answer": lm_eval_answer(replies[0])}


def lm_eval_answer(text: str) -> str | None:
    """Return a reply, None where it is what the user has lm-eval write for one that has no content."""
    return None if text and text == os.environ.get("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER") else text


def is_inspect(path: Path) -> bool:
    """Whether a file is a log of Inspect, by its name or, of a .json, by its first keys, which have one order."""
    if path.suffix != ".json":
        return path.suffix == ".eval"
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.read(4096)
    except (OSError, UnicodeDecodeError):
        return False
    return head.lstrip().startswith("{") and '"eval":' in head and '"task_registry_name":' in head


def read_inspect_log(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a line of answers for every sample of a log of Inspect, in its order, whatever solver answered.

    It has place, `conditions`, `query`, `sample` (the epoch, from 0), `answer`, `reasoning`, `state`, `finish_reason`.
    """
    log = open_inspect_log(path, resolve_attachments="core")
    if not log.samples:
        raise QuadragError(f"{path} holds no samples (its status is {log.status}); expected a log of a whole run")
    for sample in log.samples:
        place = _read_logged(f"{path}: sample {sample.id}", {**sample.metadata, "id": str(sample.id)})
        # The output of a sample that failed may be that of a call before.
        text, reasoning, state = _FAILED if sample.error else inspect_answer(sample.output)
        stop = sample.output.stop_reason if sample.output.choices else None
        said = {"answer": text, "reasoning": reasoning, "state": state}
        yield {**place, "sample": sample.epoch - 1, **said, "finish_reason": "length" if stop == _CUT else stop}


def open_inspect_log(path: Path, **how: Any) -> Any:
    try:
        from inspect_ai.log import read_eval_log  # type: ignore[import-not-found]  # the types are checked without it
    except ImportError:
        raise QuadragError(f"{path} is a log of Inspect, which is needed to read it; {tell_extra('harness')}") from None
    try:
        return read_eval_log(str(path), **how)
    except Exception as error:
        raise QuadragError(f"cannot read {path} ({one_line(error, 200)}); expected a log of Inspect") from None


def inspect_answer(output: Any) -> ReadAnswer:
    """Read an output of Inspect's models; one without choices is a failed call, or one that was never made."""
    if output.error or not output.choices:
        return _FAILED
    content = getattr(getattr(output.choices[0], "message", None), "content", None)
    parts = content if isinstance(content, list) else []
    thoughts = "\n".join(part.reasoning for part in parts if part.type == "reasoning")
    return read_answer(output.completion, thoughts, finish_reason="length" if output.stop_reason == _CUT else None)


def _read_logged(where: str, said: Mapping[str, Any]) -> dict[str, str]:
    if not all(isinstance(said.get(name), str) for name in _PLACE):
        raise QuadragError(f"{where} is of no quadrag task; `quadrag harness` has those")
    return {name: said[name] for name in ("benchmark", *_PLACE, "conditions", "query") if name in said}
