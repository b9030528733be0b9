"""What is said beside a result on the Hub: one line on what its value is, how sure, of what data, and how it was made.

A value alone says little: the line has profile, interval, counts, judge, retriever and the signature that `scores.json`
bears. Of places on the user's machine only the last name is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.eval_yaml import PERCENT, HubTask
from quadrag.export_card import public_source

# A path from the root, the home or the working folder, up to its last name; addresses of the web are none.
_PLACE = re.compile(r"(?<![\w/.~-])(?!//)(?:~|\.{1,2})?/(?:[^\s/|+();,]+/)*|\b[A-Za-z]:\\(?:[^\\|]+\\)*")


def notes(
    info: Mapping[str, Any],
    task: HubTask,
    model: str,
    unlike: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
) -> str:
    """Write the notes of one result.

    Args:
        info: the run's ``run.json``.
        task: what the value is of.
        model: the model's repository.
        unlike: in what the questions are not the benchmark's own, all of them; nothing where they are.
        rows: of ``scores.json``, over all items of the split; those of the task's metric are among them.
    """
    inputs = info["inputs"]
    one = {row["profile"]: row for row in rows if (row["metric"], row["key"]) == (task.module, task.key)}
    official = one["official"]
    corrected = one.get("corrected", {})
    parts = [f"NOT COMPARABLE: {', '.join(unlike)}"] if unlike else []
    parts.append(f"{task.module}.{task.key}, profile official{', percent' if task.scale == PERCENT else ''}")
    parts.append(f"95% interval {_spread(official, task)}")
    parts.append(_counts(official))
    if corrected.get("value") is not None:
        parts.append(f"profile corrected {unit(corrected['value'], task.scale)}, {_spread(corrected, task)}")
    parts.append(f"retriever {inputs.get('retriever')}{_listed(inputs.get('retrieval'), ' (', ')')}")
    parts.append(f"judge {inputs.get('judge') or 'none'}")
    name = "" if same_model(str(inputs["llm"]), model) else f" as {_last(str(inputs['llm']))}"
    parts.append(f"asked{name}{_listed(inputs.get('parameters'), ' with ')}, samples {inputs.get('samples', 1)}")
    parts += [f"options{_listed(inputs['options'], ' ')}"] if inputs.get("options") else []
    parts += [f"prompts sha256 {inputs['prompts']}"] if inputs.get("prompts") else []
    parts += [f"by hand: {', '.join(info['given'])}"] if info.get("given") else []
    sources = filter(None, map(public_source, str(info.get("source", "")).split("; corpus: ")))
    parts.append(f"data: {'; corpus: '.join(sources) or 'not named'}")
    besides = [row for row in rows if row["profile"] == "official" and row["value"] is not None]
    others = [f"{row['key']} {row['value']:.4f}" for row in besides if row is not official]
    parts += [f"besides, as scores.json has it: {', '.join(others)}"] if others else []
    parts += [f"quadrag {inputs.get('quadrag')}", f"signature {official['signature']}"]
    return public("; ".join(parts))


def unit(value: float, scale: float) -> float:
    """Return a value as the paper prints its own: percent with two digits, ratios with four."""
    return round(value / scale, 2 if scale == PERCENT else 4) + 0.0  # no -0.0


def same_model(asked: str, model: str) -> bool:
    """Whether a name is the repository's, or that with a provider or a revision behind it."""
    name, rest = asked[: len(model)], asked[len(model) :]
    return name.casefold() == model.casefold() and rest[:1] in ("", ":", "@")


def public(text: str) -> str:
    """Return a text as one line in which places on the user's machine are their last names."""
    return " ".join(_PLACE.sub("", text).split())


def _last(value: str) -> str:
    """Return the last name of a value that is a place as a whole, blanks and brackets included; others as they are."""
    return re.split(r"[/\\]", value.rstrip("/\\"))[-1] if re.match(r"~?/|\.{1,2}/|[A-Za-z]:\\", value) else value


def _spread(row: Mapping[str, Any], task: HubTask) -> str:
    bounds = row.get("interval")
    return " to ".join(str(unit(bound, task.scale)) for bound in bounds) if bounds else "none"


def _counts(row: Mapping[str, Any]) -> str:
    """Say of how many answers a value is."""
    said = [f"{row['n_total']} answers", f"{row.get('n_scored', row['n_total'])} scored"]
    said += [f"{row['n_not_applicable']} not applicable"] if row.get("n_not_applicable") else []
    reasons = [f"{count} {reason}" for reason, count in (row.get("unscored") or {}).items()]
    return ", ".join([*said, f"unscored: {' and '.join(reasons)}" if reasons else "0 unscored"])


def _listed(settings: Mapping[str, Any] | None, before: str, after: str = "") -> str:
    """List settings between two texts; nothing where there are none. The digest of a corpus says nothing here."""
    known = {name: value for name, value in (settings or {}).items() if value is not None and name != "corpus"}
    plain = {name: _last(value) if isinstance(value, str) else json.dumps(value) for name, value in known.items()}
    return f"{before}{', '.join(' '.join(pair) for pair in plain.items())}{after}" if plain else ""
