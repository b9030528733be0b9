"""CRUD-RAG's files, as upstream lays them out: the questions of each task, and the corpus.

The reverse construction: an article that is to be summed up, continued or corrected leaves the corpus, and what others
report of its event stays there.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.records import write_text

from ..recipe import Given
from ..steps import Row
from .tasks import MAKERS, documents_of

KEYS = {
    "summary": "event_summary",
    "continuation": "continuing_writing",
    "qa_1doc": "questanswer_1doc",
    "qa_2doc": "questanswer_2docs",
    "qa_3doc": "questanswer_3docs",
    "hallucination": "hallu_modified",
}
_FILES = 3  # that upstream's corpus has of each part


def write(rows: Sequence[Row], given: Given, out: Path) -> dict[str, int]:
    """Write the split file and the corpus; see `Recipe.write`."""
    found = {task: [row for row in rows if row["task"] == task] for task in MAKERS}
    merged = {KEYS[task]: [_entry(row) for row in of_task] for task, of_task in found.items() if of_task}
    if not merged:
        return {}
    write_text(out / "data/crud_split/split_merged.json", json.dumps(merged, ensure_ascii=False, indent=1) + "\n")
    left = {row["source"] for row in rows if row["task"] in ("summary", "continuation", "hallucination")}
    stay = [row for row in given.corpus if row["id"] not in left]
    for part in range(_FILES):
        text = "".join(f"{_line(row['text'])}\n" for row in stay[part::_FILES])
        write_text(out / f"data/80000_docs/documents_dup_part_1_part_{part + 1}", text)
    real = "".join(f"{_line(row['rest'])}\n" for row in found["hallucination"])
    if real:
        write_text(out / "data/80000_docs/documents_hallu.txt_part_1", real)
    return {f"{task}/test": len(of_task) for task, of_task in found.items() if of_task}


def _line(text: str) -> str:
    return " ".join(text.split())


def _entry(row: Row) -> dict[str, Any]:
    name = hashlib.sha256(f"{row['task']}\n{row['source']}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    text = _line(row["text"])
    if row["task"] == "summary":
        return {"ID": name, "event": row["event"], "summary": row["summary"], "text": text, "title": row["title"]}
    if row["task"] == "continuation":
        keys = ("event", "beginning", "continuing")
        return {"ID": name, **{key: row[key] for key in keys}, "text": text, "title": row["title"]}
    if row["task"] == "hallucination":
        error = row["error"]
        return {
            "ID": f"{row['kind']}_{name}",
            "headLine": row["title"],
            "type": row["kind"],
            "newsBeginning": row["beginning"],
            "hallucinatedContinuation": row["wrong"],
            "generatedBy": "quadrag construct",
            "appearedKeywords": [error["to"]],
            "allKeywords": {error["to"]: f"不合理，{error['why']}"},
            "realContinuation": row["sentence"],
            "newsRemainder": row["rest"],
            "hallucinatedMod": row["sentence"],
        }
    news = {f"news{at}": _line(one) for at, one in enumerate(documents_of(row), 1)}
    thoughts = {"thoughts": row["thoughts"]} if row.get("others") else {}
    made = {"event": row["event"], **news, **thoughts}
    return {"ID": name, **made, "questions": row["question"], "answers": row["answer"]}
