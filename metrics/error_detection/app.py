# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: rows in, the result out; verdicts made elsewhere are pasted."""

from typing import Any

from page import Rows, answers, buttons, launch, load, verdicts

metric = load("error_detection")


def score(table: Rows, profile: str, language: str) -> dict[str, Any]:
    given = {**answers(table, nested=True), **verdicts(row[2] for row in table)}
    return metric.compute_quietly(**given, profile=profile, language=language)


if __name__ == "__main__":
    launch(buttons(metric), score)
