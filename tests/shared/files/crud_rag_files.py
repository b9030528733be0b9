"""Files of CRUD-RAG's form, made for tests: task rows, merged files, corpus files, and what is read of them."""

import hashlib
import json
import re
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import sample_rows

from quadrag import catalogue

rows, refusal = partial(sample_rows.rows, "crud_rag"), partial(sample_rows.refusal, "crud_rag")
TASKS = ["continuation", "qa_1doc", "qa_2doc", "qa_3doc", "hallucination", "summary"]
SPLIT, FULL = "data/crud_split/split_merged.json", "data/crud/merged.zip"
CORPUS = "data/80000_docs/documents_"
QUESTIONS = "src/quest_eval/{}_quest_gt_save.json"


def script() -> Any:
    return catalogue.load_script(catalogue.benchmarks()["crud_rag"])


def body_id(body: str) -> str:
    """The identity of the specification, by its own words."""
    return hashlib.sha256(re.sub(r"[\s\ufeff]", "", body).encode()).hexdigest()


def merged(root: Path, content: Any, name: str = SPLIT) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, (str, bytes)) else json.dumps(content, ensure_ascii=False, indent=4)
    raw = text.encode() if isinstance(text, str) else text
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("merged.json", raw)
    else:
        path.write_bytes(raw)
    return root


def corpus(root: Path, **parts: str | bytes) -> Path:
    for name, text in parts.items():
        path = root / f"{CORPUS}{name.replace('hallu', 'hallu.txt')}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


NEWS = "2023-08-01 10:02，正文：某市昨日通报。"
SUMMARY = {"ID": "a", "event": "某市通报", "summary": "通报了。", "text": NEWS, "time": "t", "url": " ", "title": "题"}
QA = {"ID": "a", "event": "e", "news1": NEWS, "questions": "何时？", "answers": "昨日"}
HALLU = {
    "ID": "num_000432",
    "headLine": "题",
    "broadcastDate": "2015-01-02 03:04:05",
    "type": "num",
    "newsBeginning": "开头",
    "hallucinatedContinuation": "错的",
    "generatedBy": "模型",
    "appearedKeywords": ["三", "四"],
    "allKeywords": {"三": "合理", "四": "不合理，应为三"},
    "realContinuation": "真的",
    "newsRemainder": "其余",
    "hallucinatedMod": "改好的",
}
CONTINUATION = {"ID": "a", "event": "e", "beginning": "上半", "continuing": "下半"}
KEYS = dict(zip(TASKS, script()._TASKS.values(), strict=True))
