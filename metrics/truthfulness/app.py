# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out.

It asks no judge: a reply that one gave elsewhere, or a human rating, is pasted beside each answer.
"""

import json
from pathlib import Path
from typing import Any

import evaluate
from page import CSS, PROFILE, listed, rows_of, shown, space

metric = evaluate.load(str(Path(__file__).with_name("truthfulness.py")))
TITLE = "CRAG truthfulness"
INTRO = """\
Put one answer a row into the table, beside it what is accepted (a text, or a JSON list of texts any one of which will
do), and, where the answer is neither an accepted one nor "I don't know", a judge's reply such as `{"score": 1}`.
`truthfulness` is the share of right answers minus the share of hallucinated ones (-1 to 1, higher is better). In
place of replies, rows may carry a human rating: perfect, acceptable, missing or incorrect."""
COLUMNS = ["prediction", "accepted", "verdict"]
EXAMPLE = [
    ["Paris", "paris", ""],
    ["I don't know.", "1912", ""],
    ["In 1990.", '["1989", "nineteen eighty-nine"]', '{"score": 0}'],
]
RATINGS = ("perfect", "acceptable", "missing", "incorrect")


class Pasted:
    """A judge that repeats what was pasted; a request begins with the row's number."""

    model = "pasted"

    def __init__(self, replies: list[str]) -> None:
        self.replies = replies

    def __call__(self, requests: list[Any]) -> list[str | None]:
        """One reply per request, None where none was pasted."""
        rows = [int(json.loads(request[0]["content"].splitlines()[0])) for request in requests]
        return [self.replies[row] or None for row in rows]


def score(table: Any, profile: str) -> tuple[str, dict[str, Any]]:
    """Score the rows that are not blank; they are rated by hand where one has a rating."""
    rows = rows_of(table, COLUMNS)
    verdicts = [row[2].strip() for row in rows]
    judged: dict[str, Any] = {}
    if any(verdict.lower() in RATINGS for verdict in verdicts):
        for n, verdict in enumerate(verdicts, 1):
            if verdict and verdict.lower() not in RATINGS:
                raise ValueError(f"row {n}: {verdict[:60]!r} is no rating, others are; expected {', '.join(RATINGS)}")
        judged = {"ratings": [verdict or None for verdict in verdicts]}
    elif any(verdicts):
        numbers = [str(i) for i in range(len(rows))]
        judged = {"judge": Pasted(verdicts), "questions": numbers, "prompt": "{question}\n{reference}\n{answer}"}
    for n, row in enumerate(rows, 1):
        if not row[1].strip() and "ratings" not in judged:
            raise ValueError(f"row {n}: accepted is empty; fill it in, or empty the whole row")
    scores = metric.compute(
        predictions=[row[0].strip() for row in rows],
        references=[listed(row[1].strip(), n) for n, row in enumerate(rows, 1)],
        profile=profile,
        **judged,
    )
    return shown(scores)


demo = space(
    TITLE, INTRO, COLUMNS, EXAMPLE, "one answer per row; the verdict is a judge's reply or a rating", [PROFILE], score
)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
