# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers and the replies that a judge gave elsewhere in, the result out.

It asks no judge. One metric at a time, since each has a reply of its own.
"""

import json
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
from page import CSS, PROFILE, listed, rows_of, shown, space

KEYS = {
    "acc": "accuracy",
    "hal": "hallucination",
    "com": "completeness",
    "utl": "utilization",
    "nac": "numerical accuracy",
}
metrics = {key: evaluate.load(str(Path(__file__).with_name("omnieval.py")), key) for key in KEYS}
TITLE = "OmniEval, judged"
INTRO = """\
Put one answer a row into the table, beside it what is accepted (a text, or a JSON list of texts) and the reply that a
judge gave about it, such as `{"prediction": 2}`. The value is the mean of the judge's verdicts, brought to 0 to 1;
higher is better, for `hal` lower. A row without a reply that can be read is unscored."""
COLUMNS = ["prediction", "accepted", "verdict"]
EXAMPLE = [
    ["3.2亿元", '["3.2亿元", "3.20亿元"]', '{"prediction": 2}'],
    ["约3亿元", "3.2亿元", "{'accuracy': 1}"],
    ["2019年", "2018年", "我认为不对"],
]


class Pasted:
    """A judge that repeats what was pasted; a request begins with the row's number."""

    model = "pasted"

    def __init__(self, replies: list[str]) -> None:
        self.replies = replies

    def __call__(self, requests: list[Any]) -> list[str | None]:
        """One reply per request, None where none was pasted."""
        rows = [int(json.loads(request[0]["content"].splitlines()[0])) for request in requests]
        return [self.replies[row] or None for row in rows]


def score(table: Any, key: str, profile: str) -> tuple[str, dict[str, Any]]:
    """Score the rows that are not blank."""
    rows = rows_of(table, COLUMNS, required=("accepted",))
    scores = metrics[key].compute(
        predictions=[row[0].strip() for row in rows],
        references=[listed(row[1].strip(), n) for n, row in enumerate(rows, 1)],
        questions=[str(i) for i in range(len(rows))],
        judge=Pasted([row[2].strip() for row in rows]),
        contexts=[""] * len(rows),
        profile=profile,
        prompts={key: "{question}\n{references}\n{answer}\n{passages}"},
    )
    return shown(scores)


demo = space(
    TITLE,
    INTRO,
    COLUMNS,
    EXAMPLE,
    "one answer per row; the verdict is the judge's reply",
    [gr.Radio([(f"{key}: {name}", key) for key, name in KEYS.items()], value="acc", label="metric"), PROFILE],
    score,
)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
