"""The table of search recall, of the sample, of a file and of the real questions."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from crag_recall import ROWS, Sees, row, values

from quadrag.baselines.crag.recall import sufficiency
from quadrag.baselines.crag.recall.search import search_recall
from quadrag.baselines.crag.recall.table import recall_grid, run_recall
from quadrag.baselines.tables.draw import print_grids
from quadrag.data.builders import open_builder, rows


def test_the_table() -> None:
    grid = recall_grid(search_recall(ROWS, [1, 3], Sees()), "made rows")
    assert [line.label for line in grid.lines] == [
        "1",
        "  n",
        "3",
        "  n",
        "without answers of up to 3 characters",
        " 1",
        "   n",
        " 3",
        "   n",
    ]
    assert [cell.text for cell in grid.lines[0].cells] == ["33.3", "66.7", "50.0"]
    assert [cell.text for cell in grid.lines[1].cells] == ["6", "6", "6"]
    assert [cell.text for cell in grid.lines[7].cells] == ["60.0", "80.0", "60.0"]
    notes = "\n".join(grid.notes)
    for part in (
        "On: made rows.",
        "Questions: 7, of which 6 have an answer",
        "such as yes, which stands on many pages by chance: 1.",
        f"Judged by sees-1, our instructions ({sufficiency.prompt_hash(sufficiency.LONGEST)}).",
        "Questions with fewer pages than asked for, all of which count: 6 of 7 for 3.",
        "task_1_2 has 5 pages that the authors drew at random from the first 10",
    ):
        assert part in notes
    shown_as = io.StringIO()
    print_grids([grid], shown_as)
    assert max(map(len, shown_as.getvalue().splitlines())) <= 80
    alone = recall_grid(search_recall([row("q", "Oslo", *[("x", "y")] * 6)], [6]), "s")
    assert len(alone.lines) == 2 and "judged sufficient (--judge)" in "\n".join(alone.notes)
    assert not any("task_1_2" in note for note in alone.notes), "six pages are not task_1_2's"


def test_the_sample_and_the_file(tmp_path: Path) -> None:
    builder, source = open_builder("crag", "task_3", "sample", None, "public")
    grid, stopped = run_recall(rows(builder, "public"), [1, 50], None, source.text, tmp_path / "new" / "recall.json")
    written = json.loads((tmp_path / "new" / "recall.json").read_text(encoding="utf-8"))
    assert stopped is None and written["judge"] is None and written["source"] == "bundled sample"
    assert [one["id"] for one in written["items"]] == [one["id"] for one in rows(builder, "public")]
    assert {one["pages"] for one in written["items"]} != {0}
    assert [cell.text for cell in grid.lines[0].cells] == [
        f"{one['value'] * 100:.1f}" for one in written["scores"][::2][:2]
    ]


def test_the_real_questions(real_data: Any) -> None:
    builder, _ = open_builder("crag", "task_1_2", str(real_data("CRAG")), None, "public")
    recalled = search_recall(rows(builder, "public"), [1, 2, 5])
    assert len(recalled.questions) == 6 and all(one.applicable for one in recalled.questions)
    # yes stands in a snippet by chance; en is a page's metadata. Whole sentences are found nowhere.
    assert values(recalled, "snippets") == [0.0, 1 / 6, 1 / 6]
    assert values(recalled, "pages") == [2 / 6, 2 / 6, 2 / 6]
    assert sum(one.short for one in recalled.questions) == 2
