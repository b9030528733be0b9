"""What a person does on the page, in a real browser: search, filter, open, compare, print."""

import json
import re

from viewed_answers import EVIL, MANY, count_of, counted, listed, make_answers

from quadrag.reporting.page.page import HERE, SCRIPTS
from quadrag.reporting.table import Cell, Figure, Row, Table


def list_all(page):
    while page.is_visible("#more"):
        page.click("#more")
    return listed(page)


def choose(page, kind):
    page.select_option("#which", kind)
    return list_all(page)


def test_the_list_shows_questions_and_the_beginnings_of_answers(opened):
    page = opened(make_answers())
    assert count_of(page) == f"{MANY} of {MANY} questions" and len(listed(page)) == 100
    assert "run B: It is 1." in page.locator("#list li").nth(1).inner_text()
    assert list_all(page) == list(range(MANY))


def test_filters_by_verdict_and_group_the_worst_first(opened):
    page = opened(make_answers())
    wrong = [n for n in range(MANY) if n % 3 == 0 or n % 4 == 0]
    assert choose(page, "wrong") == sorted(wrong, key=lambda n: n % 3 == 0 or n % 4 == 0)
    page.select_option("#group", label="topic 1")
    assert list_all(page) == [n for n in wrong if n % 2]
    page.select_option("#group", "")
    changed = {n for n in range(MANY) if (n % 3 == 0) != (n % 4 == 0)} - {6}
    assert set(choose(page, "changed")) == changed, "what one run did not score is no disagreement"
    won = {n for n in range(MANY) if n % 3 == 0 and n % 4} - {6}
    assert set(choose(page, "won")) == won and set(choose(page, "lost")) == changed - won
    assert choose(page, "unscored") == [3], "it failed"
    page.select_option("#metric", label="rank")
    assert choose(page, "unscored") == [3, 5]
    assert choose(page, "wrong")[:6] == [0, 1, 2, 3, 4, 6], "the worst first"
    signs = [entry.get_attribute("class") for entry in page.locator("#list li:nth-child(-n+2) .verdict").all()]
    assert signs == ["verdict wrong"] * 2 + ["verdict "] * 2, "between the ends a value is neither right nor wrong"


def kinds(page):
    return page.locator("#which option").all_inner_texts()


def test_only_what_there_is_is_offered_and_links_lead_to_it(opened):
    answers = make_answers(runs=1, count=8)
    answers.index["metrics"].append(
        {"label": "length", "sign": 0, "best": None, "worst": None, "benchmark": "rgb", "unfit": False}
    )
    for at, item in enumerate(answers.index["items"]):
        item["values"][0].append(at)
        item["texts"][0].append(f"{at}")
    page = opened(answers)
    assert kinds(page) == ["all · 8", "wrong (below full marks) · 3", "failed or without a value · 1"]
    page.click("#links a:text('wrong')")
    counted(page, "3 of 8")
    assert listed(page) == [0, 3, 6]
    page.select_option("#metric", label="length")
    assert kinds(page) == ["all · 8", "failed or without a value · 1"], "it has no better end"
    assert any("B is better" in kind for kind in kinds(opened(make_answers())))


def test_a_search_reads_whole_texts(opened):
    page = opened(make_answers())
    page.fill("#search", "END OF 77")
    counted(page, "1 of")
    assert listed(page) == [77]
    page.fill("#search", "zzzqqq")
    counted(page, "nothing found")
    page.fill("#search", "")
    counted(page, f"{MANY} of")


def test_one_click_shows_the_whole_of_a_question(opened):
    page = opened(make_answers())
    page.click("#list li:nth-child(9) button")
    page.wait_for_selector("#item h3")
    text = page.inner_text("#item")
    for part in ("What is number 8?", "It is 8. The end of 8.", "passage number 8", "passage number 9", "Verdict 8"):
        assert part in text
    assert text.count("Scored of 8") == 2 and "run A" in text and "run B" in text, "of each run, as its answer"
    assert page.locator("#item .passages").count() == 1, "passages that both runs have stand once"
    assert page.locator("#item mark").all_inner_texts() == ["8", "8", "title"]
    assert page.url.endswith("#item=rgb/c/all/8/0/")
    page.click("#list li:nth-child(7) button")
    page.locator("#item h3", has_text="number 6?").wait_for()
    assert "(not in this run)" in page.inner_text("#item")
    page.click("#list li:nth-child(6) button")
    page.locator("#item h3", has_text="number 5?").wait_for()
    assert "unparsable" in page.inner_text("#item"), "why there is no value"
    page.click("#list li:nth-child(4) button")
    page.locator("#item h3", has_text="number 3?").wait_for()
    assert "error: no index" in page.inner_text("#item")
    page.go_back()
    page.locator("#item h3", has_text="number 5?").wait_for()


def test_a_link_opens_its_question(opened):
    page = opened(make_answers(), address="#item=rgb/c/all/142/0/")
    page.wait_for_selector("#item h3")
    assert "What is number 142?" in page.inner_text("#item")
    page = opened(make_answers(), address="#item=%ff%")
    assert count_of(page) == "This page has no such answer."


def test_marks_count_whole_characters(opened):
    answers = make_answers(count=1)
    answers.items[0]["runs"][0].update(answer="😀 Paris 😀", marks=[[2, 7]])
    page = opened(answers, address="#item=rgb/c/all/0/0/")
    page.wait_for_selector("#item h3")
    assert page.locator("#item section mark").first.inner_text() == "Paris"


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


def test_of_several_benchmarks_a_metric_shows_its_own_questions_and_groups(opened):
    answers = make_answers(runs=1, count=8)
    answers.index["metrics"][1].update(benchmark="crag", label="rank")
    for at, item in enumerate(answers.index["items"]):
        own = 0 if at < 6 else 1
        item.update(values=[item["values"][0][own : own + 1]], texts=[item["texts"][0][own : own + 1]])
        if own:
            item["groups"] = {"benchmark": "crag", "domain": f"domain {at}"}
    page = opened(answers)
    assert listed(page) == [*range(6)] and count_of(page) == "6 of 6 questions"
    assert page.locator("#metric option").all_inner_texts() == ["rgb: exact", "crag: rank"]
    page.select_option("#metric", label="crag: rank")
    assert listed(page) == [6, 7]
    assert page.locator("#group option").all_inner_texts() == ["all", "domain 6", "domain 7"]
    assert page.locator("#list .verdict").all_inner_texts() == ["75", "87.5"]


def test_a_narrow_page_shows_the_list_or_the_question(opened):
    page = opened(make_answers())
    page.set_viewport_size({"width": 390, "height": 800})
    page.click("#list button")
    page.wait_for_selector("#item h3")
    assert page.is_hidden("#list") and page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("#item .back")
    page.locator("#list").wait_for()


def test_the_words_are_those_of_a_language(opened):
    page = opened(make_answers(), labels="zh")
    assert count_of(page) == f"{MANY} 题中的 {MANY} 题"
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    words = json.loads(page.evaluate("document.getElementById('words').textContent"))
    used = set(re.findall(r"WORDS\.(\w+)", "".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)))
    assert used <= words.keys() and len(used) > 10


def test_charts_and_tables_are_whole_at_any_width(browser, tmp_path):
    from quadrag.reporting.page.page import render_page

    lines = [Row(f"model {n}", [Cell(f"{n}.0", "", Figure(float(n), (n - 1.0, n + 1.0), 9))]) for n in (3, 4)]
    wide = Table("Wide", "", ["error_detection_judged"] * 9, [Row("a_label_that_is_long", [Cell("-12.3 to 45.6")] * 9)])
    file = tmp_path / "page.html"
    file.write_text(render_page("title", [Table("A table", "", ["accuracy"], lines, [], "points"), wide]))
    for width in (1280, 320):
        context = browser.new_context(viewport={"width": width, "height": 900})
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.get_by_role("img", name="A table · accuracy").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.is_hidden("table >> nth=0")
        page.click("details.table summary")
        assert page.is_visible("table >> nth=0")
        context.close()
