# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: rows in, the result out."""

from typing import Any

from page import Rows, answers, buttons, launch, load

metric = load("omnieval_overlap")


def score(table: Rows, profile: str) -> dict[str, Any]:
    return metric.compute(**answers(table), profile=profile)


if __name__ == "__main__":
    launch(buttons(metric), score)
