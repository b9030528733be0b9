"""What a person does on the labelling page, in a real browser, and what the server refuses of others."""

import http.client
import json
from typing import Any

import pytest
from small_servers import serving

from quadrag.construct.review import load, read_grades, review_page, sheet_of
from quadrag.judges.labelled import label_sheet, take_back
from quadrag.judges.labels import Judged, find_graded
from quadrag.reporting.page.labelling import open_server
from quadrag.sheet import write_sheet


def on_record(dataset):
    how, items = load(dataset)
    return {name: said[:2] for name, said in read_grades(sheet_of(dataset, "anna"), how, items).items()}


GRADED = find_graded("truthfulness")
EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'


@pytest.fixture
def dataset(made):
    """Questions of RGB, of which the first is hostile in every text."""
    folder = made("rgb")
    line, *others = (folder / "zh.json").read_text(encoding="utf-8").splitlines(keepends=True)
    found = json.loads(line)
    found["query"] = f"{EVIL}在哪天？"
    found["positive"] = [f"{text}{EVIL}" for text in found["positive"]]
    found["source"] = EVIL
    (folder / "zh.json").write_text(json.dumps(found) + "\n" + "".join(others), encoding="utf-8")
    return folder


ITEMS = [Judged(name, f"What is {name}?{EVIL}", "gold", f"=It is {name}.{EVIL}", 1.0) for name in "abcd"]


@pytest.fixture
def sheet(tmp_path):
    """A sheet of hostile texts to label."""
    path = tmp_path / "sheet.csv"
    rows = [[item.id, item.question, "", item.gold, item.answer, ""] for item in ITEMS]
    write_sheet(path, [["id", "question", "passages", "gold", "answer", "label"], *rows])
    return path


@pytest.fixture
def port(request):
    """The port of a server of that dataset, or of the sheet where a test has it."""
    if "sheet" in request.fixturenames:
        page = label_sheet(request.getfixturevalue("sheet"), GRADED)
    else:
        dataset = request.getfixturevalue("dataset")
        page = review_page(dataset, *load(dataset), "Anna")
    server = open_server(page)
    with serving(server):
        yield server.server_port


@pytest.fixture
def opened(browser, port):
    """The page in a browser of its own; what goes wrong in it fails the test."""
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("request", lambda asked: None if f"127.0.0.1:{port}/" in asked.url else wrong.append(asked.url))
    page.goto(f"http://127.0.0.1:{port}/")
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
    # What the server refuses stands there too; the page's policy is told of in other words.
    assert [line for line in wrong if not line.startswith("Failed to load resource")] == []


def at(page, item):
    """Wait until the page shows an item."""
    page.wait_for_selector(f'#work[data-item="{item}"]')


def test_a_grade_a_correction_and_a_reload_that_loses_nothing(opened, dataset):
    items, page = list(load(dataset)[1].values()), opened
    at(page, items[0].id)
    assert page.inner_text("#progress") == f"item 1 of {len(items)}, 0 done"
    page.keyboard.press("4")
    at(page, items[1].id)
    assert on_record(dataset) == {items[0].id: (4, {})}

    page.click("#choices [value='3']")
    page.wait_for_selector("#save:not([hidden])")
    assert on_record(dataset)[items[1].id] == (3, {}), "the grade is there before its correction"
    question, answer = page.locator("[name=question]"), page.locator("[name=answer]")
    assert question.input_value() == items[1].fields["question"]
    answer.fill("不在文中的答案")
    page.click("#save")
    page.locator("#fault", has_text="answer is not in the passages").wait_for()
    assert answer.input_value() == "不在文中的答案", "what was typed stays, to be mended"
    answer.fill("\n".join(items[1].fields["answer"]))
    mended = f"{items[1].fields['question']}（选填）"
    question.fill(mended)
    page.click("#save")
    at(page, items[2].id)
    assert page.inner_text("#fault") == ""
    assert on_record(dataset)[items[1].id] == (3, {"question": mended})

    page.reload()
    at(page, items[2].id)
    assert page.inner_text("#progress") == f"item 3 of {len(items)}, 2 done"
    page.keyboard.press("ArrowLeft")
    at(page, items[1].id)
    assert page.input_value("[name=question]") == mended
    assert page.get_attribute("#choices [value='3']", "aria-pressed") == "true"
    # A second key before the first one is on record does nothing: what is graded is what is shown.
    page.evaluate(
        "for (const key of ['1', '5'])"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))"
    )
    at(page, items[2].id)
    page.keyboard.press("ArrowLeft")
    page.click("#unlabelled")
    at(page, items[2].id)
    assert on_record(dataset) == {items[0].id: (4, {}), items[1].id: (1, {})}


def test_what_is_hostile_stays_text_and_answers_are_marked(opened, dataset):
    item = next(iter(load(dataset)[1].values()))
    at(opened, item.id)
    assert opened.input_value("[name=question]") == f"{EVIL}在哪天？"
    assert opened.inner_text("#note").endswith(EVIL)
    assert opened.locator("#passages li").all_text_contents() == list(item.passages)
    assert set(opened.locator("#passages mark").all_text_contents()) == {item.marks[0]}
    assert opened.evaluate("window.hit") is None and opened.locator("img").count() == 0


def test_a_sheet_is_labelled_by_keys_and_holds_every_label_at_once(opened, sheet):
    for name, key in zip("abc", ("1", "2", "ArrowRight"), strict=True):
        at(opened, name)
        opened.keyboard.press(key)
    at(opened, "d")
    assert opened.input_value("[name=question]") == f"What is d?{EVIL}" and opened.evaluate("window.hit") is None
    opened.keyboard.press("1")
    opened.locator("#choices [aria-pressed=true]").wait_for()
    assert take_back(sheet, ITEMS, GRADED) == {"a": "right", "b": "wrong", "d": "right"}
    opened.reload()
    at(opened, "c")


def test_what_does_not_come_from_the_page_is_refused(port, dataset):
    name = next(iter(load(dataset)[1]))

    def ask(body, path="/choice", method="POST", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        sent = {"Content-Type": "application/json", **{key.replace("_", "-"): text for key, text in headers.items()}}
        connection.request(method, path, body if isinstance(body, str) else json.dumps(body), sent)
        reply = connection.getresponse()
        reply.read()
        connection.close()
        return reply.status

    good = {"item": name, "choice": "4"}
    assert ask(good, Host="evil.example") == ask(good, Origin="http://evil.example") == 403
    assert ask(good, Content_Type="text/plain") == ask(good, path="/else") == 404
    assert ask("", path="/", method="GET", Host=f"evil.example:{port}") == 403
    assert ask("", path="/label.js", method="GET") == ask("", path="/../labelling.py", method="GET") == 404
    assert ask("x", Content_Length=str((1 << 20) + 1)) == ask("x", Content_Length="-1") == 413
    bad: list[Any] = ["{", "[" * 5000, [], {}, {**good, "choice": "6"}, {**good, "choice": 4}, {**good, "item": "x"}]
    bad += [{**good, "item": [name]}, {**good, "texts": {"question": 1}}, {**good, "texts": [1]}]
    assert [ask(one) for one in bad] == [400] * len(bad)
    assert on_record(dataset) == {}
    assert ask(good, Origin=f"http://127.0.0.1:{port}") == 200
    assert on_record(dataset) == {name: (4, {})}
