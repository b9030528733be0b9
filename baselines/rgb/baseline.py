"""RGB's pipeline (Chen et al. 2024): the documents that come with a question, one prompt, one reply, one metric.

From a checkout's root, where `quadrag prepare rgb` has run, with any server that speaks OpenAI's chat protocol:

    python baselines/rgb/baseline.py noise_robustness_en noise_40 --url http://127.0.0.1:8080
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

PROMPTS = yaml.safe_load(Path(__file__).with_name("prompts.yaml").read_text(encoding="utf-8"))


def fill(template: str, **texts: str) -> str:
    """Put texts into the slots of their names."""
    return re.sub(r"\{(\w+)\}", lambda slot: texts.get(slot[1], slot[0]), template)


def build_messages(row: dict[str, Any], prompt: dict[str, str]) -> list[dict[str, str]]:
    """The system's message, and the documents with the question below them."""
    user = fill(prompt["user"], documents="\n".join(row["documents"]), query=row["query"])
    return [{"role": "system", "content": prompt["system"]}, {"role": "user", "content": user}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="noise_robustness_en, negative_rejection_zh, ...")
    parser.add_argument("split", help="noise_0 to noise_80; test where a config has one split")
    parser.add_argument("--url", required=True, help="of the server, without /v1")
    parser.add_argument("--model", help="as the server calls it")
    parser.add_argument("--limit", type=int, help="the first so many questions")
    parser.add_argument("--out", type=Path, help="a file for the answers, as JSON Lines")
    arguments = parser.parse_args()

    rows = load_dataset("rgb", arguments.config, split=arguments.split).to_list()[: arguments.limit]
    language = arguments.config.removesuffix("_original")[-2:]
    client = InferenceClient(base_url=arguments.url)

    def answer(row: dict[str, Any]) -> str:
        messages = build_messages(row, PROMPTS[language])
        reply = client.chat_completion(messages, model=arguments.model, temperature=0.2)
        return reply.choices[0].message.content or ""

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(answer, rows))
    if arguments.out:
        lines = ({"id": str(row["id"]), "answer": text} for row, text in zip(rows, answers, strict=True))
        arguments.out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")

    names = ["rgb_accuracy"]
    if arguments.config.startswith("negative_rejection"):
        names = ["rejection_rate"]
    if arguments.config.startswith("counterfactual_robustness"):
        names = ["rgb_accuracy", "error_detection"]
    for name in names:
        references = [row["answer"] for row in rows]
        result = evaluate.load(name).compute(predictions=answers, references=references, language=language)
        values = {key: value for key, value in result.items() if isinstance(value, float)}
        print(json.dumps({"metric": name, "n": result["n_scored"], **values}))


if __name__ == "__main__":
    main()
