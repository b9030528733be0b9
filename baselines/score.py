"""The score stage: answers against references, and ranks against relevant documents, through the evaluate modules.

Values come from the modules, intervals from `quadrag.stats`; nothing is computed here. A metric that needs a judge or
an embedding and has none is reported as not run. Both profiles are computed.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quadrag.catalogue import metric_folder
from quadrag.errors import QuadragError
from quadrag.records import Answer, Key, Passage, Question, document_id, dumps
from quadrag.stats import NOT_APPLICABLE, Item

from .benchmark import Benchmark, Conditions, Metric
from .score_rows import groupings, macro_rows, not_run, rows_of, slices_of, summaries

PROFILES = ("official", "corrected")
Judge = Callable[[list[list[dict[str, str]]]], list[Any]]
_SCHEMAS = ("omnieval",)  # metrics that publish the schema of their verdicts
Embed = Callable[[list[str]], Any]  # n texts to an n x d array


@dataclass(frozen=True, slots=True)
class Aids:
    """What metrics may need beside answers and references; each may be lacking."""

    judges: Sequence[Judge] = ()
    embed: Embed | None = None
    passages: Mapping[Key, Sequence[Passage]] | None = None


class Once:
    """A judge that is asked every question once, so that both profiles read one and the same verdict."""

    def __init__(self, judge: Judge) -> None:
        """Wrap a judge; its `model` is kept for the signature."""
        self._judge = judge
        self._verdicts: dict[str, Any] = {}
        self.model = getattr(judge, "model", None)

    def __call__(self, batch: list[list[dict[str, str]]]) -> list[Any]:
        """Answer from what was asked before, and ask the rest in one batch."""
        keys = [dumps(chat) for chat in batch]
        new = {key: chat for key, chat in zip(keys, batch, strict=True) if key not in self._verdicts}
        if new:
            self._verdicts.update(zip(new, self._judge(list(new.values())), strict=True))
        return [self._verdicts[key] for key in keys]


def score(
    benchmark: Benchmark,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    conditions: Conditions,
    aids: Aids = Aids(),
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Score answers.

    Args:
        benchmark: whose metrics apply.
        questions: every question by its key.
        answers: in input order; each key is among the questions.
        conditions: as they were when the answers were made; without documents, say, fewer metrics apply.
        aids: the judge is asked at most once per distinct chat; without passages ranks are not measured.

    Returns:
        The lines of ``items.jsonl``, in the order of the answers, and the rows of ``scores.json``: per config, split,
        metric, profile, slice and key.
    """
    aids = replace(aids, judges=[Once(judge) for judge in aids.judges])
    if aids.passages is None:  # of a file of answers, whatever retriever it is said to come from
        conditions = replace(conditions, top_k=0)
    items: dict[int, dict[str, Any]] = {index: {} for index in range(len(answers))}
    scores: list[dict[str, Any]] = []
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, answer in enumerate(answers):
        groups[(answer.config, answer.split)].append(index)
    for (config, split), indices in groups.items():
        slices = slices_of([questions[answers[index].key] for index in indices])
        place = {"benchmark": benchmark.NAME, "config": config, "split": split}
        for metric in benchmark.metrics(config, conditions):
            if metric.ranks and aids.passages is None:
                continue
            lacks = {key: _lacks(metric, key, aids) for key in metric.keys}
            for profile in PROFILES:
                here = [answers[i] for i in indices]
                result = compute(benchmark, metric, questions, here, profile, conditions, aids)
                for index, row in zip(indices, result["per_item"], strict=True):
                    _note(items[index], metric, profile, row, aids)
                rows = [(answers[i].id, row) for i, row in zip(indices, result["per_item"], strict=True)]
                for name, members in slices.items():
                    part = [rows[member] for member in members]
                    scores += rows_of({**place, "slice": name}, metric, profile, result, part, lacks)
                run = [key for key in metric.keys if key in result and not lacks[key]]
                run = [key for key in run if all(key in line for _, line in rows)]
                items_by_key = {
                    key: [Item(one, line[key], line["reasons"].get(key)) for one, line in rows] for key in run
                }
                for grouping, parts in groupings(benchmark, slices):
                    columns = {
                        key: [[values[at] for at in group] for group in parts] for key, values in items_by_key.items()
                    }
                    head = {**place, "slice": f"macro:{grouping}"}
                    scores += macro_rows(head, metric, profile, result["signature"], columns)
    lines = [
        {"benchmark": a.benchmark, "config": a.config, "split": a.split, "id": a.id, "sample": a.sample} | items[i]
        for i, a in enumerate(answers)
    ]
    return lines, scores


def items_of(lines: Sequence[Mapping[str, Any]], metric: str, profile: str) -> list[Item]:
    """Read one metric's items back from lines of ``items.jsonl``; `metric` is ``module.key``."""
    return [
        Item((line["config"], line["split"], line["id"]), line[metric].get(profile), _reason(line[metric], profile))
        for line in lines
        if metric in line
    ]


def scores_of(
    benchmark: Benchmark,
    lines: Sequence[Mapping[str, Any]],
    conditions: Conditions,
    questions: Mapping[Key, Question],
) -> list[dict[str, Any]]:
    """Make the rows of ``scores.json`` from lines of ``items.jsonl``, where the user put in a file of his own."""
    scores = []
    for config, split in dict.fromkeys((line["config"], line["split"]) for line in lines):
        here = [line for line in lines if (line["config"], line["split"]) == (config, split)]
        place = {"benchmark": benchmark.NAME, "config": config, "split": split}
        slices = slices_of([questions[(config, split, line["id"])] for line in here])
        for metric in benchmark.metrics(config, conditions):
            for profile, (name, members) in itertools.product(PROFILES, slices.items()):
                part = [here[member] for member in members]
                for key in metric.keys:
                    items = items_of(part, f"{metric.module}.{key}", profile)
                    head = {**place, "slice": name, "metric": metric.module, "key": key, "profile": profile}
                    worst = metric.worst.get(key, 0.0)
                    found = summaries([items], profile, worst)[0] if items else not_run("no values given", len(part))
                    scores.append(head | found | {"signature": f"{metric.module}|profile:{profile}|items:given"})
            for profile, (grouping, groups) in itertools.product(PROFILES, groupings(benchmark, slices)):
                values = {key: items_of(here, f"{metric.module}.{key}", profile) for key in metric.keys}
                # A file that has a key for some lines alone has no groups to speak of.
                whole = {key: found for key, found in values.items() if len(found) == len(here)}
                columns = {key: [[items[at] for at in group] for group in groups] for key, items in whole.items()}
                signature = f"{metric.module}|profile:{profile}|items:given"
                scores += macro_rows({**place, "slice": f"macro:{grouping}"}, metric, profile, signature, columns)
    return scores


def given_scores(
    path: Path,
    benchmark: Benchmark,
    items: Sequence[Mapping[str, Any]],
    questions: Sequence[Question],
    conditions: Conditions,
) -> list[dict[str, Any]]:
    """Aggregate the user's own ``items.jsonl``.

    Raises:
        QuadragError: a line is not of its form, or questions are missing or unknown.
    """
    wanted = {question.key: question for question in questions}
    try:
        found = {(line["config"], line["split"], line["id"]) for line in items}
        if found == wanted.keys():
            return scores_of(benchmark, items, conditions, wanted)
    except (KeyError, TypeError, AttributeError) as error:
        raise QuadragError(f"{path} is not of the form of items.jsonl ({error!r}); remove it to score again") from None
    raise QuadragError(
        f"{path} holds {len(found)} questions of which {len(found & wanted.keys())} are among the {len(wanted)} asked; "
        "remove it to score again"
    )


def failed_verdicts(answers: Sequence[Answer], items: Sequence[Mapping[str, Any]]) -> int:
    """Count the answers that a judge was asked about in vain; a later run may ask again."""
    return sum(
        answer.state == "ok"
        and any("api_error" in value.get("reason", {}).values() for value in line.values() if isinstance(value, dict))
        for answer, line in zip(answers, items, strict=True)
    )


def score_text(scores: Sequence[dict[str, Any]]) -> str:
    """Return the text of ``scores.json``: a JSON list, a row a line."""
    return "[\n" + ",\n".join(dumps(row) for row in scores) + "\n]\n"


def _reason(entry: Mapping[str, Any], profile: str) -> str | None:
    reasons = entry.get("reason") or {}
    return reasons.get(profile) if isinstance(reasons, Mapping) else reasons


def compute(
    benchmark: Benchmark,
    metric: Metric,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    profile: str,
    conditions: Conditions,
    aids: Aids,
) -> Any:
    """Return what a metric's module makes of answers under a profile; empty rows if all it needs is lacking.

    Args:
        benchmark: of the questions.
        metric: which module, and how it is asked.
        questions: at least those answered.
        answers: in the order of the rows.
        profile: ``official`` or ``corrected``.
        conditions: under which the answers were made.
        aids: judges, embedding, passages.
    """
    if all(_lacks(metric, key, aids) for key in metric.keys):
        nothing: dict[str, Any] = {"reasons": {}}
        signature = f"{metric.module}|profile:{profile}"
        return {"n_total": len(answers), "per_item": [nothing] * len(answers), "signature": signature}
    asked = [questions[answer.key] for answer in answers]
    keywords: dict[str, Any] = {"profile": profile}
    predictions: list[Any]
    if metric.ranks:
        passages = aids.passages or {}
        predictions = [[document_id(passage) for passage in passages[answer.key]] for answer in answers]
        references: list[Any] = [list(question.relevant) for question in asked]
    else:
        keywords["states"] = [None if answer.answer is not None else answer.state for answer in answers]
        predictions = [None if a.answer is None else benchmark.parse(a.config, a.answer) for a in answers]
        references = [metric.shape(question.references) for question in asked]
    if metric.embedded and aids.embed:
        keywords["embed"] = aids.embed
    keywords |= benchmark.keywords(metric, asked, conditions)
    if metric.contexts and aids.passages is not None:
        keywords["contexts"] = [[passage.text for passage in aids.passages[answer.key]] for answer in answers]
    if metric.judged and aids.judges:
        several = metric.panel and len(aids.judges) > 1
        one = aids.judges[min(metric.judge, len(aids.judges) - 1)]
        keywords |= {"judges": list(aids.judges)} if several else {"judge": one}
    # A module that knows no item without a reference is not shown any.
    there = [at for at, reference in enumerate(references) if reference is not None or metric.nothing]
    columns = {"states": keywords.pop("states")} if "states" in keywords and len(there) < len(references) else {}
    keywords |= {name: [column[at] for at in there] for name, column in columns.items()}
    with _quiet_evaluate() as evaluate:
        result = _module(evaluate, metric.module, metric.config).compute(
            predictions=[predictions[at] for at in there], references=[references[at] for at in there], **keywords
        )
    if len(there) == len(references):
        return result
    none = dict.fromkeys(metric.keys)
    rows = [{**none, "reasons": dict.fromkeys(metric.keys, NOT_APPLICABLE)} for _ in references]
    for at, row in zip(there, result["per_item"], strict=True):
        rows[at] = row
    return {**result, "per_item": rows, "n_total": len(references)}


def verdict_format(benchmark: Benchmark, shape: str, role: int = 0) -> dict[str, Any]:
    """Return the request's field that holds a judge to a form: none for ``text``, any JSON, or a metric's own schema.

    Args:
        benchmark: whose verdicts they are.
        shape: ``text``, ``json`` or ``schema``.
        role: the judge's place; OmniEval's second is asked about hallucination alone, and has its schema.

    Raises:
        QuadragError: no metric of the benchmark has a schema.
    """
    if shape == "text":
        return {}
    if shape == "json":
        return {"response_format": {"type": "json_object"}}
    if benchmark.NAME not in _SCHEMAS:
        raise QuadragError(f"no metric of {benchmark.NAME} has a schema of its verdicts; give --judge-format json")
    with _quiet_evaluate() as evaluate:
        return {"response_format": _module(evaluate, benchmark.NAME, "hal" if role else None).response_format}


@functools.cache
def _module(evaluate: Any, name: str, config: str | None) -> Any:
    """Load an evaluate module, once: a computation leaves nothing in it."""
    return evaluate.load(str(metric_folder(name)), config)


@contextlib.contextmanager
def _quiet_evaluate() -> Iterator[Any]:
    """Lend `evaluate` without its progress bars and notes, which would break into ours."""
    import evaluate

    before = evaluate.logging.get_verbosity()
    bars = evaluate.utils.logging.is_progress_bar_enabled()
    evaluate.logging.set_verbosity_error()
    evaluate.disable_progress_bar()
    try:
        yield evaluate
    finally:
        if bars:
            evaluate.enable_progress_bar()
        evaluate.logging.set_verbosity(before)


def _note(line: dict[str, Any], metric: Metric, profile: str, row: Mapping[str, Any], aids: Aids) -> None:
    """Enter one item's values of one metric and profile into its line."""
    for key in metric.keys:
        if key not in row or _lacks(metric, key, aids):
            continue
        entry = line.setdefault(f"{metric.module}.{key}", {})
        entry[profile] = row[key]
        if key in row["reasons"]:
            entry.setdefault("reason", {})[profile] = row["reasons"][key]


def _lacks(metric: Metric, key: str, aids: Aids) -> str | None:
    return metric.lacks(key, bool(aids.judges), bool(aids.embed))
