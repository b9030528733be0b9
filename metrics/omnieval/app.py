# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers and the replies that a judge gave elsewhere in, the result out.

It asks no judge. One metric at a time, since each has a reply of its own.
"""

import json
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

HERE = Path(__file__).parent
KEYS = ("acc", "hal", "com", "utl", "nac")
metrics = {key: evaluate.load(str(HERE / "omnieval.py"), key) for key in KEYS}
ROW = "{question}\n{references}\n{answer}\n{passages}"


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


def score(table: list[list[Any]], key: str, profile: str) -> dict[str, Any]:
    """Score the rows that are not empty."""
    rows = [[str(cell or "").strip() for cell in row] for row in table]
    rows = [row for row in rows if any(row)]
    try:
        scores: dict[str, Any] = metrics[key].compute(
            predictions=[row[0] for row in rows],
            references=[reference(row[1]) for row in rows],
            questions=[str(i) for i in range(len(rows))],
            judge=Pasted([row[2] for row in rows]),
            contexts=[""] * len(rows),
            profile=profile,
            prompts={key: ROW},
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
                ["3.2亿元", '["3.2亿元", "3.20亿元"]', '{"prediction": 2}'],
                ["约3亿元", "3.2亿元", "{'accuracy': 1}"],
                ["2019年", "2018年", "我认为不对"],
            ],
            headers=["prediction", "accepted: a text or a JSON list", "the judge's reply"],
            datatype="str",
            type="array",
            column_count=3,
            label="one answer per row; without a reply it is unscored",
        ),
        gr.Radio(list(KEYS), value="acc", label="metric"),
        gr.Radio(["official", "corrected"], value="official", label="profile"),
    ],
    outputs=gr.JSON(label="result", open=True),
    title="OmniEval, judged",
    article=card.split("---", 2)[-1],
    flagging_mode="never",
)

if __name__ == "__main__":
    demo.launch()
