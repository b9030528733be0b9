# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of rankings in, the result out."""

from typing import Any

import gradio as gr
from page import CSS, Rows, buttons, load, space

metric = load("retrieval_ranking")


def split(text: str) -> list[str]:
    """Ids as typed: between commas or blanks."""
    return text.replace(",", " ").split()


def score(table: Rows, cuts: str, profile: str) -> dict[str, Any]:
    """Score the rows that are not blank."""
    return metric.compute(
        predictions=[split(row[0]) for row in table],
        references=[split(row[1]) for row in table],
        k=[int(cut) if cut.isdecimal() else cut for cut in split(cuts)],
        profile=profile,
    )


CUTS = gr.Textbox(value="1, 5, 10", label="k: places that recall, nDCG and hit look at")
demo = space([CUTS, *buttons(metric)], score)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
