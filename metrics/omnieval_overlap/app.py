# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out."""

import json
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

HERE = Path(__file__).parent
metric = evaluate.load(str(HERE / "omnieval_overlap.py"))


def reference(text: str) -> Any:
    """What is accepted, as typed: a JSON list of strings, else the text itself."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, list) else text


def score(table: list[list[Any]], profile: str) -> dict[str, Any]:
    """Score the rows that are not empty."""
    rows = [[str(cell or "") for cell in row] for row in table]
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    try:
        scores: dict[str, Any] = metric.compute(
            predictions=[row[0] for row in rows],
            references=[reference(row[1]) for row in rows],
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
                ["净利润为 3.2亿元", '["3.2亿元", "净利润为3.2亿元"]'],
                ["上市公司需披露年度报告", "上市公司应当披露年度报告和季度报告"],
            ],
            headers=["prediction", "accepted answers"],
            datatype="str",
            type="array",
            column_count=2,
            label="one answer per row; accepted answers are a text or a JSON list",
        ),
        gr.Radio(["official", "corrected"], value="official", label="profile"),
    ],
    outputs=gr.JSON(label="result", open=True),
    title="OmniEval overlap",
    article=card.split("---", 2)[-1],
    flagging_mode="never",
)

if __name__ == "__main__":
    demo.launch()
