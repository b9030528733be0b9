"""Single questions as lines of text: question, answers, gold, whether it was found, values, verdicts, passages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.metric_record import name_together, show_key
from quadrag.stats import NOT_APPLICABLE

from ..reporting.messages import ENGLISH, read_messages, say, translate
from ..results.note import Note, NoteCode
from ..results.run import PROFILES
from .comparison import name_runs
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

_LONGEST_ID = 24  # characters of a passage's id where texts are cut


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How questions are written.

    Attributes:
        limit: the first ones alone; all when None.
        longest: characters of a text; all when None.
        verbose: all metrics, and what the judge was asked; else the headlines, and what has no value.
        language: ``en`` or ``zh``.
        python: whether options are told as arguments.
    """

    limit: int | None = 10
    longest: int | None = None
    verbose: bool = False
    language: str = ENGLISH
    python: bool = False

    def translate(self, word: str) -> str:
        """Return a word in the language."""
        return translate(word, self.language)

    def say(self, code: NoteCode, **params: Any) -> str:
        """Return the sentence of a note."""
        return say(Note(code, params), self.language, self.python)


def write_items(reader: RunReader, wanted: ItemFilter, options: DisplayOptions) -> Iterator[str]:
    """Write the items of a run that are wanted, and how many there are."""
    selected = reader.select(wanted)
    shown = selected[: options.limit]
    metric = find_metric([[reader]], wanted.metric)[0]
    metrics = [*[metric] * bool(wanted.metric), *reader.headlines]
    yield from _write_questions([[("", info)] for info in shown], metrics, options)
    kind = "unscored" if wanted.unscored else ""
    if wanted.wrong:
        kind = "invalid" if metric in reader.invalid else "wrong"
    count = {"shown": len(shown), "total": len(selected), "metric": show_key(*metric.split(".", 1))}
    yield options.say(NoteCode.SHOWN, kind=kind, **count)


def write_changed(
    runs: Sequence[tuple[str, RunReader]], wanted: ItemFilter, options: DisplayOptions, better: bool = False
) -> Iterator[str]:
    """Write the questions on which the second of two runs, each with its name, is worse or `better` than the first."""
    names = name_runs([name for name, _ in runs])
    (_, before), (_, after) = runs
    metric, scored, questions = select_changed(before, after, wanted, better)
    shown = questions[: options.limit]
    metrics = [metric, *before.headlines, *after.headlines]
    sides = [list(zip(names, pair, strict=True)) for pairs in shown for pair in pairs]
    yield from _write_questions(sides, metrics, options)
    count = {"shown": len(shown), "total": len(questions), "scored": scored, "metric": show_key(*metric.split(".", 1))}
    yield options.say(NoteCode.SHOWN, kind="better" if better else "worse", run=names[1], **count)


def _write_questions(
    shown: Sequence[Sequence[tuple[str, QuestionInfo]]], metrics: Sequence[str], options: DisplayOptions
) -> Iterator[str]:
    cut = False
    for sides in shown:
        for line in _write_question(sides, metrics, options):
            cut |= line.endswith("…")
            yield line
        yield ""
    if cut and options.longest:
        yield options.say(NoteCode.SHOWN, kind="cut", longest=options.longest)


def _write_question(
    sides: Sequence[tuple[str, QuestionInfo]], metrics: Sequence[str], options: DisplayOptions
) -> Iterator[str]:
    """Write a question as each run has it, by what the run is called; "" where there is one run."""
    translate, joint = options.translate, read_messages(options.language).signs["of"]

    def line(name: str, word: str, text: str) -> str:
        label = f"  {name}{' ' * bool(name)}{translate(word)}"
        return joint.format(runs=label, said=known_keys().line(text, options.longest))

    question = sides[0][1].question
    yield f"{question.config} {question.split} {question.id}"
    for asked, answered in question.history:
        yield line("", "before", f"{asked} / {answered or ''}")
    yield line("", "question", question.query)
    for name, info in sides:
        empty = translate("(empty)" if info.answer is not None else info.failure)
        yield line(name, "answer", (info.answer or "").strip() or empty)
        if info.scored:
            yield line(name, "scored", info.scored)
    yield line("", "gold", "; ".join(spell_gold(question.references)))
    first = sides[0][1]
    alike = all((info.passages, info.documents) == (first.passages, first.documents) for _, info in sides)
    searches = [("", first)] if alike else sides
    for name, info in searches:
        if found := note_gold(question, info.passages, info.documents):
            yield line(name, "found", say(found, options.language))
    for name, info in sides:
        for label, value in _list_values(info, metrics, options):
            yield line(name, label, value)
        for label, pairs in info.judged.items():
            for asked, said in pairs:
                if options.verbose:
                    yield line(name, f"{label}, {translate('asked')}", asked)
                yield line(name, f"{label}, {translate('the judge')}", said)
    for name, info in searches:
        for place, passage in enumerate(info.passages):
            known = info.documents is not None and info.documents[place] in question.relevant
            gold = f" {translate('(gold)')}" * known
            ident = known_keys().line(passage.id, longest=options.longest and _LONGEST_ID)
            word = f"{translate('passage')} {place + 1}{gold} [{ident}]"
            yield line(name, word, f"{passage.title} {passage.text}")
        for ident, text in info.missed.items():
            yield line(name, f"{translate('missed')} {translate('(gold)')} [{ident}]", text)


def _list_values(info: QuestionInfo, metrics: Sequence[str], options: DisplayOptions) -> Iterator[tuple[str, str]]:
    """Yield what metrics say of an answer, each with its names: those that say the same together."""
    labels, reasons = name_together(info.values), info.explain(options.language)
    lacking = [name for name in reasons if {*(info.values[name].get("reason") or {}).values()} - {NOT_APPLICABLE}]
    names = [*metrics, *(info.values if options.verbose else lacking)]
    said: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for name in names if name in info.values):
        values = {profile: show_value(name, info.values[name].get(profile)) for profile in PROFILES}
        text = by_profile(values, options.language)
        if name in reasons:
            text = options.say(NoteCode.SHOWN, kind="value", value=text, why=reasons[name])
        said.setdefault(text, []).append(labels[name])
    yield from ((", ".join(names), text) for text, names in said.items())
