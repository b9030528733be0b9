# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: rows in, the result out; verdicts made elsewhere are pasted."""

from typing import Any

import gradio as gr
from page import Pasted, Rows, answers, buttons, launch, load

KEYS = {
    "acc": "accuracy",
    "hal": "hallucination",
    "com": "completeness",
    "utl": "utilization",
    "nac": "numerical accuracy",
}
metrics = {key: load("omnieval", key) for key in KEYS}


def score(table: Rows, key: str, profile: str) -> dict[str, Any]:
    rows = [[cell.strip() for cell in row] for row in table]
    return metrics[key].compute_quietly(
        **answers(rows),
        questions=[str(i) for i in range(len(rows))],
        judge=Pasted([row[2] for row in rows]),
        contexts=[""] * len(table),
        profile=profile,
        prompts={key: "{question}\n{references}\n{answer}\n{passages}"},
    )


CHOICE = gr.Radio([(f"{key}: {name}", key) for key, name in KEYS.items()], value="acc", label="metric")
if __name__ == "__main__":
    launch([CHOICE, *buttons(metrics["acc"])], score)
