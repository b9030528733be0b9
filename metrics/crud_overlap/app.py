# SPDX-License-Identifier: Apache-2.0
"""The Space of this metric: a table of answers in, the result out. It has no embedding model, so no `bertscore`."""

from pathlib import Path
from typing import Any

import evaluate
from page import CSS, PROFILE, rows_of, shown, space

metric = evaluate.load(str(Path(__file__).with_name("crud_overlap.py")))
TITLE = "CRUD-RAG overlap"
INTRO = """\
Put one Chinese answer a row into the table, and beside it its reference. BLEU and ROUGE-L say how far the two
overlap, over jieba's tokens (0 to 1, higher is better); `length` is the answer's number of characters. `bleu` has a
brevity penalty under `corrected` alone, `bleu_bp` always."""
COLUMNS = ["prediction", "reference"]
EXAMPLE = [
    ["上海市体育局发放了", "上海市体育局发放了500万元体育消费券。"],
    ["上海市体育局联合美团发放500万元消费券", "上海市体育局联合美团、大众点评发放500万元体育消费券"],
]


def score(table: Any, profile: str) -> tuple[str, dict[str, Any]]:
    """Score the rows that are not blank."""
    rows = rows_of(table, COLUMNS, required=("reference",))
    scores = metric.compute(
        predictions=[row[0] for row in rows],
        references=[row[1] for row in rows],
        profile=profile,
    )
    return shown(scores)


demo = space(TITLE, INTRO, COLUMNS, EXAMPLE, "one answer per row", [PROFILE], score)

if __name__ == "__main__":
    demo.launch(css=CSS, show_error=True)
