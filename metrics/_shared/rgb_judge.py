# SPDX-License-Identifier: Apache-2.0
"""How two of RGB's metrics ask a judge about an answer, and read its sentence: the words of both are each one's own."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace as Options
from typing import ClassVar

from .fold import fold
from .module import JUDGE, Option
from .rgb_labels import Rgb
from .slots import ask_user, fill, instructions
from .tally import ask, strings

JUDGED = {
    "judge": Option(f"{JUDGE} Called once, for the items with an answer."),
    "questions": Option("list of n questions; required with judge."),
    "prompt": Option("the judge's instructions, a text with {answer} and {question}; default this module's own."),
}

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


class Judged(Rgb):
    """Goes before `evaluate.Metric` in the bases of a metric that may ask a judge."""

    VERSION = "1.2.0"
    PROMPTS: ClassVar[Mapping[str, str]]  # by language
    read: Callable[[str, str], float | None]  # a reply and the profile to its value, None where it cannot be read

    def complete(self, options: Options) -> None:
        """Put in the instructions that the language has."""
        options.prompt = instructions(options.prompt, self.PROMPTS[options.language], ["{answer}"])
        if not options.judge:
            options.prompt = None

    def verdicts(
        self, predictions: Sequence[str | None], reasons: Sequence[str], options: Options
    ) -> list[float | str]:
        """Ask the judge about every item that has an answer, in one batch; n values, or reasons why there is none."""
        if options.questions is None:
            raise ValueError("judge was given without questions; pass questions=[...], one per prediction")
        asked = strings(options.questions, "questions", len(predictions))
        texts, failed = ask(
            options.judge,
            [
                ask_user(fill(options.prompt, {"question": question, "answer": answer}))
                for question, answer in zip(asked, predictions, strict=True)
                if answer is not None
            ],
            options.profile,
            options.prompt,
        )

        def value(text: str | None, why: str) -> float | str:
            read_as = None if text is None else self.read(text, options.profile)
            return why or ("unparsable" if read_as is None else read_as)

        values = iter([value(text, why) for text, why in zip(texts, failed, strict=True)])
        return [why or next(values) for why in reasons]
