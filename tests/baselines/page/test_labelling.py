"""The page to label on, in a real browser: keys, what is kept, the sheet that it saves and `--people` takes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from quadrag.baselines.certify.draw import Judged, draw_sheet, take_back
from quadrag.baselines.certify.grades import find_graded
from quadrag.baselines.page.labelling import write_labelling
from quadrag.sheet import write_sheet

EVIL = '</script><img src=x onerror="window.hit=1"><script>window.hit=1</script>, "quoted"\r\n=1+1'
GRADED = find_graded("truthfulness")
STARTS = ("", "=", "'=", "-5", "@", "'")
ITEMS = [
    Judged(f"id{n}", f"What is {n}?{EVIL}", f"gold {n}{EVIL}", f"{start}It is {n}.{EVIL}", n % 2)
    for n, start in enumerate(STARTS)
]


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens the page of the items; what goes wrong in it fails the test."""
    wrong = []
    context = browser.new_context(accept_downloads=True)
    rows, _ = draw_sheet(ITEMS, 4, GRADED)
    file = tmp_path / "label.html"
    write_labelling(file, rows, GRADED)

    def show():
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(("file:", "blob:")) else wrong.append(asked.url))
        page.goto(file.as_uri())
        return page

    yield show
    context.close()
    assert wrong == []


def saved(page, name):
    with page.expect_download() as waiting:
        page.keyboard.press("s")
    assert waiting.value.suggested_filename == "label.csv"
    path = Path(name)
    waiting.value.save_as(path)
    return path


def test_labels_by_keys_come_back_as_a_sheet(opened, tmp_path):
    page = opened()
    shown = []
    assert page.inner_text("#count") == "Answer 1 of 4; 0 labelled"
    for key in ("1", "2", "j", "1"):
        shown.append(page.locator("#item .text").all_inner_texts())
        page.keyboard.press(key)
    assert page.inner_text("#count") == "Answer 4 of 4; 3 labelled"
    sheet = take_back(saved(page, tmp_path / "a.csv"), ITEMS, GRADED)
    rows, _ = draw_sheet(ITEMS, 4, GRADED)
    assert sheet.values == {rows[1][0]: 1.0, rows[2][0]: 0.0, rows[4][0]: 1.0} and sheet.drawn and sheet.blank == 1
    assert page.inner_text("#asks") == "Is the answer right?"
    texts = [[text.replace("\r\n", "\n") for text in (row[1], row[3], row[4])] for row in rows[1:]]
    assert [[text.replace("\r\n", "\n") for text in one] for one in shown] == texts, "hostile texts are shown as texts"
    assert page.evaluate("window.hit") is None and page.locator("#item img").count() == 0


def test_what_is_saved_is_the_sheet_itself_but_for_labels(opened, tmp_path):
    rows, _ = draw_sheet(ITEMS, 4, GRADED)
    write_sheet(tmp_path / "sheet.csv", rows)
    got, want = (
        list(csv.reader(path.open(encoding="utf-8-sig", newline="")))
        for path in (saved(opened(), tmp_path / "a.csv"), tmp_path / "sheet.csv")
    )
    assert got == want


def test_a_label_is_changed_and_taken_off_and_stays_in_the_browser(opened, tmp_path):
    page = opened()
    for key in ("1", "k", "2", "2", "k", "0", "k"):
        page.keyboard.press(key)
    assert page.inner_text("#count") == "Answer 1 of 4; 1 labelled"
    assert page.locator("#grades button[aria-pressed=true]").all_inner_texts() == ["2 wrong"]
    again = opened()
    assert again.inner_text("#count") == "Answer 1 of 4; 1 labelled"
    again.click("#grades button >> nth=0")
    sheet = take_back(saved(again, tmp_path / "b.csv"), ITEMS, GRADED)
    assert list(sheet.values.values()) == [1.0]
