"""The classes of a run's wrong answers as a table: the share of each, the paper's beside it where its text prints any.

What a class is, and who gives it, is decided by `errors`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from quadrag.stats import Item, summarise_all

from ..core.benchmark import load
from ..tables.cells import NOTHING, interval_cell
from ..tables.grid import Alarm, Cell, Grid, Line
from ..tables.notes import INTERVALS
from .errors import UNSORTED, Testbed, Verdict, WrongAnswer

_NOISE = "as_under_noise"
_OF_NOISE = ("long_distance", "evidence_uncertainty", "concept_confusion")


class _Part(NamedTuple):
    """The wrong answers of a split, those sorted with their classes."""

    split: str
    items: Sequence[tuple[WrongAnswer, Verdict]]

    @property
    def classes(self) -> list[set[str]]:
        found = [set(verdict) for _, verdict in self.items if not isinstance(verdict, str)]
        return [one | ({_NOISE} if one.intersection(_OF_NOISE) else set()) for one in found]

    @property
    def reasons(self) -> Counter[str]:
        return Counter(verdict for _, verdict in self.items if isinstance(verdict, str))

    def shares(self, names: Sequence[str]) -> list[Cell]:
        """Make the cells of the shares of answers that have a class."""
        places = [one.place for one, verdict in self.items if not isinstance(verdict, str)]
        columns = [
            [Item(place.id, float(name in given)) for place, given in zip(places, self.classes, strict=True)]
            for name in names
        ]
        return [interval_cell(one.value, one.interval, one.n_scored) for one in summarise_all(columns)]

    def parts(self, names: Sequence[str]) -> list[Cell]:
        """Make the cells of the shares of all classes given, which add up to 100."""
        given = Counter(name for one in self.classes for name in one - {_NOISE})
        counts = [sum(given[one] for one in _OF_NOISE) if name == _NOISE else given[name] for name in names]
        return [interval_cell(count / given.total() if given else None, None, given.total()) for count in counts]


def tabulate_errors(
    title: str,
    testbed: Testbed,
    answers: Mapping[str, int],
    wrong: Sequence[WrongAnswer],
    verdicts: Sequence[Verdict],
    max_failed: float,
) -> Grid:
    """Make the table; an `Alarm` among its notes names every split of which too many verdicts failed.

    `answers`: how many there are, by split.
    `verdicts`: of each.
    `max_failed`: the share of a split's verdicts above which its shares are not shown.
    """
    both = list(zip(wrong, verdicts, strict=True))
    parts = [_Part(split, [pair for pair in both if pair[0].place.split == split]) for split in answers]
    invalid = [part for part in parts if _count_failed(part) > max_failed * len(part.items)]
    shown = [part._replace(items=[]) if part in invalid else part for part in parts]
    all_classes = list(testbed.classes)
    lines = _block("of wrong answers", all_classes, [part.shares(all_classes) for part in shown], {})
    if testbed.published:
        names = [_NOISE, *(name for name in all_classes if name not in _OF_NOISE)]
        lines += _block("of all classes given", names, [part.parts(names) for part in shown], testbed.published)
    counts = {
        "answers": [answers[part.split] for part in parts],
        "wrong": [len(part.items) for part in parts],
        "sorted": [len(part.classes) for part in parts],
    }
    for label, numbers in counts.items():
        lines.append(Line(label, [Cell(str(number)) for number in numbers], rule=label == "answers"))
    heads = list(answers)
    if testbed.published:
        heads.append("published")
        for line in lines:
            line.cells += [Cell("")] * (len(heads) - len(line.cells))
    title = f"Table {testbed.number}. Classes of errors: {title}"
    return Grid(title, "class", heads, lines, [*map(_tell_invalid, invalid), *_notes(testbed, parts)])


def _block(
    label: str, names: Sequence[str], columns: Sequence[Sequence[Cell]], printed: Mapping[str, int]
) -> list[Line]:
    lines = [Line(label, [Cell("")] * len(columns), rule=bool(printed))]
    for at, name in enumerate(names):
        cells = [column[at] for column in columns]
        beside = [Cell(str(printed.get(name, NOTHING)))] if printed else []
        lines.append(Line(f" {name.replace('_', ' ')}", [*cells, *beside]))
    return lines


def _count_failed(part: _Part) -> int:
    return part.reasons.total() - part.reasons[UNSORTED]


def _tell_invalid(part: _Part) -> Alarm:
    failed = f"{_count_failed(part)} of {len(part.items)} verdicts failed ({_say(part)})"
    return Alarm(f"INVALID, {part.split}: {failed}; try --judge-format json, or another judge.")


def _say(part: _Part) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(part.reasons.items()))


def _notes(testbed: Testbed, parts: Iterable[_Part]) -> list[str]:
    notes = ["Percent of the wrong answers that are sorted; an answer may have several classes.", INTERVALS]
    if without := [f"{part.split} {_say(part)}" for part in parts if part.reasons]:
        notes.append(f"Without a class, and left out: {'; '.join(without)}.")
    where = f"Published: {load('rgb').paper}, table {testbed.number}"
    if not testbed.published:
        return [*notes, f"{where}: an example of each class."]
    notes.append(
        f"{where} and the text beside it: shares of all errors of ChatGLM2-6B without noise, in which language is not "
        f"said. They add up to 100, so they stand beside the shares of all classes given. As under noise: "
        f"{', '.join(_OF_NOISE).replace('_', ' ')}."
    )
    return notes
