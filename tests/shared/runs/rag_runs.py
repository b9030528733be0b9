"""Runs of CRUD-RAG against a RAG service: the task, its documents, and what a run holds."""

from pathlib import Path

from score_rows import as_rows
from specs import spec_of

from quadrag.data.builders import open_builder, rows
from quadrag.records import read_jsonl

QA = spec_of("crud_rag", "qa_2doc", None, "sample")


def crud_corpus():
    builder, _ = open_builder("crud_rag", "corpus", "sample", {"gold": "test"})
    return [(row["id"], "", row["body"]) for row in rows(builder, "corpus")]


def values(result, profile="official"):
    return {
        (row["metric"], row["key"]): row
        for row in as_rows(result.scores)
        if row["profile"] == profile and row["slice"] == "all"
    }


def lines(path):
    return [row for _, row in read_jsonl(Path(path))]


def ranking(result):
    return {key[1]: row for key, row in values(result).items() if key[0] == "retrieval_ranking"}
