"""Search recall by number of pages: how many questions of CRAG have an answer in the first k (the paper's Figure 2).

An accepted answer stands in a snippet, or in a snippet or the text of a page. Words and numbers are compared, and
nothing is understood: what is put otherwise is not found, and what stands there for another reason is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from quadrag.metrics._shared.scoring import fold
from quadrag.reporting.notes import INTERVALS
from quadrag.reporting.table import Row, Table, interval_cell
from quadrag.retrieval import webpage
from quadrag.stats import NOT_APPLICABLE, Item, Mean, summarise_all

PUBLISHED = (
    "Published: arXiv:2406.04744, Figure 2: of its 4,409 questions about 69% have the answer within 5 pages and 85% "
    "within 50, pages in the order of the search; by a way of deciding that is the authors' own."
)
_HEADS = {"snippets": "in a\nsnippet", "pages": "in snippet or\npage text"}
_DRAWN = "task_1_2 has 5 pages that the authors drew at random from the first 10: compare the figure with task_3."
# The protocol's answers that stand on no page, and what upstream has in place of none.
_NOTHING_TO_FIND = (" invalid question ", " i don t know ", " nan ", "")
_WORD = re.compile(r"[0-9]+(?:\.[0-9]+)+|[^\W_]+")


class PageSearch(NamedTuple):
    """One question: its pages, whether an answer can be found, and the first page, from 1, that has one, by way."""

    id: str
    pages: int
    applicable: bool
    first: Mapping[str, int | None]


def normalise(text: str) -> str:
    """Return the words and numbers of a folded text, casefolded, a blank between and around them; "" for none.

    3.5 is one number, which has no 5 in it.
    """
    words = _WORD.findall(fold(text).casefold())
    return f" {' '.join(words)} " if words else ""


def search_pages(row: Mapping[str, Any], most: int) -> PageSearch:
    """Search the first `most` pages of a row of `crag` task_1_2 or task_3 for its accepted answers."""
    accepted = [] if normalise(row["answer"] or "") in _NOTHING_TO_FIND else [row["answer"], *row["alternatives"]]
    answers = [words for text in accepted if text and (words := normalise(text)) not in _NOTHING_TO_FIND]
    in_snippet = _find_first((normalise(page["page_snippet"] or "") for page in row["search_results"][:most]), answers)
    # Pages behind the first snippet that has it can change nothing, and the same page is often there twice.
    pages = list(row["page_result"][: most if in_snippet is None else in_snippet - 1])
    text_of = cache(lambda html: normalise(webpage.text(html or "")))
    in_page = _find_first(map(text_of, pages), answers) if answers else None
    first = {"snippets": in_snippet, "pages": in_snippet if in_page is None else in_page}
    return PageSearch(row["id"], len(row["search_results"]), bool(answers), first)


def _find_first(texts: Iterable[str], answers: Sequence[str]) -> int | None:
    return next((n for n, text in enumerate(texts, 1) if any(answer in text for answer in answers)), None)


def recall_at(questions: Sequence[PageSearch], cuts: Sequence[int]) -> dict[tuple[str, int], Mean]:
    places = [(way, cut) for way in _HEADS for cut in cuts]
    means = summarise_all([[_item(question, way, cut) for question in questions] for way, cut in places])
    return dict(zip(places, means, strict=True))


def _item(question: PageSearch, way: str, cut: int) -> Item:
    first = question.first[way]
    value = float(first is not None and first <= cut) if question.applicable else None
    return Item(question.id, value, NOT_APPLICABLE if value is None else None)


def recall_table(questions: Sequence[PageSearch], cuts: Sequence[int], source: str) -> Table:
    means = recall_at(questions, cuts)
    applicable = sum(question.applicable for question in questions)
    lines = []
    for cut in cuts:
        by_way = [means[way, cut] for way in _HEADS]
        lines.append(Row(str(cut), [interval_cell(mean.value, mean.interval, applicable) for mean in by_way]))
    notes: list[Any] = [
        f"Percent of questions. On: {source}.",
        INTERVALS,
        "Found: an accepted answer stands there, whole words and numbers; case, punctuation, blanks and commas between "
        "thousands aside. What is said in other words is not found; a short answer, such as yes, is found by chance.",
        f"Questions: {len(questions)}, of which {applicable} have an answer that can be found; of the others it is "
        "invalid question, I don't know, nan or blank, and they do not count.",
    ]
    notes += [_DRAWN] * (max(question.pages for question in questions) <= 5)
    return Table("Figure 2. Search recall by number of pages", "first pages", list(_HEADS.values()), lines, notes)


def recall_file(questions: Sequence[PageSearch], cuts: Sequence[int], source: str) -> dict[str, Any]:
    total, scored = len(questions), sum(question.applicable for question in questions)
    scores = [
        {"way": way, "pages": cut, "value": mean.value, "interval": mean.interval, "n_total": total, "n_scored": scored}
        for (way, cut), mean in recall_at(questions, cuts).items()
    ]
    return {"source": source, "scores": scores, "items": [question._asdict() for question in questions]}
