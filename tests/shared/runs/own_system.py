"""One's own system in Python, measured on the sample of CRUD-RAG's summaries."""

import asyncio

import quadrag

SUMMARY = ("crud_rag", "summary")


def measure(system, *place, **more):
    return quadrag.evaluate(*(place or SUMMARY), system, data_dir="sample", **more)


async def slowly(question):
    await asyncio.sleep(0.01)
    return question.query
