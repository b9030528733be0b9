"""Runs of which questions failed that their values leave out: where they stand once these count as wrong."""

from collections.abc import Mapping, Sequence

from quadrag.metric_record import metric_record

from ..scoring.faults import count_failed
from ..tables.cells import Row, count_items, format_value, unit_of
from ..tables.grid import Verdict


def count_left_out(row: Row) -> int:
    """Count the items that failed and that a row's value leaves out; over all splits, of each of these."""
    if "left_out" in row:
        return int(row["left_out"])
    return int(min(count_failed(row), row["n_total"] - row.get("n_not_applicable", 0) - (count_items(row) or 0)))


def count_wrong(row: Row) -> float:
    """Return what a row's value would be, were each item that failed a wrong one."""
    if "with_wrong" in row:
        return float(row["with_wrong"])
    scored, failed = count_items(row) or 0, count_left_out(row)
    worst = metric_record(row["metric"]).key(row["key"]).worst
    return float((row["value"] * scored + worst * failed) / (scored + failed) if failed else row["value"])


def tell_failing(rows: Mapping[str, Row], leader: str = "", label: str = "") -> list[str]:
    """Say of runs what they are if what failed counts as wrong, where that puts them behind another one.

    Args:
        rows: of one metric, by the names of runs; each has a value.
        leader: the run that leads, of which it is said at any rate.
        label: what the metric is called, where that is not clear.
    """
    told: list[str] = []
    for name, row in rows.items():
        sign = -1 if metric_record(row["metric"]).key(row["key"]).direction == "lower" else 1
        falls = any(
            sign * row["value"] > sign * other["value"] and sign * count_wrong(row) < sign * count_wrong(other)
            for other in rows.values()
        )
        if (failed := count_left_out(row)) and (falls or name == leader):
            scored = count_items(row) or 0
            value = format_value(row["value"], unit_of(row), scored)
            wrong = format_value(count_wrong(row), unit_of(row), scored)
            has = f"{name} has {value}" + f" on {label}" * bool(label)
            whole = row.get("n_answers", scored + failed)
            told.append(Verdict(f"{has}, but failed on {failed} of {whole} ({wrong} if these count as wrong)."))
    return told


def tell_order(rows: Sequence[Row]) -> list[str]:
    """Say by what runs stand, the best first, where it is not by their values alone.

    Args:
        rows: of one metric, in the order in which they stand; each has a value.
    """
    lower = bool(rows) and metric_record(rows[0]["metric"]).key(rows[0]["key"]).direction == "lower"
    values = [row["value"] for row in rows]
    if values == sorted(values, reverse=not lower):
        return []
    failed = any(map(count_left_out, rows))
    return ["The best first, what failed counted as wrong." if failed else "The best first, by the difference."]
