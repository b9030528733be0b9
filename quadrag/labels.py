"""The languages of tables, their notes and the page, and which it is where no `--labels` or `labels=` names one."""

import os

from quadrag.errors import unknown_name

LANGUAGES = ("en", "zh")
VARIABLE = "QUADRAG_LABELS"


def choose_labels(labels: str | None = None) -> str:
    """Return a language by its name, or that of the environment, or English; QuadragError where it is none of ours."""
    chosen = labels or os.environ.get(VARIABLE) or LANGUAGES[0]
    if chosen not in LANGUAGES:
        raise unknown_name(f"value of {'labels' if labels else VARIABLE}", chosen, LANGUAGES)
    return chosen
