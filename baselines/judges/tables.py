"""What was measured of judges, as tables like OmniEval's 3 (a line a judge) and CRAG's 10 (a line a class)."""

from collections.abc import Callable, Sequence

from quadrag.stats import Interval
from quadrag.stats.agreement import Agreement

from ..scoring.verdicts import tell_alike
from ..tables.cells import ALIKE, FEW, NOTHING, write_number
from ..tables.grid import Alarm, Cell, Grid, Line
from ..tables.names import keep_name
from .certificate import round_two
from .corrected import Corrected, Sheet
from .figures import Against, Figures, Intervals
from .labels import LabelSet
from .notes import IN_PERCENT

_PPI = "Prediction-powered inference (PPI++), Wilson's interval at the effective number of labels; tuning constant"
_DRAWN = "Labels were drawn by the judge's verdicts; each verdict weighs as its share of the run. Wilson's interval."
_UNSEEN = "The ceiling is unknown: no item was labelled by several people."


def tabulate(found: Sequence[Figures]) -> list[Grid]:
    """Make the tables of judges on one label set: of one judge all, of several those that compare them."""
    if found[0].labels.ranked:
        return [_ranks(found)]
    grids = [_agreement(found)]
    if len(found) == 1 and found[0].said.is_alike:  # of each class all or nothing is right
        grids.append(_confusion(found[0]))
    elif len(found) == 1:
        grids += [_classes(found[0]), _confusion(found[0])]
        grids += [_bias(found[0])] if found[0].bias else []
    return grids


def describe_labels(labels: LabelSet) -> str:
    """Say in a line what the labels are."""
    counts = [sum(item.label == one for item in labels.items) for one in labels.classes]
    said = ", ".join(f"{one} {count}" for one, count in zip(labels.classes, counts, strict=True))
    return f"{labels.name}: {labels.size} labels ({'ranked' if labels.ranked else said})"


def say_against(found: Against, first: str, second: str) -> str:
    """Say which of two judges is right more often, and whether that is more than chance."""
    better, worse = (first, second) if found.first_only >= found.second_only else (second, first)
    apart = found.p < 0.05
    said = (
        f"{better} agrees with people more often than {worse}"
        if apart
        else f"{first} and {second} cannot be told apart"
    )
    return (
        f"{said}: of {found.n} items {first} alone is right on {found.first_only}, {second} alone on "
        f"{found.second_only} (McNemar, mid-p {_chance(found.p)})."
    )


def _notes(labels: LabelSet) -> list[str]:
    return [*([f"Labels: {labels.source}."] if labels.source else []), *labels.notes]


def _agreement(found: Sequence[Figures]) -> Grid:
    labels = found[0].labels
    lines = []
    for one in found:
        assert one.agreement is not None
        mark = ALIKE * one.said.is_alike
        lines.append(Line(keep_name(one.verdicts.judge), _agreement_cells(one.agreement, one.intervals, mark)))
        if one.pipeline:
            lines.append(Line(f"rules and {keep_name(one.verdicts.judge)}", _agreement_cells(*one.pipeline, mark)))
    if ceiling := found[0].ceiling:
        lines.append(Line("people (ceiling)", _agreement_cells(ceiling, (None, None, None)), rule=True))
    grid = Grid(
        f"Agreement with people, {labels.name}, {labels.graded.name}",
        "judge",
        ["agreement", "kappa", "AC1", "n"],
        lines,
        _notes(labels),
    )
    grid.notes += [] if ceiling else [_UNSEEN]
    grid.notes += [IN_PERCENT, _intervals(found)]
    for one in found:
        grid.notes += _about(one)
    return grid


def _agreement_cells(found: Agreement, intervals: Intervals, mark: str = "") -> list[Cell]:
    share, *others = intervals
    cells = [Cell(_percent(found.accuracy) + mark, _both(share, _percent))]
    for value, between in zip((found.kappa, found.ac1), others, strict=True):
        cells.append(Cell(_two(value) + mark, _both(between)))
    return [*cells, Cell(str(found.n))]


def _intervals(found: Sequence[Figures]) -> str:
    first = found[0]
    n = first.agreement.n if first.agreement else 0
    if first.groups < FEW:
        return f"No interval under {FEW} questions."
    if first.groups < n:
        return f"95% intervals by {first.labels.groups} ({first.groups}), drawn with replacement."
    return "95% intervals: Wilson's for agreement, of items drawn with replacement for the others."


def _about(one: Figures) -> list[str]:
    name = keep_name(one.verdicts.judge)
    notes: list[str] = []
    if one.said.is_alike:
        notes.append(Alarm(f"{tell_alike([one.said])}; {ALIKE} marks what rests on them."))
    if one.unreadable:
        counts = ", ".join(f"{why} {count}" for why, count in sorted(one.unreadable.items()))
        notes.append(f"{name}: {sum(one.unreadable.values())} items without a verdict ({counts}), left out.")
    if one.consistency:
        share, n = one.consistency
        times = len(one.verdicts.repeats) + 1
        notes.append(f"{name}: asked {times} times, the same verdict each time on {share:.1%} of {n} items.")
    usage = one.verdicts.usage
    if usage:
        cost = "" if usage.get("cost") is None else f", cost {usage['cost']:.4f}"
        tokens = f"{usage.get('prompt_tokens', 0)} + {usage.get('completion_tokens', 0)} tokens"
        kept = f", {usage['cached']} replies from the ledger" if usage.get("cached") else ""
        notes.append(f"{name}: {usage.get('calls', 0)} calls, {tokens}{cost}, {one.verdicts.seconds:.1f} s{kept}.")
    return notes


def _classes(one: Figures) -> Grid:
    lines = [
        Line(
            name,
            [*map(Cell, map(_percent, (each.accuracy, each.precision, each.recall, each.f1))), Cell(str(each.labels))],
        )
        for name, each in zip(one.labels.classes, one.classes, strict=True)
    ]
    there = [each for each in one.classes if each.labels]
    columns = zip(
        *((each.accuracy, each.precision or 0.0, each.recall or 0.0, each.f1 or 0.0) for each in there), strict=True
    )
    means = [Cell(_percent(sum(column) / len(there))) for column in columns]
    lines.append(Line("average", [*means, Cell(str(sum(each.labels for each in there)))], rule=True))
    columns_named = ["agreement", "precision", "recall", "F1", "n"]
    return Grid(f"By class, {keep_name(one.verdicts.judge)}", "people say", columns_named, lines, ["Percent."])


def _confusion(one: Figures) -> Grid:
    lines = [
        Line(name, [Cell(str(count)) for count in row]) for name, row in zip(one.labels.classes, one.table, strict=True)
    ]
    return Grid(
        f"Confusion, {keep_name(one.verdicts.judge)}",
        "people say",
        [f"judge {name}" for name in one.labels.classes],
        lines,
    )


def _bias(one: Figures) -> Grid:
    lines = []
    before = ""
    for each in one.bias:
        cells = [
            Cell(_percent(each.people)),
            Cell(_percent(each.judge)),
            Cell(write_number(100 * (each.judge - each.people), 1, "+"), _both(each.off, _percent)),
        ]
        cells += [Cell(_percent(each.accuracy)), Cell(_two(each.kappa)), Cell(str(each.n))]
        lines.append(Line(f"{each.slicing}: {each.name}", cells, rule=bool(before) and before != each.slicing))
        before = each.slicing
    said = "Percent, but kappa. A difference whose interval leaves out 0 is a bias. One in twenty does by chance."
    return Grid(
        f"Bias, {keep_name(one.verdicts.judge)}",
        "items",
        ["people", "judge", "difference", "agreement", "kappa", "n"],
        lines,
        [said],
    )


def _ranks(found: Sequence[Figures]) -> Grid:
    labels = found[0].labels
    lines = []
    for one in found:
        assert one.correlation is not None
        cells = [
            Cell(_two(one.correlation.spearman), _both(one.correlation.interval)),
            Cell(_two(one.correlation.kendall)),
        ]
        lines.append(Line(keep_name(one.verdicts.judge), [*cells, Cell(str(one.correlation.n))]))
    notes = [*_notes(labels), _UNSEEN, _intervals(found)]
    notes += [note for one in found for note in _about(one)]
    return Grid(f"Agreement with people, {labels.name}", "judge", ["Spearman", "Kendall", "n"], lines, notes)


def _two(value: float | None) -> str:
    return NOTHING if value is None else round_two(value)


def _chance(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "below 0.0001"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else write_number(100 * value, 1)


def _both(between: Interval | None, write: Callable[[float], str] = _two) -> str:
    """Write an interval; of one without width, which would look like certainty, nothing but a dash."""
    if not between:
        return ""
    return NOTHING if between.low == between.high else f"{write(between.low)} to {write(between.high)}"


def tabulate_corrected(name: str, found: Corrected, sheet: Sheet) -> Grid:
    """Make the table of a corrected score: the judge's own, that of labels alone, and the corrected one."""
    value, between = found.estimate.value, found.estimate.interval
    lines = [
        Line(
            "rules and the judge" if found.ruled else "the judge alone",
            [Cell(_percent(found.plain)), Cell(NOTHING), Cell(str(found.read))],
        ),
        Line("corrected by labels", [Cell(_percent(value)), Cell(_both(between, _percent)), Cell(str(found.total))]),
        Line("labels alone", [Cell(_percent(value)), Cell(_both(found.alone, _percent)), Cell(str(found.n))]),
    ]
    notes = [
        "Percent.",
        *[f"The judge and the labels agree on {found.agreed} of {found.both}."] * bool(found.both),
        *["It says the opposite of people more often than not: its own value says nothing."]
        * (2 * found.agreed < found.both),
        found.sentence,
        _DRAWN if sheet.drawn else f"{_PPI} {found.estimate.tuning:.2f}.",
    ]
    unread = found.total - found.read
    notes += [f"{unread} of {found.total} items have no verdict that could be read."] if unread else []
    notes += [f"{sheet.blank} rows have no label; the others are taken for the draw."] if sheet.blank else []
    notes += [] if sheet.drawn else ["The labels are taken for a random draw of this run's items."]
    return Grid(f"{name}, corrected for the judge", "score", ["value", "95% interval", "n"], lines, notes)
