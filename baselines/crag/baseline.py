"""CRAG's straightforward pipeline (Yang et al. 2024, task 1): the snippets of five pages, one prompt, one reply.

From a checkout's root, where `quadrag prepare crag` has run, with any server that speaks OpenAI's chat protocol; a
judge decides on answers that are not the reference word for word:

    python baselines/crag/baseline.py task_1_2 --split public --url http://127.0.0.1:8080 --judge http://HOST

It makes no use of the knowledge graph, which tasks 2 and 3 ask as well.
"""

import argparse
import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import evaluate
import yaml
from datasets import load_dataset
from huggingface_hub import InferenceClient

PROMPTS = yaml.safe_load(Path(__file__).with_name("prompts.yaml").read_text(encoding="utf-8"))


def fill(template: str, **texts: str) -> str:
    """Put texts into the slots of their names."""
    return re.sub(r"\{(\w+)\}", lambda slot: texts.get(slot[1], slot[0]), template)


def build_messages(row: dict[str, Any]) -> list[dict[str, str]]:
    """One message: the snippets, the time of the question, and the question."""
    snippets = [page["page_snippet"] for page in row.get("search_results", ()) if (page["page_snippet"] or "").strip()]
    prompt = PROMPTS["web" if "search_results" in row else "llm_only"]["user"]
    text = fill(prompt, web="\n".join(snippets), query_time=row["query_time"], query=row["query"])
    return [{"role": "user", "content": text}]


def ask(url: str, model: str | None, conversations: list[list[dict[str, str]]], temperature: float) -> list[str]:
    """The replies of a server to several conversations, eight at a time."""
    client = InferenceClient(base_url=url)

    def reply(messages: list[dict[str, str]]) -> str:
        completion = client.chat_completion(messages, model=model, temperature=temperature)
        return completion.choices[0].message.content or ""

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(reply, conversations))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", choices=["qa", "task_1_2", "task_3"], help="qa: a model without pages")
    parser.add_argument("--split", default="public")
    parser.add_argument("--url", required=True, help="of the server, without /v1")
    parser.add_argument("--model", help="as the server calls it")
    parser.add_argument("--judge", help="address of the judge's server")
    parser.add_argument("--judge-model", help="as that server calls it")
    parser.add_argument("--limit", type=int, help="the first so many questions")
    parser.add_argument("--out", type=Path, help="a file for the answers, as JSON Lines")
    arguments = parser.parse_args()

    rows = load_dataset("crag", arguments.config, split=arguments.split).to_list()[: arguments.limit]
    answers = ask(arguments.url, arguments.model, [build_messages(row) for row in rows], temperature=0.1)
    if arguments.out:
        lines = ({"id": row["id"], "answer": text} for row, text in zip(rows, answers, strict=True))
        arguments.out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")

    judge = partial(ask, arguments.judge, arguments.judge_model, temperature=0) if arguments.judge else None
    result = evaluate.load("truthfulness").compute(
        predictions=answers,
        references=[[text for text in (row["answer"], *row["alternatives"]) if text and text.strip()] for row in rows],
        questions=[row["query"] for row in rows],
        judge=judge,
    )
    values = {key: value for key, value in result.items() if isinstance(value, float)}
    print(json.dumps({"metric": "truthfulness", "n": result["n_scored"], **values}))


if __name__ == "__main__":
    main()
