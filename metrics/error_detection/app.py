# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out.

It asks no judge. Verdicts made elsewhere can be pasted; a row without one is unscored where others have one.
"""

from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
from page import CSS, PROFILE, listed, rows_of, shown, space

metric = evaluate.load(str(Path(__file__).with_name("error_detection.py")))
TITLE = "RGB error detection"
INTRO = """\
Put one answer a row into the table, and beside it its true gold answer: a text, or a JSON list. `error_detection` is
the share of answers that point out the errors planted in their documents, known by the benchmark's phrase (0 to 1,
higher is better); `error_correction` is the share of these that are right. With a judge's verdicts,
`error_detection_judged` is the share in which the judge found the errors identified."""
COLUMNS = ["prediction", "reference", "verdict"]
EXAMPLE = [
    ["There are factual errors in the provided documents. It was Oslo.", "Oslo", "Yes, it has identified them."],
    ["The documents are mistaken, it was Rome.", "Rome", "Yes, it has identified them."],
    ["Lisbon.", "Madrid", "No."],
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
    """Score the rows that are not blank."""
    rows = rows_of(table, COLUMNS, required=("reference",))
    verdicts = [row[2] if row[2].strip() else None for row in rows]
    judged = {"judge": Pasted(verdicts), "questions": [""] * len(rows)} if any(verdicts) else {}
    scores = metric.compute(
        predictions=[row[0] for row in rows],
        references=[listed(row[1], n, nested=True) for n, row in enumerate(rows, 1)],
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
    "one answer per row; verdicts may be left out",
    [PROFILE, gr.Radio(["en", "zh"], value="en", label="language of the answers")],
    score,
)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
