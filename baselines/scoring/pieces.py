"""Texts that are documents of a corpus, pieces of them or hold one whole, found while the corpus is read once."""

from collections.abc import Collection, Iterable

from ..core.benchmark import Document

LEAST = 32  # characters, blanks aside, from which a piece of a text is taken for a piece of it and no chance
# Each piece holds one of the windows that follow each other in its document, in one of this many places.
_WINDOW = LEAST // 2


def squeeze(text: str) -> str:
    """Return a text without its blanks."""
    return "".join(text.split())


def find_pieces(texts: Collection[str], documents: Iterable[Document]) -> dict[str, str]:
    """Return the first document that each text is, or is a piece of, by its id; what is found nowhere is left out.

    A text that is neither is the longest document that it holds whole, as an article under its title; a document of
    fewer than `LEAST` characters is not looked for so.

    Args:
        texts: without blanks; one with fewer than `LEAST` characters is looked for as a whole document alone.
        documents: read once.
    """
    whole = {*texts}
    pieces: dict[str, list[tuple[str, int]]] = {}
    for text in whole:
        for at in range(_WINDOW if len(text) >= LEAST else 0):
            pieces.setdefault(text[at : at + _WINDOW], []).append((text, at))
    # Of a document that a text holds, the beginning holds one of the windows that follow each other in the text.
    holding: dict[str, list[tuple[str, int]]] = {}
    for text in whole:
        for start in range(0, len(text) - _WINDOW + 1, _WINDOW):
            holding.setdefault(text[start : start + _WINDOW], []).append((text, start))
    found: dict[str, str] = {}
    held: dict[str, tuple[int, str]] = {}
    for document in documents:
        bare = squeeze(document.text)
        if bare in whole:
            found.setdefault(bare, document.id)
        for start in range(0, len(bare) - _WINDOW + 1, _WINDOW):
            for text, at in pieces.get(bare[start : start + _WINDOW], ()):
                if text not in found and at <= start and bare.startswith(text, start - at):
                    found[text] = document.id
        for at in range(_WINDOW if len(bare) >= LEAST else 0):
            for text, start in holding.get(bare[at : at + _WINDOW], ()):
                longer = len(bare) > held.get(text, (0, ""))[0]
                if longer and at <= start and text.startswith(bare, start - at):
                    held[text] = len(bare), document.id
    return {text: ident for text, (_, ident) in held.items()} | found
