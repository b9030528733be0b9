# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out. It has no embedding model, so no `bertscore`."""

from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

HERE = Path(__file__).parent
metric = evaluate.load(str(HERE / "crud_overlap.py"))


def score(table: list[list[Any]], profile: str) -> dict[str, Any]:
    """Score the rows that are not empty."""
    rows = [[str(cell or "") for cell in row] for row in table]
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    try:
        scores: dict[str, Any] = metric.compute(
            predictions=[row[0] for row in rows],
            references=[row[1] for row in rows],
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
            value=[
                ["上海市体育局发放了", "上海市体育局发放了500万元体育消费券。"],
                ["上海市体育局联合美团发放500万元消费券", "上海市体育局联合美团、大众点评发放500万元体育消费券"],
            ],
            headers=["prediction", "reference"],
            datatype="str",
            type="array",
            column_count=2,
            label="one answer per row",
        ),
        gr.Radio(["official", "corrected"], value="official", label="profile"),
    ],
    outputs=gr.JSON(label="result", open=True),
    title="CRUD-RAG overlap",
    article=card.split("---", 2)[-1],
    flagging_mode="never",
)

if __name__ == "__main__":
    demo.launch()
