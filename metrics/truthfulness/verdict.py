# SPDX-License-Identifier: Apache-2.0
"""How `official` reads a verdict: by the pattern of CRAG's code."""

import re

_OBJECT = re.compile(r"{[^}]*}?")
_DIGITS = re.compile(r'"score"\s*:\s*(\d+)')


def official(reply: str) -> int | None:
    """Read the digits after `"score":` in the last run from an opening brace to the first closing one.

    What stands behind an inner closing brace is lost, 0.9 is 0, and only 0 and 1 are verdicts.
    """
    runs = [run for run in _OBJECT.findall(reply) if run.endswith("}")]
    found = _DIGITS.search(runs[-1]) if runs else None
    try:
        verdict = int(found.group(1)) if found else None
    except ValueError:  # more digits than Python reads
        return None
    return verdict if verdict in (0, 1) else None
