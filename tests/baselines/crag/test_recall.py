"""Search recall by number of pages: what counts as found, the command's table and file, the real pages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from crag_runs import EXAMPLES
from hypothesis import given
from hypothesis import strategies as st

from quadrag.baselines.crag.recall import normalise, recall_at, search_pages

ARGUMENTS = ("recall", "crag", "task_1_2", "--data-dir", "sample", "--split", "public")


@pytest.mark.parametrize(("answer", "text", "found"), EXAMPLES["words"])
def test_whole_words_and_numbers_count(answer: str, text: str, found: bool) -> None:
    assert (normalise(answer) in normalise(text)) == found


@given(st.text(alphabet="aB1,. -'\u00ad\u0301", max_size=30))
def test_a_text_holds_itself_between_other_words(text: str) -> None:
    whole = normalise(text)
    assert whole == normalise(whole), "once is enough"
    assert whole in normalise(f"before {text} after") or re.search(r"^\s*[.,]|\u0301", text)


def row(answer: str | None, *pages: tuple[str, str | None], alternatives: tuple[str, ...] = ()) -> dict[str, Any]:
    """A row as the script gives it; of each page a snippet and the body of its HTML."""
    return {
        "id": "q",
        "answer": answer,
        "alternatives": list(alternatives),
        "search_results": [{"page_snippet": snippet} for snippet, _ in pages],
        "page_result": [html and f"<html><body><script>Oslo</script><p>{html}</p></body></html>" for _, html in pages],
    }


ROWS = [  # of each the first page with an answer in a snippet, and in snippet or text
    (row("Oslo", ("Oslo", "")), 1, 1),
    (row("Oslo", ("no", "in Oslo"), ("Oslo", "")), 2, 1),
    (row("Oslo", ("a", "b"), ("c", "d"), ("e", "f Oslo"), alternatives=("Christiania",)), None, 3),
    (row("Oslo", ("in Christiania", "x"), alternatives=("Christiania", "nan", " ")), 1, 1),
    (row("no", ("none", "<b>no</b>"), ("x", "y")), None, 1),
    (row("Oslo", ("x", "Bergen"), ("", None)), None, None),
    (row("Oslo", ("x", "y"), ("x", "y"), ("x", "y"), ("x", "Oslo")), None, None),  # behind the last page that is read
]
NOTHING = ["invalid question", "Invalid Question.", "I don't know", "I don\u2019t know", "nan", "", "  ", "?", None]


def test_first_pages_and_their_shares() -> None:
    found = [search_pages(one, 3) for one, _, _ in ROWS]
    assert [tuple(one.first.values()) for one in found] == [tuple(firsts) for _, *firsts in ROWS]
    found += [search_pages(row(answer, (answer or "x", ""), alternatives=("Oslo",)), 3) for answer in NOTHING]
    assert not any(one.applicable for one in found[7:])
    values = {place: mean.value for place, mean in recall_at(found, [1, 2, 3]).items()}
    assert [values["snippets", cut] for cut in (1, 2, 3)] == [2 / 7, 3 / 7, 3 / 7]
    assert [values["pages", cut] for cut in (1, 2, 3)] == [4 / 7, 4 / 7, 5 / 7]


def test_the_real_questions(real_data: Any, cli: Any) -> None:
    assert cli(*ARGUMENTS[:4], real_data("CRAG"), "--pages", "1,2,5", "--out", "r.json").code == 0
    values = {(one["way"], one["pages"]): one["value"] for one in json.loads(Path("r.json").read_text())["scores"]}
    # yes stands in a snippet by chance; en is a page's metadata. Whole sentences are found nowhere.
    assert [values["snippets", cut] for cut in (1, 2, 5)] == [0.0, 1 / 6, 1 / 6]
    assert [values["pages", cut] for cut in (1, 2, 5)] == [2 / 6, 2 / 6, 2 / 6]


def test_the_command_prints_a_table_and_writes_a_file(cli: Any) -> None:
    code, out, err = cli(*ARGUMENTS, "--pages", " 3,1,5,5", "--out", "recall.json")
    assert (code, err) == (0, "") and max(map(len, out.splitlines())) <= 80
    whole = json.loads(Path("recall.json").read_text(encoding="utf-8"))
    assert whole["source"] == "task_1_2 public, bundled sample" and len(whole["items"]) == 15
    found = {(row["way"], row["pages"]): round(row["value"] * 13) for row in whole["scores"]}
    shares = {way: [found[way, pages] for pages in (1, 3, 5)] for way in ("snippets", "pages")}
    assert shares == {"snippets": [1, 10, 10], "pages": [1, 11, 11]}
    assert {(row["n_scored"], row["n_total"]) for row in whole["scores"]} == {(13, 15)}
    assert "84.6" in out
