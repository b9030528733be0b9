"""Single questions as lines of text: question, answers, gold, whether it was found, values, verdicts, passages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from quadrag.chat.keys import known_keys
from quadrag.metric_record import name_together, show_key
from quadrag.stats import NOT_APPLICABLE

from ..results.run import PROFILES
from .compared.names import name_columns
from .questions import (
    ItemFilter,
    QuestionInfo,
    RunReader,
    by_profile,
    find_metric,
    select_changed,
    show_value,
    spell_gold,
    tell_gold,
)

_LONGEST_ID = 24  # characters of a passage's id where texts are cut


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How questions are written.

    Attributes:
        limit: the first ones alone; all when None.
        longest: characters of a text; all when None.
        verbose: all metrics; else the headlines, and what has no value.
        translate: returns a text in the words of who reads it.
    """

    limit: int | None = 10
    longest: int | None = None
    verbose: bool = False
    translate: Callable[[str], str] = str


def write_items(reader: RunReader, wanted: ItemFilter, options: DisplayOptions) -> Iterator[str]:
    """Write the items of a run that are wanted, and how many there are."""
    selected = reader.select(wanted)
    shown = selected[: options.limit]
    metric = find_metric([[reader]], wanted.metric)[0]
    metrics = [*[metric] * bool(wanted.metric), *reader.headlines]
    yield from _write_questions([[("", info)] for info in shown], metrics, options)
    count = f"{len(shown)} of {len(selected)} items"
    if wanted.wrong:
        invalid = " (INVALID)" * (metric in reader.invalid)
        count += f" below the best {show_key(*metric.split('.', 1))}{invalid}, the worst first"
    elif wanted.unscored:
        count += " that lack a value"
    yield options.translate(count)


def write_changed(
    runs: Sequence[tuple[str, RunReader]], wanted: ItemFilter, options: DisplayOptions, better: bool = False
) -> Iterator[str]:
    """Write the questions on which the second of two runs, each with its name, is worse or `better` than the first."""
    names = name_columns([name for name, _ in runs])
    (_, before), (_, after) = runs
    metric, scored, questions = select_changed(before, after, wanted, better)
    shown = questions[: options.limit]
    metrics = [metric, *before.headlines, *after.headlines]
    sides = [list(zip(map(options.translate, names), pair, strict=True)) for pairs in shown for pair in pairs]
    yield from _write_questions(sides, metrics, options)
    how = "better" if better else "worse"
    count = f"{len(shown)} of {len(questions)} questions on which {names[1]} is {how} by"
    key = show_key(*metric.split(".", 1))
    yield options.translate(f"{count} {key}, the greatest difference first; {scored} scored in both")


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
        yield options.translate(f"Texts are cut at {options.longest} characters: --verbose shows them whole")


def _write_question(
    sides: Sequence[tuple[str, QuestionInfo]], metrics: Sequence[str], options: DisplayOptions
) -> Iterator[str]:
    """Write a question as each run has it, by what the run is called; "" where there is one run."""
    translate = options.translate
    colon = translate(": ")

    def line(name: str, word: str, text: str) -> str:
        return f"  {name}{' ' * bool(name)}{translate(word)}{colon}{known_keys().line(text, options.longest)}"

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
    searches = {str((info.passages, info.documents)): (name, info) for name, info in reversed(sides)}
    alike = len(searches) == 1
    for name, info in [("", sides[0][1])] if alike else sides:
        if told := tell_gold(question, info.passages, info.documents):
            yield line(name, "found", translate(told))
    for name, info in sides:
        for label, value in _list_values(info, metrics, options):
            yield line(name, label, value)
        for label, replies in info.verdicts.items():
            yield from (line(name, f"{label}, {translate('the judge')}", reply) for reply in replies)
    for name, info in [("", sides[0][1])] if alike else sides:
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
    labels, reasons = name_together(info.values), info.explain()
    lacking = [name for name in info.values if name in reasons and NOT_APPLICABLE not in reasons[name]]
    names = [*metrics, *(info.values if options.verbose else lacking)]
    said: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for name in names if name in info.values):
        text = by_profile({profile: show_value(name, info.values[name].get(profile)) for profile in PROFILES})
        why = f" {options.translate(f'({reasons[name]})')}" if name in reasons else ""
        said.setdefault(options.translate(text) + why, []).append(labels[name])
    yield from ((", ".join(names), text) for text, names in said.items())
