"""The languages of what is said, and which it is where no `--labels` or `labels=` names one."""

import os

from quadrag.errors import QuadragError

LANGUAGES = ("en", "zh")
VARIABLE = "QUADRAG_LABELS"


def usual_labels() -> str:
    """Return the language that the environment names, which may be none of ours; English where it names none."""
    return os.environ.get(VARIABLE) or LANGUAGES[0]


def check_labels(labels: str, named: str = VARIABLE) -> None:
    """Refuse a language that is none of ours.

    Raises:
        QuadragError: it is none.
    """
    if labels not in LANGUAGES:
        raise QuadragError(f"unknown value of {named} {labels!r}; known: {', '.join(LANGUAGES)}")
