# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out. It has no embedding model, so no `bertscore`."""

from typing import Any

from page import CSS, Rows, buttons, load, space

metric = load("crud_overlap")


def score(table: Rows, profile: str) -> dict[str, Any]:
    """Score the rows that are not blank."""
    answers, references = zip(*table, strict=True)
    return metric.compute(predictions=answers, references=references, profile=profile)


demo = space(buttons(metric), score)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
