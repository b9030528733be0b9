# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: rows in, the result out."""

from typing import Any

import gradio as gr
from page import Rows, buttons, launch, load

metric = load("retrieval_ranking")


def split(text: str) -> list[str]:
    """Ids as typed: between commas or blanks."""
    return text.replace(",", " ").split()


def score(table: Rows, cuts: str, profile: str) -> dict[str, Any]:
    return metric.compute(
        predictions=[split(row[0]) for row in table],
        references=[split(row[1]) for row in table],
        k=[int(cut) if cut.isdecimal() else cut for cut in split(cuts)],
        profile=profile,
    )


CUTS = gr.Textbox(value="1, 5, 10", label="k: places that recall, nDCG and hit look at")
if __name__ == "__main__":
    launch([CUTS, *buttons(metric)], score)
