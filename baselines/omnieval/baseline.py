"""OmniEval's pipeline (Wang et al. 2024): dense retrieval over the finance corpus, one prompt, one reply, overlap.

From a checkout's root, where `quadrag prepare omnieval` has run, with any server that speaks OpenAI's chat protocol:

    python baselines/omnieval/baseline.py auto --url http://127.0.0.1:8080 \
        --embedding Alibaba-NLP/gte-Qwen2-1.5B-instruct

The paper's judged metrics are `evaluate.load("omnieval", "acc")` and its sisters, which take a `judge`.
"""

import argparse
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import evaluate
import yaml
from datasets import load_dataset
from huggingface_hub import InferenceClient
from sentence_transformers import SentenceTransformer, util

PROMPT = yaml.safe_load(Path(__file__).with_name("prompts.yaml").read_text(encoding="utf-8"))["rag"]


def fill(template: str, **texts: str) -> str:
    """Put texts into the slots of their names."""
    return re.sub(r"\{(\w+)\}", lambda slot: texts.get(slot[1], slot[0]), template)


def build_query(row: dict[str, Any]) -> str:
    """What is searched for: the question, behind the earlier ones of its conversation."""
    if not row["history"]:
        return str(row["question"])
    rounds = "\n".join(f"{number}-round: {turn['question']}" for number, turn in enumerate(row["history"]))
    return f"\n历史对话问题记录：{rounds}\n当前问题：{row['question']}"


def build_messages(row: dict[str, Any], passages: list[str]) -> list[dict[str, str]]:
    """A system message with the passages, the turns before, and the question."""
    lines = []
    for number, passage in enumerate(passages, 1):
        title, _, text = passage.partition("\n")
        lines.append(f"Doc {number}(Title: {title}) {text}\n")
    messages = [{"role": "system", "content": fill(PROMPT["system"], reference="".join(lines))}]
    for turn in row["history"]:
        messages += [{"role": "user", "content": turn["question"]}, {"role": "assistant", "content": turn["answer"]}]
    return [*messages, {"role": "user", "content": fill(PROMPT["user"], question=row["question"])}]


def retrieve(model: str, queries: list[str], corpus: list[str], top_k: int) -> list[list[str]]:
    """The passages most like each query, best first."""
    encoder = SentenceTransformer(model)
    vectors = encoder.encode(corpus, normalize_embeddings=True, convert_to_tensor=True)
    asked = encoder.encode(queries, normalize_embeddings=True, convert_to_tensor=True)
    return [[corpus[hit["corpus_id"]] for hit in hits] for hits in util.semantic_search(asked, vectors, top_k=top_k)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split", choices=["auto", "human", "train"])
    parser.add_argument("--url", required=True, help="of the server, without /v1")
    parser.add_argument("--model", help="as the server calls it")
    parser.add_argument("--embedding", required=True, help="a model of sentence-transformers, by name or folder")
    parser.add_argument("--top-k", type=int, default=5, help="passages shown (default: 5)")
    parser.add_argument("--limit", type=int, help="the first so many questions")
    parser.add_argument("--out", type=Path, help="a file for the answers, as JSON Lines")
    arguments = parser.parse_args()

    rows = load_dataset("omnieval", "all", split=arguments.split).to_list()[: arguments.limit]
    corpus = load_dataset("omnieval", "corpus", split="corpus")["contents"][:]
    passages = retrieve(arguments.embedding, [build_query(row) for row in rows], corpus, arguments.top_k)
    client = InferenceClient(base_url=arguments.url)

    def answer(row: dict[str, Any], texts: list[str]) -> str:
        reply = client.chat_completion(build_messages(row, texts), model=arguments.model, temperature=0.3)
        return reply.choices[0].message.content or ""

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(answer, rows, passages))
    if arguments.out:
        lines = ({"id": row["id"], "answer": text} for row, text in zip(rows, answers, strict=True))
        arguments.out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")

    references = [row["answers"] or None for row in rows]
    result = evaluate.load("omnieval_overlap").compute(predictions=answers, references=references)
    values = {key: value for key, value in result.items() if isinstance(value, float)}
    print(json.dumps({"metric": "omnieval_overlap", "n": result["n_scored"], **values}))


if __name__ == "__main__":
    main()
