"""Each metric's Space starts as on the Hub and is used in a browser; `tests/metrics/test_apps.py` has its values."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

METRICS = Path(__file__).resolve().parents[2] / "metrics"
NAMES = sorted(path.parent.name for path in METRICS.glob("*/app.py"))
LONG = "上海发放500万元消费券，" + "很长的文本，" * 300 + "end <b>not bold</b> \"quoted\", 'so'"


def texts(name: str) -> dict[str, Any]:
    """What the page of a Space shows."""
    return yaml.safe_load((METRICS / name / "space.yaml").read_text(encoding="utf-8"))


def as_csv(rows: list[list[str]], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("server", NAMES, indirect=True)
def test_a_space_is_used_once(server: Any, page: Any) -> None:
    given, place = texts(server.name), 3 if server.name == "ragquesteval" else 0
    rows, names = given["example"], given["columns"]
    assert page.page.title() == given["title"] == page.page.locator("h1").first.inner_text()
    page.page.set_viewport_size({"width": 1280, "height": 900})
    assert page.cells(len(names)) == rows
    card = page.page.get_by_role("link", name="metric card").first
    page.page.locator(str(card.get_attribute("href"))).get_by_role("heading", name="Metric card: ").wait_for()

    rows[0][place] = LONG
    page.edit(0, place, LONG)
    assert page.cells(len(names)) == rows
    page.choose("corrected")
    result = page.submit()
    assert isinstance(result, dict), result
    assert "|profile:corrected|" in result["signature"] and result["n_total"] == len(result["per_item"])

    first = next(iter(result))
    summary = page.page.locator("#summary")
    summary.get_by_role("heading", name=f"{first}: {round(float(result[first]), 4)}", exact=True).wait_for()
    unscored = ", ".join(f"{n} {reason}" for reason, n in result["unscored"].items()) or "none"
    counts = f"n_total: {result['n_total']} · n_scored: {result['n_scored']} · unscored: {unscored}"
    assert summary.get_by_text("n_total").inner_text() == counts

    # On a telephone every column, its whole heading included, is in view.
    page.page.set_viewport_size({"width": 390, "height": 900})
    page.page.wait_for_function(
        """names => names.every(name => {
            const heading = document.querySelector(`th[title="${name}"]`)
            const [cell, text] = [heading, heading.querySelector("span")].map(e => e.getBoundingClientRect())
            return cell.left >= 0 && cell.right <= 390 && text.width > 0 && text.right <= cell.right
        })""",
        arg=names,
    )


@pytest.mark.parametrize("server", ["rgb_accuracy"], indirect=True)
def test_rows_are_pasted_and_what_is_wrong_is_told_in_one_line(server: Any, page: Any) -> None:
    names = texts(server.name)["columns"]
    pasted = [["About 70 km.", "70"], ["新款 iPhone", '["新款", "iphone"]'], ["<b>0</b>", "0"], ["x", '[["y", "z"]]']]
    for text in (as_csv([names, *pasted]), as_csv(pasted, "\t")):
        page.edit(0, 0, "from before")
        page.paste(text)
        page.page.get_by_test_id("cell-0-0").get_by_text(pasted[0][0], exact=True).wait_for()
        assert page.cells(len(names)) == pasted
        result = page.submit()
        assert isinstance(result, dict) and [row["accuracy"] for row in result["per_item"]] == [1, 1, 1, 0]
    page.edit(0, 1, '["a", 7')
    told = page.submit()
    assert isinstance(told, str) and "\n" not in told and told.startswith("row 1") and "Traceback" not in told
    assert not page.page.locator(".json-holder").count()
    assert page.page.locator("#summary").inner_text().strip() in ("", "Error"), "an old result beside the error"
    page.edit(0, 1, pasted[0][1])
    page.paste(as_csv([["a"] * (len(names) + 1)]))
    assert f"{len(names) + 1} cells" in page.error()
    page.paste('"a" b,c')
    assert "CSV" in page.error() and page.cells(len(names)) == pasted
    assert isinstance(page.submit(), dict)
    for row, cells in enumerate(pasted):
        for place in range(len(cells)):
            page.edit(row, place, "")
    assert re.match("the table is empty", str(page.submit()))


@pytest.mark.parametrize("server", ["retrieval_ranking"], indirect=True)
def test_a_cut_is_typed(page: Any) -> None:
    box = page.page.get_by_label("k: places")
    for text, named in {"1, x": "k[1] is 'x'", "0": "k[0] is 0", "": "k is empty"}.items():
        box.fill(text)
        assert str(page.submit()).startswith(named)
    box.fill("3 2")
    result = page.submit()
    assert isinstance(result, dict) and result["recall@3"] == 0.75
