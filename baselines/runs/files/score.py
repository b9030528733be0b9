"""Answers that another system made: read from a file, scored as a run's own are.

What forms such a file may have is said by `answers.py`.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from quadrag import __version__
from quadrag.errors import QuadragError
from quadrag.provenance import Provenance
from quadrag.records import Answer, Key, Question, jsonl_text, write_text
from quadrag.run_files import sha256
from quadrag.run_record import NAME, Inputs, RunRecord, read_run
from quadrag.scratch import scratch
from quadrag.stats import spread

from ...core.benchmark import load
from ...core.options import identify_options
from ...core.result import Asked, Result
from ...core.settings import UNKNOWN
from ...core.task import Task, load_questions
from ...scoring.faults import find_short
from ...scoring.judging import check_judges, refuse_idle_models, score_answers
from ...scoring.score import count_verdicts, score_text
from ...scoring.served import score_service
from ...scoring.validity import mark_invalid
from ...systems.own import take_served
from ..inputs import (
    describe_each,
    describe_judging,
    digest_each,
    name_judges,
    name_services,
    read_asked,
    write_asked,
)
from ..pipeline import Session
from ..request import RunRequest, make_task
from .answers import lines, named_split, read_conditions
from .answers import read as read_file
from .logs import ForeignLog, Maker, find_maker, is_log, name_task, name_time

_COMMAND = ["quadrag", "score"]  # how the commands begin whose folders are scores
_ASKED_AGAIN = r"\0(?:--fresh|--retry[\0=][^\0]+)"  # of which kept replies, which is no other command
_JUDGED = rf"{_ASKED_AGAIN}|\0--(?:judge[a-z-]*|certificate|max-failed|concurrency|timeout|ledger)[\0=][^\0]+"


def score_file(session: Session, request: RunRequest, path: Path, out: Path | None = None) -> Result:
    """Score a file of answers, and write the score files where a folder is named.

    Lines with `passages` are measured as a RAG service's are. A file that answers a part of the questions is scored on
    that part.
    """
    one = make_task(request)
    benchmark = load(one.benchmark)
    if (benchmark.corpus or benchmark.options) and request.retriever is None:
        # The file does not say how its passages were found: least of all by this benchmark's default.
        one.retriever = UNKNOWN
    if out:
        refuse_full(out, session.command)
    logged = _check_conditions(path, one)  # its retriever
    asked, source = load_questions(one, benchmark)
    if one.split is None:
        known = list(dict.fromkeys(question.split for question in asked))
        named = [named_split(row, known) for _, row in lines(path)]
        # A file that says its splits answers those; one that does not must answer all.
        if named and all(isinstance(split, str) and split in known for split in named):
            asked = [question for question in asked if question.split in named]
    made = _read_maker(path)
    _check_asked(path, made, asked)
    defaults = {"config": one.config} | ({"split": one.split} if one.split else {})
    sample = source.provenance is Provenance.SAMPLE
    read = read_file(path, {question.key: question for question in asked}, defaults, partial=True, sample=sample)
    answers = read.answers
    if not answers:
        raise QuadragError(f"{path} holds no answer to any of {len(asked)} questions")
    maker = find_maker(path)
    answered = {answer.key for answer in answers}
    questions = [question for question in asked if question.key in answered]
    if session.fresh:
        session.reuse.since = session.reuse.began
    before = session.spent()
    evidence, parameters = None, {}
    searched = benchmark.supplied is None and request.retriever is None
    if read.passages and searched:
        work = take_served(benchmark, one)
        one, parameters = work.task, {"contract": "file"}
        check_judges(work.benchmark, one, session.judges)
        refuse_idle_models(session, [(work.benchmark, one)])
        passages = {question.key: read.passages.get(question.key, ()) for question in questions}
        scored, evidence = score_service(session, benchmark, questions, answers, one, passages)
    else:
        check_judges(benchmark, one, session.judges)
        refuse_idle_models(session, [(benchmark, one)])
        scored = score_answers(session, benchmark, questions, answers, one)
    inputs = Inputs(
        quadrag=__version__,
        benchmark=one.benchmark,
        config=one.config,
        splits=list(dict.fromkeys(question.split for question in questions)),
        retriever=logged if logged and one.retriever == UNKNOWN else one.retriever,
        retrieval=_read_retrieval(logged, maker) if one.retriever == UNKNOWN else None,
        options=identify_options(benchmark.options, one.options),
        llm=maker.model if maker else _name_one(path),
        parameters=parameters,
        judge=name_judges(session, benchmark, one),
        services=name_services(session),
        judging=describe_judging(session, benchmark, one, questions),
        served_as=dict(session.served_as),
    )
    stopped = scored.stopped
    if scored.dead and not session.dead_judge:
        stopped = f"{stopped}; score again with a judge that does"
    run = RunRecord(inputs, "stopped" if stopped else "finished", stopped=stopped)
    run.source, run.provenance, run.held = source.text, source.provenance.value, [*source.held]
    run.data_dir, run.log = one.data_dir, logged is not None
    if logged and maker and (prompts := (maker.settings or {}).get("prompts")):
        run.given = [Path(prompts).name]
    run.latency_seconds = _pick_latencies(made, answers)
    run.by_ids = read.by_ids and not (made and made.asked)
    run.latency = spread(list(run.latency_seconds.values()))
    run.command, run.max_failed, run.profile = list(session.command), session.max_failed, session.profile
    session.keep_certificates(run)
    scored.tell(run)
    run.unreadable = 0 if stopped else count_verdicts(answers, scored.items, "unparsable")
    run.usage = session.spent_since(before)
    run.service = asdict(evidence) if evidence else None
    run.unread = read.unread if searched or benchmark.supplied is not None else []
    run.coverage = f"{len(questions)} of {len(asked)}" if len(questions) < len(asked) else None
    run.short = find_short(answers) if logged else {}  # those of a model have failed, those of one's own system not
    marked = mark_invalid(scored.scores, run, scored.items)
    kept = describe_each(benchmark, questions, one.conditions)
    if out:
        files = {
            "answers.jsonl": jsonl_text(answer.as_row() for answer in answers),
            "items.jsonl": jsonl_text(scored.items),
            "scores.json": score_text(scored.scores),
        }
        run.files |= {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
        _write(out, files, run, kept)
    texts = {(answer.key, answer.sample): answer.answer for answer in answers}
    return Result(run, marked, scored.items, stopped=stopped, asked=kept, folder=out, texts=texts)


def _write(out: Path, files: Mapping[str, str], run: RunRecord, kept: Mapping[Key, Asked]) -> None:
    """Write a folder of scores, all or nothing.

    Into a folder that holds scores the files are moved, its `run.json` last, which says what they are until then.
    """
    try:
        with scratch(out) as part:
            for name, text in files.items():
                write_text(part / name, text)
            run.asked = write_asked(part, kept)
            run.write(part)
            if (out / NAME).exists():
                for path in sorted(part.iterdir(), key=lambda path: path.name == NAME):
                    path.replace(out / path.name)
                return
            if out.exists():
                out.rmdir()  # it is empty
            part.replace(out)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(out)) from None


def _read_maker(path: Path) -> RunRecord | None:
    """Return the run of ours that made a file and left it beside its `run.json`; None of any other file."""
    try:
        made = read_run(path.parent)
    except QuadragError:  # it is not a run's folder, and need be none
        return None
    return made if made.files.get(path.name) == sha256(path) else None


def _check_asked(path: Path, made: RunRecord | None, questions: Sequence[Question]) -> None:
    """Refuse a run's answers to questions that have its ids, and none of its texts and gold."""
    before, now = read_asked(path.parent, made.asked) if made and made.asked else {}, digest_each(questions)
    shared = before.keys() & now.keys()
    if made and shared and all(before[key].sha256 != now[key] for key in shared):
        there = f"--data-dir {made.data_dir}" if made.data_dir else made.source
        raise QuadragError(
            f"{path} answers other questions than these data have under its ids; expected those of the run: {there}"
        )


def _pick_latencies(made: RunRecord | None, answers: Sequence[Answer]) -> dict[str, float]:
    if made is None:
        return {}
    places = ("/".join((*answer.key, str(answer.sample))) for answer in answers)
    return {place: made.latency_seconds[place] for place in places if place in made.latency_seconds}


def name_folders(files: Sequence[Path], out: Path) -> list[Path]:
    """Name the folders of files' scores: of one `out` itself, of several one in it for each, as the files lie.

    ``answers/a/m.jsonl`` and ``answers/b/m.jsonl`` have ``out/a/m`` and ``out/b/m``. That of a log is called as its
    task, with the time of day where other logs are of the same.
    """
    if len(files) == 1:
        return [out]
    shared = Path(os.path.commonpath([file.parent.absolute() for file in files]))
    places = [file.absolute().relative_to(shared) for file in files]
    ways: list[Callable[[Path], str]] = [
        lambda place: name_task(place) or _name_one(place),
        lambda place: f"{task}_{name_time(place)}" if (task := name_task(place)) else _name_one(place),
        _name_one,
        lambda place: place.name,
    ]
    return [out / place for place in _name_apart(places, ways)]


def name_systems(files: Sequence[Path]) -> list[Path]:
    """Name what made files: a log by itself, which says it, others without their endings, where these are not all."""
    return _name_apart(files, [lambda file: file.name if find_maker(file) else _name_one(file), lambda file: file.name])


def _name_apart(places: Sequence[Path], ways: Sequence[Callable[[Path], str]]) -> list[Path]:
    """Name each file in the first of several ways in which no other has its name."""
    named = [[place.with_name(way(place)) for place in places] for way in ways]
    counts = [Counter(names) for names in named]
    return [
        next((names[at] for names, n in zip(named, counts, strict=True) if n[names[at]] == 1), place)
        for at, place in enumerate(places)
    ]


def _name_one(file: Path) -> str:
    return file.stem if file.suffix in (".json", ".jsonl") else file.name


def refuse_full(out: Path, command: Sequence[str]) -> None:
    """Refuse a folder for scores that is not empty.

    Not where scoring has stopped there, as where the judge was dead, nor where the same command made them: it may have
    been cut short before its page was there, or now have the judge asked again. Where no judge was asked, or in vain,
    it may name one, or another.
    """
    made = read_run(out) if (out / NAME).exists() else None
    if made and made.command[:2] == _COMMAND:
        unjudged = made.inputs.judge is None or made.judged_in_vain
        if made.state == "stopped" or _same(made.command, command, _JUDGED if unjudged else _ASKED_AGAIN):
            return
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise QuadragError(f"{out} is there and is no empty folder; name another one with --out")


def _same(one: Sequence[str], other: Sequence[str], less: str) -> bool:
    first, second = (re.sub(less, "", "\0".join(command)) for command in (one, other))
    return first == second


def _read_retrieval(retriever: str | None, maker: Maker | None) -> dict[str, Any] | None:
    """Return how the run searched whose passages a log's model was shown; None where that cannot be read here."""
    found = maker.settings.get("retrieved") if maker and maker.settings else None
    try:
        made = read_run(Path(found).expanduser().parent).inputs if isinstance(found, str) else None
    except QuadragError:
        return None
    return made.retrieval if made and made.retriever == retriever else None


def _check_conditions(path: Path, one: Task) -> str | None:
    """Refuse a harness's log that is to be scored under other conditions than its answers were made under.

    Returns:
        The retriever that the log says; None where the file is no such log.
    """
    logged = read_conditions(path)
    if logged is None:
        return None
    retriever, options = logged
    for name, value in options.items():
        if one.options.get(name) != value:
            raise QuadragError(f"{path} was made with the option {name}={value}; give --option {name}={value}")
    benchmark, there = load(one.benchmark), replace(one, retriever=retriever)
    measured = [[m[:2] for m in benchmark.metrics(one.config, each.conditions)] for each in (one, there)]
    if one.retriever != UNKNOWN and measured[0] != measured[1]:
        raise QuadragError(f"{path} was made with the retriever {retriever}; give --retriever {retriever}")
    return retriever


def sift_logs(files: Sequence[Path]) -> tuple[list[Path], list[Path], list[str]]:
    """Read logs, of which one that is cut, or of another task, does not keep the others from being scored.

    Returns:
        The files that can be scored, the logs of other tasks, and of each log that cannot be read whole, why.
    """
    refused: dict[Path, QuadragError] = {}
    for path in filter(is_log, files):
        try:
            _check_whole(path)
        except QuadragError as error:
            refused[path] = error
    if refused and len(refused) == len(files):
        raise refused[files[0]]
    foreign = [path for path, error in refused.items() if isinstance(error, ForeignLog)]
    broken = [str(error) for path, error in refused.items() if path not in foreign]
    return [path for path in files if path not in refused], foreign, broken


def _check_whole(path: Path) -> None:
    """Read a log to its end.

    Raises:
        ForeignLog: it is of another task than quadrag's.
        QuadragError: a line cannot be read, or there are fewer than its harness says.
    """
    answered = len({(row.get("split"), row.get("id")) for _, row in lines(path)})
    maker = find_maker(path)
    if maker and maker.asked and answered < maker.asked:
        raise QuadragError(
            f"{path} is cut: it has {answered} of the {maker.asked} lines that results_{maker.time}.json tells of; "
            f"copy it again, or score a copy of another name as a part, with {maker.tell_data()}"
        )
