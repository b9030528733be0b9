# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out."""

import json
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

HERE = Path(__file__).parent
metric = evaluate.load(str(HERE / "rgb_accuracy.py"))


def reference(text: str) -> Any:
    """A gold answer as typed: JSON where it is a JSON string or list, else the text itself."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, str | list) else text


def score(table: list[list[Any]], profile: str, language: str) -> dict[str, Any]:
    """Score the rows that are not empty."""
    rows = [[str(cell or "") for cell in row] for row in table]
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    try:
        scores: dict[str, Any] = metric.compute(
            predictions=[row[0] for row in rows],
            references=[reference(row[1]) for row in rows],
            profile=profile,
            language=language,
        )
    except ValueError as error:
        raise gr.Error(str(error)) from error
    return scores


card = (HERE / "README.md").read_text(encoding="utf-8")
demo = gr.Interface(
    fn=score,
    inputs=[
        gr.Dataframe(
            value=[["The bridge is 70 km long.", "70"], ["In New York.", '[["NYC", "New York"]]']],
            headers=["prediction", "reference"],
            datatype="str",
            type="array",
            column_count=2,
            label="one answer per row; a reference is text or JSON",
        ),
        gr.Radio(["official", "corrected"], value="official", label="profile"),
        gr.Radio(["en", "zh"], value="en", label="language"),
    ],
    outputs=gr.JSON(label="result", open=True),
    title="RGB accuracy",
    article=card.split("---", 2)[-1],
    flagging_mode="never",
)

if __name__ == "__main__":
    demo.launch()
