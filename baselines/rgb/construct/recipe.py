"""RGB's recipe (Chen et al. 2024, section "Data construction"), for news in Chinese and English.

A question on a detail of an event; passages found with it, parted into those that hold the answer and those that do
not; the same question widened to two aspects; and, of questions that the model answers without any document, passages
in which the answer is replaced by a false one. The paper's people are `quadrag construct review`.

Chunks are 300 characters here, where the paper has at most 300 tokens of a tokenizer that it does not name, and they
come from one's own documents, where the paper searches the web.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.asking import ask, load_prompts, text_of, texts_of
from quadrag.construct.held import fault_of, find_verbatim, stands_in
from quadrag.construct.recipe import Given, Recipe
from quadrag.construct.search import Corpus, without_repeats
from quadrag.construct.steps import Drop, Each, Row, Step, Whole, Work
from quadrag.records import write_jsonl

CHUNK = 300  # characters
FOUND = 30  # chunks that are looked at for a question
NEGATIVES = 5  # as many as the prompt shows where all are noise
_PROMPTS = load_prompts(Path(__file__).parent)
KINDS = {"base": ("", "_refine"), "int": ("_int",), "fact": ("_fact",)}


def steps(given: Given) -> Sequence[Step]:
    """Return the steps; see the module."""
    corpus = Corpus(given.corpus, CHUNK)
    return [
        Each("question", _question, asks=2),
        Each("passages", lambda row: _passages(row, corpus)),
        Whole("duplicates", lambda rows: without_repeats(rows, lambda row: row["question"])),
        Each("integration", _integration, asks=2, makes=2),
        Each("integration-passages", lambda row: _second_passages(row, corpus)),
        Each("counterfactual", _counterfactual, asks=4),
    ]


def write(rows: Sequence[Row], given: Given, out: Path) -> dict[str, int]:
    """Write the files of each language; see `Recipe.write`."""
    splits: dict[str, int] = {}
    for language in ("en", "zh"):
        for kind, suffixes in KINDS.items():
            found = [row for row in rows if row["language"] == language and row["kind"] == kind]
            if not found:
                continue
            lines = [_line(at, row) for at, row in enumerate(found)]
            for suffix in suffixes:
                write_jsonl(out / f"{language}{suffix}.json", lines)
            splits |= dict.fromkeys(splits_of(kind, language), len(found))
    return splits


def splits_of(kind: str, language: str) -> list[str]:
    """Return the splits that the lines of one kind fill, as ``CONFIG/SPLIT``."""
    noise = [f"noise_{percent}" for percent in (0, 20, 40, 60, 80)]
    by_config = {
        "base": {"noise_robustness": noise, "negative_rejection": ["test"]},
        "int": {"information_integration": noise[:3]},
        "fact": {"counterfactual_robustness": ["test"]},
    }[kind]
    return [f"{config}_{language}/{split}" for config, names in by_config.items() for split in names]


def _line(at: int, row: Row) -> dict[str, Any]:
    answer: Any = [row["answer"], row["second_answer"]] if row["kind"] == "int" else [row["answer"]]
    line = {"id": at, "query": row["question"], "answer": answer}
    line |= {key: row[key] for key in ("positive", "negative", "positive_wrong", "fakeanswer") if key in row}
    return line | {"source": row["source"]}


def _question(row: Row) -> Work:

    def read(found: Any) -> dict[str, Any] | None:
        if found["event"] is None:
            return None
        texts = {key: text_of(found[key]) for key in ("event", "question", "passage")}
        return {**texts, "answer": texts_of(found["answer"])}

    made = yield from ask(_PROMPTS["question"][row["language"]], {"document": row["text"]}, read)
    if made is None:
        raise Drop("no event")
    return [_held(row, made)]


def _held(row: Row, made: Row) -> Row:
    answers = [answer for answer in dict.fromkeys(made["answer"]) if stands_in(answer, row["text"])]
    if not answers or not any(stands_in(answer, made["passage"]) for answer in answers):
        raise Drop("answer is not in the source")
    if fault := fault_of(made["question"], answers, [made["passage"]], row["text"], row["language"]):
        raise Drop(fault)
    kept = {key: row[key] for key in ("id", "language", "text")}
    return {**kept, "kind": "base", "source": row["id"], "question": made["question"], "answer": answers} | {
        "event": made["event"],
        "passage": find_verbatim(made["passage"], row["text"]),
    }


def _passages(row: Row, corpus: Corpus) -> list[Row]:
    positive, negative = _parted(row["question"], row["answer"], corpus)
    if row["passage"] not in "\n".join(positive):
        positive = [row["passage"], *positive]
    if len(negative) < NEGATIVES:
        raise Drop(f"fewer than {NEGATIVES} passages without the answer")
    return [{**row, "positive": positive, "negative": negative}]


def _parted(question: str, answers: Sequence[str], corpus: Corpus) -> tuple[list[str], list[str]]:
    texts = dict.fromkeys(" ".join(passage.text.split()) for _, passage in corpus.find(question, FOUND))
    holds = {text: any(stands_in(answer, text) for answer in answers) for text in texts}
    return [text for text in texts if holds[text]], [text for text in texts if not holds[text]]


def _integration(row: Row) -> Work:
    """Have a question widened to a second aspect; the question itself stays, whatever comes of it."""

    def read(found: Any) -> Row | None:
        if found["question"] is None:
            return None
        texts = {"question": text_of(found["question"]), "second_passage": text_of(found["second_passage"])}
        return {**texts, "second_answer": texts_of(found["second_answer"])}

    slots = {"question": row["question"], "answer": row["answer"][0], "document": row["text"]}
    try:
        made = yield from ask(_PROMPTS["integration"][row["language"]], slots, read)
    except Drop as why:
        return [row, {"id": row["id"], "dropped": f"integration: {why}"}]
    if made is None:
        return [row, {"id": row["id"], "dropped": "integration: no second aspect"}]
    return [row, _widened(row, made)]


def _widened(row: Row, made: Row) -> Row:
    answers = [answer for answer in made["second_answer"] if stands_in(answer, made["second_passage"])]
    both = [*row["answer"], *answers]
    fault = fault_of(made["question"], both, [made["second_passage"]], row["text"], row["language"])
    if not answers or set(answers) & set(row["answer"]):
        fault = "second answer is not in its passage, or is the first"
    if fault:
        return {"id": row["id"], "dropped": f"integration: {fault}"}
    return {**row, **made, "second_answer": answers, "kind": "int"}


def _second_passages(row: Row, corpus: Corpus) -> list[Row]:
    if row["kind"] != "int":
        return [row]
    first, _ = _parted(row["question"], row["answer"], corpus)
    second, _ = _parted(row["question"], row["second_answer"], corpus)
    _, negative = _parted(row["question"], [*row["answer"], *row["second_answer"]], corpus)
    positive = [list(dict.fromkeys([row["passage"], *first])), list(dict.fromkeys([row["second_passage"], *second]))]
    if len(negative) < NEGATIVES:
        raise Drop(f"integration: fewer than {NEGATIVES} passages without the answers")
    return [{**row, "positive": positive, "negative": negative}]


def _counterfactual(row: Row) -> Work:
    if row["kind"] != "base":
        return [row]
    language = row["language"]
    try:
        known = yield from ask(
            _PROMPTS["closed_book"][language],
            {"question": row["question"]},
            lambda found: "" if found["answer"] is None else text_of(found["answer"]),
        )
        if not any(stands_in(answer, known) for answer in row["answer"]):
            raise Drop("not known without documents")
        slots = {"question": row["question"], "answer": row["answer"][0]}
        fake = yield from ask(_PROMPTS["false_answer"][language], slots, lambda found: text_of(found["fake"]))
        return [row, falsify(row, fake)]
    except Drop as why:
        return [row, {"id": row["id"], "dropped": f"counterfactual: {why}"}]


def falsify(row: Row, fake: str) -> Row:
    """Falsify a question's passages; `Drop` where the false answer is none, or the true one still stands."""
    positive = row["positive"]
    if any(stands_in(answer, fake) or stands_in(fake, answer) for answer in row["answer"]):
        raise Drop("the false answer holds the true one")
    if any(stands_in(fake, text) for text in positive):
        raise Drop("the false answer stands in the passages")
    longest_first = sorted(row["answer"], key=len, reverse=True)
    forms = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    wrong = [forms.sub(lambda _: fake, text) for text in positive]
    if any(stands_in(answer, text) for answer in row["answer"] for text in wrong):
        raise Drop("the true answer still stands in the passages")
    return {**row, "kind": "fact", "positive_wrong": wrong, "fakeanswer": [fake]}


RECIPE = Recipe(languages=("zh", "en"), least=100, most=20_000, steps=steps, write=write)
