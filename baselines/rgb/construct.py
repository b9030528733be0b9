"""RGB's recipe (Chen et al. 2024, section "Data construction"), for news in Chinese and English.

A question on a detail of an event; passages found with it, parted into those that hold the answer and those that do
not; the same question widened to two aspects; and, of questions that the model answers without any document, passages
in which the answer is replaced by a false one. The paper's people are `quadrag construct review`.

Chunks are 300 characters here, where the paper has at most 300 tokens of a tokenizer that it does not name, and they
come from one's own documents, where the paper searches the web.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.construct.documents import Corpus, reject_repeats
from quadrag.construct.recipe import (
    Item,
    Order,
    Recipe,
    Rejected,
    Row,
    Step,
    Value,
    Work,
    ask,
    check_question,
    find_verbatim,
    load_prompts,
    reject,
    stands_in,
)
from quadrag.records import read_jsonl, write_jsonl

CHUNK = 300  # characters
LOOKED_AT = 30  # chunks, for a question
NEGATIVES = 5  # as many as the prompt shows where all are noise
_FEW = f"fewer than {NEGATIVES} passages without the answer"
_PROMPTS = load_prompts(Path(__file__).with_suffix(".yaml"))
# The files of each kind of lines, and the splits that they fill, by config.
KINDS = {"base": ("", "_refine"), "int": ("_int",), "fact": ("_fact",)}
_NOISE = [f"noise_{percent}" for percent in (0, 20, 40, 60, 80)]
_SPLITS = {
    "base": {"noise_robustness": _NOISE, "negative_rejection": ["test"]},
    "int": {"information_integration": _NOISE[:3]},
    "fact": {"counterfactual_robustness": ["test"]},
}


def _steps(order: Order) -> Sequence[Step]:
    corpus = Corpus(order.corpus, CHUNK)
    return [
        Step("question", _question),
        Step("passages", lambda row: _passages(row, corpus)),
        reject_repeats(lambda row: str(row["question"])),
        Step("integration", _integration),
        Step("integration-passages", lambda row: _second_passages(row, corpus)),
        Step("counterfactual", _counterfactual),
    ]


def _write(rows: Sequence[Row], order: Order, out: Path) -> dict[str, int]:
    lines: dict[tuple[str, str], list[Row]] = {(language, kind): [] for language in ("en", "zh") for kind in KINDS}
    for row in rows:
        here = lines[row["language"], row["kind"]]
        here.append(_line(len(here), row))
    return _write_lines(lines, out)


def _write_lines(lines: Mapping[tuple[str, str], Sequence[Row]], out: Path) -> dict[str, int]:
    splits: dict[str, int] = {}
    for (language, kind), here in lines.items():
        for suffix in KINDS[kind] if here else ():
            write_jsonl(out / f"{language}{suffix}.json", here)
        if here:
            splits |= dict.fromkeys(_splits_of(kind, language), len(here))
    return splits


def _splits_of(kind: str, language: str) -> list[str]:
    return [f"{config}_{language}/{split}" for config, splits in _SPLITS[kind].items() for split in splits]


def _line(at: int, row: Row) -> dict[str, Any]:
    answer: Any = [row["answer"], row["second_answer"]] if row["kind"] == "int" else [row["answer"]]
    line = {"id": at, "query": row["question"], "answer": answer}
    line |= {key: row[key] for key in ("positive", "negative", "positive_wrong", "fakeanswer") if key in row}
    return line | {"source": row["source"]}


def _question(row: Row) -> Work:
    made = yield from ask(_PROMPTS["question"], row["language"], {"document": row["text"]})
    answers = [answer for answer in dict.fromkeys(made["answer"]) if stands_in(answer, row["text"])]
    if not _holds(made["passage"], answers):
        raise Rejected("answer is not in the source")
    check_question(made["question"], answers, [made["passage"]], row["text"], row["language"])
    passage = find_verbatim(made["passage"], row["text"])
    kept = {key: row[key] for key in ("id", "language", "text")} | {"kind": "base", "source": row["id"]}
    return [{**kept, **made, "answer": answers, "passage": passage}]


def _passages(row: Row, corpus: Corpus) -> list[Row]:
    positive, negative = _parted(row["question"], row["answer"], corpus)
    if row["passage"] not in "\n".join(positive):
        positive = [row["passage"], *positive]
    if len(negative) < NEGATIVES:
        raise Rejected(_FEW)
    return [{**row, "positive": positive, "negative": negative}]


def _parted(question: str, answers: Sequence[str], corpus: Corpus) -> tuple[list[str], list[str]]:
    texts = dict.fromkeys(" ".join(passage.text.split()) for _, passage in corpus.find(question, LOOKED_AT))
    positive = [text for text in texts if _holds(text, answers)]
    return positive, [text for text in texts if text not in positive]


def _holds(text: str, answers: Sequence[str]) -> bool:
    return any(stands_in(answer, text) for answer in answers)


def _integration(row: Row) -> Work:
    slots = {"question": row["question"], "answer": row["answer"][0], "document": row["text"]}
    try:
        made = yield from ask(_PROMPTS["integration"], row["language"], slots)
        answers = [answer for answer in made["second_answer"] if stands_in(answer, made["second_passage"])]
        if not answers or set(answers) & set(row["answer"]):
            raise Rejected("second answer is not in its passage, or is the first")
        both = [*row["answer"], *answers]
        check_question(made["question"], both, [made["second_passage"]], row["text"], row["language"])
    except Rejected as why:
        return [row, reject(row, f"integration: {why}")]
    return [row, {**row, **made, "second_answer": answers, "kind": "int"}]


def _second_passages(row: Row, corpus: Corpus) -> list[Row]:
    if row["kind"] != "int":
        return [row]
    first, _ = _parted(row["question"], row["answer"], corpus)
    second, _ = _parted(row["question"], row["second_answer"], corpus)
    _, negative = _parted(row["question"], [*row["answer"], *row["second_answer"]], corpus)
    positive = [list(dict.fromkeys([row["passage"], *first])), list(dict.fromkeys([row["second_passage"], *second]))]
    if len(negative) < NEGATIVES:
        raise Rejected(f"integration: {_FEW}")
    return [{**row, "positive": positive, "negative": negative}]


def _counterfactual(row: Row) -> Work:
    if row["kind"] != "base":
        return [row]
    language, slots = row["language"], {"question": row["question"], "answer": row["answer"][0]}
    try:
        known = yield from ask(_PROMPTS["closed_book"], language, {"question": row["question"]})
        if not _holds(known["answer"], row["answer"]):
            raise Rejected(_PROMPTS["closed_book"]["otherwise"])
        made = yield from ask(_PROMPTS["false_answer"], language, slots)
        return [row, {**row, "kind": "fact", **_falsify(row["answer"], row["positive"], made["fake"])}]
    except Rejected as why:
        return [row, reject(row, f"counterfactual: {why}")]


def _falsify(answers: Sequence[str], positive: Sequence[str], fake: str) -> Row:
    if any(stands_in(answer, fake) or stands_in(fake, answer) for answer in answers):
        raise Rejected("the false answer holds the true one")
    if any(stands_in(fake, text) for text in positive):
        raise Rejected("the false answer stands in the passages")
    longest_first = sorted(answers, key=len, reverse=True)
    forms = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    wrong = [forms.sub(lambda _: fake, text) for text in positive]
    if any(_holds(text, answers) for text in wrong):
        raise Rejected("the true answer still stands in the passages")
    return {"positive_wrong": wrong, "fakeanswer": [fake]}


# Review: a corrected answer parts the passages anew.


def _items(dataset: Path) -> Iterator[Item]:
    for language in ("en", "zh"):
        for kind, suffixes in KINDS.items():
            path = dataset / f"{language}{suffixes[0]}.json"
            cell = _splits_of(kind, language)[0].partition("/")[0]
            for _, line in read_jsonl(path) if path.is_file() else ():
                yield _item(cell, line, (language, kind))


def _item(cell: str, line: Row, kept: tuple[str, str]) -> Item:
    fields: dict[str, Value] = {"question": line["query"], "answer": line["answer"][0]}
    positive = line["positive"]
    if kept[1] == "int":
        fields["answer_2"] = line["answer"][1]
        positive = dict.fromkeys(text for aspect in positive for text in aspect)
    if kept[1] == "fact":
        fields["false_answer"] = line["fakeanswer"][0]
    marks = [answer for aspect in line["answer"] for answer in aspect]
    return Item(cell, fields, marks, list(positive), str(line["source"]), line, kept)


def _correct(item: Item, changed: Mapping[str, Value]) -> Row:
    language, kind = item.kept
    fields: dict[str, Any] = {**item.fields, **changed}
    golds = [fields[name] for name in ("answer", "answer_2") if name in fields]
    every = [answer for answers in golds for answer in answers]
    texts = list(dict.fromkeys([*item.passages, *item.line["negative"]]))
    positive = [[text for text in texts if _holds(text, answers)] for answers in golds]
    negative = [text for text in texts if not _holds(text, every)]
    if not all(positive):
        raise Rejected("answer is not in the passages")
    if len(negative) < NEGATIVES:
        raise Rejected(_FEW)
    shown = [text for aspect in positive for text in aspect]
    check_question(fields["question"], every, shown, "\n".join(texts), language)
    line = {**item.line, "query": fields["question"], "answer": golds, "negative": negative}
    line["positive"] = positive if kind == "int" else positive[0]
    return line | (_falsify(golds[0], positive[0], fields["false_answer"]) if kind == "fact" else {})


def _write_passed(passed: Sequence[tuple[Item, Row]], dataset: Path, out: Path) -> dict[str, int]:
    lines: dict[tuple[str, str], list[Row]] = {}
    for item, line in passed:
        lines.setdefault(item.kept, []).append(line)
    return _write_lines(lines, out)


RECIPE = Recipe(_steps, _write, _items, _correct, _write_passed, _PROMPTS["asks"])
