# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out."""

from typing import Any

from page import CSS, Rows, answers, buttons, load, space

metric = load("rgb_accuracy")


def score(table: Rows, profile: str, language: str) -> dict[str, Any]:
    """Score the rows that are not blank."""
    return metric.compute(**answers(table, nested=True), profile=profile, language=language)


demo = space(buttons(metric), score)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
