"""Runs made up of values, to be compared."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from specs import record_of

from quadrag.benchmark import Stratum
from quadrag.provenance import Provenance
from quadrag.results import Asked, Note, NoteCode, Run, Score, Status

ROUGE = ("qa_1doc", "test", "crud_overlap", "rouge_l")
RGB_SPLITS = ["noise_0", "noise_20", "noise_40"]


def run(
    values: Sequence[float | None],
    *,
    metric: str = "crud_overlap",
    key: str = "rouge_l",
    asked: Mapping[Any, Asked] | None = None,
    corrected: float | None = None,
    text: str = "",
) -> Run:
    inputs = record_of(
        benchmark="crud_rag",
        config="qa_1doc",
        splits=["test"],
        retriever="bm25",
        llm="m",
        provenance=Provenance.AUTHORS,
    )
    place = {"benchmark": "crud_rag", "config": "qa_1doc", "split": "test"}
    items = [
        place | {"id": str(i), "sample": 0, f"{metric}.{key}": {"official": value, "corrected": value or 0.0}}
        for i, value in enumerate(values)
    ]
    known = [value for value in values if value is not None]
    rows = [
        place
        | {"slice": name, "metric": metric, "key": key, "profile": profile, "value": value, "interval": None}
        | {"n_total": len(values), "n_scored": len(known), "unscored": {}, "signature": "s"}
        for name in ("all", "macro:domain")
        for profile, value in (("official", float(np.mean(known))), ("corrected", corrected))
        if value is not None
    ]
    texts = {(("qa_1doc", "test", str(i)), 0): f"{text}{i}" for i in range(len(values)) if text}
    return Run(inputs, [*map(Score.from_row, rows)], items, asked=asked or {}, texts=texts)


def together(*parts: Run) -> Run:
    items = [dict(ChainMap(*rows)) for rows in zip(*(part.items for part in parts), strict=True)]
    return Run(parts[0].record, [row for part in parts for row in part.scores], items, texts=parts[0].texts)


def graded(grades: Sequence[int]) -> Run:
    measured = {
        "accuracy": [float(grade == 1) for grade in grades],
        "hallucination": [float(grade == -1) for grade in grades],
        "truthfulness": [*map(float, grades)],
    }
    return together(*(run(values, metric="truthfulness", key=key) for key, values in measured.items()))


def fail(result: Run) -> Run:
    for item in result.items:
        for entry in item.values():
            if isinstance(entry, dict) and entry["official"] is None:
                entry |= {"corrected": None, "reason": dict.fromkeys(("official", "corrected"), "raised")}
    result.scores = [
        replace(score, counts=replace(score.counts, unscored={"raised": score.counts.n_total - score.counts.n_scored}))
        for score in result.scores
    ]
    return result


def note_lost(config: str, split: str, name: str) -> Note:
    """What a run keeps of a score of which too many items failed."""
    counts = {"profile": "", "failed": 12, "total": 20, "at_most": False, "reasons": {"raised": 12}, "limit": 0.2}
    place = {"config": config, "split": split, "keys": [name]}
    cause = {"cause": "raised", "said": None, "kept": False, "judge": None}
    return Note(NoteCode.INVALID, {**place, **counts, **cause})


def lose(result: Run, split: str, key: str) -> Run:
    """Make a score of a split invalid under both profiles."""
    lost = [score for score in result.scores if (score.key.split, score.key.key) == (split, key)]
    nothing = {"status": Status.INVALID, "reason": "failed", "value": None, "interval": None}
    scores = [replace(score, **nothing) if score in lost else score for score in result.scores]
    notes = [*result.record.notes, note_lost(lost[0].key.config, split, lost[0].key.name)]
    return replace(result, scores=scores, record=replace(result.record, notes=notes))


def ask(n: int, domains: Sequence[str], weights: Mapping[str, float] | None = None) -> dict[Any, Asked]:
    found = {}
    for i in range(n):
        domain = domains[i % len(domains)]
        stratum = Stratum("all", domain, weights[domain]) if weights else None
        found["qa_1doc", "test", str(i)] = Asked(f"{i}", None, {"domain": domain}, stratum)
    return found


def run_splits(values: Mapping[str, Sequence[float | None]]) -> Run:
    inputs = record_of(benchmark="rgb", config="noise_robustness_en", splits=[*values], retriever="bm25", llm="m")
    items, rows, asked = [], [], {}
    for split, here in values.items():
        place = {"benchmark": "rgb", "config": "noise_robustness_en", "split": split}
        for at, value in enumerate(here):
            entry = {"official": value, "corrected": value or 0.0}
            items.append(place | {"id": str(at), "sample": 0, "rgb_accuracy.accuracy": entry})
            asked["noise_robustness_en", split, str(at)] = Asked(f"text {at}")
        known = [value for value in here if value is not None]
        rows += [
            place
            | {"slice": "all", "metric": "rgb_accuracy", "key": "accuracy", "profile": profile, "interval": None}
            | {"value": sum(known) / len(known), "n_total": len(here), "n_scored": len(known), "unscored": {}}
            | {"signature": "s"}
            for profile in ("official", "corrected")
        ]
    return Run(inputs, [*map(Score.from_row, rows)], items, asked=asked)
