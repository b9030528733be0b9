"""What each task of CRUD-RAG is made of, by a model.

Questions over two or three documents take the paper's five steps, whose traces are kept as ``thoughts``. For
hallucinations the paper has texts with marked errors corrected by a model. Here the error is made, in one place of a
real sentence, so that the correction is known: it is what the newspaper wrote.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...systems.extractive import sentences
from ..asking import ask, load_prompts, text_of, texts_of
from ..steps import Drop, Row, Work

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PROMPTS = load_prompts(Path(__file__).parent)
# When a report was published, before its first sentence.
_DATELINE = re.compile(r"^\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}(?::\d{2})?)?[，,]?(?:正文：)?\s*")


def strip_dateline(text: str) -> str:
    """Return a report without the time that it begins with, as those of CRUD-RAG's corpus do."""
    return _DATELINE.sub("", text)


def documents_of(row: Row) -> list[str]:
    """Return the texts that a question is on, its own document first."""
    return [row["text"], *row.get("others", ())]


def _summary(row: Row) -> Work:
    def read(found: Any) -> tuple[str, str] | None:
        return None if found["event"] is None else (text_of(found["event"]), text_of(found["summary"]))

    made = yield from ask(_PROMPTS["summary"], {"document": row["text"]}, read)
    if made is None:
        raise Drop("no news report")
    return [{**row, "event": made[0], "summary": made[1]}]


def _event(row: Row) -> Work:
    def read(found: Any) -> str | None:
        return None if found["event"] is None else text_of(found["event"])

    event = yield from ask(_PROMPTS["event"], {"document": row["text"]}, read)
    if event is None:
        raise Drop("no news report")
    return [{**row, "event": event}]


def _continuation(row: Row) -> Work:
    return (yield from _event({**row, **_halves(row["text"])}))


def _halves(text: str) -> Row:
    """Cut an article at the sentence boundary nearest to its half."""
    ends = [end.end() for end in re.finditer(r"[。！？!?；]+[”’」』）]*|\n+", text)]
    ends = [end for end in ends if text[:end].strip() and text[end:].strip()]
    if not ends:
        raise Drop("a single sentence")
    cut = min(ends, key=lambda end: (abs(2 * end - len(text)), end))
    return {"beginning": text[:cut].strip(), "continuing": text[cut:].strip()}


def _one_document(row: Row) -> Work:
    def read(found: Any) -> Row | None:
        if found["event"] is None:
            return None
        texts = {key: text_of(found[key]) for key in ("event", "question", "answer")}
        return {**texts, "passages": texts_of(found["passages"])}

    made = yield from ask(_PROMPTS["qa_1doc"], {"document": row["text"]}, read)
    if made is None:
        raise Drop("no question")
    return [{**row, **made}]


def _several_documents(row: Row) -> Work:
    """Take the paper's steps 2 to 5: what the documents share, where they differ, a question on each, all in one."""
    documents = "\n\n".join(f"新闻{at}：{text}" for at, text in enumerate(documents_of(row), 1))

    def read_common(found: Any) -> Row | None:
        if found["related"] is not True:
            return None
        texts = {key: text_of(found[key]) for key in ("event", "common")}
        return {**texts, "different": texts_of(found["different"])}

    common = yield from ask(_PROMPTS["common"], {"documents": documents}, read_common)
    if common is None:
        raise Drop("documents are not related")
    slots = {"common": common["common"], "different": "；".join(common["different"]), "documents": documents}

    def read_questions(found: Any) -> list[Row]:
        parts = [{key: text_of(one[key]) for key in ("question", "answer", "passage")} for one in found["questions"]]
        if len(parts) != len(documents_of(row)):
            raise ValueError("not one question a document")
        return parts

    parts = yield from ask(_PROMPTS["questions"], slots, read_questions)
    listed = "；".join(f"{part['question']}（{part['answer']}）" for part in parts)

    def read_joined(found: Any) -> tuple[str, str] | None:
        return None if found["question"] is None else (text_of(found["question"]), text_of(found["answer"]))

    joined = yield from ask(_PROMPTS["joined"], {"event": common["event"], "questions": listed}, read_joined)
    if joined is None:
        raise Drop("questions could not be joined")
    thoughts = f"共同点：{common['common']} 不同点：{slots['different']} 小问题：{listed}"
    made = {"event": common["event"], "question": joined[0], "answer": joined[1], "thoughts": thoughts}
    return [{**row, **made, "passages": [part["passage"] for part in parts]}]


def _hallucination(row: Row) -> Work:
    parts = _first_sentence(row)
    slots = {"beginning": parts["beginning"], "sentence": parts["sentence"]}

    def read(found: Any) -> Row:
        return {key: text_of(found[key]) for key in ("kind", "from", "to", "why")}

    made = yield from ask(_PROMPTS["errors"], slots, read)
    return [_erred({**row, **parts}, made)]


def _first_sentence(row: Row) -> Row:
    halves = _halves(row["text"])
    return {
        "beginning": halves["beginning"],
        "rest": halves["continuing"],
        "sentence": sentences(halves["continuing"])[0],
    }


def _erred(row: Row, made: Row) -> Row:
    sentence = row["sentence"]
    if sentence.count(made["from"]) != 1 or made["from"] == made["to"]:
        raise Drop("the error has no place of its own in the sentence")
    if made["kind"] not in ("doc", "gen", "kno", "num"):
        raise Drop("unknown kind of error")
    return {**row, "kind": made["kind"], "wrong": sentence.replace(made["from"], made["to"]), "error": made}


MAKERS: dict[str, Callable[[Row], Work]] = {
    "summary": _summary,
    "continuation": _continuation,
    "qa_1doc": _one_document,
    "qa_2doc": _several_documents,
    "qa_3doc": _several_documents,
    "hallucination": _hallucination,
}
