"""A run's items with the metrics that they have values of, as the choice of a metric needs them (`chosen.py`)."""

from collections.abc import Mapping
from typing import Any

from ...results.items import read_items
from ...results.run import PROFILES, Result
from ...results.score import Status
from ..summary import pick_headlines


class ScoredItems:
    """The items of a run, without its questions and answers."""

    def __init__(self, result: Result) -> None:
        """Take a run's result."""
        self.result = result
        self.items = read_items(result)

    @property
    def metrics(self) -> list[str]:
        """All metrics, as items name them."""
        return list(dict.fromkeys(name for row in self.items for name in values_of(row)))

    @property
    def headlines(self) -> list[str]:
        """The metrics that a summary shows, as items name them."""
        there = {*self.metrics}
        rows = pick_headlines(self.result.scores, PROFILES[0])
        return list(dict.fromkeys(name for row in rows if (name := row.key.name) in there))

    @property
    def invalid(self) -> set[str]:
        """The metrics of which too many items failed, by the profile that the run is shown by, as items name them."""
        rows = [row for row in self.result.scores if row.profile == self.result.run.profile]
        return {row.key.name for row in rows if row.status is Status.INVALID}


def values_of(row: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the metrics of an item, by name."""
    return {name: entry for name, entry in row.items() if isinstance(entry, Mapping)}
