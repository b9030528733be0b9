"""What a judge said of the items of a label set, without asking anybody: from files, from the set, or by a rule."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, unknown_name
from quadrag.metric_record import metric_record
from quadrag.sheet import read_sheet
from quadrag.stats import NOT_APPLICABLE

from ..core.result import PROFILES
from ..scoring.modules import load_module
from ..scoring.probe import explain_unread
from ..scoring.rules import RULE, RULES, judge_by_rule
from .labels import PAIRS, Graded, Item, LabelSet, same_text

RECORDED = "recorded:"
NO_VERDICT = "no verdict"
# Why a judge has no verdict, as files may say it in its place; "" is a blank cell.
_REASONS = ("", "api_error", "raised", "unparsable", "truncated", "unreadable")


@dataclass(slots=True)
class Verdicts:
    """What a judge said."""

    judge: str  # what it is called
    # a grade for each id, or a number of a ranked set; None where none could be read. The judge's own alone: nothing
    # stands here of what a rule decides
    given: Mapping[str, str | None]
    reasons: Mapping[str, str] = field(default_factory=dict)  # why not, by id
    repeats: Sequence[Mapping[str, str | None]] = ()  # further verdicts of the same judge on the same items
    # the digests under which a run's signatures name the prompt; none of what no prompt was sent to
    prompts: Sequence[str] = ()
    service: str = ""  # where it was asked, as the ledger calls it
    usage: Mapping[str, Any] = field(default_factory=dict)  # calls, tokens and cost, of a live judge
    seconds: float = 0.0  # that it took
    unread: str = ""  # one of its replies in which there was no verdict to read; "" where that is not known
    # the grades of items that the metric's rules decide, so that the judge is not asked, by id
    by_rule: Mapping[str, str] = field(default_factory=dict)

    def explain_unread(self, graded: Graded) -> str:
        """Say what it said in place of a verdict, how one looks, and what to do; "" where that is not known."""
        if not self.unread:
            return ""
        return explain_unread(self.unread, metric_record(graded.metric).verdict)


def list_judged(labels: LabelSet, verdicts: Verdicts) -> list[Item]:
    """Return the items that a judge has a verdict on; QuadragError where there is none."""
    judged = [item for item in labels.items if verdicts.given.get(item.id) is not None]
    if not judged and verdicts.by_rule and not verdicts.reasons:
        raise QuadragError(f"The judge {verdicts.judge} was asked about none: rules decide all answers ({labels.name})")
    if not judged:
        why = verdicts.explain_unread(labels.graded) or "; expected one at least"
        raise QuadragError(f"{verdicts.judge} has no readable verdict on {labels.name}{why}")
    return judged


def list_judges(labels: LabelSet) -> list[str]:
    """List the judges that a set needs no model for: those recorded with it, and rules where it has golds."""
    rules = RULES if not labels.ranked and not labels.pairs and set(labels.classes) == {"right", "wrong"} else {}
    there = any(item.golds for item in labels.items)
    return [*(f"{RECORDED}{name}" for name in labels.recorded), *(f"{RULE}{name}" for name in rules if there)]


def is_known(spec: str) -> bool:
    """Tell whether a judge is named that no model is asked for."""
    return spec.startswith((RULE, RECORDED))


def known_verdicts(labels: LabelSet, spec: str) -> Verdicts:
    """Return the verdicts of a rule, ``rule:bounded``, or of a judge recorded with a set, ``recorded:gpt-4``."""
    if spec not in list_judges(labels):
        raise unknown_name(f"judge of {labels.name}", spec, [*list_judges(labels), "http://host:port/v1#model"])
    kind, _, name = spec.partition(":")
    if f"{kind}:" == RECORDED:
        given = labels.recorded[name]
        return Verdicts(name, given, {one: "unreadable" for one, verdict in given.items() if verdict is None})
    return Verdicts(spec, {item.id: judge_by_rule(spec, item.answer, item.golds) for item in labels.items})


def read_verdicts(labels: LabelSet, paths: Sequence[Path]) -> Verdicts:
    """Read a judge's verdicts: CSV with `id` and `verdict`. One that names an id again is a repeat.

    Raises QuadragError for ids without a label, and answers other than people saw.
    """
    items = {item.id: item for item in labels.items}
    rounds: list[dict[str, str | None]] = []
    reasons: dict[str, str] = {}
    for path in paths:
        for name, verdict, reason in _read_file(labels, items, path):
            place = next((one for one in rounds if name not in one), None)
            if place is None:
                rounds.append(place := {})
            place[name] = verdict
            if place is rounds[0] and reason:
                reasons[name] = reason
    first, *repeats = rounds
    reasons |= dict.fromkeys(set(items) - set(first), NO_VERDICT)
    whole = {name: first.get(name) for name in items}
    return Verdicts(paths[0].stem, whole, reasons, repeats)


def _read_file(labels: LabelSet, items: Mapping[str, Item], path: Path) -> list[tuple[str, str | None, str]]:
    sheet = read_sheet(path, "id", "verdict")
    read = _reader(labels, [line.row["verdict"].strip() for line in sheet.lines])
    found: dict[str, tuple[str, str | None, str]] = {}
    unknown: dict[str, str] = {}
    for line in sheet.lines:
        name, text = line.row["id"].strip(), line.row["verdict"].strip()
        if name in found:
            raise QuadragError(f"{line.place}: item {name!r} has two verdicts; expected one in a file")
        if name in labels.left:
            continue
        if name not in items:
            unknown.setdefault(name, line.place)
            continue
        for column, shown in (("question", items[name].question), ("answer", items[name].answer)):
            if shown.strip() and line.row.get(column, "").strip() and not same_text(line.row[column], shown):
                raise QuadragError(_differ(line.place, name, column, line.row[column], shown))
        verdict = read(text)
        if verdict is None and text not in _REASONS:
            wanted = "a number" if labels.ranked else " or ".join(PAIRS) if labels.pairs else labels.graded.spelled
            raise QuadragError(f"{line.place}: verdict {text!r} on {name!r}; expected {wanted}, or nothing")
        reason = "" if verdict is not None else text or "unreadable"
        found[name] = (name, verdict, reason)
    if unknown:
        name, place = next(iter(unknown.items()))
        raise QuadragError(
            f"{place}: item {name!r} has no label in {labels.name}"
            + (f", as {len(unknown) - 1} others have none" if len(unknown) > 1 else "")
            + f"; expected its ids, as {next(iter(items))!r}"
        )
    return list(found.values())


def _reader(labels: LabelSet, texts: Sequence[str]) -> Callable[[str], str | None]:
    if labels.ranked or labels.pairs:
        return _number if labels.ranked else _pair
    found = {text: labels.graded.read(text) for text in texts if text not in _REASONS}
    replies = [text for text, grade in found.items() if grade is None]
    found |= zip(replies, read_replies(labels.graded, replies), strict=True) if replies else ()
    return found.get


def _differ(place: str, name: str, column: str, found: str, shown: str) -> str:
    chinese = [any("\u4e00" <= sign <= "\u9fff" for sign in text) for text in (found, shown)]
    why = "the files are in different languages" if chinese[0] != chinese[1] else "the files are of different data"
    return f"{place}: the {column} of {name!r} is {_cut(found)!r}, people saw {_cut(shown)!r}; {why}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}…"


def _number(text: str) -> str | None:
    try:
        return text if float(text) == float(text) else None
    except ValueError:
        return None


def _pair(text: str) -> str | None:
    number = _number(text.replace(",", "."))  # as half of Europe writes it
    return None if number is None else str((float(number) > 0) - (float(number) < 0))


PROFILE = PROFILES[-1]
_BY_PASSAGES = ("hal", "utl")  # judged by the passages, with an accepted answer beside them where there is one
_NO_GOLD = "(none is given; go by the passages)"
_CHINESE = re.compile("[\u4e00-\u9fff]")

Judge = Callable[[list[Any]], Sequence[Any]]


def read_replies(graded: Graded, replies: Sequence[str]) -> list[str | None]:
    """Return the grade that each reply says of some answer, None of one in which none can be read."""
    item = Item("", "", "question", "answer", golds=("gold",), passages=("passage",))
    rows, _ = judge_items(LabelSet("", graded, [item] * len(replies), {}), lambda batch: replies)
    return [read_grade(graded.grades, graded.key, row) for row in rows]


def read_grade(grades: Mapping[str, float | None], key: str, row: Mapping[str, Any]) -> str | None:
    """Return the grade that a metric's row of an item stands for; a value that stands for a failure is none."""
    why = row["reasons"].get(key)
    if why is not None and why != NOT_APPLICABLE:
        return None
    value = None if why else row[key]
    return next((grade for grade, worth in grades.items() if worth == value), None)


def judge_items(labels: LabelSet, judge: Judge) -> tuple[list[Mapping[str, Any]], str]:
    """Return the row of each item as the metric judges it, of pairs of both answers, and the signature."""
    graded, items = labels.graded, labels.items
    shown = [(item, item.answer) for item in items]
    shown += [(item, item.other or "") for item in items if labels.pairs]
    module = load_module(graded.metric, graded.key if graded.key in metric_record(graded.metric).configs else None)
    keywords: dict[str, Any] = {
        "questions": [item.question for item, _ in shown],
        "contexts": [list(item.passages) for item, _ in shown],
        "language": "zh" if any(_CHINESE.search(item.question) for item in items) else "en",
    }
    result = module.compute_quietly(
        predictions=[answer for _, answer in shown],
        references=[_shape(graded, item) for item, _ in shown],
        judge=judge,
        profile=PROFILE,
        **{name: value for name, value in keywords.items() if name in module.OPTIONS},
    )
    rows, n = result["per_item"], len(items)
    if labels.pairs:
        rows = [_better(graded.key, *both) for both in zip(rows[:n], rows[n:], strict=True)]
    return rows, result["signature"]


def is_by_passages(graded: Graded) -> bool:
    """Whether an answer is judged by the passages that it was made from, and not by accepted answers."""
    return graded.key in _BY_PASSAGES


def _better(key: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    reasons = {**first["reasons"], **second["reasons"]}
    if key in reasons:
        return {key: None, "reasons": reasons}
    return {key: float((second[key] > first[key]) - (second[key] < first[key])), "reasons": {}}


def _shape(graded: Graded, item: Item) -> Any:
    """Return accepted answers as the metric takes them: RGB's want any one of a list of lists."""
    if not item.golds and is_by_passages(graded):
        return [_NO_GOLD]
    return [list(item.golds)] if graded.metric in ("rejection_rate", "error_detection") else list(item.golds)
