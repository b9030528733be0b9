# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out."""

from pathlib import Path
from typing import Any

import evaluate
from page import CSS, PROFILE, listed, rows_of, shown, space

metric = evaluate.load(str(Path(__file__).with_name("omnieval_overlap.py")))
TITLE = "OmniEval overlap"
INTRO = """\
Put one answer a row into the table, and beside it what is accepted: a text, or a JSON list of texts any one of which
will do. `em` is the share of exact matches; `f1` and ROUGE say how far an answer overlaps with what is accepted (all
0 to 1, higher is better)."""
COLUMNS = ["prediction", "accepted"]
EXAMPLE = [
    ["净利润为 3.2亿元", '["3.2亿元", "净利润为3.2亿元"]'],
    ["上市公司需披露年度报告", "上市公司应当披露年度报告和季度报告"],
]


def score(table: Any, profile: str) -> tuple[str, dict[str, Any]]:
    """Score the rows that are not blank."""
    rows = rows_of(table, COLUMNS, required=("accepted",))
    scores = metric.compute(
        predictions=[row[0] for row in rows],
        references=[listed(row[1], n) for n, row in enumerate(rows, 1)],
        profile=profile,
    )
    return shown(scores)


demo = space(TITLE, INTRO, COLUMNS, EXAMPLE, "one answer per row", [PROFILE], score)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
