"""What was made, held against the source by rule: nothing enters a dataset on a model's word alone."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

# "The document" and its like: who is asked such a question has none before them.
_POINTS = re.compile(
    r"本文|该文|文中|文章|上文|下文|上述|文档|材料中|原文|这篇|这段"
    r"|\b(?:the|this|above|given|provided) (?:document|passage|text|article|context|report says)\b"
    r"|\baccording to (?:the|this) (?:document|passage|text|article|context)\b",
    re.IGNORECASE,
)
# Yes-or-no questions, and those that their source does not answer.
_EMPTY = re.compile("是的?|对|否|不是|无|没有|不知道|无法回答|未提及|yes|no|none|unknown")
_CHINESE = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_SURE = 40  # letters from which the identifier of languages is asked


def language_of(text: str) -> str:
    """Return the language of a text as its two letters: ``zh``, ``en``, ...; "" of one without letters.

    Text that is a fifth Chinese characters is Chinese, names in Latin letters among them or not; other text is English
    where it is too short to tell.
    """
    letters = _LETTER.findall(text[:4000])
    if not letters:
        return ""
    if len(_CHINESE.findall(text[:4000])) * 5 >= len(letters):
        return "zh"
    if len(letters) < _SURE:
        return "en"
    import py3langid

    return str(py3langid.classify(text[:4000])[0])


@lru_cache(maxsize=256)
def bare(text: str) -> tuple[str, list[int]]:
    """Return a text in one width without white space, and the place of each of its characters in the text itself."""
    plain = ["".join(unicodedata.normalize("NFKC", letter).split()) for letter in text]
    return "".join(plain), [at for at, letters in enumerate(plain) for _ in letters]


def find_verbatim(excerpt: str, text: str) -> str | None:
    """Return the place of a text that an excerpt repeats, as it stands there; None where it does not.

    White space and the width of characters may differ, nothing else may.
    """
    wanted, _ = bare(excerpt)
    found, places = bare(text)
    at = found.find(wanted) if wanted else -1
    return None if at < 0 else text[places[at] : places[at + len(wanted) - 1] + 1]


def stands_in(answer: str, text: str) -> bool:
    """Whether an answer stands in a text, letters in either case; a number or a word as a whole, not as part of one."""
    from quadrag.metrics._shared.phrases import stands_whole  # heavy: it is an evaluate module's

    return bool(stands_whole(text, answer))


def is_grounded(answer: str, text: str) -> bool:
    """Whether at least half of an answer's pairs of characters stand in a text: of one in words of its own."""
    said, source = bare(answer)[0], bare(text)[0]
    pairs = [said[at : at + 2] for at in range(max(1, len(said) - 1))]
    return sum(pair in source for pair in pairs) * 2 >= len(pairs)


def rejection_reason(
    question: str, answers: Sequence[str], passages: Sequence[str], text: str, language: str
) -> str | None:
    """Return what a made question is let go for; None of a sound one."""
    if language_of(question) not in (language, ""):
        return "question in another language"
    if answers and all(_EMPTY.fullmatch(answer.strip(" 。.!！").lower()) for answer in answers):
        return "answer says nothing"
    if _POINTS.search(question):
        return "question speaks of the document"
    if any(len(answer) > 1 and stands_in(answer, question) for answer in answers):
        return "answer stands in the question"
    if not passages or any(find_verbatim(passage, text) is None for passage in passages):
        return "passage is not in the source"
    return None
