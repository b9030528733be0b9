"""Single questions of a run as lines of text for a terminal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.errors import one_line
from quadrag.metric_record import name_together
from quadrag.records import document_id

from ...reporting.messages import join_names, say
from ...results.check import check_failures
from ...results.items import FAILED
from ...results.run import PROFILES
from ...tables.cells import NOTHING
from .gold import place_gold, tell_gold
from .reader import RunReader, ShownItem, Which
from .spelled import shorten_ids, spell_gold
from .verdicts import look_up_verdicts

BY_RULE = "decided by rule, without the judge"
_HEAD = 9  # columns of the words before a question, its answers and its gold


@dataclass(slots=True)
class Manner:
    """How questions are shown.

    Attributes:
        limit: the first ones of a run alone; all when None.
        longest: characters of a text, be it answer, gold or passage; all when None.
        every: whether all metrics are written, under both profiles; else the headlines, and what has no value, under
            the run's own.
        spell: returns what is said of the run, in words of who reads it.
        ids: the ids alone, each once, a line each.
        cut: whether a text was longer.
    """

    limit: int | None = 10
    longest: int | None = None
    every: bool = False
    spell: Callable[[str], str] = str
    ids: bool = False
    cut: bool = False

    def line(self, text: object, place: Callable[[str], Sequence[tuple[int, int]]] | None = None) -> str:
        """Return a text as one line, secrets hidden; too long a one is cut, around the first of the places to be seen.

        Args:
            text: whatever is to be shown.
            place: finds in the whole line what is to be seen: begins and ends.
        """
        whole = known_keys().line(text, longest=None)
        shown = one_line(whole, self.longest)
        self.cut |= shown != whole
        if self.longest and shown != whole and place and (seen := place(whole)) and seen[0][1] >= self.longest:
            return "…" + one_line(whole[max(seen[0][0] - self.longest // 3, 0) :], self.longest - 1)
        return shown

    def tell_cut(self) -> Iterator[str]:
        """Say that texts were cut, and how to see them whole."""
        if self.cut:
            yield self.spell(f"Texts are cut at {self.longest} characters: --verbose shows them whole")


def write_items(reader: RunReader, which: Which, manner: Manner) -> Iterator[str]:
    """Write items of a run as lines of text, and how many there are."""
    found = reader.select(which)
    shown = found[: manner.limit]
    if manner.ids:
        yield from write_ids(item.question.id for item in shown)
        return
    if told := [*map(say, check_failures(reader.run)), *_count_failed(found)]:
        yield from (*map(manner.spell, told), "")
    if not found:
        yield manner.spell(reader.say_none(which))
        return
    look_up_verdicts(reader, shown)
    for item in shown:
        yield from write_item([("", item)], manner, which.unscored and not manner.every)
        yield ""
    noun = "answers" if which.unscored and len({item.called for item in found}) < len(found) else "items"
    count = reader.tell_order(which) if which.wrong else f"{{shown}} of {{found}} {noun}"
    yield manner.spell(count.format(shown=len(shown), found=len(found)))
    yield from manner.tell_cut()
    if which.unscored and (idle := reader.count_idle(which)):
        yield manner.spell(f"Not shown: {idle} without a value only where a metric does not apply")


def _count_failed(found: Sequence[ShownItem]) -> Iterator[str]:
    """Say of each reason why items failed how many there are, and which the first are; not of one item alone."""
    failed: dict[str, list[str]] = {}
    for item in found:
        for why in {why for entry in item.values.values() for why in (entry.get("reason") or {}).values()}:
            if why.partition(":")[0] in FAILED:
                failed.setdefault(why, []).append(item.called)
    for why, ids in failed.items() if len(found) > 1 else ():
        own = [*dict.fromkeys(ids)]  # of which each may stand in several splits, or be answered several times
        count = (
            f"{len(ids)} item{'s' * (len(ids) > 1)} ({join_names(own)})"
            if own == ids
            else f"{len(ids)} answers ({len(own)} questions)"
        )
        yield f"{count}: {why}"


def write_ids(ids: Iterable[str]) -> Iterator[str]:
    """Write ids for scripts, each once."""
    yield from map(known_keys().hide, dict.fromkeys(ids))


def write_item(sides: Sequence[tuple[str, ShownItem]], manner: Manner, brief: bool = False) -> Iterator[str]:
    """Write an item as lines of text.

    Args:
        sides: the item as each run has it, by what the run is called; "" where there is one run.
        manner: of texts and metrics.
        brief: of an answer that failed the question and the failure alone.
    """
    from rich.cells import cell_len, set_cell_size

    line = manner.line
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
            text = one.answer.answer
            said = none if text is None else line(text) if text.strip() else manner.spell("(empty)")
            yield f"{head('answer', side)}{said}"
        if one.scored:
            yield f"{head('scored', side)}{line(one.scored)}"
    yield f"{head('gold')}{line('; '.join(spell_gold(question.references)))}"
    if brief and item.answer is not None and item.answer.answer is None:
        return
    alike = all((one.passages, one.documents) == (item.passages, item.documents) for one in items)
    searches = [("", item)] if alike else list(zip(heads, items, strict=True))
    for side, one in searches:
        if told := tell_gold(one.question, one.passages, one.documents):
            yield f"{head('found', side)}{manner.spell(told)}"
    for side, one in zip(heads, items, strict=True):
        yield from (f"  {side}{said}" for said in _write_values(one, manner))
    seen: dict[tuple[str, str], str] = {}
    for side, one in searches:
        yield from (f"  {side}{said}" for said in _write_passages(one, manner, seen, side.strip()))


def _write_passages(item: ShownItem, manner: Manner, seen: dict[tuple[str, str], str], side: str) -> Iterator[str]:
    """Write passages, and which documents are lacking that hold the answer; of those `seen` before where they stand."""
    line, found = manner.line, item.documents or [None] * len(item.passages)
    own = [document_id(passage) for passage in item.passages]
    called = shorten_ids([*own, *item.question.relevant])
    for place, (passage, name, document) in enumerate(zip(item.passages, own, found, strict=True), 1):
        gold = f" {manner.spell('(gold)')}" if document in item.question.relevant else ""
        ident = line(called[name] + passage.id[len(name) :])
        text = line(" ".join(filter(None, (passage.title, passage.text))), partial(place_gold, item.question))
        same = (passage.id, passage.text)
        text = manner.spell(seen[same]) if text and same in seen else text
        seen.setdefault(same, f"as passage {place} of {side}" if side else f"as passage {place}")
        yield f"{manner.spell('passage')} {place}{gold} [{ident}] {text}"
    for missed, text in item.missed.items():
        shown = line(text, partial(place_gold, item.question))
        yield f"{manner.spell('missed')} {manner.spell('(gold)')} [{line(called[missed])}] {shown}".rstrip()


def _write_values(item: ShownItem, manner: Manner) -> Iterator[str]:
    """Write values, headlines first and one line for those that lack one alike; what a rule and what the judge said."""
    heads = [metric for metric in item.headlines if metric in item.values]
    labels = name_together(item.values)
    shown = PROFILES if manner.every else (item.profile,)
    ruled = [labels[metric] for metric, entry in item.values.items() if is_ruled(entry)]
    alike: dict[tuple[str, str], list[str]] = {}  # by what is said, and of what has a value by what has it
    for metric in dict.fromkeys([*heads, *item.values]):
        entry = item.values[metric]
        had = {name: f"{entry[name]:.4g}" for name in shown if entry.get(name) is not None}
        values = manner.spell(say_by_profile(had, shown)) + _add_other(item, entry, manner)
        told = entry.get("reason") or {}
        own = {name: why for name, why in told.items() if name in shown}
        reasons = say_by_profile(own or told, shown if own else PROFILES)
        if reasons or (values and (manner.every or not item.headlines or metric in item.headlines)):
            said = f"{values or NOTHING}{_put_aside(reasons, manner)}"
            alike.setdefault((said, "" if reasons else metric), []).append(labels[metric])
    for (said, _), names in alike.items():
        yield f"{manner.spell(join_names(names))}{manner.spell(': ')}{said}"
    if ruled:
        yield f"{manner.spell(BY_RULE)}{manner.spell(': ')}{manner.spell(join_names(ruled))}"
    for name, replies in item.verdicts.items():
        for reply in replies:
            yield f"{manner.line(name)}, {manner.spell('the judge')}{manner.spell(': ')}{manner.line(reply)}"


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


def is_ruled(entry: Mapping[str, Any]) -> bool:
    """Whether a rule decided a value, and not the judge, under both profiles."""
    return all(name in entry.get("ruled", ()) and entry.get(name) is not None for name in PROFILES)


def say_by_profile(said: Mapping[str, str], profiles: Sequence[str] = PROFILES) -> str:
    """Join what is said under each of some profiles; what all say is said once."""
    if len(said) == len(profiles) and len(set(said.values())) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{profile} {text}" for profile, text in said.items())
