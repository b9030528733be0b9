"""What the files of each known label set mean: its items, and what its authors recorded of judges.

Rows that nobody labelled, or that their authors call improper, are left out, and a note says how many.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import read_jsonl

from .labels import Item, LabelSet, same_text

Files = Mapping[str, Path]
RIGHT = {"Yes": "right", "No": "wrong"}
_BEM = 0.5  # the probability at which its authors take an answer for right


class Known(NamedTuple):
    """A label set: whose files, the values that people graded (the first by default), what reads it, its language."""

    files: str
    graded: tuple[str, ...]
    read: Callable[[LabelSet, Files], None]
    language: str = "en"


def _need(files: Files, *names: str) -> list[Path]:
    lacking = [name for name in names if name not in files]
    if lacking:
        raise QuadragError(f"{', '.join(lacking)} is not in the folder; expected it beside the set's other files")
    return [files[name] for name in names]


def _json(path: Path) -> Any:
    return parse_json(path.read_bytes(), path)


def _rows(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 27)
    with path.open(encoding="utf-8", newline="") as text:
        yield from csv.reader(text, delimiter="\t")


def _evouna(labels: LabelSet, files: Files) -> None:
    improper = unlabelled = 0
    for name, path in files.items():
        part = name.partition(".")[0]
        for number, row in enumerate(_json(path)):
            systems = [key.removeprefix("answer_") for key in row if key.startswith("answer_")]
            if row["improper"]:
                improper += 1
                continue
            for system in systems:
                answer, right = row[f"answer_{system}"], row[f"judge_{system}"]
                if right is None:
                    unlabelled += 1
                    continue
                # As they stand, spaces too: the known figures of the rules are of these.
                golds = tuple(gold for gold in (row["golden_answer"] or "").split("/") if gold.strip())
                labels.items.append(
                    Item(
                        f"{part}-{number}-{system}",
                        "right" if right else "wrong",
                        row["question"],
                        answer or "",
                        golds=golds,
                        group=f"{part}-{number}",
                        slices={"system": system},
                    )
                )
    labels.groups = "question"
    labels.notes.append(f"Left out: {improper} improper questions, {unlabelled} answers that nobody labelled.")


def _openqa_eval(labels: LabelSet, files: Files) -> None:
    names = {"gpt-4": "NQ301_gpt-4.tsv", "davinci-003": "NQ301_text-davinci-003.tsv"}
    human, bem, *others = (
        list(_rows(path))[1:] for path in _need(files, "NQ301_human.tsv", "NQ301_BEM.tsv", *names.values())
    )
    if {len(rows) for rows in (bem, *others)} != {len(human)}:
        raise QuadragError("the files of openqa-eval have unlike numbers of rows; expected them of one commit")
    labels.recorded = {name: {} for name in (*names, "bem")}
    apart = decided = 0
    for number, (row, gold, gpt4, davinci) in enumerate(zip(human, bem, *others, strict=True), 1):
        name, (group, question, answer, label, *votes) = str(number), row
        labels.items.append(
            Item(
                name,
                RIGHT[label],
                question,
                answer,
                golds=tuple(gold[2].split(" | ")),
                group=group,
                # The third was asked where the first two were split.
                votes=tuple(RIGHT.get(vote) for vote in votes[:2]),
            )
        )
        decided += bool(votes[2])
        # What was judged may be another answer than people saw.
        same = {"gpt-4": same_text(gpt4[2], answer), "davinci-003": davinci[1].endswith(answer)}
        apart += not same["gpt-4"]
        for judge, verdict in (("gpt-4", gpt4[-2]), ("davinci-003", davinci[-2])):
            labels.recorded[judge][name] = RIGHT.get(verdict) if same[judge] else None
        labels.recorded["bem"][name] = _bem_verdict(gold[5])
    labels.groups = "question"
    labels.notes.append(f"A third annotator decided {decided} answers; the ceiling is the first two's agreement.")
    if apart:
        labels.notes.append(f"GPT-4 was shown another answer than people in {apart} row: no verdict there.")


def _bem_verdict(cell: str) -> str:
    """Return BEM's verdict of a pair of probabilities for each accepted answer: right from 0.5 for any of them."""
    return "right" if max(pair[1] for pair in json.loads(cell)) >= _BEM else "wrong"


def _uhgeval(labels: LabelSet, files: Files, whole: bool) -> None:
    for path in _need(files, "dataset_uhgeval_concise.jsonl"):
        for _, row in read_jsonl(path):
            name = row["id"]
            shown: dict[str, Any] = {
                "question": row["headLine"],
                "golds": (row["realContinuation"].strip(),),
                "passages": (row["newsBeginning"].strip(), row["newsRemainder"].strip()),
                "group": name,
            }
            slices = {"type": row["type"]}
            by = {**slices, "system": row["generatedBy"]}
            if whole:
                made, real = row["hallucinatedContinuation"].strip(), row["realContinuation"].strip()
                labels.items.append(Item(f"{name}-model", "1", answer=made, slices=slices, **shown))
                labels.items.append(Item(f"{name}-real", "0", answer=real, slices=slices, **shown))
                continue
            for at, annotation in enumerate(row["annotations"]):
                keyword, _, said = annotation.partition("<sep>")
                label = "1" if said.startswith("不合理") else "0"
                labels.items.append(Item(f"{name}-{at}", label, answer=keyword, slices=by, **shown))
    labels.groups = "article"
    if whole:
        labels.notes.append(
            "Constructed: every model's text holds a hallucination, the clean ones are the real articles."
        )
    else:
        labels.notes.append("Each item is a keyword of a model's text, not a whole answer.")


def _wice(labels: LabelSet, files: Files, partly: str) -> None:
    grades = {"supported": "0", "partially_supported": partly, "not_supported": "1"}
    for path in _need(files, "dev.jsonl"):
        for _, row in read_jsonl(path):
            labels.items.append(
                Item(
                    row["meta"]["id"],
                    grades[row["label"]],
                    f"What is said of {row['meta']['claim_title']}?",
                    row["claim"],
                    passages=tuple(row["evidence"]),
                    group=row["meta"]["claim_title"],
                    slices={"support": row["label"]},
                )
            )
    labels.groups = "article"
    said = "a hallucination" if partly == "1" else "none"
    other = "WiCE" if partly == "0" else "WiCE-lenient"
    labels.notes.append(
        f"Nearly hallucination: a claim of people. Partly supported counts as {said}; {other} has the other."
    )


def _ragchecker(labels: LabelSet, files: Files) -> None:
    column = {"acc": "correctness_label", "com": "completeness_label"}[labels.graded.key]
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for path in _need(files, "human_labeled_data.json"):
        for row in _json(path):
            pairs.setdefault(str(row["instance_id"]), []).append(row)
    for name, rows in pairs.items():
        signs = [(row[column] > 0) - (row[column] < 0) for row in rows]
        total = sum(signs)
        row = rows[0]
        labels.items.append(
            Item(
                name,
                str((total > 0) - (total < 0)),
                row["query"],
                row["model1"]["response"],
                row["model2"]["response"],
                golds=(row["gt_answer"],),
                group=f"{row['dataset']}-{row['query_id']}",
                slices={"data": row["dataset"]},
                votes=tuple(str(sign) for sign in signs),
            )
        )
    labels.groups, labels.pairs = "question", True
    labels.notes.append(
        "1: the second answer is the better one; -1: the first; 0: neither, or the two annotators differ."
    )


def _alce(labels: LabelSet, files: Files) -> None:
    blank = 0
    for path in _need(files, "human_eval_utility_completed.json"):
        for data, systems in _json(path).items():
            for system, rows in systems.items():
                for key, row in rows.items():
                    if "utility_score" not in row:
                        continue  # a summary of the system
                    blank += not row["output"].strip()
                    labels.items.append(
                        Item(
                            f"{system}-{key}",
                            str(row["utility_score"]),
                            row["question"],
                            row["output"],
                            group=f"{data}-{key}",
                            slices={"system": system, "data": data},
                        )
                    )
    labels.ranked, labels.groups = True, "question"
    labels.notes.append(
        f"Usefulness as felt, from 1 to 5, without passages: not OmniEval's utilization. {blank} are blank."
    )


SETS = {
    "EVOUNA": Known("evouna", ("truthfulness",), _evouna),
    "OpenQA-eval": Known("openqa-eval", ("truthfulness",), _openqa_eval),
    "UHGEval": Known("uhgeval", ("omnieval.hal",), partial(_uhgeval, whole=False), "zh"),
    "UHGEval-texts": Known("uhgeval", ("omnieval.hal",), partial(_uhgeval, whole=True), "zh"),
    "WiCE": Known("wice", ("omnieval.hal",), partial(_wice, partly="1")),
    "WiCE-lenient": Known("wice", ("omnieval.hal",), partial(_wice, partly="0")),
    "RAGChecker": Known("ragchecker", ("omnieval.acc", "omnieval.com"), _ragchecker),
    "ALCE": Known("alce", ("omnieval.utl",), _alce),
}
