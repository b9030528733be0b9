"""How well BM25 finds the reports of CRUD-RAG's events, over three kinds of terms, on the real corpus.

Upstream leaves the gold documents out of its corpus, so no run on it alone can be measured against them. Two ways:

- near duplicates: other reports of the same event that stayed in. A corpus document is relevant to an event when it
  shares at least `--overlap` of the character shingles of the event's article (containment; Broder 1997). These are
  pseudo-qrels: found by text overlap, not judged by a person. They are written with their provenance, and events
  without any are left out of this measure.
- gold added: the articles themselves are put into the corpus, as the maintainer advises (`--option gold=test`).

Run it as: python benchmarks/retrieval_quality.py CRUD_RAG --out qrels.tsv
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import evaluate

from quadrag.baselines.audit.overlap import OVERLAP, SHINGLE, near_duplicates
from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.settings import Retrieval
from quadrag.baselines.core.task import Corpus, Task, open_corpus
from quadrag.baselines.retrieval.search import Search
from quadrag.catalogue import metric_folder
from quadrag.data.builders import open_builder, rows
from quadrag.records import document_id
from quadrag.stats import Item, summarise

TERMS = ("unigram", "jieba", "rjieba")
KEYS = ("mrr_per_gold", "mrr", "recall@8", "ndcg@8", "hit@1", "hit@8")


def measure(
    corpus: Corpus, queries: dict[str, str], relevant: dict[str, list[str]], top_k: int
) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield, for each kind of terms, the metrics with their intervals as text, and seconds of search."""
    module = evaluate.load(str(metric_folder("retrieval_ranking")))
    for terms in TERMS:
        search = Search(corpus, "bm25", Retrieval(tokenizer=terms, top_k=top_k))
        started = time.perf_counter()
        found = search.find([queries[event] for event in relevant])
        seconds = time.perf_counter() - started
        ranked = [[document_id(passage) for passage in passages] for passages in found]
        result = module.compute(predictions=ranked, references=list(relevant.values()), k=[1, 8])
        values = {}
        for key in KEYS:
            items = [Item(event, row[key]) for event, row in zip(relevant, result["per_item"], strict=True)]
            low, high = summarise(items).interval or (0, 0)
            values[key] = f"{result[key]:.3f} ({low:.3f}–{high:.3f})"
        yield terms, values, seconds


def table(title: str, lines: Iterator[tuple[str, dict[str, str], float]]) -> None:
    """Print a table in Markdown."""
    print(f"\n{title}\n\n| terms | {' | '.join(KEYS)} | search, s |\n|{'---|' * (len(KEYS) + 2)}")
    for terms, values, seconds in lines:
        print(f"| {terms} | {' | '.join(values[key] for key in KEYS)} | {seconds:.1f} |", flush=True)


def main() -> None:
    """Measure, print the tables, write the pseudo-qrels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", help="folder of upstream files: corpus and split_merged.json")
    parser.add_argument("--overlap", type=float, default=OVERLAP, help="of the article's shingles (default: 0.3)")
    parser.add_argument("--top-k", type=int, default=8)
    parser.add_argument("--out", help="write the pseudo-qrels here: event, 0, document, 1, overlap, shared, file:line")
    arguments = parser.parse_args()
    benchmark = load("crud_rag")
    builder, _ = open_builder("crud_rag", "summary", arguments.data_dir, None, "test")
    events = list(rows(builder, "test"))
    queries = {row["id"]: row["query"] for row in events}
    articles = {row["id"]: row["documents"][0] for row in events}
    plain, gold = (
        open_corpus(Task("crud_rag", "summary", "test", arguments.data_dir, "bm25", options=options), benchmark)
        for options in ({}, {"gold": "test"})
    )
    assert plain is not None and gold is not None
    alike = near_duplicates(articles, plain.documents(), SHINGLE, arguments.overlap)
    found = sorted((one.article, one.document.id, one.share, one.shared) for one in alike)
    relevant: dict[str, list[str]] = {}
    for event, document, _, _ in found:
        relevant.setdefault(event, []).append(document)
    print(f"corpus: {plain.source}")
    print(f"{len(events)} events; {len(relevant)} have near duplicates (share of {SHINGLE}-character shingles at least")
    print(f"{arguments.overlap:g}), {len(found)} documents in all")
    if arguments.out:
        places = {row["id"]: f"{row['file']}:{row['line']}" for row in rows(plain.builder, "corpus")}
        lines = [f"{e} 0 {d} 1 {share:.4f} {count} {places[d]}\n" for e, d, share, count in found]
        Path(arguments.out).write_text("".join(lines), encoding="utf-8")
    table("Against near duplicates", measure(plain, queries, relevant, arguments.top_k))
    every = {row["id"]: row["document_ids"] for row in events}
    table("Against the article itself, gold added", measure(gold, queries, every, arguments.top_k))


if __name__ == "__main__":
    main()
