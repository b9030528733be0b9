"""Texts as words and numbers, by which an answer is looked for in them, and the part of a page that a judge reads."""

import re
import unicodedata
from collections.abc import Sequence

from .. import webpage

WINDOW = 2000  # characters of a page's text

_THOUSANDS = re.compile(r"(?<![0-9])(?<![0-9][.,])[0-9]{1,3}(?:,[0-9]{3})+(?!,?[0-9])")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")  # soft hyphens and the like, within words
_WORD = re.compile(r"[0-9]+(?:\.[0-9]+)+|[^\W_]+")


def normalise(text: str) -> str:
    """Return the words and numbers of a text, casefolded, a blank between and around them; "" for none.

    Compatibility forms are one (NFKC), 1,234 is 1234, and 3.5 is one number, which has no 5 in it.
    """
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).casefold()
    words = _WORD.findall(_THOUSANDS.sub(lambda number: number[0].replace(",", ""), plain))
    return f" {' '.join(words)} " if words else ""


def excerpt(page: str, question: str, answers: Sequence[str], window: int = WINDOW) -> str:
    """Return the sentences of a page that most likely tell an answer, in the page's order.

    Those that hold an accepted answer go first (the judge is told the answers), then those that share most words with
    the question.

    Args:
        page: its text.
        question: what is asked.
        answers: normalised.
        window: characters at most, the line ends between sentences counted.
    """
    asked = set(normalise(question).split())
    ranked = []
    for place, sentence in enumerate(dict.fromkeys(webpage.sentences(page, min(window, webpage.LONGEST)))):
        words = normalise(sentence)
        held = any(answer in words for answer in answers)
        ranked.append((not held, -len(asked.intersection(words.split())), place, sentence))
    shown = []
    for _, _, place, sentence in sorted(ranked):
        if len(sentence) <= window:
            window -= len(sentence) + 1
            shown.append((place, sentence))
    return "\n".join(sentence for _, sentence in sorted(shown))
