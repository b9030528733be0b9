"""Single questions as lines of text: question, answers, gold, whether it was found, values, verdicts, passages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quadrag.errors import one_line
from quadrag.metric_record import name_together, show_key
from quadrag.results.note import Note, NoteCode
from quadrag.results.run import PROFILES
from quadrag.stats import NOT_APPLICABLE

from .messages import ENGLISH, read_messages, say, translate
from .questions import (
    ItemFilter,
    QuestionInfo,
    RunReader,
    by_profile,
    find_metric,
    note_gold,
    select_changed,
    show_value,
    spell_gold,
)
from .table import name_runs

_LONGEST_ID = 24  # characters of a passage's id where texts are cut

Sides = Sequence[tuple[str, QuestionInfo]]  # a question as each run has it, by the run's name; "" where there is one


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How questions are written."""

    limit: int | None = 10  # the first ones alone; all when None
    longest: int | None = None  # characters of a text; all when None
    verbose: bool = False  # all metrics, and what the judge was asked; else the headlines, and what has no value
    language: str = ENGLISH
    python: bool = False  # whether options are told as arguments


def write_items(reader: RunReader, wanted: ItemFilter, options: DisplayOptions) -> Iterator[str]:
    """Write the items of a run that are wanted, and how many there are."""
    metric = find_metric([[reader]], wanted.metric)[0]
    kind = "unscored" if wanted.unscored else ""
    if wanted.wrong:
        kind = "invalid" if metric in reader.invalid else "wrong"
    metrics = [*[metric] * bool(wanted.metric), *reader.headlines]
    yield from _write([[("", info)] for info in reader.select(wanted)], metrics, options, kind=kind, metric=metric)


def write_changed(
    runs: Sequence[tuple[str, RunReader]], wanted: ItemFilter, options: DisplayOptions, better: bool = False
) -> Iterator[str]:
    """Write the items on which the second of two runs, each with its name, is worse or `better` than the first."""
    names = name_runs([name for name, _ in runs])
    (_, before), (_, after) = runs
    metric, scored, pairs = select_changed(before, after, wanted, better)
    items = [list(zip(names, pair, strict=True)) for pair in pairs]
    metrics, kind = [metric, *before.headlines, *after.headlines], "better" if better else "worse"
    yield from _write(items, metrics, options, kind=kind, metric=metric, run=names[1], scored=scored)


def _write(
    items: Sequence[Sides], metrics: Sequence[str], options: DisplayOptions, metric: str, **params: Any
) -> Iterator[str]:
    """Write items as far as they are to be shown, and what they are: `kind` and other params of the note."""
    shown = items[: options.limit]
    lines = [line for sides in shown for line in (*_write_question(sides, metrics, options), "")]
    yield from lines
    count = {"shown": len(shown), "total": len(items), "metric": show_key(*metric.split(".", 1)), **params}
    yield say(Note(NoteCode.SHOWN, count), options.language)
    if options.longest and any(line.endswith("…") for line in lines):
        cut = Note(NoteCode.SHOWN, {"kind": "cut", "longest": options.longest})
        yield say(cut, options.language, options.python)


def _write_question(sides: Sides, metrics: Sequence[str], options: DisplayOptions) -> Iterator[str]:
    joint = read_messages(options.language).signs["of"]

    def word(text: str) -> str:
        return translate(text, options.language)

    def line(name: str, label: str, text: str) -> str:
        shown = one_line(text, options.longest)
        return joint.format(runs=f"  {name} {label}" if name else f"  {label}", said=shown)

    first = sides[0][1]
    question = first.question
    yield f"{question.config} {question.split} {question.id}"
    for asked, answered in question.history:
        yield line("", word("before"), f"{asked} / {answered or ''}")
    yield line("", word("question"), question.query)
    for name, info in sides:
        empty = word("(empty)" if info.answer is not None else info.failure)
        yield line(name, word("answer"), (info.answer or "").strip() or empty)
        if info.scored:
            yield line(name, word("scored"), info.scored)
    yield line("", word("gold"), "; ".join(spell_gold(question.references)))
    alike = all((info.passages, info.documents) == (first.passages, first.documents) for _, info in sides)
    searches = [("", first)] if alike else sides
    for name, info in searches:
        if found := note_gold(question, info.passages, info.documents):
            yield line(name, word("found"), say(found, options.language))
    for name, info in sides:
        yield from (line(name, *value) for value in _list_values(info, metrics, options))
        for metric, asked, said in info.judged:
            if options.verbose:
                yield line(name, f"{metric}, {word('asked')}", asked)
            yield line(name, f"{metric}, {word('the judge')}", said)
    for name, info in searches:
        for place, passage in enumerate(info.passages):
            known = info.documents is not None and info.documents[place] in question.relevant
            ident = one_line(passage.id, options.longest and _LONGEST_ID)
            label = f"{word('passage')} {place + 1} {word('(gold)')}" if known else f"{word('passage')} {place + 1}"
            yield line(name, f"{label} [{ident}]", f"{passage.title} {passage.text}")
        for ident, text in info.missed.items():
            yield line(name, f"{word('missed')} {word('(gold)')} [{ident}]", text)


def _list_values(info: QuestionInfo, metrics: Sequence[str], options: DisplayOptions) -> Iterator[tuple[str, str]]:
    """Yield what metrics say of an answer, each with its name."""
    labels, reasons = name_together(info.values), info.explain(options.language)
    lacking = [name for name in reasons if {*(info.values[name].get("reason") or {}).values()} - {NOT_APPLICABLE}]
    names = [*metrics, *(info.values if options.verbose else lacking)]
    for name in dict.fromkeys(name for name in names if name in info.values):
        values = {profile: show_value(name, info.values[name].get(profile)) for profile in PROFILES}
        text = by_profile(values, options.language)
        if name in reasons:
            why = Note(NoteCode.SHOWN, {"kind": "value", "value": text, "why": reasons[name]})
            text = say(why, options.language)
        yield labels[name], text
