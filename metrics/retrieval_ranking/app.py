# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of rankings in, the result out."""

from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

HERE = Path(__file__).parent
metric = evaluate.load(str(HERE / "retrieval_ranking.py"))


def split(text: str) -> list[str]:
    """Ids as typed: between commas or blanks."""
    return text.replace(",", " ").split()


def score(table: list[list[Any]], cuts: str, profile: str) -> dict[str, Any]:
    """Score the rows that are not empty."""
    rows = [[str(cell or "") for cell in row] for row in table]
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    try:
        scores: dict[str, Any] = metric.compute(
            predictions=[split(row[0]) for row in rows],
            references=[split(row[1]) for row in rows],
            k=[int(cut) if cut.isdecimal() else cut for cut in split(cuts)],
            profile=profile,
        )
    except ValueError as error:
        raise gr.Error(str(error)) from error
    return scores


card = (HERE / "README.md").read_text(encoding="utf-8")
demo = gr.Interface(
    fn=score,
    inputs=[
        gr.Dataframe(
            value=[["d7, d3, d1", "d1, d3"], ["x, y, d1", "d1, d2"]],
            headers=["ranking", "relevant"],
            datatype="str",
            type="array",
            column_count=2,
            label="one ranking per row, best id first",
        ),
        gr.Textbox(value="1, 5, 10", label="k"),
        gr.Radio(["official", "corrected"], value="official", label="profile"),
    ],
    outputs=gr.JSON(label="result", open=True),
    title="Retrieval ranking",
    article=card.split("---", 2)[-1],
    flagging_mode="never",
)

if __name__ == "__main__":
    demo.launch()
