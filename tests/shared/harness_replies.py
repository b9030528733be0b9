"""What the tests of harnesses ask, and what their models reply: each kind of reply that a score knows, in turn."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from specs import spec_of

from quadrag.benchmark import load
from quadrag.cli import main
from quadrag.loading import load_questions
from quadrag.records import Question

PROFILES = ("official", "corrected")
UNSURE = "I can not answer the question because of the insufficient information in documents."
WRONG = "There are factual errors in the provided documents."
# Benchmark, config, split, and the retriever by which `quadrag run` shows what the task shows.
ASKED = [
    ("rgb", "counterfactual_robustness_en", "test", "own"),
    ("rgb", "negative_rejection_en", "test", "own"),
    ("rgb", "information_integration_zh", "noise_0", "own"),
    ("crud_rag", "qa_2doc", "test", "none"),
    ("crag", "task_1_2", "public", "snippets"),
    ("omnieval", "conversational_qa", "auto", "none"),
]


def run_all(url: str, folder: Path) -> None:
    """Ask by `quadrag run` what is asked by a harness."""
    for benchmark, config, split, retriever in ASKED:
        place = ["--split", split, "--data-dir", "sample", "--retriever", retriever, "--llm", f"{url}#m"]
        out = ["--ledger", str(folder / "ledger.sqlite"), "--out", str(folder / f"{benchmark}-{config}")]
        main(["run", benchmark, config, *place, *out])


class Asked(NamedTuple):
    """A question of the sample: its place in its split, the words by which a request is known, an accepted answer."""

    place: int
    question: Question
    words: str
    gold: str

    @property
    def replies(self) -> list[str]:
        half = self.gold[: len(self.gold) // 2]
        return [f"{WRONG} {self.gold}", f"x <response>{self.gold}</response>", UNSURE, "", f"so: {half}"]


def questions(asked: list[tuple[str, str, str, str]] = ASKED) -> Iterator[Asked]:
    for benchmark, config, split, retriever in asked:
        found, _ = load_questions(spec_of(benchmark, config, split, "sample", retriever), load(benchmark))
        for place, question in enumerate(found):
            words = question.slots.get("asked") or question.slots.get("question") or question.query
            yield Asked(place, question, words, gold(question))


def gold(question: Question) -> str:
    texts = question.references if isinstance(question.references, list) else [question.references]
    if question.benchmark == "rgb":
        return " ".join(text if isinstance(text, str) else text[0] for text in texts)
    return str(texts[0]) if texts else "none"
