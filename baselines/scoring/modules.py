"""Metric modules: loaded once, asked quietly, given answers and references as each wants them.

Nothing is computed here, and nothing summed up: a module gives a value for each item and one over all.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quadrag.catalogue import metric_folder
from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record
from quadrag.records import Answer, Key, Passage, Question, document_id, dumps
from quadrag.scratch import check_writable, process_folder
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import Benchmark, MetricUse
from ..core.parts import Conditions

Judge = Callable[[list[list[dict[str, str]]]], list[Any]]
Embed = Callable[[list[str]], Any]  # n texts to an n x d array


@dataclass(frozen=True, slots=True)
class ScoringInputs:
    """What metrics may need beside answers and references; each may be lacking."""

    judges: Sequence[Judge] = ()
    embed: Embed | None = None
    passages: Mapping[Key, Sequence[Passage]] | None = None

    def find_lacking(self, metric: MetricUse, key: str) -> str | None:
        """Say what a key of a metric needs and is not here; None where it can be computed."""
        return metric.find_lacking(key, bool(self.judges), bool(self.embed))


class CachedJudge:
    """A judge that is asked every question once, so that both profiles read one and the same verdict."""

    def __init__(self, judge: Judge) -> None:
        """Wrap a judge; its `model` is kept for the signature, what it says by chat under `verdicts`."""
        self._judge = judge
        self.verdicts: dict[str, Any] = {}
        self.model = getattr(judge, "model", None)

    def __call__(self, batch: list[list[dict[str, str]]]) -> list[Any]:
        """Answer from what was asked before, and ask the rest in one batch."""
        keys = [dumps(chat) for chat in batch]
        new = {key: chat for key, chat in zip(keys, batch, strict=True) if key not in self.verdicts}
        if new:
            self.verdicts.update(zip(new, self._judge(list(new.values())), strict=True))
        return [self.verdicts[key] for key in keys]


def compute(
    benchmark: Benchmark,
    metric: MetricUse,
    questions: Mapping[Key, Question],
    answers: Sequence[Answer],
    profile: str,
    conditions: Conditions,
    given: ScoringInputs,
) -> Any:
    """Return what a metric's module makes of answers under a profile; empty rows if all it needs is lacking.

    Args:
        benchmark: of the questions.
        metric: which module, and how it is asked.
        questions: at least those answered.
        answers: in the order of the rows.
        profile: ``official`` or ``corrected``.
        conditions: under which the answers were made.
        given: judges, embedding, passages.
    """
    if all(given.find_lacking(metric, key) for key in metric.keys):
        nothing: dict[str, Any] = {"reasons": {}}
        signature = f"{metric.module}|profile:{profile}"
        return {"n_total": len(answers), "per_item": [nothing] * len(answers), "signature": signature}
    asked = [questions[answer.key] for answer in answers]
    keywords: dict[str, Any] = {"profile": profile}
    predictions: list[Any]
    if metric.ranks:
        passages = given.passages or {}
        predictions = [[document_id(passage) for passage in passages[answer.key]] for answer in answers]
        references: list[Any] = [list(question.relevant) for question in asked]
    else:
        keywords["states"] = [None if answer.answer is not None else answer.state for answer in answers]
        predictions = [None if a.answer is None else benchmark.parse(a.config, a.answer) for a in answers]
        references = [metric.shape(question.references) for question in asked]
    if metric.embedded and given.embed:
        keywords["embed"] = given.embed
    keywords |= benchmark.keywords(metric, asked, conditions)
    if metric.contexts and given.passages is not None:
        keywords["contexts"] = [[passage.text for passage in given.passages[answer.key]] for answer in answers]
    if metric.judged and given.judges:
        several = metric.panel and len(given.judges) > 1
        one = given.judges[min(metric.judge, len(given.judges) - 1)]
        keywords |= {"judges": list(given.judges)} if several else {"judge": one}
    # A module that knows no item without a reference is not shown any.
    there = [at for at, reference in enumerate(references) if reference is not None or metric.nothing]
    if "states" in keywords:
        keywords["states"] = [keywords["states"][at] for at in there]
    judges = keywords.pop("judges", None) or [judge for judge in [keywords.pop("judge", None)] if judge]
    kind = load_scorer(metric.module)
    columns = {name: keywords.pop(name) for name in ("states", *kind.COLUMNS) if name in keywords}
    shown = kind.columns([predictions[at] for at in there], [references[at] for at in there])
    scorer = kind(profiles=(keywords.pop("profile"),), judges=len(judges), config=metric.config, **keywords)
    items = scorer.items(**shown, **columns)
    rows = _drive(scorer, items, judges)
    models = [getattr(judge, "model", None) for judge in judges]
    result = scorer.summarise(items, rows, profile, models)
    if len(there) == len(references):
        return result
    none = dict.fromkeys(metric.keys)
    rows = [{**none, "reasons": dict.fromkeys(metric.keys, NOT_APPLICABLE)} for _ in references]
    for at, row in zip(there, result["per_item"], strict=True):
        rows[at] = row
    return {**result, "per_item": rows, "n_total": len(references)}


def load_scorer(name: str) -> Any:
    """Return the class that is a metric's pure core."""
    return importlib.import_module(f"quadrag.metrics.{name}.scorer").SCORER


def _drive(scorer: Any, items: Sequence[Any], judges: Sequence[Judge]) -> list[Any]:
    rounds, replies = scorer.score(items), None
    while True:
        try:
            batch = rounds.send(replies)
        except StopIteration as done:
            rows: list[Any] = done.value
            return rows
        replies = [None] * len(batch)
        for place, judge in enumerate(judges):
            own = [at for at, request in enumerate(batch) if request.get("judge", 0) == place]
            for at, reply in zip(own, judge([batch[at]["messages"] for at in own]) if own else (), strict=True):
                replies[at] = reply


def verdict_format(benchmark: Benchmark, shape: str, role: int = 0) -> dict[str, Any]:
    """Return the request's field that holds a judge to a form: none for ``text``, any JSON, or a metric's own schema.

    Args:
        benchmark: whose verdicts they are.
        shape: ``text``, ``json`` or ``schema``.
        role: the judge's place; OmniEval's second is asked about hallucination alone, and has its schema.
    """
    if shape == "text":
        return {}
    if shape == "json":
        return {"response_format": {"type": "json_object"}}
    config = benchmark.configs[0]
    judged = [use for use in benchmark.metrics(config, Conditions("", top_k=1)) if use.judged]
    using = [use for use in judged if metric_record(use.module).verdict_schema]
    if not using:
        raise QuadragError(f"no metric of {benchmark.name} has a schema of its verdicts; give --judge-format json")
    alone = next((use.config for use in using if role and use.judge == role), None)
    return {"response_format": load_module(using[0].module, alone).response_format}


@functools.cache
def load_module(name: str, config: str | None = None) -> Any:
    """Return an evaluate module, loaded quietly and once: a computation leaves nothing in it."""
    with _quiet_evaluate() as evaluate:
        try:
            for place in (evaluate.config.HF_MODULES_CACHE, evaluate.config.HF_METRICS_CACHE):
                check_writable(Path(place))
        except OSError:  # it copies modules into its cache, and makes folders there
            evaluate.config.HF_MODULES_CACHE = evaluate.config.HF_METRICS_CACHE = str(process_folder())
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
