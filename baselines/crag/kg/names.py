"""The normal form of names in CRAG's mock knowledge graph; accents and width stay, as they do upstream."""

import string

_DELETED = str.maketrans("_", " ", string.punctuation.replace("_", ""))


def normalise(text: str) -> str:
    """Bring a name into the form in which names are compared: ``O'Brien`` becomes ``obrien`` (``specs/crag.md``, E)."""
    return " ".join(text.lower().translate(_DELETED).split())


def terms(text: str) -> list[str]:
    """Cut a name into the terms that the fuzzy search counts, in order, repeats included."""
    return text.lower().translate(_DELETED).split()
