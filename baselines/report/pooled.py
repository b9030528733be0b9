"""A metric of one run over all splits of its config together: a question of several splits counts once.

Two runs are compared so, too (`compared/overall.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from quadrag.metric_record import metric_record, show_key
from quadrag.records import Key
from quadrag.stats import Item, summarise
from quadrag.stats.items import choose_fill, counted

from ..core.result import Asked, Result
from ..scoring.rows import items_of
from ..scoring.validity import is_alike, is_invalid
from ..tables.cells import NOTHING, Row, interval_cell
from ..tables.grid import Cell, Line

WEIGHTED = "_weighted"  # at the end of a key whose questions do not count alike


def name_question(asked: Mapping[Key, Asked], place: Key) -> Any:
    """Name a question whatever its split: the same id, text and gold in another split is the same one."""
    return (place[2], asked[place].sha256) if place in asked else place


def average_samples(items: Iterable[Item], fill: float | None) -> dict[Any, float]:
    """Return what questions count as, the mean of their samples; those that do not count are left out."""
    values: dict[Any, list[float]] = {}
    for item in items:
        if (value := counted(item, fill)) is not None:
            values.setdefault(item.question, []).append(value)
    return {question: fmean(one) for question, one in values.items()}


def pool_lines(result: Result, rows: Sequence[Row], profile: str) -> list[Line]:
    """Make lines of the metrics that all splits of a run have, each over all of them; of one split there are none.

    Args:
        result: of the run.
        rows: its headlines.
        profile: ``official`` or ``corrected``.
    """
    splits = dict.fromkeys(row["split"] for row in rows)
    metrics: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if not (is_invalid(row) or is_alike(row) or row["key"].endswith(WEIGHTED) or row["value"] is None):
            metrics.setdefault((row["metric"], row["key"]), []).append(row)
    return [
        Line(f"all {len(splits)} splits/{show_key(*metric)}", _pool(result, metric, profile))
        for metric, here in metrics.items()
        if 1 < len(splits) == len(here) and metric_record(metric[0]).key(metric[1]).direction != "none"
    ]


def _pool(result: Result, metric: tuple[str, str], profile: str) -> list[Cell]:
    """Make the cells of a metric over all splits: its value, interval, and of how many questions it is the mean."""
    record = metric_record(metric[0]).key(metric[1])
    items = items_of(result.items, ".".join(metric), profile)
    counting: dict[Any, list[float]] = {}
    for place, value in average_samples(items, choose_fill(profile, record.worst)).items():
        counting.setdefault(name_question(result.asked, place), []).append(value)
    means = [Item(question, fmean(values)) for question, values in counting.items()]
    found = summarise(means, profile=profile, worst=record.worst, ends=record.range)
    cell = interval_cell(found.value, found.interval, len(means), record.unit)
    places: list[Any] = [item.question for item in items]
    asked = {name_question(result.asked, place) for place in places}
    share = record.range == (0, 1)
    count = Cell(f"{len(means)} of {len(asked)}")
    return [Cell(cell.text, figure=cell.figure if share else None), Cell(cell.sub or NOTHING), count]
