# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: rows in, the result out; verdicts made elsewhere are pasted."""

from typing import Any

from page import Pasted, Rows, answers, buttons, launch, load

metric = load("truthfulness")
RATINGS = ("perfect", "acceptable", "missing", "incorrect")


def judgement(verdicts: list[str]) -> dict[str, Any]:
    """The options that say what was judged: human ratings where a row has one, else replies where one has."""
    if any(verdict.lower() in RATINGS for verdict in verdicts):
        for n, verdict in enumerate(verdicts, 1):
            if verdict and verdict.lower() not in RATINGS:
                raise ValueError(f"row {n}: {verdict[:60]!r} is no rating, others are; expected {', '.join(RATINGS)}")
        return {"ratings": [verdict or None for verdict in verdicts]}
    numbers = [str(i) for i in range(len(verdicts))]
    prompt = "{question}\n{reference}\n{answer}"
    return {"judge": Pasted(verdicts), "questions": numbers, "prompt": prompt} if any(verdicts) else {}


def score(table: Rows, profile: str) -> dict[str, Any]:
    """Score the rows that are not blank; they are rated by hand where one has a rating."""
    rows = [[cell.strip() for cell in row] for row in table]
    judged = judgement([row[2] for row in rows])
    for n, row in enumerate(rows, 1):
        if not row[1] and "ratings" not in judged:
            raise ValueError(f"row {n}: accepted is empty; fill it in, or empty the whole row")
    return metric.compute_quietly(**answers(rows), **judged, profile=profile)


if __name__ == "__main__":
    launch(buttons(metric), score)
