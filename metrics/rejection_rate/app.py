# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out.

It asks no judge. Verdicts made elsewhere can be pasted; a row without one is unscored where others have one.
"""

from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
from page import CSS, PROFILE, listed, rows_of, shown, space

metric = evaluate.load(str(Path(__file__).with_name("rejection_rate.py")))
TITLE = "RGB rejection rate"
INTRO = """\
Put one answer a row into the table: answers to questions whose documents do not hold the answer. `rejection_rate` is
the share that declines with the benchmark's phrase (0 to 1, higher is better). With a gold answer in every row,
`unsupported_correct` is the share that is right all the same; with a judge's verdicts, `rejection_rate_judged` is the
share that the judge found to decline."""
COLUMNS = ["prediction", "reference", "verdict"]
EXAMPLE = [
    [
        "I can not answer the question because of the insufficient information in documents.",
        "Lisbon",
        "No, it is not addressed.",
    ],
    ["I do not know.", "Oslo", "No, it is not addressed."],
    ["Lisbon.", "Lisbon", "Yes, it is addressed."],
]


class Pasted:
    """A judge that repeats what was pasted."""

    model = "pasted"

    def __init__(self, verdicts: list[str | None]) -> None:
        self.verdicts = verdicts

    def __call__(self, requests: list[Any]) -> list[str | None]:
        """The verdicts, whatever the requests."""
        return self.verdicts


def score(table: Any, profile: str, language: str) -> tuple[str, dict[str, Any]]:
    """Score the rows that are not blank, against references where every row has one."""
    rows = rows_of(table, COLUMNS)
    golds = [listed(row[1], n, nested=True) if row[1].strip() else None for n, row in enumerate(rows, 1)]
    if None in golds and any(golds):
        raise ValueError(f"row {golds.index(None) + 1}: reference is empty, others are not; fill in all or none")
    verdicts = [row[2] if row[2].strip() else None for row in rows]
    judged = {"judge": Pasted(verdicts), "questions": [""] * len(rows)} if any(verdicts) else {}
    scores = metric.compute(
        predictions=[row[0] for row in rows],
        references=golds if any(golds) else None,
        profile=profile,
        language=language,
        **judged,
    )
    return shown(scores)


demo = space(
    TITLE,
    INTRO,
    COLUMNS,
    EXAMPLE,
    "one answer per row; references and verdicts may be left out",
    [PROFILE, gr.Radio(["en", "zh"], value="en", label="language of the answers")],
    score,
)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
