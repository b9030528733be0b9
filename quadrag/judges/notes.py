"""What a reader is told of judges: tables of certificates, and of a judged score how far its judge agrees with people.

The tables are like those that papers print of judges: a row a judge, and a row a class.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.reporting.cells import ALIKE, FEW, NOTHING, write_number
from quadrag.reporting.table import Cell, Row, Table
from quadrag.results.note import Note, NoteCode
from quadrag.results.run import PROFILES, Run
from quadrag.results.score import Score, Status

from .ask import read_signature
from .certificate import Certificate, find_certificate, round_two
from .labels import LabelSet

_NONE = "none"
_IN_PERCENT = "Agreement in percent; kappa and AC1: 1 is the best, 0 as by chance."
_TOO_FEW = f"Labels of fewer than {FEW} questions tell nothing of a judge."
_INTERVALS = "95% intervals of questions drawn with replacement, Wilson's of items that share none; none under five."


def note_judges(results: Sequence[Run], profile: str = PROFILES[0]) -> list[Note]:
    """Say of each judge of some runs how far it agrees with people, by the runs' certificates, or that nobody knows."""
    certified: dict[str, tuple[Certificate, dict[str, None]]] = {}
    uncertified: dict[str, tuple[Run, dict[str, None]]] = {}
    for result in results:
        for score in _find_judged(result, profile):
            judge = read_signature(score.signature)["judge"]
            if certificate := find_certificate(result.certificates, score.signature):
                certified.setdefault(str(certificate.note(())), (certificate, {}))[1][score.label] = None
            elif score.status is not Status.UNTRUSTED_JUDGE:  # that says more
                uncertified.setdefault(judge, (result, {}))[1][score.label] = None
    notes = [certificate.note([*keys]) for certificate, keys in certified.values()]
    for judge, (result, keys) in uncertified.items():
        params = {"judge": judge, "folder": shlex.quote(str(result.folder or "RUN")), "keys": [*keys]}
        notes.append(Note(NoteCode.JUDGE_UNCERTIFIED, params))
    return notes


def _find_judged(result: Run, profile: str) -> Iterator[Score]:
    """Find the scores that rest on a judge: there is a value, and rules do not decide all answers."""
    for score in result.whole(profile):
        by_rule = score.counts.n_scored == score.counts.n_ruled > 0
        if _is_judged(score) and score.status is not Status.INVALID and not by_rule:
            yield score


def _is_judged(row: Score) -> bool:
    signed = read_signature(row.signature)
    asked = signed.get("judge", _NONE) != _NONE and signed.get("prompt", _NONE) != _NONE
    return asked and row.ran and row.record.needs == "judge"


# Tables of certificates.


def describe_labels(labels: LabelSet) -> str:
    """Say in a line what the labels are."""
    counts = (f"{name} {sum(item.label == name for item in labels.items)}" for name in labels.graded.grades)
    return f"{labels.name}: {len(labels.items)} labels ({', '.join(counts)})"


def tabulate(judges: Sequence[Certificate]) -> list[Table]:
    """Make the tables of judges on one label set: a line for each, and of a judge alone also a line for each class."""
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
    for name, write in (("agreement", _percent), ("kappa", round_two), ("ac1", round_two)):
        value, between = figures[name], figures.get(f"{name}_interval")
        low, high = between or (0, 0)
        # An interval without width would look like certainty.
        sub = "" if not between else NOTHING if low == high else f"{write(low)} to {write(high)}"
        cells.append(Cell((NOTHING if value is None else write(value)) + mark, sub))
    return [*cells, Cell(str(figures["n"]))]


def _percent(value: float) -> str:
    return write_number(100 * value, 1)


def _classes(judge: Certificate) -> Table:
    """Make the table of the classes that people gave: in percent how a judge finds each, and what it says of them."""
    figures = judge.figures
    lines = []
    for (label, figure), counts in zip(figures["by_class"].items(), figures["confusion"], strict=True):
        shares = (figure[kind] for kind in ("precision", "recall", "f1"))
        cells = [NOTHING if share is None else _percent(share) for share in shares]
        lines.append(Row(label, [*map(Cell, [*cells, *map(str, counts), str(figure["labels"])])]))
    columns = ["precision", "recall", "F1", *(f"judge {label}" for label in figures["classes"]), "n"]
    return Table(f"By class, {judge.judge}", "people say", columns, lines, ["Percent, and counts."])
