"""CRUD-RAG's recipe (Lyu et al. 2024, sections 3.1 to 3.5), for Chinese news.

Each document serves one task, dealt by the seed; `tasks` says how each is made. The paper searches the web for related
reports; here they come from one's own documents. What is made is held against them, and `files` writes what is left.
"""

import re
from collections.abc import Sequence

from ..held import fault_of, find_verbatim, is_grounded, stands_in
from ..recipe import Given, Recipe
from ..search import Corpus, unlike
from ..steps import Drop, Each, Row, Step, Whole
from .files import write
from .tasks import MAKERS, NUMBER, documents_of, strip_dateline

TASKS = tuple(MAKERS)
_RELATED = 8  # reports that are looked at for the other documents of a question


def steps(given: Given) -> Sequence[Step]:
    """Return the steps; see the module."""
    whole = Corpus(given.corpus)
    return [
        Whole("tasks", lambda rows: (_deal(rows, given), [])),
        Each("related", lambda row: _related(row, whole)),
        Each("made", lambda row: MAKERS[row["task"]](row), asks=6),
        Each("held", held),
        Whole("duplicates", _without_duplicates),
    ]


def _deal(rows: list[Row], given: Given) -> list[Row]:
    order = list(range(len(rows)))
    given.draw("tasks").shuffle(order)
    tasks = {at: TASKS[place % len(TASKS)] for place, at in enumerate(order)}
    return [{**row, "source": row["id"], "task": tasks[at]} for at, row in enumerate(rows)]


def _related(row: Row, corpus: Corpus) -> list[Row]:
    wanted = {"qa_2doc": 1, "qa_3doc": 2}.get(row["task"], 0)
    if not wanted:
        return [row]
    query = strip_dateline(row["text"])[:200]
    others = [other for other, _ in corpus.find(query, _RELATED) if other["id"] != row["source"]][:wanted]
    if len(others) < wanted:
        raise Drop("no related report")
    return [{**row, "others": [other["text"] for other in others]}]


def held(row: Row) -> list[Row]:
    """Hold what was made against its documents."""
    source = "\n".join(documents_of(row))
    if row["task"] in ("summary", "continuation"):
        said = row["event"] + row.get("summary", "")
        if any(number not in source for number in NUMBER.findall(said)):
            raise Drop("a number that the source lacks")
        if fault := fault_of(row["event"], [], [source], source, "zh"):
            raise Drop(fault)
        if row["task"] == "summary" and len(row["summary"]) * 2 > len(row["text"]):
            raise Drop("summary longer than half of the article")
    elif row["task"] != "hallucination":
        if any(number not in source for number in NUMBER.findall(row["answer"])):
            raise Drop("a number that the source lacks")
        if not is_grounded(row["answer"], source):
            raise Drop("answer is not in the source")
        if fault := fault_of(row["question"], [row["answer"]], row["passages"], source, "zh"):
            raise Drop(fault)
        for passage, text in zip(row["passages"], documents_of(row), strict=False):
            if find_verbatim(passage, text) is None:
                raise Drop("passage is not in its document")
        if row.get("others") and any(
            all(stands_in(part, text) for part in re.split("[；;]", row["answer"])) for text in documents_of(row)
        ):
            raise Drop("one document answers alone")
    return [row]


def _without_duplicates(rows: list[Row]) -> tuple[list[Row], list[tuple[Row, str]]]:
    differs = unlike([row.get("question") or row.get("event") or row["sentence"] for row in rows])
    kept = [row for row, new in zip(rows, differs, strict=True) if new]
    return kept, [(row, "asked before") for row, new in zip(rows, differs, strict=True) if not new]


RECIPE = Recipe(languages=("zh",), least=200, most=20_000, steps=steps, write=write)
