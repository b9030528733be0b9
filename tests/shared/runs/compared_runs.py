"""Runs made up of values, to be compared, and what is said of two."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quadrag.baselines.core.result import Asked, Result, Stratum
from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.compared.paired.pairs import pair_results
from quadrag.run_record import Inputs, RunRecord

ROUGE = ("qa_1doc", "test", "crud_overlap", "rouge_l")


def run(
    values: Sequence[float | None],
    *,
    metric: str = "crud_overlap",
    key: str = "rouge_l",
    asked: Mapping[Any, Asked] | None = None,
    corrected: float | None = None,
) -> Result:
    """A run of one metric over one split of CRUD-RAG."""
    inputs = Inputs(quadrag="0", benchmark="crud_rag", config="qa_1doc", splits=["test"], retriever="bm25", llm="m")
    place = {"benchmark": "crud_rag", "config": "qa_1doc", "split": "test"}
    items = [
        place | {"id": str(i), "sample": 0, f"{metric}.{key}": {"official": value, "corrected": value or 0.0}}
        for i, value in enumerate(values)
    ]
    known = [value for value in values if value is not None]
    rows = [
        place
        | {"slice": name, "metric": metric, "key": key, "profile": profile, "value": value, "interval": None}
        | {"n_total": len(values), "n_scored": len(known), "unscored": {}, "signature": "s"}
        for name in ("all", "macro:domain")
        for profile, value in (("official", float(np.mean(known))), ("corrected", corrected))
        if value is not None
    ]
    return Result(RunRecord(inputs, provenance="authors"), rows, items, asked=asked or {})


def together(*parts: Result) -> Result:
    """One run with the metrics of several, which are over the same questions."""
    items = [dict(ChainMap(*rows)) for rows in zip(*(part.items for part in parts), strict=True)]
    return Result(parts[0].run, [row for part in parts for row in part.scores], items)


def fail(result: Result) -> Result:
    """The same run, whose items without a value failed."""
    for item in result.items:
        for entry in item.values():
            if isinstance(entry, dict) and entry["official"] is None:
                entry |= {"corrected": None, "reason": dict.fromkeys(("official", "corrected"), "raised")}
    for row in result.scores:
        row["unscored"] = {"raised": row["n_total"] - row["n_scored"]}
    return result


def ask(n: int, domains: Sequence[str], weights: Mapping[str, float] | None = None) -> dict[Any, Asked]:
    """Questions in domains by turns; in strata of one domain each, where these have weights."""
    found = {}
    for i in range(n):
        domain = domains[i % len(domains)]
        stratum = Stratum("all", domain, weights[domain]) if weights else None
        found["qa_1doc", "test", str(i)] = Asked(f"{i}", None, {"domain": domain}, stratum)
    return found


def words(first: Result, second: Result, **more: Any) -> list[str]:
    """The notes under a comparison of runs A and B."""
    return compare_runs([("A", first), ("B", second)], **more).notes


def span(first: Result, second: Result) -> str:
    """The interval and the p of a difference as they are said, of the second run less the first."""
    pair = pair_results(first, second, ROUGE)
    assert pair is not None
    low, high = pair.interval
    told = f"p {pair.p:.3f}" if pair.p >= 0.0005 else "p < 0.001"
    return f"95% {100 * low:.1f} to {100 * high:.1f}; {told}"
