"""Search recall by number of pages: how many questions of CRAG have an answer in the first k (the paper's Figure 2).

An accepted answer stands in a snippet, or in a snippet or the text of a page. Words and numbers are compared, and
nothing is understood: what is put otherwise is not found, and what stands there for another reason is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.metrics._shared.fold import fold
from quadrag.reporting.cells import interval_cell
from quadrag.reporting.notes import INTERVALS
from quadrag.reporting.table import Cell, Row, Table
from quadrag.retrieval import webpage
from quadrag.stats import NOT_APPLICABLE, Item, Mean, summarise_all

SHORT = 3  # characters of an answer that is likely to stand on a page by chance
PUBLISHED = (
    "Published: arXiv:2406.04744, Figure 2: of its 4,409 questions about 69% have the answer within 5 pages and 85% "
    "within 50, pages in the order of the search; by a way of deciding that is the authors' own."
)
_HEADS = {"snippets": "in a\nsnippet", "pages": "in snippet or\npage text"}
_DRAWN = "task_1_2 has 5 pages that the authors drew at random from the first 10: compare the figure with task_3."
# The protocol's answers that stand on no page, and what upstream has in place of none.
_NOTHING_TO_FIND = (" invalid question ", " i don t know ", " nan ", "")
_WORD = re.compile(r"[0-9]+(?:\.[0-9]+)+|[^\W_]+")


@dataclass(frozen=True, slots=True)
class PageSearch:
    """One question: the first page, from 1, by which an answer is found, None for none, by way."""

    id: str
    pages: int
    applicable: bool
    short: bool
    first: Mapping[str, int | None]

    def item(self, way: str, cut: int) -> Item:
        """Return the value of a way at a number of pages."""
        if not self.applicable:
            return Item(self.id, None, NOT_APPLICABLE)
        first = self.first[way]
        return Item(self.id, float(first is not None and first <= cut))


class RecallAt(NamedTuple):
    """One way at one number of pages; `longer`: only of questions whose answers are all longer than `SHORT`."""

    way: str
    pages: int
    longer: bool
    mean: Mean
    n_total: int
    n_scored: int

    def as_row(self) -> dict[str, Any]:
        """Return it as a row of a JSON file, all values in [0, 1]."""
        return {
            "way": self.way,
            "pages": self.pages,
            "answers": f"over {SHORT} characters" if self.longer else "all",
            "value": self.mean.value,
            "interval": self.mean.interval and [*self.mean.interval],
            "n_total": self.n_total,
            "n_scored": self.n_scored,
            "n_not_applicable": self.n_total - self.n_scored,
        }


def normalise(text: str) -> str:
    """Return the words and numbers of a folded text, casefolded, a blank between and around them; "" for none.

    3.5 is one number, which has no 5 in it.
    """
    words = _WORD.findall(fold(text).casefold())
    return f" {' '.join(words)} " if words else ""


def search_pages(row: Mapping[str, Any], most: int) -> PageSearch:
    """Search the first `most` pages of a row of `crag` task_1_2 or task_3 for its accepted answers."""
    accepted = [] if normalise(row["answer"] or "") in _NOTHING_TO_FIND else [row["answer"], *row["alternatives"]]
    answers = [found for text in accepted if text and (found := normalise(text)) not in _NOTHING_TO_FIND]
    in_snippet = _find_first((normalise(page["page_snippet"] or "") for page in row["search_results"][:most]), answers)
    # Pages behind the first snippet that has it can change nothing, and the same page is often there twice.
    pages = list(row["page_result"][: most if in_snippet is None else in_snippet - 1])
    text_of = cache(lambda html: normalise(webpage.text(html or "")))
    in_page = _find_first(map(text_of, pages), answers) if answers else None
    return PageSearch(
        id=row["id"],
        pages=len(row["search_results"]),
        applicable=bool(answers),
        short=any(len(answer.replace(" ", "")) <= SHORT for answer in answers),
        first={"snippets": in_snippet, "pages": in_snippet if in_page is None else in_page},
    )


def _find_first(texts: Iterable[str], answers: Sequence[str]) -> int | None:
    return next((n for n, text in enumerate(texts, 1) if any(answer in text for answer in answers)), None)


def recall_at(questions: Sequence[PageSearch], cuts: Sequence[int]) -> Iterator[RecallAt]:
    """Yield the recall of all questions, then of those without short answers, for each way and number of pages."""
    places = [(way, cut) for way in _HEADS for cut in cuts]
    for longer in (False, True):
        members = [question for question in questions if not (longer and question.short)]
        means = summarise_all([[question.item(way, cut) for question in members] for way, cut in places])
        for (way, cut), mean in zip(places, means, strict=True):
            yield RecallAt(way, cut, longer, mean, len(members), sum(question.applicable for question in members))


def recall_table(
    questions: Sequence[PageSearch], scores: Sequence[RecallAt], cuts: Sequence[int], source: str
) -> Table:
    """Make the table: a row per number of pages, a column per way, then the same without short answers."""
    found = {(score.way, score.pages, score.longer): score for score in scores}
    short = sum(question.short for question in questions)
    lines = []
    for longer in (False, True) if short else (False,):
        if longer:
            lines.append(Row(f"without answers of up to {SHORT} characters", [Cell("")] * len(_HEADS), rule=True))
        for cut in cuts:
            here = [found[(way, cut, longer)] for way in _HEADS]
            cells = [interval_cell(score.mean.value, score.mean.interval, score.n_scored) for score in here]
            lines.append(Row(f"{' ' * longer}{cut}", cells))
            lines.append(Row(f"{' ' * longer}  n", [Cell(str(score.n_scored)) for score in here]))
    notes: list[Any] = [
        f"Percent of questions. On: {source}.",
        INTERVALS,
        "Found: an accepted answer stands there, whole words and numbers; case, punctuation, blanks and commas between "
        "thousands aside. What is said in other words is not found.",
        f"Questions: {len(questions)}, of which {sum(question.applicable for question in questions)} have an answer "
        "that can be found; of the others it is invalid question, I don't know, nan or blank, and they do not count.",
        f"With an answer of up to {SHORT} characters, such as yes, which stands on many pages by chance: {short}.",
    ]
    fewer = {cut: sum(question.pages < cut for question in questions) for cut in cuts}
    few = [f"{count} of {len(questions)} for {cut}" for cut, count in fewer.items() if count]
    notes += [f"Questions with fewer pages than asked for, all of which count: {', '.join(few)}."] * bool(few)
    notes += [_DRAWN] * (max(question.pages for question in questions) <= 5)
    return Table("Figure 2. Search recall by number of pages", "first pages", list(_HEADS.values()), lines, notes)


def recall_file(questions: Sequence[PageSearch], scores: Sequence[RecallAt], source: str) -> dict[str, Any]:
    """Return what the JSON file holds: ``source``, ``scores``, and ``items`` with the first page that has an answer."""
    return {"source": source, "scores": [one.as_row() for one in scores], "items": [asdict(one) for one in questions]}


def parse_cuts(text: str) -> list[int]:
    """Read numbers of pages, ``1,2,5``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,4}", part) and int(part) for part in parts):
        raise QuadragError(f"--pages is {text!r}; expected numbers of pages from 1 to 9999, as in 1,2,5")
    return sorted({int(part) for part in parts})
