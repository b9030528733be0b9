"""The one exception a user of quadrag is meant to read.

It does not cover programming errors: those keep their own types and their traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class QuadragError(Exception):
    """Bad input or a failed outside part; the message is one line that says what was found, expected and what to do.

    The command line prints the message and exits with code 2.
    """


def unknown_name(kind: str, name: str, known: Iterable[str]) -> QuadragError:
    """Build the error for a name that is not among the known ones, nearest names first.

    Args:
        kind: what the name stands for, as a noun: ``"config"``.
        name: what was given.
        known: every accepted name.

    Returns:
        The error, for the caller to raise.
    """
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.4)
    hint = (
        f"nearest: {', '.join(near)}" if near else f"known: {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"
    )
    return QuadragError(f"unknown {kind} {name!r}; {hint}")
