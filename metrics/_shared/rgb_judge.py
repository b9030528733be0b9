# SPDX-License-Identifier: Apache-2.0
"""How two of RGB's metrics ask a judge about an answer, and read its sentence: the words of both are each one's own."""

import re
from collections.abc import Generator, Mapping
from typing import Any, ClassVar

from .fold import fold
from .rgb_labels import parts
from .scoring import Column, Item, Request, Scorer, texts
from .slots import ask_user, fill, instructions

_MARKUP = re.compile(r"</?\w+>|[*_`~#\"()\[\]]+|(?<!\w)'|'(?!\w)")
_OPENING = re.compile(r"^\W*(?:(?:verdict|answer|reply)\W+)?(yes|no)\b\W*", re.IGNORECASE)
_CLAUSE = re.compile(r"[.;!?。；！？]+|,? (?:but|yet|although|though|while|whereas|because|since)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"n't\b|\b(?:no|not|never|none|nothing|nor|neither|nowhere|hardly|barely|scarcely|without|cannot|unable|lacks?"
    r"|fail(?:s|ed|ure)?|(?:false|untrue|incorrect|doubtful) that)\b",
    re.IGNORECASE,
)


class SentenceReader:
    """Reads a judge's sentence, whatever marks it up: whether it says of something that it is so, or is not."""

    def __init__(self, mention: str, affirmed: str, negated: str, opens: bool) -> None:
        """Take patterns of the word that decides, and of the ways to affirm and to negate it.

        `opens`: whether a line's `yes` or `no` says it too, without the word.
        """
        self.mention, self.affirmed, self.negated = (
            re.compile(pattern, re.IGNORECASE) for pattern in (mention, affirmed, negated)
        )
        self.opens = opens

    def read(self, verdict: str) -> bool | None:
        """Return what the last clause with the word says; None where it, or a line's yes or no, is not clear."""
        lines = [fold(_MARKUP.sub("", fold(line))) for line in verdict.splitlines()]
        openings = [opening[1].lower() == "yes" for opening in map(_OPENING.match, lines) if opening]
        clauses = [clause for line in lines for clause in _CLAUSE.split(line) if self.mention.search(clause)]
        votes = {self._vote(clause) for clause in clauses[-1:]}
        if openings and (clauses or self.opens):
            votes.add(openings[-1])
        return votes.pop() if len(votes) == 1 else None

    def _vote(self, clause: str) -> bool | None:
        """What a clause says of its last mention; None where it has a negation that is not understood."""
        clause = _OPENING.sub("", clause)
        negated = list(self.negated.finditer(clause))
        last = list(self.mention.finditer(clause))[-1]
        if negated and negated[-1].end() >= last.end():
            return None if _NEGATION.search(clause[: negated[-1].start()]) else False
        return True if self.affirmed.search(clause) and not _NEGATION.search(clause) else None


class JudgedScorer(Scorer):
    """A scorer of RGB's that may ask a judge about each answer, once."""

    VERSION = "1.2.0"
    COLUMNS: ClassVar[Mapping[str, Column]] = {"questions": ("question", texts)}
    WITH_JUDGE = ("questions",)
    PROMPTS: ClassVar[Mapping[str, str]]  # by language
    reference = staticmethod(parts)

    def __init__(self, *, language: str = "en", prompt: str | None = None, **common: Any) -> None:
        """Take the language of the answers, and instructions in place of our own."""
        super().__init__(**common)
        self.language = language
        self.prompt = instructions(prompt, self.PROMPTS[language], ["{answer}"])

    @staticmethod
    def read(verdict: str, profile: str) -> float | None:
        """Return the value of a reply; None where it cannot be read."""
        raise NotImplementedError

    def ask(self, item: Item, profile: str) -> Generator[list[Request], list[Any], float | str]:
        """Ask the judge about an item that has an answer; return the verdict, or the reason why there is none."""
        if item["prediction"] is None:
            return str(item["state"])
        shown = {"question": item["question"], "answer": item["prediction"]}
        (reply,) = yield [{"messages": ask_user(fill(self.prompt, shown))}]
        text, why = self.hear(reply, profile)
        value = None if text is None else self.read(text, profile)
        return why or ("unparsable" if value is None else value)
