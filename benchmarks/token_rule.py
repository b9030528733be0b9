"""How far the rule for tokens is from genuine tokenizers, on the prompts that runs send.

The rule (`quadrag.baselines.systems.tokens`) counts where `--estimate` has no tokenizer of the model. Prompts are those
of runs on real files; a further tokenizer is a tokenizer.json or a folder that holds one.

    python benchmarks/token_rule.py REAL [TOKENIZER ...]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.prompts import load_prompts
from quadrag.baselines.core.task import Task, load_questions
from quadrag.baselines.retrieval import cl100k
from quadrag.baselines.retrieval.chunk import count_tokens
from quadrag.baselines.systems.tokens import reckon

SETS = (
    ("rgb", "counterfactual_robustness_en", "test", "RGB"),
    ("rgb", "information_integration_zh", "noise_40", "RGB"),
    ("rgb", "noise_robustness_zh", "noise_40", "RGB"),
    ("crud_rag", "summary", "test", "CRUD_RAG"),
)


def prompts(name: str, config: str, split: str, folder: Path) -> Iterator[str]:
    """Yield the texts of the prompts of the first questions, with the passages that come with a question."""
    benchmark = load(name)
    task = Task(name, config, split, str(folder), benchmark.default_retriever, benchmark.retrieval, limit=200)
    words = load_prompts(name, None)
    for question in load_questions(task, benchmark)[0]:
        for message in benchmark.messages(question, question.passages, words, task.retriever):
            yield message["content"]


def main() -> None:
    """Print the rule's error beside each tokenizer: over all prompts of a set, and of a prompt."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, help="folder of real upstream files: RGB, CRAG, CRUD_RAG")
    parser.add_argument("tokenizer", nargs="*", help="beside OpenAI's")
    given = parser.parse_args()
    counters: dict[str, Callable[[str], int]] = {
        name: lambda text, name=name: cl100k.count(text, name) for name in ("cl100k_base", "o200k_base")
    }
    counters |= {name: count_tokens(name) for name in given.tokenizer}
    print(
        "| prompts | tokenizer | rule to tokenizer, of all | of a prompt: 5th to 95th percentile |\n|---|---|---|---|"
    )
    for name, config, split, folder in SETS:
        texts = list(prompts(name, config, split, given.real / folder))
        for tokenizer, count in counters.items():
            pairs = [(reckon(text), count(text)) for text in texts]
            cuts = statistics.quantiles([100 * (said / true - 1) for said, true in pairs], n=20)
            total = 100 * (sum(said for said, _ in pairs) / sum(true for _, true in pairs) - 1)
            print(f"| {config}, {len(texts)} | {tokenizer} | {total:+.0f}% | {cuts[0]:+.0f}% to {cuts[-1]:+.0f}% |")


if __name__ == "__main__":
    main()
