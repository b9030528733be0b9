"""The one normal form of names in CRAG's mock knowledge graph: what its look-ups and its fuzzy search compare.

It folds neither accents nor width: upstream's does not either, and the candidates of a search hang on it.
"""

import string

_DELETED = str.maketrans("_", " ", string.punctuation.replace("_", ""))


def normalise(text: str) -> str:
    """Bring a name into the form in which names are compared: ``O'Brien`` becomes ``obrien``, ``AC/DC`` ``acdc``.

    Lower case, underscores as blanks, ASCII punctuation deleted, white space collapsed and trimmed (``specs/crag.md``,
    section E). Applied to its own result it changes nothing.
    """
    return " ".join(text.lower().translate(_DELETED).split())


def terms(text: str) -> list[str]:
    """Cut a name into the terms that the fuzzy search counts, in order, repeats included."""
    return text.lower().translate(_DELETED).split()
