"""How people review CRAG's questions: wording and other accepted answers. The answer is computed, and stays."""

import bz2
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.held import fault_of
from quadrag.construct.review.items import Item, Review, Value
from quadrag.construct.steps import Drop, Row
from quadrag.errors import QuadragError
from quadrag.reading import parse_json

from .recipe import TASK_1_2, TASK_3, count_splits, write_files

ASKS = {
    "en": (
        "Would a person ask the question in these words?",
        "Is it of its type: a condition, a set, a comparison, several steps, a false premise?",
        "Has it one answer at its time, and is it this one?",
        "Is no other accepted form of the answer missing?",
    ),
    "zh": (
        "人会用这样的话提问吗？",
        "它是否符合其类型：条件、集合、比较、多步、错误前提？",
        "在提问时，它是否只有一个答案，并且就是这个？",
        "没有漏掉答案的其他可接受写法吗？",
    ),
}
_FIELDS = {"question": "query", "answer": "answer", "other_answers": "alt_ans"}


def read(dataset: Path) -> Iterator[Item]:
    """Yield the questions, each with the pages of tasks 1 and 2."""
    path = dataset / TASK_1_2
    if not path.is_file():
        return
    with bz2.open(path) as lines:
        for number, text in enumerate(lines, 1):
            line = parse_json(text, f"{path}:{number}")
            try:
                yield _item(line)
            except (KeyError, TypeError) as error:
                raise QuadragError(f"{path}:{number} lacks {error}; make the dataset again") from None


def _item(line: Row) -> Item:
    fields: dict[str, Value] = {name: line[key] for name, key in _FIELDS.items()}
    pages = [f"{page['page_name']}\n{page['page_snippet']}" for page in line["search_results"]]
    source = f"{line['domain']}, {line['static_or_dynamic']}, {line['query_time']}"
    return Item(line["question_type"], fields, [line["answer"], *line["alt_ans"]], pages, source, line)


def correct(item: Item, changed: Mapping[str, Value]) -> Row:
    """Return a line with another wording, or more accepted answers."""
    if "answer" in changed:
        raise Drop("the answer is computed; mend the table, and make the dataset again")
    line: dict[str, Any] = {**item.line, **{_FIELDS[name]: value for name, value in changed.items()}}
    if line["answer"] in line["alt_ans"]:
        raise Drop("another answer is the answer itself")
    # Of a comparison the answer stands in the question.
    if fault := fault_of(line["query"], [], [line["query"]], line["query"], "en"):
        raise Drop(fault)
    return line


def write(passed: Sequence[tuple[Item, Row]], dataset: Path, out: Path) -> dict[str, int]:
    """Write both files with what was passed; see `Review.write`."""
    lines = {line["interaction_id"]: line for _, line in passed}
    write_files(out, lines.values(), _with_all_pages(dataset / TASK_3, lines))
    return count_splits([line["split"] for line in lines.values()])


def _with_all_pages(path: Path, lines: Mapping[str, Row]) -> Iterator[Row]:
    with tarfile.open(path) as archive:
        for member in archive:
            for text in archive.extractfile(member) or ():
                found = parse_json(text, path)
                if line := lines.get(found["interaction_id"]):
                    yield {**line, "search_results": found["search_results"]}


REVIEW = Review(ASKS, read, correct, write)
