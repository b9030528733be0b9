"""What an annotator does on the page, in a real browser, and what the server refuses of others."""

import http.client
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_servers import serving

from quadrag.baselines.construct.review.items import list_annotators, load, read_grades
from quadrag.baselines.construct.review.server import LabelPage, Page, ReviewPage, open_server
from quadrag.baselines.judges.corrected import Judged, take_back
from quadrag.baselines.judges.labels import find_graded
from quadrag.sheet import write_sheet

WORD = re.compile("[A-Za-z]{2,}")
GRADED = find_graded("truthfulness")
EVIL = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'


@pytest.fixture
def dataset(made: Callable[[str], Path]) -> Path:
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
def sheet(tmp_path: Path) -> Path:
    """A sheet of hostile texts to label."""
    path = tmp_path / "sheet.csv"
    rows = [[item.id, item.question, "", item.gold, item.answer, "", "1"] for item in ITEMS]
    write_sheet(path, [["id", "question", "passages", "gold", "answer", "label", "probability"], *rows])
    return path


@pytest.fixture
def labels() -> str:
    """The language of the page."""
    return "en"


@pytest.fixture
def port(request: pytest.FixtureRequest, labels: str) -> Iterator[int]:
    """The port of a server of that dataset, or of the sheet where a test has it."""
    if "sheet" in request.fixturenames:
        page: Page = LabelPage(request.getfixturevalue("sheet"), GRADED)
    else:
        dataset = request.getfixturevalue("dataset")
        page = ReviewPage(dataset, *load(dataset, labels), labels)
    server = open_server(page)
    with serving(server):
        yield server.server_port


@pytest.fixture
def opened(browser: Any, port: int) -> Iterator[Any]:
    """A function that opens the page in a browser of its own; what goes wrong in it fails the test."""
    wrong: list[str] = []
    contexts = []

    def show(address: str = "") -> Any:
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda asked: None if f"127.0.0.1:{port}/" in asked.url else wrong.append(asked.url))
        page.goto(f"http://127.0.0.1:{port}/{address}")
        return page

    yield show
    for context in contexts:
        context.close()
    # What the server refuses stands there too; the page's policy is told of in other words.
    assert [line for line in wrong if not line.startswith("Failed to load resource")] == []


def begin(page: Any, name: str) -> None:
    page.fill("#annotator", name)
    page.press("#annotator", "Enter")
    page.wait_for_selector("#work:not([hidden])[data-item]")


def at(page: Any, item: str) -> None:
    """Wait until the page shows an item."""
    page.wait_for_selector(f'#work[data-item="{item}"]')


def test_a_grade_a_correction_and_a_reload_that_loses_nothing(opened: Any, dataset: Path) -> None:
    items = list(load(dataset)[1].values())
    page = opened()
    begin(page, "Anna")
    at(page, items[0].id)
    assert page.inner_text("#progress") == f"anna: question 1 of {len(items)}, 0 graded"
    page.keyboard.press("4")
    at(page, items[1].id)
    assert read_grades(dataset, "anna") == {items[0].id: (4, {})}

    page.click("#grades [value='3']")
    page.wait_for_selector("#save:not([hidden])")
    assert read_grades(dataset, "anna")[items[1].id] == (3, {}), "the grade is there before its correction"
    question, answer = page.locator("[name=question]"), page.locator("[name=answer]")
    assert question.input_value() == items[1].fields["question"]
    answer.fill("不在文中的答案")
    page.click("#save")
    page.locator("#fault", has_text="answer is not in the passages").wait_for()
    assert answer.input_value() == "不在文中的答案", "what was typed stays, to be mended"
    answer.fill("\n".join(items[1].fields["answer"]))
    mended = f"{items[1].fields['question']}（选填）"
    question.fill(mended)
    page.keyboard.press("Control+Enter")
    at(page, items[2].id)
    assert page.inner_text("#fault") == ""
    assert read_grades(dataset, "anna")[items[1].id] == (3, {"question": mended})

    page.reload()
    at(page, items[2].id)
    assert page.inner_text("#progress") == f"anna: question 3 of {len(items)}, 2 graded"
    page.keyboard.press("ArrowLeft")
    at(page, items[1].id)
    assert page.input_value("[name=question]") == mended
    assert page.get_attribute("#grades [value='3']", "aria-pressed") == "true"
    page.keyboard.press("1")
    at(page, items[2].id)
    # A second key before the page shows what the first one led to does nothing: what is graded is what is shown.
    page.evaluate(
        "for (const key of ['ArrowLeft', '5'])"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))"
    )
    at(page, items[1].id)
    page.click("#open")
    at(page, items[2].id)
    assert read_grades(dataset, "anna") == {items[0].id: (4, {}), items[1].id: (1, {})}


def test_what_is_hostile_stays_text_and_answers_are_marked(opened: Any, dataset: Path) -> None:
    item = next(iter(load(dataset)[1].values()))
    page = opened("#anna")
    at(page, item.id)
    assert page.input_value("[name=question]") == f"{EVIL}在哪天？"
    assert page.inner_text("#source") == EVIL
    assert page.locator("#passages li").all_text_contents() == list(item.passages)
    assert set(page.locator("#passages mark").all_text_contents()) == {item.marks[0]}
    assert page.evaluate("window.hit") is None and page.locator("img").count() == 0
    wrong = opened()
    wrong.fill("#annotator", "../anna")
    wrong.press("#annotator", "Enter")
    wrong.locator("#fault", has_text="annotator '../anna'").wait_for()


@pytest.mark.parametrize("labels", ["zh"])
def test_the_page_speaks_chinese(opened: Any, dataset: Path) -> None:
    page = opened("#anna")
    at(page, next(iter(load(dataset)[1])))
    ours = page.locator("header, #fields, #grades, nav, details, h2").all_inner_texts()
    ours += page.eval_on_selector_all("[title], [aria-label]", "all => all.map((one) => one.title || one.ariaLabel)")
    assert set(WORD.findall(" ".join(ours))) == {"rgb", "quadrag", "Ctrl", "Enter", "anna"}


def test_a_sheet_is_labelled_by_keys_and_holds_every_label_at_once(opened: Any, sheet: Path) -> None:
    page = opened()
    for name, key in zip("abc", ("1", "2", "ArrowRight"), strict=True):
        at(page, name)
        page.keyboard.press(key)
    at(page, "d")
    assert page.input_value("[name=question]") == f"What is d?{EVIL}" and page.evaluate("window.hit") is None
    page.keyboard.press("1")
    page.locator("#grades [aria-pressed=true]").wait_for()
    assert take_back(sheet, ITEMS, GRADED).values == {"a": 1.0, "b": 0.0, "d": 1.0}
    page.reload()
    at(page, "c")


def test_what_does_not_come_from_the_page_is_refused(port: int, dataset: Path) -> None:
    name = next(iter(load(dataset)[1]))

    def ask(body: Any, path: str = "/grade", method: str = "POST", **headers: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        sent = {"Content-Type": "application/json", **{key.replace("_", "-"): text for key, text in headers.items()}}
        connection.request(method, path, body if isinstance(body, str) else json.dumps(body), sent)
        reply = connection.getresponse()
        assert "default-src 'none'" in str(reply.getheader("Content-Security-Policy"))
        reply.read()
        connection.close()
        return reply.status

    good = {"annotator": "anna", "item": name, "grade": 4}
    assert ask(good, Host="evil.example") == ask(good, Origin="http://evil.example") == 403
    assert ask(good, Content_Type="text/plain") == ask(good, path="/else") == 404
    assert ask("", path="/items?annotator=anna", method="GET", Host=f"evil.example:{port}") == 403
    assert ask("", path="/review.py", method="GET") == ask("", path="/../server.py", method="GET") == 404
    assert ask("x", Content_Length=str((1 << 20) + 1)) == ask("x", Content_Length="-1") == 413
    bad: list[Any] = ["{", "[" * 5000, [], {}, {**good, "grade": 6}, {**good, "grade": True}, {**good, "item": "x"}]
    bad += [{**good, "annotator": "../a"}, {**good, "texts": {"question": 1}}, {**good, "texts": [1]}]
    assert [ask(one) for one in bad] == [400] * len(bad)
    assert list_annotators(dataset) == []
    assert ask(good, Origin=f"http://127.0.0.1:{port}") == 200
    assert read_grades(dataset, "anna") == {name: (4, {})}
