"""What is known of judges, as tables like OmniEval's 3 (a line a judge) and CRAG's 10 (a line a class)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.stats import NOT_APPLICABLE

from ..results.adapter import say_constant
from ..results.judges import find_alike, note_constant
from ..tables.cells import ALIKE, FEW, NOTHING, write_number
from ..tables.grid import Alarm, Cell, Figure, Grid, Line
from ..tables.names import keep_name
from .certificate import CHANCE, Against, Certificate, round_two
from .labels import LabelSet, find_graded

IN_PERCENT = "Agreement in percent; kappa and AC1: 1 is the best, 0 as by chance."
COLUMNS = ["agreement", "kappa", "AC1", "n"]
_UNSEEN = "The ceiling is unknown: no item was labelled by several people."
_BIASED = "Percent, but kappa. A difference whose interval leaves out 0 is a bias. One in twenty does by chance."


def tabulate(judges: Sequence[Certificate]) -> list[Grid]:
    """Make the tables of judges on one label set: of one judge all, of several those that compare them."""
    if "spearman" in judges[0].figures:
        return [_ranks(judges)]
    grids = [_agreement(judges)]
    if len(judges) == 1:
        figures, name = judges[0].figures, keep_name(judges[0].judge)
        # Of verdicts that are all alike each class has all or nothing right.
        grids += [] if _find_alike(judges[0]) else [_classes(figures, name)]
        columns = [f"judge {label}" for label in figures["classes"]]
        rows = zip(figures["classes"], figures["confusion"], strict=True)
        lines = [Line(label, [Cell(str(count)) for count in row]) for label, row in rows]
        grids.append(Grid(f"Confusion, {name}", "people say", columns, lines))
        grids += [_bias(figures["bias"], name)] if figures["bias"] and not _find_alike(judges[0]) else []
    return grids


def describe_labels(labels: LabelSet) -> str:
    """Say in a line what the labels are."""
    n = len(labels.items)
    size = f"{n} of {n + len(labels.left)}" if labels.left else str(n)
    counts = [f"{name} {sum(item.label == name for item in labels.items)}" for name in labels.classes]
    return f"{labels.name}: {size} labels ({'ranked' if labels.ranked else ', '.join(counts)})"


def say_against(found: Against, first: str, second: str) -> str:
    """Say which of two judges is right more often, and whether that is more than chance."""
    better, worse = (first, second) if found.first_only >= found.second_only else (second, first)
    said = f"{first} and {second} cannot be told apart"
    if found.p < CHANCE:
        said = f"{better} agrees with people more often than {worse}"
    p = f"{found.p:.4f}" if found.p >= 0.0001 else "below 0.0001"
    return (
        f"{said}: of {found.n} items {first} alone is right on {found.first_only}, {second} alone on "
        f"{found.second_only} (McNemar, mid-p {p})."
    )


def agreement_lines(judge: Certificate, name: str) -> Iterator[Line]:
    """Yield the line of a judge, and that of rules and the judge together where rules decide some items."""
    mark = ALIKE if _find_alike(judge) else ""
    yield Line(name, _agreement_cells(judge.figures, mark))
    if pipeline := judge.figures.get("pipeline"):
        yield Line(f"rules and {name}", _agreement_cells(pipeline, mark))


def _agreement_cells(figures: Mapping[str, Any], mark: str = "") -> list[Cell]:
    cells = []
    for name, scale in (("agreement", 100), ("kappa", 1), ("ac1", 1)):
        value, between = figures[name], figures.get(f"{name}_interval")
        if value is None:
            cells.append(Cell(NOTHING + mark, _between(between, scale)))
            continue
        bounds = (between[0] * scale, between[1] * scale) if between else None
        cells.append(Cell(_write(value, scale) + mark, _between(between, scale), Figure(value * scale, bounds)))
    return [*cells, Cell(str(figures["n"]))]


def _write(value: float | None, scale: int = 1) -> str:
    return NOTHING if value is None else round_two(value) if scale == 1 else write_number(scale * value, 1)


def _between(interval: Sequence[float] | None, scale: int = 1) -> str:
    """Write an interval; of one without width, which would look like certainty, nothing but a dash."""
    if not interval:
        return ""
    low, high = interval
    return NOTHING if low == high else f"{_write(low, scale)} to {_write(high, scale)}"


def _find_alike(judge: Certificate) -> list[dict[str, list[float | str]]]:
    """Return what a judge said where that is one and the same of all items, as a run's verdicts are looked at."""
    counts = [sum(column) for column in zip(*judge.figures["confusion"], strict=True)]
    value = judge.figures["values"][counts.index(max(counts))]
    verdicts = [NOT_APPLICABLE if value is None else value] * max(counts)
    return find_alike([{f"{judge.metric}.{judge.key}": verdicts}]) if max(counts) == sum(counts) else []


def _agreement(judges: Sequence[Certificate]) -> Grid:
    first = judges[0]
    lines = [line for judge in judges for line in agreement_lines(judge, keep_name(judge.judge))]
    ceiling = first.figures["ceiling"]
    if ceiling:
        cells = _agreement_cells(ceiling | {"agreement": ceiling["accuracy"]})
        lines.append(Line("people (ceiling)", cells, rule=True))
    notes = [*_describe(first), *([] if ceiling else [_UNSEEN]), IN_PERCENT, _tell_intervals(first)]
    notes += [note for judge in judges for note in _tell_judge(judge)]
    graded = find_graded(f"{first.metric}.{first.key}").name
    return Grid(f"Agreement with people, {first.labels['name']}, {graded}", "judge", COLUMNS, lines, notes)


def _describe(judge: Certificate) -> list[str]:
    source = judge.labels["source"]
    return [*([f"Labels: {source}."] if source else []), *judge.labels["notes"]]


def _tell_intervals(judge: Certificate) -> str:
    groups = judge.figures["groups"]
    if groups < FEW:
        return f"No interval under {FEW} questions."
    if groups < judge.figures["n"]:
        return f"95% intervals by {judge.figures['grouped_by']} ({groups}), drawn with replacement."
    return "95% intervals: Wilson's for agreement, of items drawn with replacement for the others."


def _tell_judge(judge: Certificate) -> Iterator[str]:
    name, figures, usage = keep_name(judge.judge), judge.figures, judge.figures["usage"]
    if "confusion" in figures and (alike := _find_alike(judge)):
        yield Alarm(f"{say_constant(note_constant(name, alike, ()))}; {ALIKE} marks what rests on them.")
    if unreadable := figures["unreadable"]:
        counts = ", ".join(f"{why} {count}" for why, count in sorted(unreadable.items()))
        yield f"{name}: {sum(unreadable.values())} items without a verdict ({counts}), left out."
    if usage:
        cost = "" if usage.get("cost") is None else f", cost {usage['cost']:.4f}"
        tokens = f"{usage.get('prompt_tokens', 0)} + {usage.get('completion_tokens', 0)} tokens"
        kept = f", {usage['cached']} replies from the ledger" if usage.get("cached") else ""
        yield f"{name}: {usage.get('calls', 0)} calls, {tokens}{cost}, {figures['seconds']:.1f} s{kept}."


def _classes(figures: Mapping[str, Any], name: str) -> Grid:
    kinds = ("accuracy", "precision", "recall", "f1")
    by_class = figures["by_class"]
    lines = [
        Line(label, [*(Cell(_write(figure[kind], 100)) for kind in kinds), Cell(str(figure["labels"]))])
        for label, figure in by_class.items()
    ]
    there = [figure for figure in by_class.values() if figure["labels"]]
    means = [sum(figure[kind] or 0.0 for figure in there) / len(there) for kind in kinds]
    total = Cell(str(sum(figure["labels"] for figure in there)))
    lines.append(Line("average", [*(Cell(_write(mean, 100)) for mean in means), total], rule=True))
    return Grid(f"By class, {name}", "people say", ["agreement", "precision", "recall", "F1", "n"], lines, ["Percent."])


def _bias(parts: Sequence[Mapping[str, Any]], name: str) -> Grid:
    lines: list[Line] = []
    before = parts[0]["slicing"]
    for part in parts:
        off = write_number(100 * (part["judge"] - part["people"]), 1, "+")
        cells = [
            Cell(_write(part["people"], 100)),
            Cell(_write(part["judge"], 100)),
            Cell(off, _between(part["off"], 100)),
        ]
        cells += [Cell(_write(part["accuracy"], 100)), Cell(_write(part["kappa"])), Cell(str(part["n"]))]
        lines.append(Line(f"{part['slicing']}: {part['name']}", cells, rule=before != part["slicing"]))
        before = part["slicing"]
    columns = ["people", "judge", "difference", "agreement", "kappa", "n"]
    return Grid(f"Bias, {name}", "items", columns, lines, [_BIASED])


def _ranks(judges: Sequence[Certificate]) -> Grid:
    lines = []
    for judge in judges:
        figures = judge.figures
        spearman = Cell(_write(figures["spearman"]), _between(figures["interval"]))
        lines.append(
            Line(keep_name(judge.judge), [spearman, Cell(_write(figures["kendall"])), Cell(str(figures["n"]))])
        )
    notes = [*_describe(judges[0]), _UNSEEN, _tell_intervals(judges[0])]
    notes += [note for judge in judges for note in _tell_judge(judge)]
    title = f"Agreement with people, {judges[0].labels['name']}"
    return Grid(title, "judge", ["Spearman", "Kendall", "n"], lines, notes)
