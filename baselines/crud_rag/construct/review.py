"""How people review CRUD-RAG's entries. What stands in the corpus stays: an entry's documents are not corrected."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.review.items import Item, Review, Value
from quadrag.construct.steps import Drop, Row
from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import write_text

from .recipe import KEYS, TASKS, held

ASKS = {
    "en": (
        "Is the question, or the event, natural, exact and grammatical?",
        "Is it complete without the documents, and does it need all of them?",
        "Is the answer, or the summary, correct and complete?",
        "Of a hallucination: is exactly one thing wrong, and could a reader believe it?",
    ),
    "zh": (
        "问题或事件是否自然、准确、合乎语法？",
        "没有文档时它是否完整？它是否需要全部文档？",
        "答案或摘要是否正确、完整？",
        "若是幻觉：是否恰好有一处错误，而且读者可能相信？",
    ),
}
_SPLIT, _CORPUS = "data/crud_split/split_merged.json", "data/80000_docs"
_QUESTION = {"question": "questions", "answer": "answers"}
# What is shown and may be corrected: our name to upstream's key.
_FIELDS = {
    "summary": {"event": "event", "summary": "summary"},
    "continuation": {"event": "event"},
    "qa_1doc": _QUESTION,
    "qa_2doc": _QUESTION,
    "qa_3doc": _QUESTION,
    "hallucination": {"wrong_sentence": "hallucinatedContinuation"},
}


def read(dataset: Path) -> Iterator[Item]:
    """Yield the entries of every task."""
    path = dataset / _SPLIT
    if not path.is_file():
        return
    merged = parse_json(path.read_bytes(), path)
    for task in TASKS:
        for entry in merged.get(KEYS[task], ()):
            try:
                fields: dict[str, Value] = {name: entry[key] for name, key in _FIELDS[task].items()}
                documents = _documents(task, entry)
            except (KeyError, TypeError) as error:
                raise QuadragError(f"{path}: an entry of {KEYS[task]} lacks {error}; make the dataset again") from None
            marks = [entry["answers"]] if "answers" in entry else []
            source = entry.get("title") or entry.get("headLine") or ""
            yield Item(task, fields, marks, documents, source, entry, task)


def _documents(task: str, entry: Row) -> list[str]:
    if task == "hallucination":
        return [entry["newsBeginning"], entry["realContinuation"]]
    if task == "continuation":
        return [entry["beginning"], entry["continuing"]]
    return [entry["text"]] if task == "summary" else [entry[key] for key in entry if key.startswith("news")]


def correct(item: Item, changed: Mapping[str, Value]) -> Row:
    """Return an entry that holds against its documents."""
    line: dict[str, Any] = {**item.line, **{_FIELDS[item.kept][name]: value for name, value in changed.items()}}
    if item.kept == "hallucination" and line["hallucinatedContinuation"] == line["realContinuation"]:
        raise Drop("nothing is wrong in the sentence")
    first, *others = item.passages if item.kept.startswith("qa") else [line.get("text", "")]
    row = {"task": item.kept, "text": first, "others": others, "passages": item.passages}
    row |= {name: line[key] for name, key in _FIELDS[item.kept].items()}
    held(row)
    return line


def write(passed: Sequence[tuple[Item, Row]], dataset: Path, out: Path) -> dict[str, int]:
    """Write the split file, and the corpus as it is; see `Review.write`."""
    tasks = [task for task in TASKS if any(item.kept == task for item, _ in passed)]
    merged = {KEYS[task]: [line for item, line in passed if item.kept == task] for task in tasks}
    write_text(out / _SPLIT, json.dumps(merged, ensure_ascii=False, indent=1) + "\n")
    shutil.copytree(dataset / _CORPUS, out / _CORPUS)
    return {f"{task}/test": len(merged[KEYS[task]]) for task in tasks}


REVIEW = Review(ASKS, read, correct, write)
