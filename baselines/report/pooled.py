"""A metric of one run over all splits of its config together: a question of several splits counts once.

Two runs are compared so, too (`compared/overall.py`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from quadrag.metric_record import metric_record, show_key
from quadrag.records import Key
from quadrag.stats import NOT_APPLICABLE, Item, summarise
from quadrag.stats.items import choose_fill, counted

from ..core.result import Asked, Result
from ..scoring.rows import items_of
from ..scoring.validity import is_alike, is_invalid
from ..tables.cells import FEW, NOTHING, Row, interval_cell, mark_cell
from ..tables.grid import Cell, Line
from .compared.names import Place

WEIGHTED = "_weighted"  # at the end of a key whose questions do not count alike


class Pooled(NamedTuple):
    """A metric over all splits of a config.

    Attributes:
        value: in the metric's own unit.
        cells: of value, interval and count of questions.
        interval: of the value; None where there is none, as of too few questions.
        n: the questions that the value is over.
        n_total: all questions.
        unscored: how many have a value in no split, by their first reason.
        signature: how it was computed.
    """

    value: float | None
    cells: list[Cell]
    interval: tuple[float, float] | None = None
    n: int = 0
    n_total: int = 0
    unscored: Mapping[str, int] = {}
    signature: str = ""


def name_whole(splits: int) -> str:
    """Name all splits of a config where a split's name stands."""
    return f"all {splits} splits"


def is_whole(split: str) -> bool:
    """Whether it is such a name."""
    return split.startswith("all ") and split.endswith(" splits")


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
    """Make lines of what `pool_metrics` finds."""
    return [
        Line(f"{split}/{show_key(metric, key)}", one.cells)
        for (_, split, metric, key), one in pool_metrics(result, rows, profile).items()
    ]


def pool_metrics(result: Result, rows: Sequence[Row], profile: str) -> dict[Place, Pooled]:
    """Take the metrics that all splits of a config have over all of them; of a config of one split there are none.

    Args:
        result: of a run.
        rows: its headlines.
        profile: ``official`` or ``corrected``.
    """
    splits: dict[str, set[str]] = {}
    metrics: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        splits.setdefault(row["config"], set()).add(row["split"])
        if not (is_invalid(row) or is_alike(row) or row["key"].endswith(WEIGHTED) or row["value"] is None):
            metrics.setdefault((row["config"], row["metric"], row["key"]), []).append(row)
    return {
        (config, name_whole(len(here)), metric, key): _pool(result, here, profile)
        for (config, metric, key), here in metrics.items()
        if 1 < len(splits[config]) == len(here) and metric_record(metric).key(key).direction != "none"
    }


def _pool(result: Result, rows: Sequence[Row], profile: str) -> Pooled:
    config, metric, key = (rows[0][name] for name in ("config", "metric", "key"))
    record = metric_record(metric).key(key)
    items = items_of([row for row in result.items if row["config"] == config], f"{metric}.{key}", profile)
    counting: dict[Any, list[float]] = {}
    for place, value in average_samples(items, choose_fill(profile, record.worst)).items():
        counting.setdefault(name_question(result.asked, place), []).append(value)
    means = [Item(question, fmean(values)) for question, values in counting.items()]
    found = summarise(means, profile=profile, worst=record.worst, ends=record.range)
    cell = interval_cell(found.value, found.interval, len(means), record.unit)
    asked: dict[Any, list[str | None]] = {}
    for item in items:
        at: Any = item.question
        asked.setdefault(name_question(result.asked, at), []).append(item.reason)
    unscored = Counter(why[0] or "" for why in asked.values() if all(why))
    del unscored[NOT_APPLICABLE]
    share = record.range == (0, 1)
    n, total = len(means), len(asked)
    shown = mark_cell(Cell(cell.text, figure=cell.figure if share else None), *rows)
    return Pooled(
        found.value,
        [shown, Cell(cell.sub or NOTHING), Cell(f"{n} of {total}")],
        (found.interval.low, found.interval.high) if found.interval and n >= FEW else None,
        n,
        total,
        unscored,
        "; ".join(dict.fromkeys(row["signature"] for row in rows)),
    )
