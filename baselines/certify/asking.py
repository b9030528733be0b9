"""A live judge asked about a label set, exactly as a run asks it: same module, same prompt, same ledger."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.chat.prices import BudgetReached
from quadrag.chat.reply import Failure, as_verdict
from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record
from quadrag.progress import Progress
from quadrag.records import dumps

from ..core.benchmark import known, load
from ..core.settings import Conditions
from ..scoring.cascade import PROFILE, read_grade
from ..scoring.modules import load_module
from ..systems.system import Completer
from .grades import Graded
from .labels import Item, LabelSet
from .verdicts import Verdicts

_BY_PASSAGES = ("hal", "utl")  # judged by the passages, with an accepted answer beside them where there is one
_NO_GOLD = "(none is given; go by the passages)"
_SHOWN = 120  # characters of a reply
_CHINESE = re.compile("[\u4e00-\u9fff]")


def find_benchmark(graded: Graded) -> tuple[str, str]:
    """Return a benchmark, and a config of it, whose runs ask a judge for the value.

    Raises:
        QuadragError: none does.
    """
    for name in known():
        for config in load(name).configs:
            uses = load(name).metrics(config, Conditions("", top_k=1))
            if any(use.module == graded.metric and graded.key in use.keys for use in uses):
                return name, config
    raise QuadragError(f"no benchmark asks a judge for {graded.name}; give its verdicts with --verdicts")


def check_askable(labels: LabelSet) -> None:
    """Refuse to ask where the items do not show what the judge must see.

    Raises:
        QuadragError: something is lacking.
    """
    if labels.ranked:
        raise QuadragError(f"no prompt here asks for what {labels.name} labels; give numbers with --verdicts")
    lacking = [name for name in ("question", "answer") if not any(getattr(item, name) for item in labels.items)]
    needed = "passages" if labels.graded.key in _BY_PASSAGES else "golds"
    if not any(getattr(item, needed) for item in labels.items):
        lacking.append(needed.replace("golds", "gold"))
    if lacking:
        raise QuadragError(
            f"{labels.name} has no {', '.join(lacking)} to show a judge; add the columns, or give --verdicts"
        )


def ask_judge(labels: LabelSet, judge: Completer, repeats: int = 1) -> Verdicts:
    """Ask a judge for a verdict on every item.

    Args:
        labels: the items.
        judge: a chat model.
        repeats: how often each is asked; the first is the verdict, the others show whether it says the same again.

    Raises:
        QuadragError: the server is dead, or the budget is reached.
    """
    started = time.perf_counter()
    rounds: list[dict[str, str | None]] = []
    reasons: dict[str, str] = {}
    signature = unread = ""
    for sample in range(repeats):
        with Progress(f"{labels.name}: verdicts", len(labels.items)) as progress:
            judge.on_progress = progress.update
            asked = _Sample(judge, sample)
            rows, signature = _compute(labels, asked)
        given = {item.id: _grade(labels, row) for item, row in zip(labels.items, rows, strict=True)}
        if not rounds:
            reasons = {
                item.id: next(iter(row["reasons"].values()), "unparsable")
                for item, row in zip(labels.items, rows, strict=True)
                if given[item.id] is None
            }
            unread = next(
                (said for item in labels.items if item.id in reasons and (said := asked.find(labels, item))), ""
            )
        rounds.append(given)
    return Verdicts(
        judge.model,
        rounds[0],
        reasons,
        {},
        rounds[1:],
        [read_signature(signature)["prompt"]],
        str(getattr(judge, "service", "")),
        {name: value for name, value in judge.spent.items() if name != "oldest"},
        time.perf_counter() - started,
        unread,
    )


def list_requests(labels: LabelSet) -> list[list[dict[str, str]]]:
    """Return what a judge would be asked of items, without asking one; nothing of those that a rule decides."""
    recorder = _Recorder()
    _compute(labels, recorder)
    return recorder.requests


def count_asked(labels: LabelSet) -> int:
    """Count the items that a judge is asked about; rules decide the others."""
    return sum(bool(list_requests(replace(labels, items=[item]))) for item in labels.items)


def read_signature(signature: str) -> dict[str, str]:
    """Return the fields of a metric's signature."""
    fields = (part.partition(":") for part in signature.split("|")[1:])
    return {name: value for name, _, value in fields}


class _Recorder:
    """A judge that says nothing and keeps what it was asked."""

    model = "none"

    def __init__(self) -> None:
        self.requests: list[list[dict[str, str]]] = []

    def __call__(self, batch: Sequence[list[dict[str, str]]]) -> list[Any]:
        self.requests += batch
        return [Failure("api_error", "not asked")] * len(batch)


class _Sample:
    """A judge asked for its k-th reply to each chat."""

    def __init__(self, judge: Completer, sample: int) -> None:
        self._judge, self._sample = judge, sample
        self._said: dict[str, str] = {}
        self.model = judge.model

    def __call__(self, batch: Sequence[list[dict[str, str]]]) -> list[Any]:
        try:
            said = [as_verdict(one) for one in self._judge.complete(batch, samples=[self._sample] * len(batch))]
        except BudgetReached as stop:
            raise QuadragError(f"{stop}; no certificate was made") from None
        self._said |= {dumps(chat): one for chat, one in zip(batch, said, strict=True) if isinstance(one, str)}
        return said

    def find(self, labels: LabelSet, item: Item) -> str:
        """Return what was said of an item, as a line without keys; "" where nothing was."""
        chats = list_requests(replace(labels, items=[item]))
        return next((known_keys().line(self._said[key], _SHOWN) for key in map(dumps, chats) if key in self._said), "")


def _compute(labels: LabelSet, judge: "_Sample | _Recorder") -> tuple[list[Mapping[str, Any]], str]:
    """Return the row of each item, of pairs of both answers, and the signature."""
    graded, items = labels.graded, labels.items
    shown = [(item, item.answer) for item in items]
    shown += [(item, item.other or "") for item in items if labels.pairs]
    options = _options(graded)
    keywords: dict[str, Any] = {
        "questions": [item.question for item, _ in shown],
        "contexts": [list(item.passages) for item, _ in shown],
        "language": "zh" if any(_CHINESE.search(item.question) for item in items) else "en",
    }
    result = load_module(graded.metric, _config(graded)).compute_quietly(
        predictions=[answer for _, answer in shown],
        references=[_shape(graded, item) for item, _ in shown],
        judge=judge,
        profile=PROFILE,
        **{name: value for name, value in keywords.items() if name in options},
    )
    rows, n = result["per_item"], len(items)
    if labels.pairs:
        rows = [_better(graded.key, *both) for both in zip(rows[:n], rows[n:], strict=True)]
    return rows, result["signature"]


def _grade(labels: LabelSet, row: Mapping[str, Any]) -> str | None:
    """Return the grade of a row."""
    return read_grade(labels.grades, labels.graded.key, row)


def _better(key: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a pair: the sign of the second less the first."""
    reasons = {**first["reasons"], **second["reasons"]}
    if key in reasons:
        return {key: None, "reasons": reasons}
    return {key: float((second[key] > first[key]) - (second[key] < first[key])), "reasons": {}}


def _shape(graded: Graded, item: Item) -> Any:
    """Return accepted answers as the metric takes them: RGB's want any one of a list of lists."""
    if not item.golds and graded.key in _BY_PASSAGES:
        return [_NO_GOLD]
    return [list(item.golds)] if graded.metric in ("rejection_rate", "error_detection") else list(item.golds)


def _options(graded: Graded) -> Mapping[str, Any]:
    options: Mapping[str, Any] = load_module(graded.metric, _config(graded)).OPTIONS
    return options


def _config(graded: Graded) -> str | None:
    return graded.key if graded.key in metric_record(graded.metric).configs else None
