# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: rows in, the result out; verdicts made elsewhere are pasted."""

from typing import Any

from page import Rows, buttons, launch, load, read_list, verdicts

metric = load("rejection_rate")


def score(table: Rows, profile: str, language: str) -> dict[str, Any]:
    """Score the rows that are not blank, against references where every row has one."""
    golds = [read_list(row[1], n, nested=True) if row[1].strip() else None for n, row in enumerate(table, 1)]
    if None in golds and any(golds):
        raise ValueError(f"row {golds.index(None) + 1}: reference is empty, others are not; fill in all or none")
    return metric.compute_quietly(
        predictions=[row[0] for row in table],
        references=golds if any(golds) else None,
        profile=profile,
        language=language,
        **verdicts(row[2] for row in table),
    )


if __name__ == "__main__":
    launch(buttons(metric), score)
