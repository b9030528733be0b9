"""Each metric's Space starts as on the Hub and is used in a browser; its card and requirements are whole."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

METRICS = Path(__file__).resolve().parents[2] / "metrics"
FOLDERS = sorted(path.parent for path in METRICS.glob("*/app.py"))
LONG = "上海发放500万元消费券，" + "很长的文本，" * 300 + "end <b>not bold</b> \"quoted\", 'so'"


def texts(folder: Path) -> dict[str, Any]:
    """What the page of a Space shows."""
    return yaml.safe_load((folder / "space.yaml").read_text(encoding="utf-8"))


class Pasted:
    """The judge of the apps: it repeats what was pasted, by `row` of a request, else in their order."""

    model = "pasted"

    def __init__(self, replies: list[Any], row: Callable[[str], int] | None = None) -> None:
        self.replies, self.row = replies, row

    def __call__(self, requests: list[Any]) -> list[Any]:
        contents = [request[0]["content"] for request in requests]
        return self.replies if self.row is None else [self.replies[self.row(content)] or None for content in contents]


def first_line(content: str) -> int:
    return int(content.partition("\n")[0].strip('"'))


def column(rows: list[list[str]], place: int) -> list[Any]:
    return [row[place] for row in rows]


def listed(rows: list[list[str]], place: int = 1) -> list[Any]:
    return [json.loads(text) if text.startswith("[") else text for text in column(rows, place)]


def judged(rows: list[list[str]]) -> dict[str, Any]:
    return {"judge": Pasted(column(rows, 2)), "questions": [""] * len(rows)}


def answers(rows: list[list[str]]) -> dict[str, Any]:
    return {"predictions": column(rows, 0), "references": listed(rows)}


def ratings(rows: list[list[str]]) -> dict[str, Any]:
    if rows[0][2] == "perfect":
        return {**answers(rows), "ratings": column(rows, 2)}
    judge, numbers = Pasted(column(rows, 2), first_line), [str(i) for i in range(len(rows))]
    return {**answers(rows), "judge": judge, "questions": numbers, "prompt": "{question}\n{reference}\n{answer}"}


def verdicts(rows: list[list[str]]) -> dict[str, Any]:
    return {
        **answers(rows),
        "judge": Pasted(column(rows, 2), first_line),
        "questions": [str(i) for i in range(len(rows))],
        "contexts": [""] * len(rows),
        "prompts": {"acc": "{question}\n{references}\n{answer}\n{passages}"},
    }


def interview(rows: list[list[str]]) -> dict[str, Any]:
    items: dict[str, list[list[str]]] = {}
    for row in rows:
        items.setdefault(row[0], []).append(row)
    blocks = [
        "\n".join(f"问题 {n}\n<response>\n{row[3]}\n</response>" for n, row in enumerate(found, 1))
        for found in items.values()
    ]
    return {
        "predictions": [str(i) for i in range(len(items))],
        "references": list(items),
        "ids": list(items),
        "question_cache": {k: {"question": column(v, 1), "answers": column(v, 2)} for k, v in items.items()},
        "judge": Pasted(blocks, first_line),
        "prompts": {"answers": "{text}\n{questions}"},
    }


def rankings(rows: list[list[str]]) -> dict[str, Any]:
    ranked, relevant = ([text.replace(",", " ").split() for text in column(rows, i)] for i in (0, 1))
    return {"predictions": ranked, "references": relevant, "k": [1, 5, 10]}


class Case(NamedTuple):
    """What is done with one Space."""

    given: Callable[[list[list[str]]], dict[str, Any]]  # from the table's rows to the metric's arguments
    pasted: list[list[str]]  # rows that are pasted
    bad: dict[tuple[int, str], str]  # a column, what is typed into it in the first row, and the error
    where: int = 0  # the column that the long text is typed into


JSON_ERROR = r"row 1: '\[\"a\", 7' begins with \[ and is no JSON list of texts"
EMPTY = "row 1: {} is empty; fill it in, or empty the whole row"
CASES = {
    "crud_overlap": Case(
        lambda rows: {"predictions": column(rows, 0), "references": column(rows, 1)},
        [["上海发放消费券", "上海市发放消费券"], ["<b>一样的文本</b>", "<b>一样的文本</b>"]],
        {(1, ""): EMPTY.format("reference")},
    ),
    "error_detection": Case(
        lambda rows: {**answers(rows), **judged(rows)},
        [["There are factual errors. 0", "0", "No."], ["奥斯陆", '["奥斯陆"]', "Yes, it has identified them."]],
        {(1, '["a", 7'): JSON_ERROR, (1, ""): EMPTY.format("reference")},
    ),
    "omnieval": Case(
        verdicts,
        [["3.2亿元", '["3.2亿元", "3.20亿元"]', '{"prediction": 2}'], ["x", "y", '{"prediction": 0}'], ["x", "y", ""]],
        {(1, '["a", 7'): JSON_ERROR, (1, ""): EMPTY.format("accepted")},
    ),
    "omnieval_overlap": Case(
        answers,
        [["3.2亿元", '["3.2亿元", "3.20亿元"]'], ["0", "0"]],
        {(1, '["a", 7'): JSON_ERROR, (1, "[]"): r"row 1: '\[\]' begins with \[", (1, ""): EMPTY.format("accepted")},
    ),
    "ragquesteval": Case(
        interview,
        [
            ["甲", "总额？", "500万元", "500万元"],
            ["乙", "哪里？", "西安市", "陕西西安"],
            ["甲", "几家？", "173家", "无法推断"],
        ],
        {(2, ""): EMPTY.format("reference"), (3, "a</response>"): "row 1: the answer holds a <response> tag"},
        3,
    ),
    "rejection_rate": Case(
        lambda rows: {**answers(rows), **judged(rows)},
        [
            ["insufficient information", "0", "No, it is not addressed."],
            ["里斯本", '["里斯本"]', "Yes, it is addressed."],
        ],
        {(1, '["a", 7'): JSON_ERROR, (1, ""): "row 1: reference is empty, others are not; fill in all or none"},
    ),
    "retrieval_ranking": Case(rankings, [["d7, d3, d1", "d1, d3"], ["甲 乙", "乙"], ["甲", ""]], {}),
    "rgb_accuracy": Case(
        answers,
        [
            ["About 70 km.", "70"],
            ["新款 iPhone", '["新款", "iphone"]'],
            ["0", "0"],
            ["in NYC", '[["NYC", "New York"]]'],
        ],
        {
            (1, '["a", 7'): JSON_ERROR,
            (
                1,
                '["<b>a</b>", [[]]]',
            ): r"row 1: .*<b>a</b>.* expected \[\"all\", \"needed\"\] or \[\[\"either\", \"or\"\]\]",
            (1, ""): EMPTY.format("reference"),
        },
    ),
    "truthfulness": Case(
        ratings,
        [["Paris", "paris", "perfect"], ["1990", "1989", "acceptable"], ["不知道", '["1912", "民国元年"]', "missing"]],
        {
            (1, '["a", 7'): JSON_ERROR,
            (1, ""): EMPTY.format("accepted"),
            (2, "perfect"): "row 3: .* is no rating, others are; expected perfect, acceptable, missing, incorrect",
        },
    ),
}


def as_csv(rows: list[list[str]], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


@pytest.fixture
def expected(server: Any, load_metric: Callable[[str], Any]) -> Callable[..., dict[str, Any]]:
    """A function from the table's rows and options to what the metric's folder computes, here and by path."""

    def compute(rows: list[list[str]], **options: Any) -> dict[str, Any]:
        result = load_metric(server.name).compute_quietly(**CASES[server.name].given(rows), **options)
        as_json: dict[str, Any] = json.loads(json.dumps(result))
        return as_json

    return compute


@pytest.mark.parametrize("server", [folder.name for folder in FOLDERS], indirect=True)
def test_a_space_is_used_once(server: Any, page: Any, expected: Callable[..., dict[str, Any]]) -> None:
    given, case = texts(METRICS / server.name), CASES[server.name]
    rows, names = given["example"], given["columns"]
    assert page.page.title() == given["title"] == page.page.locator("h1").first.inner_text()
    page.page.set_viewport_size({"width": 1280, "height": 900})
    assert page.cells(len(names)) == rows
    card = page.page.get_by_role("link", name="metric card").first
    page.page.locator(str(card.get_attribute("href"))).get_by_role("heading", name="Metric card: ").wait_for()

    rows[0][case.where] = LONG
    page.edit(0, case.where, LONG)
    assert page.cells(len(names)) == rows
    page.choose("corrected")
    result = page.submit()
    assert isinstance(result, dict), result
    want = expected(rows, profile="corrected")
    assert list(result) == list(want)
    for key, value in want.items():
        assert result[key] == value, key

    first = next(iter(want))
    summary = page.page.locator("#summary")
    summary.get_by_role("heading", name=f"{first}: {round(want[first], 4)}", exact=True).wait_for()
    counts = summary.get_by_text("n_total").inner_text()
    unscored = ", ".join(f"{n} {reason}" for reason, n in want["unscored"].items()) or "none"
    assert counts == f"n_total: {want['n_total']} · n_scored: {want['n_scored']} · unscored: {unscored}"

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


@pytest.mark.parametrize("server", [folder.name for folder in FOLDERS], indirect=True)
def test_pasted_rows_are_scored(server: Any, page: Any, expected: Callable[..., dict[str, Any]]) -> None:
    names, rows = texts(METRICS / server.name)["columns"], CASES[server.name].pasted
    for text in (as_csv([names, *rows]), as_csv(rows, "\t")):
        page.edit(0, 0, "from before")
        page.paste(text)
        page.page.get_by_test_id("cell-0-0").get_by_text(rows[0][0], exact=True).wait_for()
        assert page.cells(len(names)) == rows
        assert page.submit() == expected(rows)


@pytest.mark.parametrize("server", [folder.name for folder in FOLDERS], indirect=True)
def test_bad_input_is_told_in_one_line(server: Any, page: Any, expected: Callable[..., dict[str, Any]]) -> None:
    given, case = texts(METRICS / server.name), CASES[server.name]
    rows, names = given["example"], given["columns"]
    for (place, text), message in case.bad.items():
        page.edit(0, place, text)
        told = page.submit()
        assert isinstance(told, str) and "\n" not in told and re.search(message, told), told
        assert "Traceback" not in told and not page.page.locator(".json-holder").count()
        assert page.page.locator("#summary").inner_text().strip() in ("", "Error"), "an old result beside the error"
        page.edit(0, place, rows[0][place])
    page.paste(as_csv([["a"] * (len(names) + 1)]))
    wanted = f"pasted row 1 has {len(names) + 1} cells; expected {len(names)}: {', '.join(names)}"
    assert page.error() == wanted
    page.paste('"a" b,c')
    assert re.fullmatch("what was pasted is no CSV: .*", page.error())
    assert page.cells(len(names)) == rows
    assert page.submit() == expected(rows)
    for row, cells in enumerate(rows):
        for place in range(len(cells)):
            page.edit(row, place, "")
    assert page.submit() == "the table is empty; type or paste at least one row"


@pytest.mark.parametrize("server", ["retrieval_ranking"], indirect=True)
def test_a_cut_that_is_no_number_is_told(page: Any) -> None:
    box = page.page.get_by_label("k: places")
    for text, message in {
        "1, x": "k[1] is 'x'; expected a positive integer",
        "0": "k[0] is 0; expected a positive integer",
        "": "k is empty; expected a list of positive integers such as [1, 5, 10]",
    }.items():
        box.fill(text)
        assert page.submit() == message
    box.fill("3 2")
    assert page.submit()["recall@3"] == 0.75
