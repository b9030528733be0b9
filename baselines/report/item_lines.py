"""Single questions of a run as lines of text for a terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from quadrag.chat.keys import known_keys
from quadrag.chat.ledger import Ledger

from ..core.result import PROFILES
from ..tables.cells import NOTHING
from ..tables.run_notes import note_failed, note_invalid
from .items import RunReader, ShownItem, Which


class Manner(NamedTuple):
    """How questions are shown.

    Attributes:
        limit: the first ones of a run alone.
        longest: characters of a passage.
        every: whether all metrics are written; else the headlines, and what has no value.
        ledger: where replies are kept; in the user's cache folder when None.
        spell: returns what is said of the run, in words of who reads it.
    """

    limit: int = 10
    longest: int = 200
    every: bool = False
    ledger: str | None = None
    spell: Callable[[str], str] = str


def write_items(reader: RunReader, which: Which, manner: Manner) -> Iterator[str]:
    """Write items of a run as lines of text, and how many there are."""
    found = reader.select(which)
    if told := [*note_invalid([reader.result]), *note_failed([reader.result])]:
        yield from (*map(manner.spell, told), "")
    if not found:
        yield reader.say_none(which)
        return
    shown = found[: manner.limit]
    look_up_verdicts([(reader, shown)], manner.ledger)
    for item in shown:
        yield from write_item(item, manner)
        yield ""
    by = f", the worst by {reader.find_metric(which.metric)[0].partition('.')[2]} first" if which.wrong else ""
    yield f"{len(shown)} of {len(found)} items{by}"


def look_up_verdicts(shown: Sequence[tuple[RunReader, Sequence[ShownItem]]], ledger: str | None) -> None:
    """Enter what judges said of the items of runs; no ledger is opened where there was none."""
    judged = [(reader, items) for reader, items in shown if reader.run.inputs.judge]
    if judged:
        with Ledger(ledger) as kept:
            for reader, items in judged:
                reader.ask_again(items, kept)


def write_item(item: ShownItem, manner: Manner, before: ShownItem | None = None) -> Iterator[str]:
    """Write an item as lines of text.

    Args:
        item: any.
        manner: of passages and metrics.
        before: the same question in another run, A; the item is then B's, and both answers are written.
    """
    sides = [("", item)] if before is None else [(" A", before), (" B", item)]
    line = partial(known_keys().line, longest=None)
    question = item.question
    yield f"{question.config} {question.split} {question.id}"
    for asked, answered in question.history:
        yield f"  before    {line(asked)} / {line(answered or '')}"
    yield f"  question  {line(question.query)}"
    for side, one in sides if before and before.passages != item.passages else [("", item)]:
        for place, passage in enumerate(one.passages, 1):
            gold = " gold" if passage.id.partition("#")[0] in question.relevant else ""
            text = line(" ".join(filter(None, (passage.title, passage.text))), longest=manner.longest)
            yield f"  passage{side} {place}{gold} [{line(passage.id)}] {text}"
        found = {passage.id.partition("#")[0] for passage in one.passages}
        for missed in question.relevant if one.passages else ():
            if missed not in found:
                yield f"  {'missed' + side:<9} gold [{line(missed)}]"
    for side, one in sides:
        if one.answer is not None:
            none = ": ".join(filter(None, (one.answer.state, one.failure)))
            yield f"  {'answer' + side:<9} {line(none if one.answer.answer is None else one.answer.answer)}"
    yield f"  gold      {line(question.references)}"
    for side, one in sides:
        yield from (f" {side}{said}" for said in _write_values(one, manner.every))


def _write_values(item: ShownItem, every: bool) -> Iterator[str]:
    line = partial(known_keys().line, longest=None)
    for metric, entry in item.values.items():
        values = say_by_profile({name: f"{entry[name]:.4g}" for name in PROFILES if entry.get(name) is not None})
        reasons = say_by_profile(entry.get("reason") or {})
        if reasons or (values and (every or not item.headlines or metric in item.headlines)):
            yield f" {metric}: {values or NOTHING}{f' ({reasons})' if reasons else ''}"
    for name, said in item.verdicts.items():
        for reply in said:
            yield f" {name}, the judge: {line(reply)}"


def say_by_profile(said: Mapping[str, str]) -> str:
    """Join what is said under each profile; what both say is said once."""
    if len(said) == len(PROFILES) and len(set(said.values())) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{profile} {text}" for profile, text in said.items())
