"""The single questions of a run as a table of pandas: what was asked, answered and expected, and every value."""

from collections.abc import Mapping
from typing import Any

from quadrag.baselines.core.result import Result
from quadrag.baselines.report.items import RunReader
from quadrag.baselines.scoring.validity import read_items


def item_frame(result: Result, profile: str, reader: RunReader | None) -> Any:
    """Make a `pandas.DataFrame` with a row for each question, or for each sample of it.

    Args:
        result: of the run.
        profile: ``official`` or ``corrected``.
        reader: of the run's folder and its data; None: without the texts.
    """
    import pandas  # type: ignore[import-untyped]

    rows = []
    for item in read_items(result.items):
        row = {name: item[name] for name in ("config", "split", "id", "sample")}
        if reader is not None:
            key = (item["config"], item["split"], item["id"])
            question, answer = reader.questions[key], reader.answers.get((key, item["sample"]))
            row |= {"query": question.query, "answer": answer and answer.answer, "gold": question.references}
        reasons: dict[str, None] = {}
        for name, entry in item.items():
            if isinstance(entry, Mapping):
                row[name] = entry.get(profile)
                if reason := (entry.get("reason") or {}).get(profile):
                    reasons[reason] = None
        rows.append({**row, "unscored": ", ".join(reasons) or None})
    return pandas.DataFrame(rows)
