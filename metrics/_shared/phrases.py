# SPDX-License-Identifier: Apache-2.0
"""What RGB's three metrics share: how an answer is labelled, and how a judge is asked about one and read.

The labels follow the evaluation code of RGB (Chen et al., AAAI 2024, arXiv:2309.01431); the whole-number rule of
`bounded` and the `corrected` profile, which compares texts by `fold`, are ours.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any, ClassVar

from .scoring import Column, Item, Request, Scorer, column, fold, strings
from .slots import PLAIN, ask_user, fill, instructions

REJECTION = ("信息不足", "insufficient information")
FACTUAL_ERROR = ("事实性错误", "factual errors")
# The same in traditional characters, for `corrected`.
_TRADITIONAL = {REJECTION: ("資訊不足", "訊息不足"), FACTUAL_ERROR: ("事實性錯誤",)}
# Han, kana, bopomofo and hangul: scripts in which a letter beside a match does not make another word.
_CJK = re.compile("[\u2e80-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]")
_SUPERSCRIPTS = "[\u00b2\u00b3\u00b9\u2070-\u207e]"
# A number, as folded: with its sign (not a range's hyphen), fraction and power.
_NUMBER = re.compile(
    r"(?:(?<![^\W_])(?<![)\]%.\-])-[$€£¥]?)?"
    r"(?:(?:(?<![\d/.])\d{1,3} )?(?<![\d/.])\d{1,3}/\d{1,3}(?![\d/])|(?:(?<![^\W_])(?<!\.)\.)?\d+(?:[.,]\d+)*)"
    rf"[\u00bc-\u00be\u2150-\u215e]?(?:(?: ?[×*] ?10)?(?:{_SUPERSCRIPTS}+|\^[+-]?\d+)|e[+-]?\d+(?![^\W_]))?"
)
# Of a judge's sentence: markup, the yes or no that opens a line, what ends a clause, what negates.
_MARKUP = re.compile(r"</?\w+>|[*_`~#\"()\[\]]+|(?<!\w)'|'(?!\w)")
_OPENING = re.compile(r"^\W*(?:(?:verdict|answer|reply)\W+)?(yes|no)\b\W*", re.IGNORECASE)
_CLAUSE = re.compile(r"[.;!?。；！？]+|,? (?:but|yet|although|though|while|whereas|because|since)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"n't\b|\b(?:no|not|never|none|nothing|nor|neither|nowhere|hardly|barely|scarcely|without|cannot|unable|lacks?"
    r"|fail(?:s|ed|ure)?|(?:false|untrue|incorrect|doubtful) that)\b",
    re.IGNORECASE,
)


def parts(value: Any, name: str = "reference") -> list[list[str]]:
    """Bring a gold answer to one list of accepted strings per needed part: of a string, or a list of either."""
    if isinstance(value, str):
        return [strings([value], name)]
    listed = enumerate(column(value, name, entries=" of strings, or a string"))
    return [strings([part] if isinstance(part, str) else part, f"{name}[{i}]") for i, part in listed]


def _squeeze(text: str, language: str) -> str:
    return text.replace(" ", "") if language == "zh" else text


def _plain(text: str, language: str) -> str:
    return _squeeze(fold(text).casefold(), language)


def says(prediction: str, phrases: tuple[str, ...], language: str = "en", profile: str = "official") -> bool:
    """Whether the answer holds one of the protocol's fixed phrases; for "official" letter by letter."""
    if profile == "official":
        return any(phrase in _squeeze(prediction, language) for phrase in phrases)
    return any(_plain(phrase, language) in _plain(prediction, language) for phrase in phrases + _TRADITIONAL[phrases])


def label(prediction: str, gold: Any, language: str = "en", profile: str = "official") -> list[int]:
    """Label an answer as RGB's code does: [-1] for a rejection phrase, else per needed part whether it is there.

    1 where an accepted string is in the answer, case ignored, else 0. For "zh" "official" removes the answer's ASCII
    spaces and leaves those of golds and phrases, so that those with one never match; "corrected" compares all three as
    folded, and lets an empty gold match nothing.
    """
    if says(prediction, REJECTION, language, profile):
        return [-1]
    if profile == "official":
        answer = _squeeze(prediction, language).lower()
        return [int(any(s.lower() in answer for s in accepted)) for accepted in parts(gold)]
    answer = _plain(prediction, language)
    golds = [[_plain(s, language) for s in accepted] for accepted in parts(gold)]
    return [int(any(s and s in answer for s in accepted)) for accepted in golds]


def correct(labels: Sequence[int]) -> bool:
    """Whether every needed part is there: no 0, and a 1 (a rejection is neither)."""
    return 0 not in labels and 1 in labels


def bounded(prediction: str, gold: Any, language: str = "en", profile: str = "official") -> bool:
    """Whether the answer is correct by whole numbers and words: 70 is not found in 170, 70.5 or 70,000.

    Digits may stand beside letters (70km); Chinese, Japanese and Korean characters have no word edges. For "zh" a match
    may skip the prediction's spaces, but its edges are judged with the spaces in place. For "corrected" 5 is not found
    in -5, .5, 5/8, 5½ or 5² either.
    """
    if not correct(label(prediction, gold, language, profile)):
        return False
    return all(any(stands_whole(prediction, s, language, profile) for s in accepted) for accepted in parts(gold))


def stands_whole(text: str, accepted: str, language: str = "en", profile: str = "corrected") -> bool:
    """Whether a string stands in a text as a whole number or word, as `bounded` says it; an empty one does not."""
    if profile == "corrected":
        text, accepted = fold(text).casefold(), _plain(accepted, language)
    text, accepted = text.lower(), accepted.lower()
    if not accepted or accepted not in _squeeze(text, language):
        return False
    raw = f"\0\0{text}\0\0"  # so that an edge always has two neighbours
    numbers = _NUMBER.finditer(raw) if profile == "corrected" else ()
    within = {place for number in numbers for place in range(number.start() + 1, number.end())}
    kept = [i for i, c in enumerate(raw) if c != " " or language != "zh"]
    answer = "".join(raw[i] for i in kept)
    start = answer.find(accepted)
    while start >= 0:
        a, z = kept[start], kept[start + len(accepted) - 1]
        runs_on = _runs_on(raw[a], raw[a - 1], raw[a - 2]) or _runs_on(raw[z], raw[z + 1], raw[z + 2])
        if not runs_on and a not in within and z + 1 not in within:
            return True
        start = answer.find(accepted, start + 1)
    return False


def _runs_on(edge: str, near: str, beyond: str) -> bool:
    """Whether a match's edge character lies inside a number or word, given its two neighbours outwards."""
    if edge.isdecimal():
        return near.isdecimal() or (near in ".," and beyond.isdecimal())
    return all(c.isalpha() and not _CJK.match(c) for c in (edge, near))


class SentenceReader:
    """Reads a judge's sentence: whether it says of something that it is so, or is not.

    "official" looks for one of the protocol's marks. "corrected" takes the last clause with the word that decides,
    negated or not, in any case and markup, and the last line that opens with yes or no.
    """

    def __init__(
        self, marks: Sequence[str], mention: str, affirmed: str, negated: str, *, opens: bool, counts: bool
    ) -> None:
        """Take the marks, and patterns of the word that decides, and of the ways to affirm and to negate it.

        `opens`: whether a line's `yes` or `no` says it too, without the word; `counts`: what is 1.0, that it is so, or
        that it is not.
        """
        self.marks, self.opens, self.counts = marks, opens, counts
        self.mention, self.affirmed, self.negated = (
            re.compile(pattern, re.IGNORECASE) for pattern in (mention, affirmed, negated)
        )

    def read(self, verdict: str, profile: str) -> float | None:
        """Return 1.0 or 0.0; None, with "corrected", where there is no such clause or line, and where two disagree."""
        if profile == "official":
            return float(any(mark in verdict for mark in self.marks))
        lines = [fold(_MARKUP.sub("", fold(line))) for line in verdict.splitlines()]
        openings = [opening[1].lower() == "yes" for opening in map(_OPENING.match, lines) if opening]
        clauses = [clause for line in lines for clause in _CLAUSE.split(line) if self.mention.search(clause)]
        votes = {self._vote(clause) for clause in clauses[-1:]}
        if openings and (clauses or self.opens):
            votes.add(openings[-1])
        says = votes.pop() if len(votes) == 1 else None
        return None if says is None else float(says == self.counts)

    def _vote(self, clause: str) -> bool | None:
        """What a clause says of its last mention; None where it has a negation that is not understood."""
        clause = _OPENING.sub("", clause)
        negated = list(self.negated.finditer(clause))
        last = list(self.mention.finditer(clause))[-1]
        if negated and negated[-1].end() >= last.end():
            return None if _NEGATION.search(clause[: negated[-1].start()]) else False
        return True if self.affirmed.search(clause) and not _NEGATION.search(clause) else None


class LanguageScorer(Scorer):
    reference = staticmethod(parts)

    def __init__(self, *, language: str = "en", **common: Any) -> None:
        super().__init__(**common)
        if language not in ("en", "zh"):
            raise ValueError(f"language is {language!r}; expected en or zh")
        self.language = language

    def conditions(self, profile: str) -> dict[str, str]:
        return {"language": self.language}


class JudgedScorer(LanguageScorer):
    """A scorer of RGB's that may ask a judge about each answer, once."""

    VERSION = "1.2.0"
    JUDGES = (0, 1)
    COLUMNS: ClassVar[Mapping[str, Column]] = {"questions": ("question", strings)}
    PROMPTS: ClassVar[Mapping[str, str]]  # by language
    READER: ClassVar[SentenceReader]
    PLAIN: ClassVar[tuple[Mapping[str, str], Any]]  # the same for small judges: prompts by language, and the reader

    def __init__(self, *, language: str = "en", prompt: str | None = None, **common: Any) -> None:
        super().__init__(language=language, **common)
        given = None if prompt in (None, PLAIN) else {"prompt": prompt}
        ours = self.PLAIN[0] if prompt == PLAIN else self.PROMPTS
        self.prompt = instructions(given, {"prompt": ours[language]}, {"prompt": ["{answer}"]})["prompt"]
        self.keys = [key for key in self.KEYS if self.judges or not key.endswith("_judged")]

    def ask(self, item: Item, profile: str) -> Generator[list[Request], list[Any], float | str]:
        """Ask the judge about an item that has an answer; return the verdict, or the reason why there is none."""
        if item["prediction"] is None:
            return str(item["state"])
        shown = {"question": item["question"], "answer": item["prediction"]}
        (reply,) = yield [{"messages": ask_user(fill(self.prompt, shown))}]
        text, why = self.hear(reply, profile)
        if text is None:
            return why
        texts, reader = self.PLAIN
        is_plain = self.prompt == texts[self.language]
        value = reader.read(text, shown["answer"]) if is_plain else self.READER.read(text, profile)
        return "unparsable" if value is None else float(value)
