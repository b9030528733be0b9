# SPDX-License-Identifier: Apache-2.0
"""The five metrics: their names, the verdicts they know, and the value of each.

Scales are those of OmniEval's code (Wang et al., EMNLP 2025, arXiv:2412.13018), 0 to 2 or 0 to 1; the paper's are 1 to
3.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import json_repair

from .tally import NOT_APPLICABLE

FIELD = "prediction"  # the protocol's; a verdict under the metric's own name is read too
NAMES = {
    "acc": "accuracy",
    "hal": "hallucination",
    "com": "completeness",
    "utl": "utilization",
    "nac": "numerical_accuracy",
}
KEYS = tuple(NAMES)
RETRIEVAL = ("hal", "utl")  # judged by what was retrieved, so not in close-book runs
# What the judge is asked for; -1 says that the metric does not apply to the item.
SCALES = {"acc": (0, 1, 2), "hal": (0, 1), "com": (-1, 0, 1, 2), "utl": (0, 1, 2), "nac": (-1, 0, 1)}
# What `corrected` reads: the paper has a -1 for hallucination, the code asks for none.
READABLE = SCALES | {"hal": (-1, 0, 1)}
_LONGEST = 4_000  # characters that are mended: json_repair takes the square of their number at worst
_HALVED = ("acc", "com", "utl")


def keys_of(config: str | None) -> tuple[str, ...]:
    """Return the metrics that a config asks for: one, or all."""
    if config in (None, "all", "default"):
        return KEYS
    if config not in KEYS:
        raise ValueError(f"config is {config!r}; expected one of {', '.join(KEYS)} or 'all'")
    return (config,)


def response_format(keys: Sequence[str]) -> dict[str, Any]:
    """Return an OpenAI-style `response_format` that allows the verdicts of any of the metrics, and no others."""
    verdicts = sorted({value for key in keys for value in SCALES[key]})
    schema = {
        "type": "object",
        "properties": {FIELD: {"type": "integer", "enum": verdicts}},
        "required": [FIELD],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}


def value(verdict: int | None, key: str) -> float | str:
    """Return a verdict's value, halved where the scale goes to 2, or why there is none.

    -1 is "not_applicable" where the metric knows it, else "unparsable", as are None and what is below. What is above
    the scale is a value: the authors' code does not check it.
    """
    if verdict is None or verdict < -1 or (verdict == -1 and verdict not in READABLE[key]):
        return "unparsable"
    if verdict == -1:
        return NOT_APPLICABLE
    return verdict / 2 if key in _HALVED else float(verdict)


def official(reply: str, key: str) -> int | None:
    """Return the integer that a reply gives to `prediction`, else to the metric's name; None where there is none.

    As OmniEval's code, which has json_repair 0.30.0 mend a reply that is no JSON, and Python's `int` read it: 1.9 is 1,
    "2" is 2, true is 1, "1.5" and lists are nothing. No scale is checked: that is the quirk.
    """
    try:
        try:
            found = json.loads(reply)
        except json.JSONDecodeError:
            mended = re.sub(r"\A[^{\[]+", "", reply)[:_LONGEST]
            found = json_repair.repair_json(mended, return_objects=True, skip_json_loads=True)
        if not isinstance(found, dict):
            return None
        verdict = int(found.get(FIELD, found.get(NAMES[key])))
        float(verdict)  # one beyond all floats has no half
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return verdict
