"""Labels near OmniEval's values that others published: what their files mean, which ``label_sets.csv`` lists."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from quadrag.errors import parse_json
from quadrag.judges.labels import Files, Graded, Item, KnownSet, LabelSet
from quadrag.records import read_jsonl

# What no prompt here asks for.
_FELT = Graded("usefulness", "How useful is the answer? 1: not at all, 5: very.", {str(n): n for n in range(1, 6)})
_BETTER: Mapping[str, float | None] = {"-1": -1, "0": 0, "1": 1}  # of two answers: the first, neither, the second


def _uhgeval(labels: LabelSet, files: Files) -> Iterator[Item]:
    (path,) = files.values()
    for _, row in read_jsonl(path):
        golds = (row["realContinuation"].strip(),)
        passages = (row["newsBeginning"].strip(), row["newsRemainder"].strip())
        for at, annotation in enumerate(row["annotations"]):
            keyword, _, said = annotation.partition("<sep>")
            label = "1" if said.startswith("不合理") else "0"
            yield Item(f"{row['id']}-{at}", label, row["headLine"], keyword, None, golds, passages, row["id"])


def _wice(labels: LabelSet, files: Files) -> Iterator[Item]:
    grades = {"supported": "0", "partially_supported": "1", "not_supported": "1"}
    (path,) = files.values()
    for _, row in read_jsonl(path):
        meta = row["meta"]
        asked = f"What is said of {meta['claim_title']}?"
        passages = tuple(row["evidence"])
        yield Item(meta["id"], grades[row["label"]], asked, row["claim"], passages=passages, group=meta["claim_title"])


def _ragchecker(labels: LabelSet, files: Files) -> Iterator[Item]:
    column = {"acc": "correctness_label", "com": "completeness_label"}[labels.graded.key]
    labels.graded = replace(labels.graded, grades=_BETTER)
    (path,) = files.values()
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for row in parse_json(path.read_bytes(), path):
        pairs.setdefault(str(row["instance_id"]), []).append(row)
    for name, rows in pairs.items():
        row, signs = rows[0], [_sign(each[column]) for each in rows]
        answers = row["model1"]["response"], row["model2"]["response"]
        group, votes = f"{row['dataset']}-{row['query_id']}", tuple(map(str, signs))
        yield Item(name, str(_sign(sum(signs))), row["query"], *answers, (row["gt_answer"],), (), group, votes)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _alce(labels: LabelSet, files: Files) -> Iterator[Item]:
    (path,) = files.values()
    for data, systems in parse_json(path.read_bytes(), path).items():
        for system, rows in systems.items():
            for key, row in rows.items():
                if "utility_score" in row:  # else it is a summary of the system
                    label, group = str(row["utility_score"]), f"{data}-{key}"
                    yield Item(f"{system}-{key}", label, row["question"], row["output"], group=group)


_KEYWORDS = "Each item is a keyword of a model's text, not a whole answer."
_CLAIMS = "Nearly hallucination: a claim of people; one that is partly supported counts as a hallucination."
_PAIRS = "1: the second answer is the better one; -1: the first; 0: neither, or the two annotators differ."
_USEFUL = "Usefulness as felt, from 1 to 5, without passages: not OmniEval's utilization."
LABEL_SETS = {
    "UHGEval": KnownSet(("omnieval.hal",), _uhgeval, _KEYWORDS),
    "WiCE": KnownSet(("omnieval.hal",), _wice, _CLAIMS),
    "RAGChecker": KnownSet(("omnieval.acc", "omnieval.com"), _ragchecker, _PAIRS),
    "ALCE": KnownSet((_FELT,), _alce, _USEFUL),
}
