"""The languages of tables, their notes and the page, and which it is where no `--labels` or `labels=` names one."""

import os

from quadrag.errors import QuadragError

LANGUAGES = ("en", "zh")
VARIABLE = "QUADRAG_LABELS"


def usual_labels() -> str:
    """Return the language that the environment names, which may be none of ours; English where it names none."""
    return os.environ.get(VARIABLE) or LANGUAGES[0]


def choose_labels(labels: str | None = None) -> str:
    """Return a language by its name, or the usual one.

    Raises:
        QuadragError: it is none of ours.
    """
    chosen = labels or usual_labels()
    if chosen not in LANGUAGES:
        raise QuadragError(
            f"unknown value of {'labels' if labels else VARIABLE} {chosen!r}; known: {', '.join(LANGUAGES)}"
        )
    return chosen
