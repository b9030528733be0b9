# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out.

It asks no judge: a reply that one gave elsewhere, or a human rating, is pasted beside each answer.
"""

import json
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

HERE = Path(__file__).parent
metric = evaluate.load(str(HERE / "truthfulness.py"))
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


def reference(text: str) -> Any:
    """What is accepted, as typed: a JSON list of strings, else the text itself."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, list) else text


def score(table: list[list[Any]], profile: str) -> dict[str, Any]:
    """Score the rows that are not empty; they are rated by hand where every row has a rating."""
    rows = [[str(cell or "").strip() for cell in row] for row in table]
    rows = [row for row in rows if any(row)]
    pasted = [row[2] for row in rows]
    asked: dict[str, Any] = {}
    if rows and all(text.lower() in RATINGS for text in pasted):
        asked = {"ratings": pasted}
    elif any(pasted):
        numbers = [str(i) for i in range(len(rows))]
        asked = {"judge": Pasted(pasted), "questions": numbers, "prompt": "{question}\n{reference}\n{answer}"}
    try:
        scores: dict[str, Any] = metric.compute(
            predictions=[row[0] for row in rows],
            references=[reference(row[1]) for row in rows],
            profile=profile,
            **asked,
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
                ["Paris", "paris", ""],
                ["I don't know.", "1912", ""],
                ["In 1990.", '["1989", "nineteen eighty-nine"]', '{"score": 0}'],
            ],
            headers=["prediction", "accepted: a text or a JSON list", "the judge's reply, or in every row a rating"],
            datatype="str",
            type="array",
            column_count=3,
            label="one answer per row; without any reply, what the rules leave open has no value",
        ),
        gr.Radio(["official", "corrected"], value="official", label="profile"),
    ],
    outputs=gr.JSON(label="result", open=True),
    title="CRAG truthfulness",
    article=card.split("---", 2)[-1],
    flagging_mode="never",
)

if __name__ == "__main__":
    demo.launch()
