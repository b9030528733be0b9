"""What the judge of a run said of single items, from the ledger alone."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quadrag.chat.calling import Alias
from quadrag.chat.client import ChatClient, Failure
from quadrag.chat.ledger import Ledger
from quadrag.errors import QuadragError
from quadrag.metric_record import show_key
from quadrag.records import Answer, Question, dumps

from ...core.benchmark import MetricUse
from ...scoring.modules import CachedJudge, Judge, ScoringInputs, compute
from .reader import RunReader, ShownItem

NOT_KEPT = "not kept in the ledger"
ASKED_SINCE = "the judge was asked again since; its words then are not kept"
_TICK = 1.0  # seconds by which a file's time may be before the clock's


def look_up_verdicts(shown: Sequence[tuple[RunReader, Sequence[ShownItem]]], ledger: str | None) -> None:
    """Enter what judges said of the items of runs; no ledger is opened where there was none."""
    judged = [(reader, items) for reader, items in shown if reader.run.judge]
    if judged:
        with Ledger(ledger) as kept:
            for reader, items in judged:
                _enter(reader, items, kept)


def _enter(reader: RunReader, items: Sequence[ShownItem], ledger: Ledger) -> None:
    """Enter what the judge of a run said of items.

    The metrics are asked about each item by itself, so that it is known which words are about it.
    """
    inputs = reader.run
    judging = inputs.judging or {}
    if inputs.judge is None or not isinstance(judging.get("parameters"), Mapping) or "(" in inputs.judge:
        return  # several judges: which said what is not told apart here
    client = ChatClient(
        f"http://ledger.invalid/v1#{inputs.judge}",
        ledger=ledger,
        replay=True,
        parameters=judging["parameters"],
        alias=Alias(inputs.services.get("judge")),
    )
    judge = CachedJudge(_forgiving(client, reader.scored + _TICK))
    conditions = reader.task.conditions
    uses = [use for use in reader.benchmark.metrics(reader.task.config, conditions) if use.judged and not use.ranks]
    answered = [(item, item.answer) for item in items if item.answer is not None]
    if not answered:
        return
    passages = {item.question.key: item.passages for item in items}
    questions = {item.question.key: item.question for item in items}
    for use in uses:
        # The ledger is read in one pass; then each item is asked about by itself, to know which words are its own.
        whole = ScoringInputs([judge], passages=passages)
        answers = [answer for _, answer in answered]
        compute(reader.benchmark, use, questions, answers, "corrected", conditions, whole)
        for item, answer in answered:

            def ask(judge: Any, question: Question, use: MetricUse = use, answer: Answer = answer) -> None:
                given, asked = ScoringInputs([judge], passages=passages), {question.key: question}
                compute(reader.benchmark, use, asked, [answer], "corrected", conditions, given)

            said: dict[str, str] = {}
            ask(_recording(judge, said), item.question)
            golds = _tell_golds(item.question, said, ask)
            for chat, reply in said.items():
                gold = f" ({golds[chat]})" if chat in golds else ""
                item.verdicts.setdefault(f"{_name_use(use)}{gold}", []).append(reply)


def _tell_golds(question: Question, said: Collection[str], ask: Callable[[Any, Question], None]) -> dict[str, str]:
    """Return of several accepted answers the one that a judge was told, by what it was asked.

    It is the one with which alone the judge is asked the same.
    """
    ways = question.references
    if not said or not isinstance(ways, list | tuple) or len(ways) < 2 or not all(isinstance(one, str) for one in ways):
        return {}
    told: dict[str, list[str]] = {}
    for gold in dict.fromkeys(ways):
        chats: dict[str, str] = {}
        ask(_recording(lambda batch: [""] * len(batch), chats), replace(question, references=[gold]))
        for chat in chats:
            told.setdefault(chat, []).append(gold)
    return {chat: golds[0] for chat, golds in told.items() if len(golds) == 1 and chat in said}


def _name_use(use: MetricUse) -> str:
    """Name what a judge is asked for: the key that is called as the metric is, else all, as tables name them."""
    keys = (use.module,) if use.module in use.judged else use.judged
    return ", ".join(show_key(use.module, key) for key in keys)


def _forgiving(judge: ChatClient, scored: float) -> Any:
    """Return the judge, to whom a replay that finds nothing at all is no error.

    What it said after a run was scored, in Unix time, is not of that run.
    """

    def ask(batch: list[list[dict[str, str]]]) -> list[Any]:
        try:
            replies = list(judge(batch))
        except QuadragError:
            return [Failure("api_error", NOT_KEPT) for _ in batch]
        since = [(judge.find_made(messages) or 0) > scored for messages in batch]
        again = Failure("api_error", ASKED_SINCE)
        return [again if later else reply for reply, later in zip(replies, since, strict=True)]

    ask.model = judge.model  # type: ignore[attr-defined]  # the judge contract's optional attribute
    return ask


def _recording(judge: Judge, said: dict[str, str]) -> Any:
    """Return the judge, which also writes down what it says, by what it is asked."""

    def ask(batch: list[list[dict[str, str]]]) -> list[Any]:
        replies = judge(batch)
        for chat, reply in zip(batch, replies, strict=True):
            said[dumps(chat)] = reply if isinstance(reply, str) else reply.detail
        return replies

    ask.model = getattr(judge, "model", None)  # type: ignore[attr-defined]  # the judge contract's optional attribute
    return ask
