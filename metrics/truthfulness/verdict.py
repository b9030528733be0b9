# SPDX-License-Identifier: Apache-2.0
"""How `official` reads a verdict: by the pattern of CRAG's code, and by a like one of the paper's printed prompt."""

import re

_OBJECT = re.compile(r"{[^}]*}?")
_TRUTH = re.compile(r'"accuracy"\s*:\s*"?(true|false)\b', re.IGNORECASE)
_DIGITS = re.compile(r'"score"\s*:\s*(\d+)')


def official(reply: str) -> int | None:
    """Read the digits after `"score":` in the last run from an opening brace to the first closing one.

    What stands behind an inner closing brace is lost, 0.9 is 0, and only 0 and 1 are verdicts.
    """
    found = _find(_DIGITS, reply)
    try:
        verdict = int(found) if found else None
    except ValueError:  # more digits than Python reads
        return None
    return verdict if verdict in (0, 1) else None


def official_either(reply: str) -> int | None:
    """Read `"Accuracy": "True"` too, in any case and with or without quotation marks about the value."""
    found = _find(_TRUTH, reply)
    return official(reply) if found is None else int(found.lower() == "true")


def _find(pattern: re.Pattern[str], reply: str) -> str | None:
    """Return what a pattern finds in the last run from an opening brace to the first closing one."""
    runs = [run for run in _OBJECT.findall(reply) if run.endswith("}")]
    found = pattern.search(runs[-1]) if runs else None
    return found.group(1) if found else None
