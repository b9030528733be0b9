"""What the works are given: real passages, pages, questions and answers."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

from peers.peer import Given


def read(real: Path, url: str) -> Given:
    """Read it from the real data; calls go to a server."""
    crud, crag = real / "CRUD_RAG", real / "CRAG"
    with next(crud.rglob("documents_dup_part_1_part_1")).open(encoding="utf-8") as lines:
        texts = [line.strip() for _, line in zip(range(4000), lines, strict=False)]
    passages = [text[at : at + 128] for text in texts for at in range(0, len(text), 128)][:20_000]
    with bz2.open(next(crag.rglob("dev_data.jsonl.bz2")), "rt", encoding="utf-8") as lines:
        pages = [page["page_result"] for line in lines for page in json.loads(line)["search_results"]]
    golds = [text[:120] for text in texts if len(text) > 200][:400]
    answers = [gold[10:] + gold[:10] for gold in golds]
    questions = [f"{gold[:20]}？" for gold in golds]
    with next((real / "RGB").rglob("en_fact.json")).open(encoding="utf-8") as lines:
        english = [passage for line in lines for passage in json.loads(line)["positive"]]
    return {
        "passages": passages,
        "queries": [text[20:60] for text in texts if len(text) > 60][:400],
        "pages": pages,
        "golds": golds,
        "answers": answers,
        "english": english,
        "accepted": [passage[:80] for passage in english],
        "questions": questions,
        "chats": [[{"role": "user", "content": f"{n} {text[:80]}"}] for n, text in enumerate(passages[:1000])],
        "url": url,
        "rgb": str(real / "RGB"),
        "limit": 100,
    }


def cut(given: Given, part: float) -> Given:
    """Return a part of what is asked; of what is searched, all."""
    asked = ("queries", "chats")
    return {k: v[: max(1, round(len(v) * part))] if k in asked else v for k, v in given.items()}
