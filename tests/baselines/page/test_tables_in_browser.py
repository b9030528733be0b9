"""What a person sees of charts, tables and matrices on the page, in a real browser."""

import pytest
from viewed_answers import MANY, counted, listed, make_answers

from quadrag.baselines.page.changes import list_changes
from quadrag.baselines.page.packed import pack_answers
from quadrag.baselines.page.render import render_page
from quadrag.baselines.tables.grid import Cell, Figure, Grid, Line


def test_a_chart_is_as_wide_as_the_page_lets_it_and_its_table_is_a_click_away(browser, tmp_path):
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
    cells = [Cell("2,210.5", "1,198–2,222"), Cell("1,473.6", "1,444–1,499"), Cell("-1,263.1", "-1,277 to -1,247")]
    cells.append(Cell("not decided", "p < 0.001"))
    heads = ["a_name_that_is_long", "another_long_name", "difference", "verdict"]
    grid = Grid("Comparison", "split/metric", heads, [Line("accuracy " * 9, cells)], [], "forest")
    file = tmp_path / "page.html"
    file.write_text(render_page("title", [], [grid]), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(file.as_uri())
    for row in page.locator("tr").all():
        boxes = [cell.bounding_box() for cell in row.locator("th, td").all()]
        ends = [box["x"] + box["width"] for box in boxes]
        assert len(ends) == 5 and ends[-1] <= width, "in sight"
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


def test_the_top_of_a_page_leads_to_the_answers_that_failed(opened):
    answers = make_answers(1)
    page = opened(answers)
    page.click("nav a:text('failed · 1')")
    counted(page, "1 of ")
    assert listed(page) == [3]
    answers.index["items"][3]["failed"] = [""]
    page = opened(answers)
    assert page.locator("nav a:text('failed')").count() == page.locator("#which [value=failed]").count() == 0


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
    for name, count in zip(("won", "lost"), changes.counts, strict=True):
        for link in page.locator(f"[data-which={name}]").all():
            page.select_option("#which", "all")
            link.click()
            counted(page, f"{count} of ")
    assert page.inner_text("#lost p") == f"10 of {changes.counts[1]}; all {changes.counts[1]} below"
    page.evaluate("viewer.close()")
    page.emulate_media(media="print")
    assert not page.locator("#answers").is_visible(), "on paper no heading without what is under it"
    context.close()
