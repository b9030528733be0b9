# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: rows in, the result out."""

from typing import Any

from page import Rows, buttons, launch, load

metric = load("crud_overlap")


def score(table: Rows, profile: str) -> dict[str, Any]:
    answers, references = zip(*table, strict=True)
    return metric.compute(predictions=answers, references=references, profile=profile)


if __name__ == "__main__":
    launch(buttons(metric), score)
