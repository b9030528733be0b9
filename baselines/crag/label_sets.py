"""Labels of answers, right or wrong, that others published: what their files mean, which ``label_sets.csv`` lists."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from quadrag.errors import parse_json
from quadrag.judges.labels import Files, Item, KnownSet, LabelSet

_RIGHT = {"Yes": "right", "No": "wrong"}
_BEM = 0.5  # the probability at which its authors take an answer for right


def _evouna(labels: LabelSet, files: Files) -> Iterator[Item]:
    for name, path in files.items():
        part = name.partition(".")[0]
        for number, row in enumerate(parse_json(path.read_bytes(), path)):
            # As they stand, spaces too: the known figures of the rules are of these.
            golds = tuple(gold for gold in (row["golden_answer"] or "").split("/") if gold.strip())
            for system in [key.removeprefix("answer_") for key in row if key.startswith("answer_")]:
                is_right = row[f"judge_{system}"]
                if row["improper"] or is_right is None:
                    continue
                label, answer = "right" if is_right else "wrong", row[f"answer_{system}"] or ""
                group = f"{part}-{number}"
                yield Item(f"{group}-{system}", label, row["question"], answer, golds=golds, group=group)


def _openqa_eval(labels: LabelSet, files: Files) -> Iterator[Item]:
    names = ("NQ301_human.tsv", "NQ301_BEM.tsv", "NQ301_gpt-4.tsv", "NQ301_text-davinci-003.tsv")
    human, *judges = (_read_rows(files[name]) for name in names)
    recorded: dict[str, dict[str, str | None]] = {"gpt-4": {}, "davinci-003": {}, "bem": {}}
    for number, (row, gold, gpt4, davinci) in enumerate(zip(human, *judges, strict=True), 1):
        name, (group, question, answer, label, *votes) = str(number), row
        # The third person was asked where the first two were split.
        people = tuple(_RIGHT.get(vote) for vote in votes[:2])
        golds = tuple(gold[2].split(" | "))
        yield Item(name, _RIGHT[label], question, answer, golds=golds, group=group, votes=people)
        # What was judged may be another answer than people saw.
        same = gpt4[2].split() == answer.split()
        recorded["gpt-4"][name] = _RIGHT.get(gpt4[-2]) if same else None
        recorded["davinci-003"][name] = _RIGHT.get(davinci[-2]) if davinci[1].endswith(answer) else None
        # A pair of probabilities for each accepted answer: right from 0.5 for any of them.
        recorded["bem"][name] = "right" if max(pair[1] for pair in json.loads(gold[5])) >= _BEM else "wrong"
    labels.recorded = recorded


def _read_rows(path: Path) -> list[list[str]]:
    csv.field_size_limit(1 << 27)
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.reader(text, delimiter="\t"))[1:]


_VOTED = "The ceiling is the first two annotators' agreement; a third one decided where they differ."
LABEL_SETS = {
    "EVOUNA": KnownSet(("truthfulness",), _evouna),
    "OpenQA-eval": KnownSet(("truthfulness",), _openqa_eval, _VOTED),
}
