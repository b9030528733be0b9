"""Search recall by words: what counts as found, and from which page on."""

from __future__ import annotations

import random
import re
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from crag_recall import NO, ROWS, row, values
from hypothesis import given
from hypothesis import strategies as st

from quadrag.baselines.crag.recall.search import accepted_answers, parse_cuts, search_recall
from quadrag.baselines.crag.recall.table import recall_items, recall_rows
from quadrag.baselines.crag.recall.words import normalise
from quadrag.errors import QuadragError
from quadrag.stats import Item, summarise


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Oslo", "It is OSLO."),
        ("rory mcilroy", "Rory\n\tMcIlroy's card"),
        ("post-processing", "the post processing of"),
        ("don't look up", "Don\u2019t Look Up (2021)"),
        ("1,551,206", "a total of 1551206 units"),
        ("$1234.50", "it cost 1,234.50 dollars"),
        ("50%", "over 50 percent"),
        ("\uff12\uff10\uff11\uff19", "in 2019"),
        ("caf\u00e9", "the CAFE\u0301 there"),
        ("stra\u00dfe", "STRASSE"),
        ("California", "Cali\u00adfornia, long ago"),
        ("2022", "in 2022. Then"),
        ("hp & co", "HP &amp; Co".replace("&amp;", "&")),
        ("1,000,000", "(1,000,000,"),
    ],
)
def test_found(answer: str, text: str) -> None:
    assert normalise(answer) in normalise(text)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Oslo", "Oslofjord"),
        ("5", "3.5 points"),
        ("3", "3.5 points"),
        ("1", "1,234 units"),
        ("234", "1,234 units"),
        ("12", "2012"),
        ("no", "nothing"),
        ("new york", "new or york"),
        ("york new", "new york"),
        ("1.5", "11.5"),
        ("1234", "1,2,3,4"),
    ],
)
def test_not_found(answer: str, text: str) -> None:
    assert normalise(answer) not in normalise(text)


@given(st.text(alphabet="aB1,. -'\u00ad\u0301", max_size=30))
def test_a_text_holds_itself_between_other_words(text: str) -> None:
    whole = normalise(text)
    assert whole == normalise(whole), "once is enough"
    assert whole in normalise(f"before {text} after") or re.search(r"^\s*[.,]|\u0301", text)
    assert whole.strip() == " ".join(whole.split())


@pytest.mark.parametrize(
    "answer", ["invalid question", "Invalid Question.", "I don't know", "I don\u2019t know", "nan", "", "  ", "?", None]
)
def test_there_is_nothing_to_find(answer: str | None) -> None:
    assert accepted_answers(row("q", answer, alternatives=("Oslo",))) == []
    recalled = search_recall([row("q", answer, (answer or "x", ""))], [1])
    assert recalled.questions[0].applicable is False
    assert [score.summary.n_not_applicable for score in recalled.scores] == [1, 1, 1, 1]
    assert values(recalled, "snippets") == [None]


def test_alternatives_count_unless_they_cannot_be_found() -> None:
    assert accepted_answers(row("q", "Oslo", alternatives=("Christiania", "OSLO", "nan", " ", "invalid question"))) == [
        "Oslo",
        "Christiania",
        "OSLO",
    ]


def test_first_pages() -> None:
    recalled = search_recall(ROWS, [3, 1, 2, 1])
    assert recalled.cuts == (1, 2, 3)
    assert [(one["id"], one["first"]["snippets"], one["first"]["pages"]) for one in recall_items(recalled)] == [
        ("first", 1, 1),
        ("page", 2, 1),
        ("third", None, 3),
        ("other", 1, 1),
        ("short", None, 1),
        ("hidden", None, None),
        ("false", None, None),
    ]
    assert values(recalled, "snippets") == [2 / 6, 3 / 6, 3 / 6]
    assert values(recalled, "pages") == [4 / 6, 4 / 6, 5 / 6]
    assert values(recalled, "pages", longer=True) == [3 / 5, 3 / 5, 4 / 5]
    assert values(recalled, "sufficient") == []


def test_pages_behind_the_last_cut_are_not_read() -> None:
    pages = [("x", "y")] * 3
    late = row("late", "Oslo", *pages, ("x", "Oslo"))
    assert values(search_recall([late], [3]), "pages") == [0.0]
    assert values(search_recall([late], [3, 4]), "pages") == [0.0, 1.0]
    late["page_result"][3] = None  # never looked at
    assert values(search_recall([late], [3]), "pages") == [0.0]


def test_values_and_intervals_are_those_of_the_statistics() -> None:
    draw = random.Random(7)
    many = [row(str(n), "Oslo", *[(draw.choice(["Oslo", *"xyz"]), "z")] * 2) for n in range(40)]
    recalled = search_recall(many, [1])
    items = [Item(one.id, float(one.first["snippets"] == 1)) for one in recalled.questions]
    assert recalled.scores[0].summary == summarise(items)
    assert recall_rows(recalled)[0] == {
        "way": "snippets",
        "pages": 1,
        "answers": "all",
        "value": recalled.scores[0].summary.value,
        "interval": list(recalled.scores[0].summary.interval or ()),
        "n_total": 40,
        "n_scored": 40,
        "n_not_applicable": 0,
        "unscored": {},
    }


def test_one_row_at_a_time_is_kept() -> None:
    class Row(dict[str, Any]):
        """A mapping that can be watched."""

    alive: list[weakref.ref[Row]] = []

    def given_rows() -> Iterator[Row]:
        for number in range(50):
            assert sum(one() is not None for one in alive) == 0, "an earlier row is still there"
            one = Row(row(str(number), "Oslo", ("x" * 1000, "y" * 1000)))
            alive.append(weakref.ref(one))
            yield one
            del one

    assert len(search_recall(given_rows(), [1], judge=lambda batch: [NO] * len(batch)).questions) == 50


@pytest.mark.parametrize(("text", "cuts"), [("1,2,5", [1, 2, 5]), (" 50, 5,5 ", [5, 50]), ("1", [1]), ("007", [7])])
def test_numbers_of_pages(text: str, cuts: list[int]) -> None:
    assert parse_cuts(text) == cuts


@pytest.mark.parametrize("text", ["", "0", "1,,2", "-1", "1.5", "a", "1,2,", "\u0661", "12345"])
def test_what_is_no_number_of_pages_gets_one_line(text: str) -> None:
    with pytest.raises(QuadragError, match="expected numbers of pages from 1 to 9999"):
        parse_cuts(text)


def test_rows_without_pages_and_no_rows_get_one_line() -> None:
    bare = row("q", "Oslo")
    del bare["page_result"]
    with pytest.raises(QuadragError, match="q has no pages; expected a row of crag task_1_2 or task_3"):
        search_recall([bare], [1])
    with pytest.raises(QuadragError, match="hold no question"):
        search_recall([], [1])
    for cuts in ([], [0, 1]):
        with pytest.raises(QuadragError, match="expected some, from 1"):
            search_recall(ROWS, cuts)
