"""How people review RGB's questions; a corrected answer parts the passages anew."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.held import fault_of, stands_in
from quadrag.construct.review.items import Item, Review, Value
from quadrag.construct.steps import Drop, Row
from quadrag.records import read_jsonl, write_jsonl

from .recipe import KINDS, NEGATIVES, falsify, splits_of

ASKS = {
    "en": (
        "Would a reader of news ask the question, and is it complete without the passages?",
        "Is it natural, exact and grammatical?",
        "Is every answer correct, and is no accepted form missing?",
        "Do the passages say so?",
        "Of a false answer: is it of the same kind, and false?",
    ),
    "zh": (
        "新闻读者会问这个问题吗？没有片段时它也完整吗？",
        "它是否自然、准确、合乎语法？",
        "每个答案都正确吗？没有漏掉可接受的写法吗？",
        "片段是这样说的吗？",
        "若有错误答案：它与答案是否同类，并且确实是错的？",
    ),
}


def read(dataset: Path) -> Iterator[Item]:
    """Yield the questions of each file."""
    for language in ("en", "zh"):
        for kind, suffixes in KINDS.items():
            path = dataset / f"{language}{suffixes[0]}.json"
            if path.is_file():
                cell = splits_of(kind, language)[0].partition("/")[0]
                for _, line in read_jsonl(path):
                    yield _item(cell, line, (language, kind))


def _item(cell: str, line: Row, kept: tuple[str, str]) -> Item:
    fields: dict[str, Value] = {"question": line["query"], "answer": line["answer"][0]}
    positive = line["positive"]
    if kept[1] == "int":
        fields["answer_2"] = line["answer"][1]
        positive = dict.fromkeys(text for aspect in positive for text in aspect)
    if kept[1] == "fact":
        fields["false_answer"] = line["fakeanswer"][0]
    marks = [answer for aspect in line["answer"] for answer in aspect]
    return Item(cell, fields, marks, list(positive), str(line["source"]), line, kept)


def correct(item: Item, changed: Mapping[str, Value]) -> Row:
    """Return a line with its passages parted by the corrected answers."""
    language, kind = item.kept
    fields: dict[str, Any] = {**item.fields, **changed}
    golds = [fields[name] for name in ("answer", "answer_2") if name in fields]
    texts = list(dict.fromkeys([*item.passages, *item.line["negative"]]))
    positive = [[text for text in texts if _holds(text, answers)] for answers in golds]
    negative = [text for text in texts if not any(_holds(text, answers) for answers in golds)]
    if not all(positive):
        raise Drop("answer is not in the passages")
    if len(negative) < NEGATIVES:
        raise Drop(f"fewer than {NEGATIVES} passages without the answer")
    every = [answer for answers in golds for answer in answers]
    shown = [text for aspect in positive for text in aspect]
    if fault := fault_of(fields["question"], every, shown, "\n".join(texts), language):
        raise Drop(fault)
    line = {**item.line, "query": fields["question"], "answer": golds, "negative": negative}
    line["positive"] = positive if kind == "int" else positive[0]
    if kind == "fact":
        made = falsify({"answer": golds[0], "positive": positive[0]}, fields["false_answer"])
        line |= {key: made[key] for key in ("positive_wrong", "fakeanswer")}
    return line


def _holds(text: str, answers: Sequence[str]) -> bool:
    return any(stands_in(answer, text) for answer in answers)


def write(passed: Sequence[tuple[Item, Row]], dataset: Path, out: Path) -> dict[str, int]:
    """Write the files of each language; see `Review.write`."""
    splits: dict[str, int] = {}
    for language, kind in dict.fromkeys(item.kept for item, _ in passed):
        lines = [line for item, line in passed if item.kept == (language, kind)]
        for suffix in KINDS[kind]:
            write_jsonl(out / f"{language}{suffix}.json", lines)
        splits |= dict.fromkeys(splits_of(kind, language), len(lines))
    return splits


REVIEW = Review(ASKS, read, correct, write)
