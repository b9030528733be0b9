"""What stands under a table: where numbers come from, over what they are, and what could not be scored.

A table without these lines would be read as saying more than was measured.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.catalogue import configs
from quadrag.records import dumps

from .benchmark import WHOLE, load, load_prompts
from .cells import shown
from .published import Published
from .served import RAG
from .task import UNKNOWN

INTERVALS = "95% bootstrap intervals over questions (no width where all values are equal)"


_REMEDIES = {"no judge": "needs --judge", "no embedding": "needs --bertscore"}


def denominator(row: Mapping[str, Any]) -> int | None:
    """Return over how many items a row's value is; None where the metric did not run."""
    if "not_run" in row:
        return None
    if row["profile"] == "corrected":
        return int(row["n_total"] - row["n_not_applicable"])
    return int(row["n_scored"] + row.get("n_filled", 0))


def unscored_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """List what could not be scored, by metric, profile, split and reason."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        counts = ", ".join(f"{reason} {count}" for reason, count in row.get("unscored", {}).items())
        if counts:
            place = f"{row['config']} {row['split']}: {counts}"
            found.setdefault(row["key"], {}).setdefault(row["profile"], []).append(place)
    alike: dict[str, list[str]] = {}  # what is said once for all the keys that it is true of
    for key, profiles in found.items():
        same = len(profiles) > 1 and len({tuple(places) for places in profiles.values()}) == 1
        for profile, places in list(profiles.items())[: 1 if same else None]:
            alike.setdefault(f"{'' if same else f' ({profile})'}: {'; '.join(places)}.", []).append(key)
    notes = [f"Unscored, {', '.join(keys)}{said}" for said, keys in alike.items()]
    lacking = [row for row in rows if row.get("unscored")]
    truth = [row for row in lacking if row["metric"] == "truthfulness"]
    if len(truth) < len(lacking):
        notes.append("Official leaves unscored items out, corrected counts them as wrong.")
    if truth:
        excluded = any("failures:excluded" in row["signature"] for row in truth)
        official = "leaves unscored items out" if excluded else "counts unscored items as hallucinations"
        notes.append(f"Truthfulness: official {official}, corrected keeps them as a share of their own.")
    return notes


def not_run_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which metrics did not run, and what that means for those that build on them."""
    missing: dict[str, dict[str, None]] = {}
    for row in rows:
        if "not_run" in row:
            missing.setdefault(row["not_run"], {})[row["key"]] = None
    notes = [f"Not run, {_REMEDIES.get(why, why)}: {', '.join(keys)}." for why, keys in missing.items()]
    if "error_detection_judged" in missing.get("no judge", ()):
        notes.append("Without a judge error_correction is over errors detected by phrase; published, by the judge.")
    return notes


def settings_notes(inputs: Mapping[str, Any]) -> list[str]:
    """Say how passages were found, and in what else a run differs from the benchmark's own settings."""
    bundled = hashlib.sha256(dumps(load_prompts(inputs["benchmark"])).encode()).hexdigest()[:16]
    searched = {name: value for name, value in inputs.get("retrieval", {}).items() if name != "corpus"}
    if searched.get("chunk_size", 0) >= WHOLE:
        searched = {k: v for k, v in searched.items() if k not in ("chunk_size", "chunk_overlap")} | {
            "passages": "whole"
        }
    unknown, served = inputs["retriever"] == UNKNOWN, inputs["retriever"] == RAG
    parts = [f"retriever {inputs['retriever']}"] if searched or unknown else []
    parts += [f"answers and passages by a RAG service, {inputs['parameters']['contract']} contract"] if served else []
    parts += [f"{name} {value}" for name, value in {**searched, **inputs.get("options", {})}.items()]
    if inputs.get("limit"):
        parts.append(f"the first {inputs['limit']} questions of a split")
    if inputs.get("samples", 1) > 1:
        parts.append(f"{inputs['samples']} answers a question")
    if inputs.get("prompts", bundled) != bundled and not served:
        parts.append("prompts of the user's own")
    if inputs.get("judge"):
        parts.append(f"judge {inputs['judge'].replace('; ', ', ')}")
    why = " The paper's rows vary how passages are found, so none stands beside." if unknown else ""
    return [f"Settings: {'; '.join(parts)}.{why}"] if parts else []


def data_notes(infos: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which version of the data ours are on, where there are two, and where it came from."""
    versions = []
    for info in infos:
        config, known = info["inputs"]["config"], configs(info["inputs"]["benchmark"])
        if config.endswith("_original"):
            versions.append("original data")
        elif f"{config}_original" in known:
            versions.append("refined data")
    parts = [*dict.fromkeys(versions), *dict.fromkeys(info.get("source", "unknown") for info in infos)]
    return [f"Ours on: {'; '.join(parts)}.", *given_notes(infos), *found_notes(infos), *service_notes(infos)]


def given_notes(infos: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which stages the user's own files stood in for, whatever the settings say of them."""
    given = sorted({name for info in infos for name in info.get("given", ())})
    return [f"The user's own files in place of ours: {', '.join(given)}."] if given else []


def found_notes(infos: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say how the entities of questions were found, where a graph was asked about them."""
    counts = Counter[str]()
    for info in infos:
        counts.update(info.get("found", {}).get("entities", {}))
    if not counts:
        return []
    if counts["rules"]:
        return ["Entities of the questions were found by rules, without a model."]
    without = {"unreadable": "the reply could not be read", "failed": "the call failed; run again to ask again"}
    parts = [f"{counts[how]} by rules, since {why}" for how, why in without.items() if counts[how]]
    return [
        f"Entities by the model that answers: {counts['model']} of {counts.total()} questions"
        + "".join(f"; {part}" for part in parts)
        + "."
    ]


def service_notes(infos: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what a RAG service gave, how its passages were known, and what of a benchmark cannot be asked of one."""
    notes = []
    for info in infos:
        gave = info.get("service")
        if gave is None:
            continue
        asked = info["inputs"]["benchmark"]
        passages, questions = gave["passages"], gave["questions"]
        note = f"The service gave {passages} passages, to {questions} questions" if passages else "Passages: not given"
        known = {"id": "by their ids", "text": "by their text, as parts of gold documents"}
        notes.append(f"{note}; known {known[gave['by']]}." if gave["by"] else f"{note}.")
        if asked == "rgb":
            notes.append("A service is not shown RGB's documents: accuracy, of what it found itself, is all there is.")
        elif asked == "crag":
            notes.append("CRAG names no gold documents, so the service's retrieval is not measured.")
    return list(dict.fromkeys(notes))


def corpus_notes(infos: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say where ours searched another corpus than the printed rows beside them, as with the gold documents in it."""
    found: dict[str, None] = {}
    for inputs in (info["inputs"] for info in infos):
        corpus = load(inputs["benchmark"]).CORPUS
        options = inputs.get("options", {}) if corpus and "retrieval" in inputs else {}
        # Only what puts documents in; a corpus that lies elsewhere is the same corpus.
        found |= {f"{name}={options[name]}": None for name in ("gold",) if options.get(name)}
    return [f"Ours searched a corpus with {', '.join(found)}, the published rows one without."] if found else []


def paper_notes(benchmark: str, rows: Sequence[Published]) -> list[str]:
    """Say where printed numbers come from, under which conditions, and which are doubtful."""
    tables = ", ".join(dict.fromkeys(row.table for row in rows))
    conditions = "; ".join(dict.fromkeys(part for row in rows for part in row.conditions.split("; ")))
    notes = [f"Published: {load(benchmark).PAPER}, table {tables}; {conditions}."]
    return notes + [
        f"? {row.model} {row.language or row.key} {shown(row.key, row.value)}: {row.note.removeprefix('suspect: ')}."
        for row in rows
        if row.note.startswith("suspect")
    ]
