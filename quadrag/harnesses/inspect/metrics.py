"""The metrics over a scorer's values: means to the last digit, by slice too, and what became of every item.

Inspect's own mean adds in another order than the evaluate modules do, so its last digit may differ.
"""
# mypy: allow-untyped-decorators
# Inspect's types are not there where ours are checked.

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, metric  # type: ignore[import-not-found]

from quadrag.harnesses.examination import average
from quadrag.stats import NOT_APPLICABLE

NOT_RUN = "not_run"
SCORED = "scored"
FAILED = ("api_error", "unparsable", "truncated")  # the order in which the modules count an item with several
_CELL = "cell"  # OmniEval's topics by tasks: a table of its own


@metric
def mean() -> Metric:
    """Return the mean of one value, in the order of the data; NaN where there is none."""

    def metric(scores: list[SampleScore]) -> float:
        return _mean(scores)

    return metric


@metric(name="in")
def by_slice() -> Metric:
    """Return the mean of one value in every slice, which Inspect calls ``in_finance(domain)``.

    What tells slices apart comes first, without a blank: Inspect cuts names at their end and breaks them at blanks.
    """

    def metric(scores: list[SampleScore]) -> dict[str, float]:
        groups: dict[str, dict[str, list[Any]]] = {}
        for score in scores:
            metadata = score.sample_metadata or {}
            for name in metadata.get("slices", ()):
                if name != _CELL:
                    groups.setdefault(name, {}).setdefault(metadata[name], []).append(score)
        return {f"{group}({name})": _mean(groups[name][group]) for name in groups for group in sorted(groups[name])}

    return metric


@metric(scores="unreduced")
def counts() -> Metric:
    """Return the number of items, of those that were scored, and of the others by reason."""

    def metric(scores: list[SampleScore]) -> dict[str, int]:
        found = Counter(str(score.score.value) for score in scores)
        scored = found.pop(SCORED, 0)
        return {"n_total": len(scores), "n_scored": scored, **dict(sorted(found.items()))}

    return metric


def gravest_reason(reasons: Iterable[str]) -> str | None:
    """Return the reason by which an item is counted; None where it is scored, or nothing but a judge is lacking."""
    found = [why for why in reasons if why != NOT_APPLICABLE and not why.startswith(NOT_RUN)]
    return next((why for why in (*FAILED, *found) if why in found), None)


def _mean(scores: Iterable[SampleScore]) -> float:
    ordered = sorted(scores, key=lambda score: (score.sample_metadata or {}).get("place", 0))
    found = average([score.score.as_float() for score in ordered])
    return math.nan if found is None else found
