"""Texts as words and numbers, by which an answer is looked for in them, and the part of a page that a judge reads."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from quadrag.metrics._shared.fold import fold

from .. import webpage

WINDOW = 2000  # characters of a page's text

_WORD = re.compile(r"[0-9]+(?:\.[0-9]+)+|[^\W_]+")


def normalise(text: str) -> str:
    """Return the words and numbers of a folded text, casefolded, a blank between and around them; "" for none.

    3.5 is one number, which has no 5 in it.
    """
    words = _WORD.findall(fold(text).casefold())
    return f" {' '.join(words)} " if words else ""


def excerpt(page: str, question: str, answers: Sequence[str], window: int = WINDOW) -> str:
    """Return the sentences of a page that most likely tell an answer, in the page's order.

    They are those with most words of the question and of the answers, which the judge is told too; a word counts the
    more the fewer sentences of the page have it.

    Args:
        page: its text.
        question: what is asked.
        answers: the accepted ones.
        window: characters at most, the line ends between sentences counted.
    """
    wanted = {word for text in (question, *answers) for word in normalise(text).split()}
    sentences = list(dict.fromkeys(webpage.sentences(page, min(window, webpage.LONGEST))))
    held = [wanted.intersection(normalise(sentence).split()) for sentence in sentences]
    having = Counter(word for words in held for word in words)
    scores = [sum(math.log(1 + len(sentences) / having[word]) for word in sorted(words)) for words in held]
    shown = []
    for place in sorted(range(len(sentences)), key=lambda place: -scores[place]):
        if len(sentences[place]) <= window:
            window -= len(sentences[place]) + 1
            shown.append(place)
    return "\n".join(sentences[place] for place in sorted(shown))
