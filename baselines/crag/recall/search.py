"""Search recall by number of pages: how many questions of CRAG have an answer in the first k (the paper's Figure 2).

Three ways: an accepted answer stands in a snippet; in a snippet or the text of a page; a judge finds the snippets
sufficient, or snippets and a window of every page's text. The first two compare words and numbers and understand
nothing: what is put otherwise is not found, and what stands there for another reason is. It ranks no pages, and reads
those of one question at a time. What it found is shown by `table`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from typing import Any, NamedTuple

from quadrag.chat.prices import BudgetReached
from quadrag.errors import QuadragError
from quadrag.stats import NOT_APPLICABLE, Item, Summary, summarise_all

from .. import webpage
from . import sufficiency
from .words import excerpt, normalise

WAYS = ("snippets", "pages", "sufficient")
SHORT = 3  # characters of an answer that is likely to stand on a page by chance
_TOGETHER = 32  # questions that a judge is asked about together

# The protocol's answers that stand on no page, and what upstream has in place of none.
_NOTHING_TO_FIND = (" invalid question ", " i don t know ", " nan ", "")


@dataclass(frozen=True, slots=True)
class PageSearch:
    """One question: the first page, from 1, by which an answer is found, None for none; verdicts by number of pages."""

    id: str
    pages: int
    applicable: bool
    short: bool
    first: Mapping[str, int | None]
    verdicts: dict[int, sufficiency.Verdict] = field(default_factory=dict)

    def item(self, way: str, cut: int) -> Item:
        """Return the value of a way at a number of pages."""
        if not self.applicable:
            return Item(self.id, None, NOT_APPLICABLE)
        if way != "sufficient":
            first = self.first[way]
            return Item(self.id, float(first is not None and first <= cut))
        verdict = self.verdicts[cut]
        return Item(self.id, None, verdict) if isinstance(verdict, str) else Item(self.id, float(verdict))


class RecallAt(NamedTuple):
    """One way at one number of pages; `longer`: only of questions whose answers are all longer than `SHORT`."""

    way: str
    pages: int
    longer: bool
    summary: Summary


@dataclass(frozen=True, slots=True)
class SearchRecall:
    """What was found, question by question and summed up.

    `window`: characters of each page's text that the judge read beside the snippet, 0 for snippets alone. `stopped`
    says why it was asked no further.
    """

    cuts: tuple[int, ...]
    judge: str | None
    prompt: str | None
    window: int
    questions: Sequence[PageSearch]
    scores: Sequence[RecallAt]
    stopped: str | None = None

    @property
    def ways(self) -> list[str]:
        """The ways that were gone."""
        return _ways(self.judge)


def accepted_answers(row: Mapping[str, Any]) -> list[str]:
    """Return the accepted answers of a row that can be looked for; none where the answer itself cannot."""
    if normalise(row["answer"] or "") in _NOTHING_TO_FIND:
        return []
    return [text for text in (row["answer"], *row["alternatives"]) if text and normalise(text) not in _NOTHING_TO_FIND]


def parse_cuts(text: str) -> list[int]:
    """Read numbers of pages, ``1,2,5``.

    Raises:
        QuadragError: one is none.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,4}", part) and int(part) for part in parts):
        raise QuadragError(f"--pages is {text!r}; expected numbers of pages from 1 to 9999, as in 1,2,5")
    return sorted({int(part) for part in parts})


def search_recall(
    rows: Iterable[Mapping[str, Any]],
    cuts: Sequence[int],
    judge: sufficiency.Judge | None = None,
    window: int = 0,
    advance: Callable[[int], None] | None = None,
) -> SearchRecall:
    """Search the pages of questions for their answers.

    Args:
        rows: of `crag` task_1_2 or task_3, in order; one at a time is in memory.
        cuts: numbers of pages, from 1, in any order.
        judge: is asked about snippets, of 32 questions together; None leaves that way out.
        window: characters of each page's text that it reads too; 0 for snippets alone.
        advance: is told how many questions are done.

    Raises:
        QuadragError: there are no cuts or no questions, a cut is below 1, or the rows have no pages.
        ValueError: the judge did not return one reply per request.
    """
    numbers = sorted(set(cuts))
    if not numbers or numbers[0] < 1:
        raise QuadragError(f"numbers of pages are {list(cuts)}; expected some, from 1")
    asked = None if judge is None else _UntilBudget(judge)
    questions: list[PageSearch] = []
    searched = _search_rows(rows, numbers[-1], window if judge else 0, advance)
    longest = sufficiency.LONGEST + (window + 1 if window else 0)
    while group := list(islice(searched, _TOGETHER)):
        if asked is not None:
            cases = [(found, case) for found, case in group if found.applicable]
            verdicts = sufficiency.ask([case for _, case in cases], numbers, asked, longest)
            for (found, _), given in zip(cases, verdicts, strict=True):
                found.verdicts.update(given)
        questions += [found for found, _ in group]
    if not questions:
        raise QuadragError("the data hold no question; expected rows of crag task_1_2 or task_3")
    model = None if judge is None else str(getattr(judge, "model", None) or "unnamed")
    prompt = None if judge is None else sufficiency.prompt_hash(longest)
    scores = [score for longer in (False, True) for score in _summarise(questions, _ways(model), numbers, longer)]
    return SearchRecall(tuple(numbers), model, prompt, window, questions, scores, asked.stopped if asked else None)


class _UntilBudget:
    """A judge that is asked no further once the budget has ended."""

    def __init__(self, judge: sufficiency.Judge) -> None:
        self._judge = judge
        self.stopped: str | None = None

    def __call__(self, batch: list[list[dict[str, str]]]) -> Sequence[Any]:
        if self.stopped is not None:
            return [None] * len(batch)  # no reply: an api_error, as what the client itself did not ask
        try:
            return list(self._judge(batch))
        except BudgetReached as stop:
            self.stopped = str(stop)
            return list(stop.results)


def _ways(judge: str | None) -> list[str]:
    return [way for way in WAYS if judge is not None or way != "sufficient"]


def _search_rows(
    rows: Iterable[Mapping[str, Any]], most: int, window: int, advance: Callable[[int], None] | None
) -> Iterator[tuple[PageSearch, sufficiency.Case]]:
    done = count(1)
    for row in rows:  # not through enumerate, which keeps a row until it has the next
        found = _search(row, most, window)
        del row
        if advance is not None:
            advance(next(done))
        yield found


def _search(row: Mapping[str, Any], most: int, window: int) -> tuple[PageSearch, sufficiency.Case]:
    if "search_results" not in row or "page_result" not in row:
        raise QuadragError(f"{row['id']} has no pages; expected a row of crag task_1_2 or task_3")
    accepted = accepted_answers(row)
    answers = list(map(normalise, accepted))
    snippets = [page["page_snippet"] or "" for page in row["search_results"][:most]]
    in_snippet = _find_first(map(normalise, snippets), answers)
    # Pages behind the first snippet that has it can change nothing, and the same page is often there twice.
    pages = list(dict.fromkeys(row["page_result"][: most if in_snippet is None else in_snippet - 1]))
    text_of = cache(lambda html: webpage.text(html or ""))
    hit = _find_first((normalise(text_of(html)) for html in pages), answers) if answers else None
    found = PageSearch(
        id=row["id"],
        pages=len(row["search_results"]),
        applicable=bool(answers),
        short=any(len(answer.replace(" ", "")) <= SHORT for answer in answers),
        first={
            "snippets": in_snippet,
            "pages": in_snippet if hit is None else row["page_result"].index(pages[hit - 1]) + 1,
        },
    )
    results = [snippet[: sufficiency.LONGEST] for snippet in snippets]
    if window and answers:
        texts = [excerpt(text_of(html), row["query"], accepted, window) for html in row["page_result"][:most]]
        results = ["\n".join(filter(None, pair)) for pair in zip(results, texts, strict=True)]
    return found, sufficiency.Case(row["query"], row["query_time"] or "", accepted, results)


def _find_first(texts: Iterable[str], answers: Sequence[str]) -> int | None:
    """Return which text, from 1, is the first to hold one of the answers."""
    places = (place for place, text in enumerate(texts, 1) if any(answer in text for answer in answers))
    return next(places, None)


def _summarise(
    questions: Sequence[PageSearch], ways: Sequence[str], cuts: Sequence[int], longer: bool
) -> list[RecallAt]:
    members = [question for question in questions if not (longer and question.short)]
    places = [(way, cut) for way in ways for cut in cuts]
    summaries = summarise_all([[question.item(way, cut) for question in members] for way, cut in places])
    return [RecallAt(way, cut, longer, summary) for (way, cut), summary in zip(places, summaries, strict=True)]
