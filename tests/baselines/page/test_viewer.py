"""What a person does on the page, in a real browser: search, filter, sort, open, go on, compare, print."""

import json
import re

import pytest
from viewed_answers import EVIL, MANY, count_of, counted, listed, make_answers

from quadrag.baselines.page.render import HERE
from quadrag.records import Passage


def list_all(page):
    while page.is_visible("#more"):
        page.click("#more")
    return listed(page)


def test_the_list_shows_questions_and_the_beginnings_of_answers(opened):
    page = opened(make_answers())
    assert count_of(page) == f"{MANY} of {MANY} answers"
    assert listed(page) == list(range(50)), "a hundred answers, two to a question"
    assert "B: It is 1." in page.locator("#list li").nth(1).inner_text()
    assert list_all(page) == list(range(MANY))


def test_runs_that_disagree_are_shown_first(opened):
    page = opened(make_answers(), which="disagree")
    assert len(list_all(page)) == int(count_of(page).split()[0]) < 100
    assert count_of(page).endswith(" answers · runs disagree (exact)"), "what keeps the others out"
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
    assert list_all(page) == wrong
    page.select_option("#group", label="topic 1")
    assert list_all(page) == [n for n in wrong if n % 2]
    assert count_of(page).endswith(" answers · wrong in some run (exact) · topic 1")
    page.select_option("#group", "")
    page.select_option("#which", "disagree")
    assert set(list_all(page)) == {n for n in range(MANY) if (n % 3 == 0) != (n % 4 == 0)} - {6}
    page.select_option("#which", "won")
    assert set(list_all(page)) == {n for n in range(MANY) if n % 3 == 0 and n % 4} - {6}
    page.select_option("#which", "all")
    page.select_option("#metric", label="rank")
    page.select_option("#sort", "worst")
    assert listed(page)[:6] == [0, 1, 2, 3, 4, 6], "what has no value comes last"
    signs = [entry.get_attribute("class") for entry in page.locator("#list li:nth-child(-n+2) .verdict").all()]
    assert signs == ["verdict wrong"] * 2 + ["verdict "] * 2, "between the ends a value is neither right nor wrong"
    page.select_option("#which", "unscored")
    assert listed(page) == [5]


def test_where_no_answer_lacks_a_value_it_is_said_and_other_metrics_are_offered(opened):
    page = opened(make_answers())
    page.select_option("#which", "unscored")
    assert page.locator("#metric option:checked").inner_text() == "exact", "it is not changed unasked"
    assert count_of(page).startswith("0 of") and page.inner_text("#none").startswith("none without a value by exact")
    page.click("#none button:text('no value (rank) · 1')")
    counted(page, "1 of")
    assert listed(page) == [5] and page.locator("#metric option:checked").inner_text() == "rank"
    page.select_option("#metric", label="exact")
    page.fill("#search", "END OF 6.")
    page.locator("#none button").wait_for(state="detached")
    assert page.inner_text("#none") == "none without a value by exact", "nor what the search finds by another"


def kinds(page):
    return page.evaluate("[...viewer.which.options].filter((one) => !one.disabled).map((one) => one.text)")


def test_only_what_a_metric_tells_apart_is_offered_and_in_its_words(opened):
    answers = make_answers(runs=1)
    answers.index["metrics"].append(
        {**answers.index["metrics"][0], "name": "m.length", "label": "length", "sign": 0, "best": None, "worst": None}
    )
    answers.index["benchmarks"]["rgb"].append(2)
    for at, item in enumerate(answers.index["items"]):
        item["values"][0].append(at)
    page = opened(answers, which="wrong")
    assert kinds(page) == ["all", "wrong", "right", "no value", "failed"]
    page.select_option("#metric", label="rank")
    assert kinds(page) == ["all", "below full marks", "full marks", "no value", "failed"]
    assert count_of(page) == f"{MANY - 1} of {MANY} answers · below full marks (rank)"
    page.select_option("#metric", label="length")
    assert kinds(page) == ["all", "no value", "failed"] and count_of(page) == f"{MANY} of {MANY} answers"
    assert page.locator("#sort option").all_inner_texts() == ["as in the data", "lowest first"]
    page = opened(answers, address="#show=right&metric=m.length")
    assert count_of(page) == f"{MANY} of {MANY} answers", "also by an address"
    assert kinds(opened(make_answers()))[1:3] == ["wrong in some run", "right in all runs"]


def test_where_a_filter_hides_what_is_found_all_is_offered(opened):
    page = opened(make_answers())
    page.select_option("#which", "disagree")
    page.fill("#search", "END OF 144.")
    counted(page, "0 of")
    page.click("#none button:text('1 in all: show all')")
    counted(page, "1 of")
    assert listed(page) == [144] and page.input_value("#which") == "all" and page.inner_text("#none") == ""
    assert page.evaluate("document.activeElement.dataset.at") == "144"
    page.fill("#search", "zzzqqq")
    counted(page, "0 of")
    assert page.inner_text("#none") == "nothing found"


def test_the_address_has_what_is_shown(opened):
    from playwright.sync_api import expect

    page = opened(make_answers())
    page.select_option("#which", "right")
    page.select_option("#metric", label="rank")
    page.select_option("#group", label="topic 1")
    page.fill("#search", "number 144 中文")
    page.check("#deep")
    page.wait_for_selector("#none button:text('2 in all')")
    address = page.evaluate("location.hash")
    assert "show=right" in address
    page.click("#none button")
    many = listed(page)
    assert many == [143, 144] and "show=all" in page.evaluate("location.hash")
    page.locator("#list button").first.click()
    page.wait_for_selector("#item h3")
    page.go_back()
    page.locator("body:not(.opened)").wait_for()
    assert listed(page) == many, "what was listed before"
    page = opened(make_answers(), address=address, which="right")
    assert count_of(page).startswith("0 of")
    for name, value in {"metric": "1", "group": "topic:topic 1", "search": "number 144 中文"}.items():
        assert page.input_value(f"#{name}") == value
    assert page.is_checked("#deep")
    page.evaluate("location.hash = 'show=nothing&group=no&metric=no&order=worst'")
    expect(page.locator("#sort")).to_have_value("worst")
    assert page.input_value("#group") == "" and page.input_value("#metric") == "0", "of another page"
    page.evaluate("location.hash = 'answers'")
    expect(page.locator("#which")).to_have_value("disagree")


def test_a_link_to_answers_that_failed_can_be_sent(opened):
    answers = make_answers(1)
    chip = opened(answers).locator("nav a:text('failed')")
    page = opened(answers, address=chip.get_attribute("href"), which="failed")
    assert listed(page) == [3]


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
    assert page.locator("#item .sides mark.shared").first.inner_text() == "8", "what answer and gold share is marked"
    assert page.locator("#item .gold").count() == 1, "passages that both runs have stand once"
    assert page.url.endswith("#item=rgb/c/all/8/0/0")
    page.click("#list li:nth-child(7) button")
    page.locator("#item h3", has_text="number 6?").wait_for()
    assert "(not in this run)" in page.inner_text("#item")
    page.click("#list li:nth-child(6) button")
    page.locator("#item h3", has_text="number 5?").wait_for()
    assert "corrected unparsable" in page.inner_text("#item"), "why there is no value"


def test_marks_are_of_whole_numbers_and_say_what_they_mean(opened):
    answers = make_answers(count=2)
    answers.index["items"][0]["answers"] = ["2021年总产量为1308.84亿斤。", "约1,308亿斤"]
    answers.items[0]["gold"] = ["1308.84亿斤，1,309"]
    for run in answers.items[0]["runs"]:
        run.update(rest="", scored="", passages=[[*run["passages"][0][:3], [[0, 3]]]])
    page = opened(answers, address="#item=rgb/c/all/0/0/0")
    page.wait_for_selector("#item h3")

    def marks(place):
        return page.locator(f"#item {place}").all_inner_texts()

    assert marks("mark.missing") == ["1,309", "in no answer"], "the gold's, and the legend"
    assert marks(".sides mark") == ["1308.84亿斤", "亿斤"]
    [text], [mark] = marks(".passages .text"), marks(".passages mark")
    assert mark == text[:3] and page.locator(".passages mark").get_attribute("title") == "stands in the gold"


def test_of_several_answers_the_gold_has_marks_where_it_stands_in_none(opened):
    answers = make_answers(count=2)
    answers.index["items"][0]["answers"] = ["Paris, I think", "It was in 1998"]
    answers.index["items"][1]["answers"] = ["", "Rome"]
    for item in answers.items:
        item["gold"] = ["Paris, 12 July 1998"]
        for run in item["runs"]:
            run["rest"] = ""
    page = opened(answers, address="#item=rgb/c/all/0/0/0")
    page.wait_for_selector("#item h3")
    assert page.locator("#item mark.missing").all_inner_texts() == ["12 July ", "in no answer"]
    page.click("#list li:nth-child(2) button")
    page.locator("#item h3", has_text="number 1?").wait_for()
    missing = page.locator("#item mark.missing").all_inner_texts()
    assert missing == ["Paris", "12 July 1998", "in no answer"], "what is empty tells nothing"


def test_no_part_of_a_gold_is_marked_that_an_answer_has_in_another_order_or_way(opened):
    answers = make_answers(count=3)
    said = [
        ("李路执导，编剧是王海鸰。", ["王海鸰", "李路"]),
        ("今日(1月3日)", ["3 / 1月3日"]),
        ("12 July 1998", ["July 12, 1999"]),
    ]
    for (text, gold), item, whole in zip(said, answers.index["items"], answers.items, strict=True):
        item["answers"] = [text, "?"]
        whole["gold"] = gold
        for run in whole["runs"]:
            run["rest"] = ""
    page = opened(answers, address="#item=rgb/c/all/0/0/0")
    page.wait_for_selector("#item h3")
    assert page.locator("#item mark.missing").count() == 0
    assert page.locator("#item .sides mark.shared").all_inner_texts() == ["李路", "王海鸰"]
    page.click("#list li:nth-child(2) button")
    page.locator("#item h3", has_text="number 1?").wait_for()
    assert page.locator("#item mark.missing").count() == 0
    page.click("#list li:nth-child(3) button")
    page.locator("#item h3", has_text="number 2?").wait_for()
    assert page.locator("#item mark.missing").all_inner_texts() == ["1999", "in no answer"]


def test_a_reply_that_was_cut_is_called_so_in_the_list_and_found_as_failed(opened):
    answers = make_answers(count=3)
    answers.index["items"][1]["failed"] = ["cut reply", ""]
    page = opened(answers)
    assert page.locator("#list li:nth-child(2) .answer").first.inner_text().count("cut reply") == 1
    page.select_option("#which", "failed")
    assert page.locator("#list li").count() == 1


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


def test_who_answered_stands_at_each_answer_and_is_found(opened):
    answers = make_answers(runs=1, count=6)
    for at, item in enumerate(answers.index["items"]):
        item["groups"]["system"] = f"model-{at % 2}"
    page = opened(answers)
    assert "model-1: It is 1." in page.locator("#list li").nth(1).inner_text()
    page.fill("#search", "MODEL-1")
    counted(page, "3 of")
    assert listed(page) == [1, 3, 5]
    page.fill("#search", "")
    page.select_option("#group", label="model-0")
    counted(page, "3 of 6 answers · model-0")
    page.click("#list button")
    page.wait_for_selector("#item h3")
    assert page.locator("#item h4.run").inner_text() == "model-0"


def test_keys_go_on_search_and_close(opened):
    page = opened(make_answers())
    page.select_option("#which", "wrong")
    page.evaluate("document.activeElement.blur()")
    for key, number in (("j", 0), ("j", 3), ("j", 4), ("k", 3)):
        page.keyboard.press(key)
        page.locator("#item h3", has_text=f"number {number}?").wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("144?")
    counted(page, "1 of")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.locator("#item h3", has_text="number 144?").wait_for()
    assert page.input_value("#search") == "144?", "it is left, and what it found stays"
    page.keyboard.press("Escape")
    assert not page.evaluate("document.body.classList.contains('opened')") and page.inner_text("#item") == ""


def test_what_is_open_is_closed_where_a_search_finds_nothing(opened):
    page = opened(make_answers())
    page.click("#list li:nth-child(9) button")
    page.wait_for_selector("#item h3")
    page.fill("#search", "zzzqqq")
    counted(page, "0 of")
    assert page.inner_text("#item") == "" and page.evaluate("document.activeElement.id") == "search"


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


def test_a_single_chinese_character_that_texts_share_is_not_marked(opened):
    page = opened(make_answers())
    shared = (
        "([text, gold]) => marked(text, [gold], 'shared').filter((one) => one.tagName).map((one) => one.textContent)"
    )
    assert page.evaluate(shared, ["不知道", "不在听澜市"]) == []
    assert page.evaluate(shared, ["总部在听澜市，不远", "不在听澜市"]) == ["在听澜市"]
    assert page.evaluate(shared, ["是", "是"]) == ["是"], "the whole gold"


def test_where_a_refusal_is_right_it_is_said_and_no_gold_is_missed(opened):
    answers = make_answers(runs=1, count=2)
    for item, said in zip(answers.items, (0.0, 1.0), strict=True):
        item.update(gold=["42"], wanted={"phrase": "insufficient information", "alone": True})
        item["runs"][0].update(said=said, passages=[])
    page = opened(answers, address="#item=rgb/c/all/0/0/0")
    page.wait_for_selector("#item h3")
    text = page.inner_text("#item")
    assert "Expected: a refusal (insufficient information)" in text
    assert "insufficient information: not in the answer" in text and page.locator("#item mark").count() == 0
    page.click("#list li:nth-child(2) button")
    page.locator("#item h3", has_text="number 1?").wait_for()
    assert "insufficient information: found" in page.inner_text("#item")


def test_a_question_that_one_run_did_not_score_is_no_disagreement(opened):
    answers = make_answers(count=3)
    for item, values in zip(answers.index["items"], ([1.0, None], [0.0, 1.0], [None, 0.0]), strict=True):
        item["values"] = [[value, 0.5] for value in values]
    page = opened(answers, which="disagree")
    assert listed(page) == [1]
    page.select_option("#which", "unscored")
    assert listed(page) == [0, 2], "they have a filter of their own"


def test_of_several_benchmarks_one_is_shown_with_its_own_metrics_and_groups(opened):
    answers = make_answers(runs=1, count=8)
    answers.index["benchmarks"] = {"rgb": [0], "crag": [1]}
    for item in answers.index["items"][6:]:
        item["place"] = item["place"].replace("rgb", "crag")
        item["groups"] = {"benchmark": "crag", "domain": f"domain {item['id']}"}
    page = opened(answers)
    chips = page.locator("nav a").all_inner_texts()
    assert chips == ["rgb: wrong · 2 (exact)", "rgb: failed · 1", "crag: worst first (rank)", "Answers"]
    assert listed(page) == [*range(6)] and count_of(page) == "6 of 6 answers"
    assert page.locator("#metric option").all_inner_texts() == ["exact"]
    page.select_option("#benchmark", "crag")
    assert listed(page) == [6, 7] and page.locator("#metric option").all_inner_texts() == ["rank"]
    assert page.locator("#group option").all_inner_texts() == ["all", "domain 6", "domain 7"]
    page.click("nav a >> nth=0")
    counted(page, "2 of 6 answers · wrong (exact)")
    page.evaluate("location.hash = 'item=crag/c/all/7/0/0'")
    page.locator("#item h3", has_text="number 7?").wait_for()
    assert page.input_value("#benchmark") == "crag", "a link leads to its benchmark"
    assert page.locator("#benchmark").count() == 1 and opened(make_answers()).locator("#benchmark").count() == 0
