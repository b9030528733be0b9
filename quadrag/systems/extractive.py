"""The baseline without a model: the sentence of the passages that is most like the query.

Likeness is the F1 of character bigrams in Chinese and of lower-cased words in English, counted with their
multiplicity; the first of equal sentences wins. It never rejects, and reads nothing but the words.
"""

import re
from collections import Counter
from collections.abc import Sequence

from quadrag.records import Passage
from quadrag.spec import EXTRACTIVE

from .system import Assignment, Generated, OnProgress, Passages, Questions, System, make_answer

# A full stop ends an English sentence only before a blank, so that 3.5 holds together (the U.S. market does not).
_SENTENCE_END = re.compile(r"(?<=[。！？!?；])|(?<=\.)(?=\s)|[\r\n]+")
_WORD = re.compile(r"\w+")


def sentences(text: str) -> list[str]:
    return [part for piece in _SENTENCE_END.split(text) if (part := piece.strip())]


def _terms(text: str, language: str) -> Counter[str]:
    if language == "en":
        return Counter(_WORD.findall(text.lower()))
    return Counter(text[i : i + 2] for i in range(len(text) - 1))


def best_sentence(query: str, passages: Sequence[Passage], language: str) -> str:
    """Return the sentence with the highest F1 with the query, the first of equals; "" without passages."""
    wanted = _terms(query, language)
    best, best_score = "", -1.0
    for passage in passages:
        for sentence in sentences(passage.text):
            terms = _terms(sentence, language)
            common = (terms & wanted).total()
            score = 2 * common / (terms.total() + wanted.total()) if common else 0.0
            if score > best_score:
                best, best_score = sentence, score
    return best


class Extractive(System):
    asks_models = draws = False
    name = EXTRACTIVE

    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        return Generated(
            [
                make_answer(question, 0, best_sentence(question.query, passages[question.key], question.language))
                for question in questions
            ]
        )
