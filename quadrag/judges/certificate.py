"""How a certificate is made of a judge's verdicts and people's labels, and the tables of certificates.

The tables are like those that papers print of judges: a row a judge, and a row a class.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from quadrag import __version__
from quadrag.records import write_text
from quadrag.reporting.names import ALIKE, FEW, NOTHING, format_value
from quadrag.reporting.table import Cell, Row, Table
from quadrag.results.certificates import FORM, Certificate, round_two
from quadrag.results.note import Note
from quadrag.stats import wilson
from quadrag.stats.agreement import Agreement, agreement, agreement_intervals, class_figures, count_pairs

from .ask import PROFILE, Verdicts, list_judged
from .labels import Item, LabelSet

_IN_PERCENT = "Agreement in percent; kappa and AC1: 1 is the best, 0 as by chance."
_TOO_FEW = f"Labels of fewer than {FEW} questions tell nothing of a judge."
_INTERVALS = "95% intervals of questions drawn with replacement, Wilson's of items that share none; none under five."


def certify(labels: LabelSet, verdicts: Verdicts) -> Certificate:
    graded, classes = labels.graded, list(labels.graded.grades)
    judged = list_judged(labels, verdicts)
    ruled = [item for item in labels.items if item.id in verdicts.by_rule]
    lacking = {item.id for item in labels.items} - {item.id for item in (*judged, *ruled)}
    grades = [str(verdicts.grades[item.id]) for item in judged]
    table = count_pairs([item.label for item in judged], grades, classes)
    ceiling = measure_ceiling(labels)
    figures: dict[str, Any] = {
        **_agree(judged, grades, classes),
        "groups": len({item.group for item in judged}),
        "unreadable": Counter(verdicts.reasons.get(name, "unreadable") for name in lacking),
        "classes": classes,
        "confusion": table.tolist(),
        "by_class": dict(zip(classes, class_figures(table), strict=True)),
        "ceiling": ceiling._asdict() if ceiling else None,
        "usage": dict(verdicts.usage),
    }
    if ruled:
        all_grades = [*grades, *(verdicts.by_rule[item.id] for item in ruled)]
        figures["pipeline"] = {**_agree([*judged, *ruled], all_grades, classes), "by_rule": len(ruled)}
    known_set: dict[str, Any] = {"name": labels.name, "graded": graded.name, "source": labels.source}
    known_set |= {"sha256": labels.files, "n": len(labels.items), "notes": labels.notes}
    known_set, figures = json.loads(json.dumps([known_set, figures]))  # as the file has them
    return Certificate(
        form=FORM,
        quadrag=__version__,
        labels=known_set,
        metric=graded.metric,
        key=graded.key,
        judge=verdicts.judge,
        service=verdicts.service,
        prompts=list(verdicts.prompts),
        profile=PROFILE,
        figures=figures,
    )


def find_few(items: Sequence[Item]) -> str:
    """Return that labels of so few questions, or groups, tell nothing of a judge; "" of enough."""
    groups = len({item.group for item in items})
    few = f"labels of {groups} question{'s' * (groups != 1)} tell nothing of a judge: label {FEW} questions or more"
    return few if groups < FEW else ""


def _agree(items: Sequence[Item], grades: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
    labels = [item.label for item in items]
    table = count_pairs(labels, grades, classes)
    n, accuracy, kappa, ac1 = agreement(table)
    intervals: Sequence[Any] = (None, None, None)
    if not find_few(items):
        groups = [item.group for item in items]
        intervals = agreement_intervals(labels, grades, groups, classes)
        if len({*groups}) == n:
            intervals = (wilson(int(np.trace(table)), n), *intervals[1:])
    values = {"n": n, "agreement": accuracy, "kappa": kappa, "ac1": ac1}
    return values | dict(zip(("agreement_interval", "kappa_interval", "ac1_interval"), intervals, strict=True))


def measure_ceiling(labels: LabelSet) -> Agreement | None:
    """Return how people agree with each other: of several, the pairs of the items that both labelled, together."""
    votes = [*(item.votes for item in labels.items), *labels.split]
    pairs = [pair for each in votes for pair in combinations(each, 2) if None not in pair]
    if not pairs:
        return None
    first, second = zip(*pairs, strict=True)
    return agreement(count_pairs(first, second, list(labels.graded.grades)))


def write_certificate(certificate: Certificate, path: Path) -> None:
    write_text(path, json.dumps(certificate.row, ensure_ascii=False, indent=1) + "\n")


# Tables of certificates.


def describe_labels(labels: LabelSet) -> str:
    counts = (f"{name} {sum(item.label == name for item in labels.items)}" for name in labels.graded.grades)
    return f"{labels.name}: {len(labels.items)} labels ({', '.join(counts)})"


def tabulate(judges: Sequence[Certificate]) -> list[Table]:
    return [_compare(judges), *(_classes(judge) for judge in judges if len(judges) == 1)]


def _compare(judges: Sequence[Certificate]) -> Table:
    labels, ceiling = judges[0].labels, judges[0].figures["ceiling"]
    notes: list[Note | str] = [f"Labels: {labels['source']}."] if labels["source"] else []
    notes += [*labels["notes"], _IN_PERCENT, _INTERVALS]
    lines = []
    for judge in judges:
        name, figures = judge.judge, judge.figures
        mark = ALIKE if judge.is_chance else ""
        lines.append(Row(name, _cells(figures, mark)))
        if pipeline := figures.get("pipeline"):
            lines.append(Row(f"rules and {name}", _cells(pipeline, mark)))
        if figures["agreement_interval"] is None:
            notes += [_TOO_FEW] * (len(judges) == 1)
        elif judge.is_chance or len(judges) == 1:
            notes.append(judge.note([labels["graded"]]))
        if unreadable := figures["unreadable"]:
            counts = ", ".join(f"{why} {count}" for why, count in sorted(unreadable.items()))
            notes.append(f"{name}: {sum(unreadable.values())} items without a verdict ({counts}), left out.")
    if ceiling:
        lines.append(Row("people (ceiling)", _cells(ceiling | {"agreement": ceiling["accuracy"]}), rule=True))
    title = f"Agreement with people, {labels['name']}, {labels['graded']}"
    return Table(title, "judge", ["agreement", "kappa", "AC1", "n"], lines, notes)


def _cells(figures: Mapping[str, Any], mark: str = "") -> list[Cell]:
    cells = []
    for name, write in (("agreement", format_value), ("kappa", round_two), ("ac1", round_two)):
        value, between = figures[name], figures.get(f"{name}_interval")
        low, high = between or (0, 0)
        # An interval without width would look like certainty.
        sub = "" if not between else NOTHING if low == high else f"{write(low)} to {write(high)}"
        cells.append(Cell((NOTHING if value is None else write(value)) + mark, sub))
    return [*cells, Cell(str(figures["n"]))]


def _classes(judge: Certificate) -> Table:
    figures = judge.figures
    lines = []
    for (label, figure), counts in zip(figures["by_class"].items(), figures["confusion"], strict=True):
        shares = [format_value(figure[kind]) for kind in ("precision", "recall", "f1")]
        lines.append(Row(label, [*map(Cell, [*shares, *map(str, counts), str(figure["labels"])])]))
    columns = ["precision", "recall", "F1", *(f"judge {label}" for label in figures["classes"]), "n"]
    return Table(f"By class, {judge.judge}", "people say", columns, lines, ["Percent, and counts."])
