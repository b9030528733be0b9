# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out."""

from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
from page import CSS, PROFILE, listed, rows_of, shown, space

metric = evaluate.load(str(Path(__file__).with_name("rgb_accuracy.py")))
TITLE = "RGB accuracy"
INTRO = """\
Put one answer a row into the table, and beside it its gold answer: a text, or a JSON list, `["3 January", "12
January"]` where all are needed, `[["NYC", "New York"]]` where one suffices. `accuracy` is the share of answers that
hold all that is needed (0 to 1, higher is better); `accuracy_bounded` asks besides that numbers and words match
whole, so that 70 is not found in 170."""
COLUMNS = ["prediction", "reference"]
EXAMPLE = [
    ["The bridge is 70 km long.", "70"],
    ["It is 170 km long.", "70"],
    ["In New York.", '[["NYC", "New York"]]'],
]


def score(table: Any, profile: str, language: str) -> tuple[str, dict[str, Any]]:
    """Score the rows that are not blank."""
    rows = rows_of(table, COLUMNS, required=("reference",))
    scores = metric.compute(
        predictions=[row[0] for row in rows],
        references=[listed(row[1], n, nested=True) for n, row in enumerate(rows, 1)],
        profile=profile,
        language=language,
    )
    return shown(scores)


demo = space(
    TITLE,
    INTRO,
    COLUMNS,
    EXAMPLE,
    "one answer per row",
    [PROFILE, gr.Radio(["en", "zh"], value="en", label="language of the answers")],
    score,
)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
