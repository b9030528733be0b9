# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of rankings in, the result out."""

from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
from page import CSS, PROFILE, rows_of, shown, space

metric = evaluate.load(str(Path(__file__).with_name("retrieval_ranking.py")))
TITLE = "Retrieval ranking"
INTRO = """\
Put one ranking a row into the table, as ids between commas or blanks, best first, and beside it the ids that are
relevant. `map`, `mrr`, recall, nDCG and hit rate say how early the relevant ids come (0 to 1, higher is better). A
row without relevant ids enters no mean."""
COLUMNS = ["ranking", "relevant"]
EXAMPLE = [
    ["d7, d3, d1", "d1, d3"],
    ["x, y, d1", "d1, d2"],
]


def split(text: str) -> list[str]:
    """Ids as typed: between commas or blanks."""
    return text.replace(",", " ").split()


def score(table: Any, cuts: str, profile: str) -> tuple[str, dict[str, Any]]:
    """Score the rows that are not blank."""
    rows = rows_of(table, COLUMNS)
    scores = metric.compute(
        predictions=[split(row[0]) for row in rows],
        references=[split(row[1]) for row in rows],
        k=[int(cut) if cut.isdecimal() else cut for cut in split(cuts)],
        profile=profile,
    )
    return shown(scores)


demo = space(
    TITLE,
    INTRO,
    COLUMNS,
    EXAMPLE,
    "one ranking per row, best id first",
    [gr.Textbox(value="1, 5, 10", label="k: places that recall, nDCG and hit look at"), PROFILE],
    score,
)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
