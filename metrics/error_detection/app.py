# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out.

It asks no judge. Verdicts made elsewhere can be pasted; a row without one is unscored where others have one.
"""

import json
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

HERE = Path(__file__).parent
metric = evaluate.load(str(HERE / "error_detection.py"))


class Pasted:
    """A judge that repeats what was pasted."""

    model = "pasted"

    def __init__(self, verdicts: list[str | None]) -> None:
        self.verdicts = verdicts

    def __call__(self, requests: list[Any]) -> list[str | None]:
        """The verdicts, whatever the requests."""
        return self.verdicts


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
        verdicts = [row[2] or None for row in rows]
        pasted = {"judge": Pasted(verdicts), "questions": [""] * len(rows)} if any(verdicts) else {}
        scores: dict[str, Any] = metric.compute(
            predictions=[row[0] for row in rows],
            references=[reference(row[1]) for row in rows],
            profile=profile,
            language=language,
            **pasted,
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
                [
                    "There are factual errors in the provided documents. It was Oslo.",
                    "Oslo",
                    "Yes, it has identified them.",
                ]
            ],
            headers=["prediction", "reference", "verdict"],
            datatype="str",
            type="array",
            column_count=3,
            label="one answer per row; verdicts may be left out",
        ),
        gr.Radio(["official", "corrected"], value="official", label="profile"),
        gr.Radio(["en", "zh"], value="en", label="language"),
    ],
    outputs=gr.JSON(label="result", open=True),
    title="RGB error detection",
    article=card.split("---", 2)[-1],
    flagging_mode="never",
)

if __name__ == "__main__":
    demo.launch()
