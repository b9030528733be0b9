"""CRUD-RAG's pipeline (Lyu et al. 2024): BM25 over the news corpus, one prompt a task, one reply, overlap metrics.

From a checkout's root, where `quadrag prepare crud_rag` has run, with any server that speaks OpenAI's chat protocol:

    python baselines/crud_rag/baseline.py qa_2doc --url http://127.0.0.1:8080 --top-k 8

A passage is a whole article; the authors cut files into chunks of 128 characters, as `quadrag run` does by default.
"""

import argparse
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bm25s
import evaluate
import jieba
import yaml
from datasets import load_dataset
from huggingface_hub import InferenceClient

PROMPTS = yaml.safe_load(Path(__file__).with_name("prompts.yaml").read_text(encoding="utf-8"))
# What a task's query is called in its prompt.
SLOTS = {"summary": "event", "continuation": "beginning_text", "hallucination": "begin"}


def fill(template: str, **texts: str) -> str:
    """Put texts into the slots of their names."""
    return re.sub(r"\{(\w+)\}", lambda slot: texts.get(slot[1], slot[0]), template)


def cut_terms(text: str) -> list[str]:
    """The words of a text, small, without punctuation."""
    return [word.lower() for word in jieba.cut(text) if any(map(str.isalnum, word))]


def retrieve(queries: list[str], corpus: list[str], top_k: int) -> list[list[str]]:
    """The articles most like each query, best first."""
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([cut_terms(text) for text in corpus], show_progress=False)
    places, scores = index.retrieve([cut_terms(query) for query in queries], k=top_k, show_progress=False)
    ranked = (
        [int(at) for at, score in zip(*row, strict=True) if score > 0] for row in zip(places, scores, strict=True)
    )
    return [[corpus[place] for place in row] for row in ranked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", help="summary, continuation, qa_1doc, qa_2doc, qa_3doc or hallucination")
    parser.add_argument("--url", required=True, help="of the server, without /v1")
    parser.add_argument("--model", help="as the server calls it")
    parser.add_argument("--top-k", type=int, default=8, help="articles shown (default: 8)")
    parser.add_argument("--limit", type=int, help="the first so many questions")
    parser.add_argument("--out", type=Path, help="a file for the replies, as JSON Lines")
    arguments = parser.parse_args()

    rows = load_dataset("crud_rag", arguments.task, split="test").to_list()[: arguments.limit]
    corpus = load_dataset("crud_rag", "corpus", split="corpus")["body"][:]
    passages = retrieve([row["query"] for row in rows], corpus, arguments.top_k)
    client = InferenceClient(base_url=arguments.url)

    def answer(row: dict[str, Any], articles: list[str]) -> str:
        texts = {SLOTS.get(arguments.task, "question"): row["query"], "hallu_continue": row["continuation"] or ""}
        text = fill(PROMPTS[arguments.task]["user"], search_documents="\n".join(articles), **texts)
        messages = [{"role": "user", "content": text}]
        reply = client.chat_completion(messages, model=arguments.model, temperature=0.1)
        return reply.choices[0].message.content or ""

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(answer, rows, passages))
    # What is scored stands after the last <response>, up to its close.
    answers = [text.rpartition("<response>")[2].partition("</response>")[0].strip() for text in replies]
    if arguments.out:
        lines = ({"id": row["id"], "answer": text} for row, text in zip(rows, replies, strict=True))
        arguments.out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")

    references = [row["reference"] for row in rows]
    result = evaluate.load("crud_overlap").compute(predictions=answers, references=references)
    values = {key: value for key, value in result.items() if isinstance(value, float)}
    print(json.dumps({"metric": "crud_overlap", "n": result["n_scored"], **values}))


if __name__ == "__main__":
    main()
