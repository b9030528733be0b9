"""How much faster a model loaded here answers in batches than one chat at a time, and whether it says the same.

Chats of mixed length, answered greedily; rounds are interleaved, medians are shown. It does not measure a server.

    python benchmarks/local_batches.py --model FOLDER --chats 64 --max-tokens 64
"""

from __future__ import annotations

import argparse
import json
import statistics

from measuring import apart, peak, timed

from quadrag.benchmark import load
from quadrag.loading import load_questions
from quadrag.prompts import load_prompts
from quadrag.spec import RunSpec
from quadrag.systems.local import LocalModel


def answer(model: str, chats: int, tokens: int, size: int) -> tuple[float, int, float, list[str]]:
    """Return seconds, tokens made, the peak of memory in GB, and the answers to questions of RGB's sample."""
    record, prompts = load("rgb"), load_prompts("rgb")
    spec = RunSpec(benchmark="rgb", config="noise_robustness_en", data_dir="sample", retriever="own")
    asked = [
        record.messages(question, question.passages[: 1 + place % 5], prompts, "own")
        for place, question in enumerate(load_questions(spec, record)[0])
    ][:chats]
    here = LocalModel(model, parameters={"temperature": 0, "max_tokens": tokens}, batch_size=size)
    here.complete(asked[:1])  # loads it
    with peak() as memory:
        seconds, replies = timed(lambda: here.complete(asked))
    made = sum(reply.usage["completion_tokens"] for reply in replies)  # type: ignore[union-attr,index]
    return seconds, made, memory[0], [reply.text for reply in replies]  # type: ignore[union-attr]


def main() -> None:
    """Print a row for each size of a batch."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True)
    for name, value in (("--chats", 64), ("--max-tokens", 64), ("--rounds", 3)):
        parser.add_argument(name, type=int, default=value)
    args = parser.parse_args()
    found: dict[int, list[tuple[float, int, float, list[str]]]] = {1: [], 16: []}
    for _ in range(args.rounds):
        for size, runs in found.items():
            runs.append(apart(answer, args.model, args.chats, args.max_tokens, size))
    rates = {size: statistics.median(run[1] / run[0] for run in runs) for size, runs in found.items()}
    single = found[1][0][3]
    for size, runs in found.items():
        row = {"batch": size, "tokens_per_second": round(rates[size], 1), "ratio": round(rates[size] / rates[1], 2)}
        row["gigabytes"] = round(max(run[2] for run in runs), 2)
        print(
            json.dumps(row | {"equal": sum(a == b for a, b in zip(single, runs[0][3], strict=True)), "of": len(single)})
        )


if __name__ == "__main__":
    main()
