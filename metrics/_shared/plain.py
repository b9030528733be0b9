# SPDX-License-Identifier: Apache-2.0
"""How a judge's plain verdict is read: a line such as `Verdict: yes`, as the plain prompts ask for at their end.

They are for small judges: one question a verdict, the reason before it. Read is what a person would read, by both
profiles alike: every line, or sentence, that states a verdict; without one a first or last line that opens with a bare
one. Two that differ are none, nor is one that the answer itself states, which the judge may have quoted.
"""

import re
from collections.abc import Iterator, Mapping

from .scoring import fold

YES_NO = {"yes": 1, "no": 0, "是": 1, "是的": 1, "否": 0, "不是": 0}

_MARKUP = re.compile(r"[*_`#~>$|\\]+|\\(?:boxed|text)\b|^[\s\-•]+(?!\d)")
_NAMED = r"(?:final |my |the |最终)?(?:verdict|判定|判断)"
_SO = rf"\b(?:so|thus|therefore),? (?:{_NAMED}|(?:the|my) answer)|(?:因此|所以),?(?:{_NAMED}|答案)"
_LINK = r"\s{0,3}(?:[:=]|\bis\b|是|为)\s{0,3}"
_ENDS = r"(?=[\"')\]]{0,2}(?:\s*(?:\Z|\n|[.,;!。、])|\s+-|\s*\(|\s+(?:because|since|as)\b))"


class PlainReader:
    def __init__(self, words: Mapping[str, int]) -> None:
        """Take the words that are verdicts, in small letters, with the grade of each."""
        self.words = words
        word = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
        several = rf"[\"']?\s{{0,2}}(?:\([^()\n]{{0,60}}\)\s?)?(?:/|,|、|\bor\b|或|还是)\s{{0,2}}[\"']?(?:{word})"
        self.stated = re.compile(
            rf"(?:(?:^|[.!?;。]\s?)[\"'(]?{_NAMED}|{_SO}){_LINK}[\"'(\[]{{0,2}}"
            rf"(?:(?P<word>{word})(?:(?P<choice>{several})|(?P<ends>{_ENDS}))?)?",
            re.MULTILINE,
        )
        named = r"(?:(?:final )?answer|答案|回答)\s?:\s?"
        self.bare = re.compile(rf"[\"'(]?(?:{named})?[\"']?(?P<word>{word}){_ENDS}")

    def read(self, reply: str, answer: str = "") -> int | None:
        lines, shown = _plain(reply), _plain(answer)
        stated = list(self._stated("\n".join(lines)))
        if stated and stated[-1] is None:
            return None
        opens = [self.bare.match(line) for line in lines[:1] + lines[-1:] if line not in shown]
        verdicts = {*stated, *(self.words[match["word"]] for match in opens if match)} - {None}
        is_quoted = verdicts & {*self._stated("\n".join(shown))}
        return verdicts.pop() if len(verdicts) == 1 and not is_quoted else None

    def _stated(self, text: str) -> Iterator[int | None]:
        """Yield the verdicts that a text states, None of one that cannot be read; a choice between several is none."""
        for match in self.stated.finditer(text):
            if not match["choice"]:
                yield self.words[match["word"]] if match["ends"] is not None else None


def _plain(text: str) -> list[str]:
    lines = (fold(_MARKUP.sub("", fold(line))).lower() for line in text.splitlines())
    return [line for line in lines if line]
