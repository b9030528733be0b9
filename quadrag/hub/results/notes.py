"""What stands beside a result on the Hub: one line on what its value is, how sure, of what data, and how it was made.

A value alone says little: the line has profile, interval, counts, judge, retriever and the signature that `scores.json`
bears. Of places on the user's machine only the last name is shown.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.errors import one_line
from quadrag.hub.export.card import strip_place
from quadrag.hub.results.tasks import HubTask
from quadrag.run_record import RunRecord

# A path from the root, the home or the working folder, up to its last name; addresses of the web are none.
_PLACE = re.compile(r"(?<![\w/.~-])(?!//)(?:~|\.{1,2})?/(?:[^\s/|+();,]+/)*|\b[A-Za-z]:\\(?:[^\\|]+\\)*")


def write_notes(
    run: RunRecord, task: HubTask, model: str, unlike: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> str:
    """Write the notes of one result.

    Args:
        run: what is known of the run.
        task: what the value is of.
        model: the model's repository.
        unlike: in what the questions are not the benchmark's own, all of them; nothing where they are.
        rows: of ``scores.json``, over all items of the split; those of the task's metric are among them.
    """
    inputs, (metric, key, percent) = run.inputs, task.headline[2:]
    one = {row["profile"]: row for row in rows if (row["metric"], row["key"]) == (metric, key)}
    official, corrected = one["official"], one.get("corrected", {})
    parts = [f"NOT COMPARABLE: {', '.join(unlike)}"] if unlike else []
    parts.append(f"{metric}.{key}, profile official{', percent' if percent else ''}")
    parts.append(f"95% interval {_show_interval(official, percent)}")
    parts.append(_show_counts(official))
    if corrected.get("value") is not None:
        value = in_unit(corrected["value"], percent)
        parts.append(f"profile corrected {value}, {_show_interval(corrected, percent)}")
    parts.append(f"retriever {inputs.retriever}{_list_settings(inputs.retrieval, ' (', ')')}")
    parts.append(f"judge {inputs.judge or 'none'}")
    name = "" if same_model(inputs.llm, model) else f" as {_take_last(inputs.llm)}"
    parts.append(f"asked{name}{_list_settings(run.sent, ' with ')}, samples {inputs.samples}")
    parts += [f"options{_list_settings(inputs.options, ' ')}"] if inputs.options else []
    parts += [f"prompts sha256 {inputs.prompts}"] if inputs.prompts else []
    sources = filter(None, map(strip_place, run.source.split("; corpus: ")))
    parts.append(f"data: {'; corpus: '.join(sources) or 'not named'}")
    besides = [row for row in rows if row["profile"] == "official" and row["value"] is not None]
    others = [f"{row['key']} {row['value']:.4f}" for row in besides if row is not official]
    parts += [f"besides, as scores.json has it: {', '.join(others)}"] if others else []
    parts += [f"quadrag {inputs.quadrag}", f"signature {official['signature']}"]
    return hide_places("; ".join(parts))


def in_unit(value: float, percent: bool) -> float:
    """Return a value as the paper prints its own: percent with two digits, ratios with four."""
    return (round(value / 0.01, 2) if percent else round(value, 4)) + 0.0  # no -0.0


def same_model(asked: str, model: str) -> bool:
    """Whether a name is the repository's, or that with a provider or a revision behind it."""
    name, rest = asked[: len(model)], asked[len(model) :]
    return name.casefold() == model.casefold() and rest[:1] in ("", ":", "@")


def hide_places(text: str) -> str:
    """Return a text as one line in which places on the user's machine are their last names."""
    return one_line(_PLACE.sub("", text))


def _take_last(value: str) -> str:
    """Return the last name of a value that is a place as a whole, blanks and brackets included; others as they are."""
    return re.split(r"[/\\]", value.rstrip("/\\"))[-1] if re.match(r"~?/|\.{1,2}/|[A-Za-z]:\\", value) else value


def _show_interval(row: Mapping[str, Any], percent: bool) -> str:
    bounds = row.get("interval")
    return " to ".join(str(in_unit(bound, percent)) for bound in bounds) if bounds else "none"


def _show_counts(row: Mapping[str, Any]) -> str:
    """Say of how many answers a value is."""
    counts = [f"{row['n_total']} answers", f"{row.get('n_scored', row['n_total'])} scored"]
    counts += [f"{row['n_not_applicable']} not applicable"] if row.get("n_not_applicable") else []
    reasons = [f"{count} {reason}" for reason, count in (row.get("unscored") or {}).items()]
    return ", ".join([*counts, f"unscored: {' and '.join(reasons)}" if reasons else "0 unscored"])


def _list_settings(settings: Mapping[str, Any] | None, before: str, after: str = "") -> str:
    """List settings between two texts; nothing where there are none. The digest of a corpus says nothing here."""
    known = {name: value for name, value in (settings or {}).items() if value is not None and name != "corpus"}
    plain = {name: _take_last(value) if isinstance(value, str) else json.dumps(value) for name, value in known.items()}
    return f"{before}{', '.join(' '.join(pair) for pair in plain.items())}{after}" if plain else ""
