"""A live judge asked about a label set, exactly as a run asks it: same module, same prompt, same ledger."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.chat.prices import BudgetReached
from quadrag.chat.reply import Failure, as_verdict
from quadrag.errors import QuadragError
from quadrag.progress import Progress
from quadrag.records import dumps

from ..core.benchmark import known, load
from ..core.settings import Conditions
from ..systems.system import Completer
from .labels import Graded, Item, LabelSet
from .verdicts import Verdicts, is_by_passages, judge_items, read_grade

_SHOWN = 120  # characters of a reply


def find_benchmark(graded: Graded) -> tuple[str, str]:
    """Return a benchmark, and a config of it, whose runs ask a judge for the value."""
    for name in known():
        for config in load(name).configs:
            uses = load(name).metrics(config, Conditions("", top_k=1))
            if any(use.module == graded.metric and graded.key in use.keys for use in uses):
                return name, config
    raise QuadragError(f"no benchmark asks a judge for {graded.name}; give its verdicts with --verdicts")


def check_askable(labels: LabelSet) -> None:
    """Refuse to ask where the items do not show what the judge must see."""
    if labels.ranked:
        raise QuadragError(f"no prompt here asks for what {labels.name} labels; give numbers with --verdicts")
    lacking = [name for name in ("question", "answer") if not any(getattr(item, name) for item in labels.items)]
    needed = "passages" if is_by_passages(labels.graded) else "golds"
    if not any(getattr(item, needed) for item in labels.items):
        lacking.append(needed.replace("golds", "gold"))
    if lacking:
        raise QuadragError(
            f"{labels.name} has no {', '.join(lacking)} to show a judge; add the columns, or give --verdicts"
        )


def ask_judge(labels: LabelSet, judge: Completer, repeats: int = 1) -> Verdicts:
    """Ask a judge for a verdict on every item that no rule of the metric decides.

    `repeats`: how often each is asked; the first is the verdict, the others show whether it says the same again.
    """
    started = time.perf_counter()
    rounds: list[dict[str, str | None]] = []
    by_rule: dict[str, str] = {}
    reasons: dict[str, str] = {}
    signature = unread = ""
    for sample in range(repeats):
        with Progress(f"{labels.name}: verdicts", len(labels.items)) as progress:
            judge.on_progress = progress.update
            asked = _Sample(judge, sample)
            rows, signature = judge_items(labels, asked)
        given: dict[str, str | None] = {}
        for item, row in zip(labels.items, rows, strict=True):
            grade = read_grade(labels.grades, labels.graded.key, row)
            if grade is not None and row.get("ruled"):
                by_rule[item.id] = grade
                continue
            given[item.id] = grade
            if grade is None and not sample:
                reasons[item.id] = next(iter(row["reasons"].values()), "unparsable")
                unread = unread or asked.find(labels, item)
        rounds.append(given)
    return Verdicts(
        judge.model,
        rounds[0],
        reasons,
        repeats=rounds[1:],
        prompts=[read_signature(signature)["prompt"]],
        service=str(getattr(judge, "service", "")),
        usage={name: value for name, value in judge.spent.items() if name != "oldest"},
        seconds=time.perf_counter() - started,
        unread=unread,
        by_rule=by_rule,
    )


def list_requests(labels: LabelSet) -> list[list[dict[str, str]]]:
    """Return what a judge would be asked of items, without asking one; nothing of those that a rule decides."""
    recorder = _Recorder()
    judge_items(labels, recorder)
    return recorder.requests


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
