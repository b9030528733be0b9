"""One's own system in Python, measured on the sample of CRUD-RAG's summaries, and what a run of it leaves."""

import asyncio
from pathlib import Path

import quadrag
from quadrag.records import read_jsonl

SUMMARY = ("crud_rag", "summary")


def measure(system, *place, **more):
    return quadrag.evaluate(*(place or SUMMARY), system, data_dir="sample", **more)


def items(folder):
    return [{k: v for k, v in row.items()} for _, row in read_jsonl(Path(folder) / "items.jsonl")]


async def slowly(question):
    await asyncio.sleep(0.01)
    return question.query
