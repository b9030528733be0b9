"""What decides the bytes of a run's files, as `run.json` names it under ``inputs``.

A run with other inputs is another run. Models are named by their weights' content or commit where they are loaded here,
texts by a digest; addresses, times and costs are not among them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from quadrag import __version__, stats
from quadrag.data.files import SAMPLE_SOURCE
from quadrag.errors import QuadragError
from quadrag.records import Key, Question, dumps, read_jsonl, write_jsonl
from quadrag.run_files import sha256
from quadrag.run_record import Inputs

from ..core.benchmark import Benchmark, Finder
from ..core.options import identify_options
from ..core.result import Asked, Stratum
from ..core.settings import Conditions
from ..core.task import Corpus, Task
from ..scoring.modules import Embed
from ..scoring.rows import find_units
from ..systems.system import Assignment, Completer, System

QUESTIONS = "questions.jsonl"  # what is kept of each question of a run
ENTITY = "entity"  # the role of the model that finds the entities of questions
# Options that name where models were.
_MOVED = {  # what is another server, and the option that names it
    "services.llm": ("the model at", "--service"),
    "services.entity": ("the entity model at", "--entity-service"),
    "services.judge": ("the judge at", "--judge-service"),
}

_TYPED = ("temperature", "top_p", "max_tokens", "stop", "seed")  # parameters that are options by the same name

# Inputs that are known by digests, in words.
_DIGESTS = {
    "prompts": "prompts",
    "questions": "questions",
    "retrieval.corpus": "documents in its corpus",
}


class Models(Protocol):
    """The models of a session."""

    system: System
    entity_llm: Completer | None
    judges: Sequence[Completer]
    embed: Embed | None
    served_as: Mapping[str, str]


def make_inputs(
    models: Models,
    work: Assignment,
    questions: Sequence[Question],
    corpus: Corpus | None = None,
    finder: Finder | None = None,
) -> Inputs:
    """Name everything that decides the bytes of the stages' files."""
    benchmark, task = work.benchmark, work.task
    asked = models.entity_llm if benchmark.asks_entities(task) else None
    searched: dict[str, Any] = dict(finder.inputs) if finder else {}
    if corpus:
        from ..retrieval.search import describe_search

        searched["retrieval"] = {**task.settings(), "corpus": corpus.fingerprint[:16]}
        searched["search"] = describe_search(task.retriever, task.retrieval)
    for metric in benchmark.metrics(task.config, task.conditions):
        benchmark.keywords(metric, questions, task.conditions)  # what is wrong with them is said before a call is made
    return Inputs(
        quadrag=__version__,
        benchmark=task.benchmark,
        config=task.config,
        splits=list(dict.fromkeys(question.split for question in questions)),
        retriever=task.retriever,
        **searched,
        options=identify_options(benchmark.options, task.options),
        limit=task.limit,
        samples=task.samples,
        llm=models.system.name,
        parameters=dict(models.system.parameters),
        entity={"model": asked.model, **asked.parameters} if asked else None,
        judge=name_judges(models, benchmark, task),
        services=name_services(models, asked),
        served_as={role: name for role, name in models.served_as.items() if role != ENTITY or asked},
        judging=describe_judging(models, benchmark, task, questions),
        bertscore=_embedding(models.embed) if models.embed else None,
        prompts=_digest(work.prompts),
        questions=questions_digest(questions),
        seeds={"bootstrap": stats.SEED},
    )


def name_judges(models: Models, benchmark: Benchmark, task: Task) -> str | None:
    """Name the judges: one by its model, several as ``mean(a+b)``, or ``a; hal: b`` where they share out the keys."""
    names = [judge.model for judge in models.judges]
    if len(names) < 2:
        return names[0] if names else None
    asking = [metric for metric in benchmark.metrics(task.config, task.conditions) if metric.judged]
    if any(metric.panel for metric in asking):
        return f"mean({'+'.join(names)})"
    shares = {
        at: [key for metric in asking if metric.judge == at for key in metric.judged] for at in range(1, len(names))
    }
    return "; ".join([names[0], *(f"{', '.join(keys)}: {names[at]}" for at, keys in shares.items())])


def name_judge(place: int) -> str:
    """Name a judge's role by its place among the judges."""
    return f"judge {place + 1}" if place else "judge"


def name_services(models: Models, entity_llm: Completer | None = None) -> dict[str, str]:
    """Name where models are asked, by role."""
    found = {"llm": models.system.service, ENTITY: getattr(entity_llm, "service", None)}
    found |= {name_judge(place): getattr(judge, "service", None) for place, judge in enumerate(models.judges)}
    return {role: name for role, name in found.items() if name is not None}


def describe_judging(
    models: Models, benchmark: Benchmark, task: Task, questions: Sequence[Question]
) -> dict[str, Any] | None:
    """Name what verdicts depend on beside judges and answers: their parameters, and what the metrics are given.

    A prompt of the user's own is named by itself; None where there is no judge.
    """
    judges = models.judges
    if not judges:
        return None
    judged = [metric for metric in benchmark.metrics(task.config, task.conditions) if metric.judged]
    given = {metric.module: _plain(benchmark.keywords(metric, questions, task.conditions)) for metric in judged}
    parameters = [dict(judge.parameters) for judge in judges]
    found = {"parameters": parameters if len(parameters) > 1 else parameters[0], "given": _digest(given)}
    own = [keywords["prompt"] for keywords in given.values() if "prompt" in keywords]
    return found | ({"prompt": _digest(own)} if own else {})


def _plain(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Name a tokenizer among keywords; its content is among the options."""
    return {name: getattr(value, "name_or_path", value) for name, value in keywords.items()}


def _embedding(embed: Embed) -> Any:
    describe = getattr(embed, "describe", None)
    return describe() if describe else getattr(embed, "model", None)


def questions_digest(questions: Sequence[Question]) -> str:
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
    return {question.key: _digest([question.query, question.references]) for question in questions}


def describe_each(benchmark: Benchmark, questions: Sequence[Question], conditions: Conditions) -> dict[Key, Asked]:
    """Return what is kept of every question."""
    units, strata, digests = find_units(questions), benchmark.strata(questions, conditions), digest_each(questions)
    return {one.key: Asked(digests[one.key], units.get(one.key), one.slices, strata.get(one.key)) for one in questions}


def write_asked(folder: Path, asked: Mapping[Key, Asked]) -> str:
    """Write what is kept of the questions into a folder; returns the file's sha256."""
    names = ("config", "split", "id")
    kept = {key: {name: value for name, value in one._asdict().items() if value} for key, one in asked.items()}
    write_jsonl(folder / QUESTIONS, [dict(zip(names, key, strict=True)) | one for key, one in kept.items()])
    return sha256(folder / QUESTIONS)


def read_asked(folder: Path, known: str | None) -> dict[Key, Asked]:
    """Read what is kept of the questions; nothing of a folder that has none."""
    path = folder / QUESTIONS
    if not path.exists():
        return {}
    if known != sha256(path):
        raise QuadragError(f"{path} is not as the run wrote it; remove the file, and runs pair by their ids")
    return {(row["config"], row["split"], row["id"]): _read_asked(row) for _, row in read_jsonl(path)}


def _read_asked(row: Mapping[str, Any]) -> Asked:
    stratum = Stratum(*row["stratum"]) if "stratum" in row else None
    return Asked(row["sha256"], row.get("unit"), row.get("slices", {}), stratum)


def _digest(value: Any) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:16]


def with_judges(was: Inputs, now: Inputs) -> Inputs:
    """Return inputs with the judges of others."""

    def by_role(mine: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
        judges = {role: name for role, name in theirs.items() if role.startswith("judge")}
        return {role: name for role, name in mine.items() if not role.startswith("judge")} | judges

    services, served_as = by_role(was.services, now.services), by_role(was.served_as, now.served_as)
    return replace(was, judge=now.judge, judging=now.judging, services=services, served_as=served_as)


def without_judges(was: Inputs) -> Inputs:
    """Return inputs without judges."""
    return with_judges(was, replace(was, judge=None, judging=None, services={}, served_as={}))


def is_longer(was: int | None, now: int | None) -> bool:
    """Whether a limit lets more questions pass than another one did."""
    return was is not None and (now is None or now > was)


def tell_difference(was: Inputs, now: Inputs, places: tuple[str, str]) -> str:
    """Say in which input two runs differ first, and what to do who asks for the second in the folder of the first."""
    way = "name another folder with --out, or remove it"
    if was.questions != now.questions and places[0] != places[1]:
        short = [place.partition(" (")[0] for place in places]  # without what is told of the files
        old, new = short if short[0] != short[1] else places
        return f"on {_name_place(old)}; this one is on {_name_place(new)}: {way}"
    name, had, wanted = _first_difference("", asdict(was), asdict(now))
    if name in _DIGESTS:
        return f"with other {_DIGESTS[name]}; {way}"
    if name == "limit" and not is_longer(was.limit, now.limit):
        way = f"a smaller one needs a folder of its own: {way}"
    if name == "judge" and now.judge is None:
        way = f"give the same --judge, whose verdicts are kept, or {way}"
    if name in _MOVED:
        name, option = _MOVED[name]
        way = f"{way}; if it is the same server in another place, give {option} {_short(had)}"
    if name.startswith("parameters.") and name.partition(".")[2] in _TYPED:
        name = name.replace("parameters.", "--").replace("_", "-")
    return f"with {name} {_short(had)}, not {_short(wanted)}; {way}"


def _name_place(source: str) -> str:
    return f"the {source}" if source == SAMPLE_SOURCE.text else source


def _first_difference(name: str, was: Any, now: Any) -> tuple[str, Any, Any]:
    while isinstance(was, dict) and isinstance(now, dict):
        key = next(key for key in {**was, **now} if was.get(key) != now.get(key))
        name, was, now = f"{name}.{key}".removeprefix("."), was.get(key), now.get(key)
    return name, was, now


def _short(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
