"""What a person does on the page, in a real browser: search, filter, sort, open, go on, compare, print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quadrag.baselines.page.answers import Answers
from quadrag.baselines.page.changes import list_changes
from quadrag.baselines.page.packed import ITEMS, pack_answers
from quadrag.baselines.page.page import HERE, render_page
from quadrag.baselines.tables.grid import Cell, Figure, Grid, Line
from quadrag.records import Passage

EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>javascript:window.hit=1 \' ${window.hit=1}'
MANY = 3 * ITEMS + 7


def make_answers(runs: int = 2, count: int = MANY, evil: str = "") -> Answers:
    """Items of which every third is wrong in the first run, every fourth in the second."""
    names = [f"run {'AB'[at]}{evil}" for at in range(runs)]
    passages = {Passage(f"p{n}{evil}", f"title {n}{evil}", f"passage number {n} 中文{evil}"): n for n in range(count)}
    listed, items = [], []
    for n in range(count):
        there = [n != 6 or run == 0 for run in range(runs)]
        values = [
            [float(n % (3 + run) != 0), None if n == 5 else n / count] if has else [None, None]
            for run, has in enumerate(there)
        ]
        asked = f"What is number {n}?{evil}"
        listed.append(
            {
                "place": f"rgb/c/all/{n}/0/0",
                "id": f"{n}{evil}",
                "sample": 0,
                "question": asked[:20],
                "answers": [f"It is {n}." if has else None for has in there],
                "failed": ["error: no index" if n == 3 else ""] + [""] * (runs - 1),
                "values": values,
                "groups": {"benchmark": "rgb", "topic": f"topic {n % 2}{evil}"},
            }
        )
        side = {
            "rest": f" The end of {n}.{evil}",
            "passages": [[n, 0.5, True], [(n + 1) % count, None, False]],
            "reasons": {"m.rank": "corrected unparsable"} if n == 5 else {},
            "found": f"gold in passage 1{evil}",
            "scored": f"Scored of {n}{evil}",
            "verdicts": {f"judge{evil}": [f"Verdict {n}{evil}"]},
        }
        item = {"rest": asked[20:], "history": [["before" + evil, None]], "gold": [f"{n}{evil}"]}
        items.append({**item, "runs": [side if answer else None for answer in listed[-1]["answers"]]})
    metrics = [
        {
            "name": "m.exact",
            "label": f"exact{evil}",
            "sign": 1,
            "best": 1.0,
            "worst": 0.0,
            "other": False,
            "unfit": False,
        },
        {"name": "m.rank", "label": "rank", "sign": 1, "best": 1.0, "worst": 0.0, "other": False, "unfit": False},
    ]
    return Answers({"runs": names, "called": [*"AB"[:runs]], "metrics": metrics, "items": listed}, items, passages)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A function that opens the page of some answers; what goes wrong in it fails the test."""
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def show(answers: Answers, labels: str = "en", address: str = "", which: str = "all") -> Any:
        file = tmp_path / "page.html"
        file.write_text(render_page("title", [], [], [], pack_answers(answers), labels), encoding="utf-8")
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith("file:") else None)
        page.goto(f"{file.as_uri()}{address}")
        page.wait_for_selector("html[data-ready]")
        if which != page.input_value("#which"):
            page.select_option("#which", which)
        return page

    yield show
    context.close()
    assert wrong == []


def count_of(page: Any) -> str:
    return str(page.inner_text("#count"))


def counted(page: Any, beginning: str) -> None:
    """Wait until a search is done and has found so many."""
    page.locator("#count", has_text=beginning).wait_for()


def listed(page: Any) -> list[int]:
    """The numbers of the entries in the list."""
    return [int(text.removeprefix("What is number ").rstrip("?")) for text in page.locator("#list b").all_inner_texts()]


def test_the_list_shows_questions_and_the_beginnings_of_answers(opened):
    page = opened(make_answers())
    assert count_of(page) == f"{MANY} of {MANY} answers"
    assert listed(page) == list(range(100))
    assert "B: It is 1." in page.locator("#list li").nth(1).inner_text()
    page.click("#more")
    assert listed(page) == list(range(MANY)) and page.is_hidden("#more")


def test_runs_that_disagree_are_shown_first(opened):
    page = opened(make_answers(), which="disagree")
    assert len(listed(page)) == int(count_of(page).split()[0]) < 100
    page = opened(make_answers(runs=1))
    assert page.input_value("#which") == "all"
    answers = make_answers()
    for item in answers.index["items"]:
        item["values"] = [[1.0, 1.0], [1.0, 0.5]]
    page = opened(answers)
    assert page.locator("#metric option:checked").inner_text() == "exact", "the metric that decides"
    assert page.input_value("#which") == "all"


def test_filters_by_verdict_and_group_and_sorts(opened):
    page = opened(make_answers())
    page.select_option("#which", "wrong")
    wrong = [n for n in range(MANY) if n % 3 == 0 or n % 4 == 0]
    assert listed(page) == wrong
    page.select_option("#group", label="topic 1")
    assert listed(page) == [n for n in wrong if n % 2]
    page.select_option("#group", "")
    page.select_option("#which", "disagree")
    assert set(listed(page)) == {n for n in range(MANY) if (n % 3 == 0) != (n % 4 == 0)} - {6}
    page.select_option("#which", "won")
    assert set(listed(page)) == {n for n in range(MANY) if n % 3 == 0 and n % 4} - {6}
    page.select_option("#which", "unscored")
    assert page.locator("#metric option:checked").inner_text() == "rank", "the first metric that lacks a value"
    assert listed(page) == [5]
    page.select_option("#which", "all")
    page.select_option("#sort", "worst")
    assert listed(page)[:6] == [0, 1, 2, 3, 4, 6], "what has no value comes last"
    signs = [entry.get_attribute("class") for entry in page.locator("#list li:nth-child(-n+2) .verdict").all()]
    assert signs == ["verdict wrong"] * 2 + ["verdict "] * 2, "between the ends a value is neither right nor wrong"
    page.select_option("#which", "unscored")
    assert listed(page) == [5]


def test_a_search_reads_whole_texts_and_passages_where_asked(opened):
    page = opened(make_answers())
    page.fill("#search", "END OF 77")
    counted(page, "1 of")
    assert listed(page) == [77]
    page.fill("#search", "number 77 中文")
    counted(page, "0 of")
    page.check("#deep")
    counted(page, "2 of")
    assert listed(page) == [76, 77], "both show the passage"


def test_one_click_shows_the_whole_of_a_question(opened):
    page = opened(make_answers())
    page.click("#list li:nth-child(9) button")
    page.wait_for_selector("#item h3")
    text = page.inner_text("#item")
    for part in ("What is number 8?", "It is 8. The end of 8.", "passage number 8", "passage number 9", "Verdict 8"):
        assert part in text
    assert text.count("gold in passage 1") == 1 and text.count("Scored of 8") == 2, "of each run, as its answer"
    assert "run A" in text and "run B" in text and "▼" in text, "B lost what A had"
    assert page.locator("#item mark.shared").first.inner_text() == "8", "what answer and gold share is marked"
    assert page.locator("#item .gold").count() == 1, "passages that both runs have stand once"
    assert page.url.endswith("#item=rgb/c/all/8/0/0")
    page.click("#list li:nth-child(7) button")
    page.locator("#item h3", has_text="number 6?").wait_for()
    assert "(not in this run)" in page.inner_text("#item")
    page.click("#list li:nth-child(6) button")
    page.locator("#item h3", has_text="number 5?").wait_for()
    assert "corrected unparsable" in page.inner_text("#item"), "why there is no value"


def test_what_runs_do_not_share_stands_at_each_and_what_a_judge_repeats_stands_once(opened):
    answers = make_answers(count=4)
    before, after = answers.items[1]["runs"]
    answers.items[1]["runs"] = [before, {**after, "passages": after["passages"][:1]}]
    before["verdicts"] = {"acc": ["right", "right", "wrong"], "hal": ["right"]}
    page = opened(answers, address="#item=rgb/c/all/1/0/0")
    page.wait_for_selector("#item h3")
    assert page.locator("#item .gold").count() == 2
    assert page.locator("#item section").first.locator("blockquote").all_inner_texts() == [
        "acc × 2, hal\nright",
        "acc\nwrong",
    ]


def test_keys_go_on_search_and_close(opened):
    page = opened(make_answers())
    page.select_option("#which", "wrong")
    page.evaluate("document.activeElement.blur()")
    for key, number in (("j", 0), ("j", 3), ("j", 4), ("k", 3)):
        page.keyboard.press(key)
        page.locator("#item h3", has_text=f"number {number}?").wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    assert not page.evaluate("document.body.classList.contains('opened')")


def test_a_link_opens_its_question(opened):
    page = opened(make_answers(), address="#item=rgb/c/all/142/0/0")
    page.wait_for_selector("#item h3")
    assert "What is number 142?" in page.inner_text("#item")
    page = opened(make_answers(), address="#item=%ff%", which="disagree")
    assert count_of(page) == "This page has no such answer."


def test_every_character_is_unpacked_as_it_was(opened):
    known = "".join(chr(code) for code in range(0x20, 0x30000) if not 0xD800 <= code < 0xE000)
    texts = [known[at : at + 1024] for at in range(0, len(known), 1024)]
    answers = make_answers(count=1)
    answers.passages.clear()
    answers.passages |= {Passage(f"{at}", "", text): at for at, text in enumerate(texts)}
    page = opened(answers)
    read = page.evaluate("unpack('passages-0')")
    assert [at for at, text in enumerate(texts) if read[at][2] != text] == []


def test_hostile_texts_stay_texts(opened):
    page = opened(make_answers(evil=EVIL))
    scripts = page.evaluate("document.scripts.length")
    page.click("#list li:nth-child(2) button")
    page.wait_for_selector("#item h3")
    page.fill("#search", "<img src=x")
    counted(page, f"{MANY} of")
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.scripts.length") == scripts
    assert page.locator("main img").count() == 0
    assert page.inner_text("#item").count(EVIL) >= 8


def test_an_answer_that_failed_says_why(opened):
    answers = make_answers()
    answers.index["items"][3]["answers"] = ["", "It is 3."]
    answers.items[3]["runs"][0]["rest"] = ""
    page = opened(answers)
    assert "A: error: no index" in page.locator("#list li").nth(3).inner_text()
    page.click("#list li:nth-child(4) button")
    page.wait_for_selector("#item h3")
    assert "error: no index" in page.inner_text("#item") and "(empty)" not in page.inner_text("#item")


def test_the_order_of_two_runs_has_its_own_name(opened):
    page = opened(make_answers())
    assert page.locator('#sort option[value="change"]').inner_text() == "largest change first"


def test_one_run_has_no_choice_between_runs(opened):
    page = opened(make_answers(runs=1))
    for name in ("disagree", "won", "lost", "change"):
        assert page.locator(f'option[value="{name}"]').count() == 0
    page.click("#list button")
    page.wait_for_selector("#item h3")
    assert "run A" not in page.inner_text("#item")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_chosen(opened, scheme):
    page = opened(make_answers())
    page.emulate_media(color_scheme=scheme)
    paper = "getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 27)"}
    assert page.evaluate(paper) == colours[scheme]
    page.click("#theme")
    assert page.evaluate(paper) == next(colour for name, colour in colours.items() if name != scheme)


def test_a_narrow_page_shows_the_list_or_the_question(opened):
    page = opened(make_answers())
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.click("#list button")
    page.wait_for_selector("#item h3")
    assert page.is_hidden("#list") and page.is_visible("#item .back")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.click("#item .back")
    assert page.is_visible("#list")


def test_print_leaves_out_what_is_for_the_screen(opened):
    page = opened(make_answers())
    page.click("#list button")
    page.wait_for_selector("#item h3")
    page.emulate_media(media="print")
    assert page.is_hidden(".controls") and page.is_hidden("#list") and page.is_visible("#item h3")


def test_the_words_are_those_of_a_language(opened):
    page = opened(make_answers(), labels="zh")
    assert count_of(page) == f"{MANY} 条回答中的 {MANY} 条"
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    words = json.loads(page.evaluate("document.getElementById('words').textContent"))
    used = set(re.findall(r"WORDS\.(\w+)", "".join(path.read_text(encoding="utf-8") for path in HERE.glob("*.js"))))
    assert used <= words.keys() and len(used) > 10


def test_a_chart_is_as_wide_as_the_page_lets_it_and_its_table_is_a_click_away(browser, tmp_path):
    pytest.importorskip("vl_convert")
    lines = [Line(f"model {n}", [Cell(f"{n}.0", "", Figure(float(n), (n - 1.0, n + 1.0), 9))]) for n in (3, 4)]
    grid = Grid("A table", "", ["accuracy"], lines, [], "points")
    file = tmp_path / "page.html"
    file.write_text(render_page("title", [], [grid]), encoding="utf-8")
    for width, shown, hidden in ((1280, "broad", "narrow"), (400, "narrow", "broad")):
        context = browser.new_context(viewport={"width": width, "height": 900})
        page = context.new_page()
        page.goto(file.as_uri())
        chart = page.get_by_role("img", name="A table · accuracy")
        assert chart.count() == 1 and chart.get_attribute("class") == shown and page.is_hidden(f"svg.{hidden}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.is_hidden("table")
        page.click("details.table summary")
        assert page.is_visible("table")
        context.close()


@pytest.mark.parametrize("width", [390, 320])
def test_two_runs_and_their_difference_are_whole_on_a_narrow_page(browser, tmp_path, width):
    cells = [Cell("2,210.5", "1,198–2,222"), Cell("1,473.6", "1,444–1,499"), Cell("-1,263.1*", "-1,277 to -1,247")]
    heads = ["a_name_that_is_long", "another_long_name", "another_long_name\n- a_name_that_is_long"]
    grid = Grid("Comparison", "config, split: metric", heads, [Line("accuracy " * 9, cells)], [], "forest")
    file = tmp_path / "page.html"
    file.write_text(render_page("title", [], [grid]), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    for row in page.locator("tr").all():
        boxes = [cell.bounding_box() for cell in row.locator("th, td").all()]
        ends = [box["x"] + box["width"] for box in boxes]
        assert len(ends) == 4 and ends[-1] <= width, "in sight"
        assert all(end <= box["x"] + 1 for end, box in zip(ends, boxes[1:], strict=False)), "none lies over another"
    assert page.evaluate("[...document.querySelectorAll('td')].every(cell => cell.scrollWidth <= cell.clientWidth)")
    context.close()


def test_a_table_too_wide_for_the_page_says_so_and_no_word_of_its_head_is_broken(browser, tmp_path):
    lines = [Line("a_label_that_is_long", [Cell("100.0", "-12.3 to 45.6")] * 6)]
    wide = Grid("Wide", "", ["accuracy", "missing", "halluci-\nnation", "error_detection_judged", "n", "m"], lines)
    file = tmp_path / "page.html"
    file.write_text(render_page("title", [], [wide, Grid("Small", "", ["n"], [Line("x", [Cell("1")])])]))
    context = browser.new_context(viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector(".wide.cut")
    cut = page.evaluate("[...document.querySelectorAll('.wide')].map((one) => one.matches('.cut'))")
    assert cut == [True, False]
    assert "sideways" in page.evaluate("getComputedStyle(document.querySelector('.cut'), '::before').content")
    lines_of = page.evaluate(
        """[...document.querySelectorAll('thead th')].slice(1, 4).map((head) => {
          const range = document.createRange();
          range.selectNodeContents(head);
          return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
        })"""
    )
    assert lines_of == [1, 1, 2], "as many as the head itself has"
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()


def test_the_top_of_a_page_leads_to_the_wrong_answers(opened):
    page = opened(make_answers(1))
    wrong = [n for n in range(MANY) if n % 3 == 0]
    page.click(f"nav a:text('wrong · {len(wrong)} (exact)')")
    counted(page, f"{len(wrong)} of ")
    assert listed(page) == wrong[:100]
    assert opened(make_answers(2)).locator("nav a:text('wrong')").count() == 0


def test_of_several_matrices_the_first_is_open_and_a_link_opens_another(browser, tmp_path):
    matrices = [Grid(f"Table {n}", "", ["a"], [Line("x", [Cell(f"{n}.5")])], [], "heat") for n in range(3)]
    file = tmp_path / "page.html"
    file.write_text(render_page("title", [], matrices), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(file.as_uri())

    def shown() -> list[bool]:
        return [page.get_by_role("cell", name=f"{n}.5").is_visible() for n in range(3)]

    assert shown() == [True, False, False]
    page.click("nav a:text('Table 1')")
    assert shown() == [True, True, False]
    context.close()


def test_a_question_won_leads_to_its_answers(browser, tmp_path):
    answers = make_answers()
    changes = list_changes(answers)
    file = tmp_path / "page.html"
    grid = Grid("A table", "", ["a"], [Line("x", [Cell("1")])])
    page_text = render_page("title", [], [grid], [], pack_answers(answers), changes=changes)
    file.write_text(page_text, encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.click(f"text={changes.won[1].question}")
    page.wait_for_selector("#item h3")
    assert page.inner_text("#item h3").startswith(changes.won[1].question)
    context.close()
