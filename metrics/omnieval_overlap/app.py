# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out."""

from typing import Any

from page import CSS, Rows, answers, buttons, load, space

metric = load("omnieval_overlap")


def score(table: Rows, profile: str) -> dict[str, Any]:
    """Score the rows that are not blank."""
    return metric.compute(**answers(table), profile=profile)


demo = space(buttons(metric), score)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
