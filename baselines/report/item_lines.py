"""Single questions of a run as lines of text for a terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from quadrag.chat.keys import known_keys
from quadrag.metric_record import name_together, show_key
from quadrag.records import document_id

from ..core.result import PROFILES
from ..tables.cells import NOTHING
from ..tables.run_notes import note_failed, note_invalid
from .items import RunReader, ShownItem, Which
from .spelled import shorten_ids, spell_gold
from .verdicts import ASKED_SINCE, NOT_KEPT, look_up_verdicts

_HEAD = 9  # columns of the words before a question, its answers and its gold


class Manner(NamedTuple):
    """How questions are shown.

    Attributes:
        limit: the first ones of a run alone.
        longest: characters of a passage.
        every: whether all metrics are written, under both profiles; else the headlines, and what has no value, under
            the run's own.
        ledger: where replies are kept; in the user's cache folder when None.
        spell: returns what is said of the run, in words of who reads it.
        brief: of an answer that failed the question and the failure alone.
    """

    limit: int = 10
    longest: int = 100
    every: bool = False
    ledger: str | None = None
    spell: Callable[[str], str] = str
    brief: bool = False


def write_items(reader: RunReader, which: Which, manner: Manner) -> Iterator[str]:
    """Write items of a run as lines of text, and how many there are."""
    found = reader.select(which)
    if told := [*note_invalid([reader.result]), *note_failed([reader.result])]:
        yield from (*map(manner.spell, told), "")
    if not found:
        yield manner.spell(reader.say_none(which))
        return
    shown = found[: manner.limit]
    look_up_verdicts([(reader, shown)], manner.ledger)
    each = manner._replace(brief=which.unscored and not manner.every)
    for item in shown:
        yield from write_item([("", item)], each)
        yield ""
    by = f", the worst by {show_key(*reader.find_metric(which.metric)[0].split('.', 1))} first" if which.wrong else ""
    yield manner.spell(f"{len(shown)} of {len(found)} items{by}")
    if which.unscored and (idle := reader.count_idle(which)):
        yield manner.spell(f"Not shown: {idle} without a value only where a metric does not apply")


def write_item(sides: Sequence[tuple[str, ShownItem]], manner: Manner) -> Iterator[str]:
    """Write an item as lines of text.

    Args:
        sides: the item as each run has it, by what the run is called; "" where there is one run.
        manner: of passages and metrics.
    """
    from rich.cells import cell_len, set_cell_size

    line = partial(known_keys().line, longest=None)
    items = [item for _, item in sides]
    item, question = items[-1], items[-1].question
    heads = [f"{name} " * bool(name) for name, _ in sides]  # before what is of one run
    width = max(_HEAD, *(cell_len(name + manner.spell("answer")) for name in heads))

    def head(word: str, side: str = "") -> str:
        return f"  {set_cell_size(side + manner.spell(word), width)} "

    yield f"{question.config} {question.split} {item.called}"
    for asked, answered in question.history:
        yield f"{head('before')}{line(asked)} / {line(answered or '')}"
    yield f"{head('question')}{line(question.query)}"
    for side, one in zip(heads, items, strict=True):
        if one.answer is not None:
            none = manner.spell(": ".join(filter(None, (one.answer.state, one.failure))))
            yield f"{head('answer', side)}{line(none if one.answer.answer is None else one.answer.answer)}"
    yield f"{head('gold')}{line('; '.join(spell_gold(question.references)))}"
    if manner.brief and item.answer is not None and item.answer.answer is None:
        return
    for side, one in zip(heads, items, strict=True):
        yield from (f"  {side}{said}" for said in _write_values(one, manner))
    alike = all(one.passages == item.passages for one in items)
    for side, one in [("", item)] if alike else zip(heads, items, strict=True):
        yield from (f"  {side}{said}" for said in _write_passages(one, manner))


def _write_passages(item: ShownItem, manner: Manner) -> Iterator[str]:
    """Write the beginnings of passages, and which documents are lacking that hold the answer."""
    line = partial(known_keys().line, longest=manner.longest)
    found = [document_id(passage) for passage in item.passages]
    called = shorten_ids([*found, *item.question.relevant])
    for place, (passage, document) in enumerate(zip(item.passages, found, strict=True), 1):
        gold = f" {manner.spell('(gold)')}" if document in item.question.relevant else ""
        ident = line(called[document] + passage.id[len(document) :])
        text = line(" ".join(filter(None, (passage.title, passage.text))))
        yield f"{manner.spell('passage')} {place}{gold} [{ident}] {text}"
    for missed in item.question.relevant if found else ():
        if missed not in found:
            yield f"{manner.spell('missed')} {manner.spell('(gold)')} [{line(called[missed])}]"


def _write_values(item: ShownItem, manner: Manner) -> Iterator[str]:
    line = partial(known_keys().line, longest=None)
    labels = name_together(item.values)
    for metric, entry in item.values.items():
        shown = PROFILES if manner.every else (item.profile,)
        had = {name: f"{entry[name]:.4g}" for name in shown if entry.get(name) is not None}
        values = manner.spell(say_by_profile(had, shown)) + _add_other(item, entry, manner)
        told = entry.get("reason") or {}
        own = {name: why for name, why in told.items() if name in shown}
        reasons = say_by_profile(own or told, shown if own else PROFILES)
        if reasons or (values and (manner.every or not item.headlines or metric in item.headlines)):
            yield f"{labels[metric]}{manner.spell(': ')}{values or NOTHING}{_put_aside(reasons, manner)}"
    for name, said in item.verdicts.items():
        for reply in said:
            words = manner.spell(reply) if reply in (NOT_KEPT, ASKED_SINCE) else line(reply)
            yield f"{name}, {manner.spell('the judge')}{manner.spell(': ')}{words}"


def _add_other(item: ShownItem, entry: Mapping[str, Any], manner: Manner) -> str:
    """Return a value by the profile that is not shown, where the two disagree; "" elsewhere."""
    other = next(name for name in PROFILES if name != item.profile)
    values = [entry.get(item.profile), entry.get(other)]
    if manner.every or None in values or values[0] == values[1]:
        return ""
    return _put_aside(f"{other}: {values[1]:.4g}", manner)


def _put_aside(said: str, manner: Manner) -> str:
    """Return what is said in brackets, with a blank before them where they are not Chinese; "" of nothing."""
    spoken = manner.spell(f"({said})") if said else ""
    return spoken if spoken.startswith("（") else f" {spoken}" if spoken else ""


def say_by_profile(said: Mapping[str, str], profiles: Sequence[str] = PROFILES) -> str:
    """Join what is said under each of some profiles; what all say is said once."""
    if len(said) == len(profiles) and len(set(said.values())) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{profile} {text}" for profile, text in said.items())
