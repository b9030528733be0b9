"""By which metric answers are wrong, worse or better: one rule for the terminal, Python and the page."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from quadrag.errors import unknown_name
from quadrag.metric_record import is_called, metric_record, name_together, show_key

from ...results.run import PROFILES, Result
from ..compared.pairs import doubt_verdicts

_PLACE = ("config", "split", "id", "sample")  # of an item


class Reader(Protocol):
    """What of a run's `RunReader` the rule needs."""

    result: Result

    @property
    def items(self) -> Sequence[Mapping[str, Any]]:
        """The items, each with its values."""

    @property
    def metrics(self) -> Sequence[str]:
        """All metrics, as items name them."""

    @property
    def headlines(self) -> Sequence[str]:
        """Those that a summary shows."""

    @property
    def invalid(self) -> set[str]:
        """Those of which too many items failed."""


Run = Sequence[Reader]  # one, or one a config


def order_metrics(runs: Sequence[Run]) -> list[str]:
    """Order the metrics of runs, the headlines first; the first of all decides.

    It is the first headline with a better end that every run scored, and that tells which answers are better; of
    several runs one by which some answer differs from the first run's, where there is one.
    """
    readers = [reader for run in runs for reader in run]
    headlines = [name for reader in readers for name in reader.headlines]
    names = dict.fromkeys([*headlines, *(name for reader in readers for name in reader.metrics)])
    unfit = find_unfit(runs)
    scored = [{name for reader in run for name in names if _has_value(reader, name)} for run in runs]

    def lacks(name: str) -> tuple[bool, ...]:
        alike = name in headlines and len(runs) > 1 and not _differs(runs, name)
        ends = _direction(name) == "none"
        return name in unfit, not all(name in known for known in scored), ends, name not in headlines, alike

    return sorted(names, key=lacks)


def find_unfit(runs: Sequence[Run]) -> set[str]:
    """Find the metrics that do not tell which answers are better: invalid in a run, or judged otherwise than before."""
    readers = [reader for run in runs for reader in run]
    invalid = {name for reader in readers for name in reader.invalid}
    pairs = [(one.result, other.result) for run in runs[1:] for one in runs[0] for other in run]
    alike = [(one, other) for one, other in pairs if one.run.config == other.run.config]
    names = {name for reader in readers for name in reader.metrics}
    return invalid | {name for pair in alike for name in names if doubt_verdicts(*pair, name)}


def find_metric(runs: Sequence[Run], wanted: str | None) -> tuple[str, int, float | None]:
    """Return a metric's name in items, whether more is better (1) or worse (-1), and its best value.

    Args:
        runs: those that are looked at together.
        wanted: its key or name, or what it is called where it is shown; None: the first of `order_metrics`.

    Raises:
        QuadragError: no metric has the name.
    """
    names = order_metrics(runs)
    called = name_together(names)
    for name in names:
        module, _, key = name.partition(".")
        record = metric_record(module).key(key)
        if wanted in (None, called[name]) or is_called(wanted, module, key):
            higher = record.direction != "lower"
            return name, 1 if higher else -1, record.range[1 if higher else 0]
    keys = (name.partition(".")[2] for name in names)
    raise unknown_name("metric", str(wanted), dict.fromkeys([*called.values(), *keys]))


def list_others(runs: Sequence[Run], chosen: str) -> list[str]:
    """List the other headlines with a better end that every run has and that tell which answers are better."""
    unfit = find_unfit(runs)
    known = [{name for one in run for name in one.headlines} for run in runs]
    fit = [name for name in order_metrics(runs) if name != chosen and name not in unfit]
    return [name for name in fit if _direction(name) != "none" and all(name in run for run in known)]


def tell_others(counts: Mapping[str, tuple[int, int]]) -> str:
    """Say how many questions are better and worse by other metrics, counted by their names; "" where none is."""
    told = [
        f"{show_key(*name.split('.', 1))} {worse} worse, {better} better"
        for name, (better, worse) in counts.items()
        if better or worse
    ]
    return f"By other metrics: {'; '.join(told)}." if told else ""


def _has_value(reader: Reader, name: str) -> bool:
    return any((row.get(name) or {}).get(profile) is not None for row in reader.items for profile in PROFILES)


def _differs(runs: Sequence[Run], name: str) -> bool:
    """Whether some item has another value by a metric in the first run than in another one."""
    first, *others = (
        {tuple(row[part] for part in _PLACE): row[name] for one in run for row in one.items if row.get(name)}
        for run in runs
    )
    pairs = [(first[place], other[place]) for other in others for place in first.keys() & other.keys()]
    return any(one.get(profile) != other.get(profile) for one, other in pairs for profile in PROFILES)


def _direction(name: str) -> str:
    module, _, key = name.partition(".")
    return metric_record(module).key(key).direction
