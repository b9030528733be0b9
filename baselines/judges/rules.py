"""Rules that tell right answers from wrong ones by their words, and ask nobody."""

import string
from collections.abc import Callable, Sequence

RULE = "rule:"  # begins the name of a rule where judges are named


def _bounded(answer: str, golds: Sequence[str]) -> bool:
    from quadrag.metrics._shared.rgb import bounded

    return bool(bounded(answer, [list(golds)], profile="corrected"))


def _plain(answer: str, golds: Sequence[str]) -> bool:
    from quadrag.metrics._shared.rgb import correct, label

    return bool(correct(label(answer, [list(golds)], profile="corrected")))


def _exact(answer: str, golds: Sequence[str]) -> bool:
    return any(_normal(answer) == _normal(gold) for gold in golds)


def _normal(text: str) -> str:
    """Return folded lower-case words without articles and punctuation, as SQuAD's exact match compares."""
    from quadrag.metrics._shared.fold import fold

    words = fold(text).casefold().translate(str.maketrans("", "", string.punctuation)).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


# As a metric's own: an accepted answer as whole numbers and words in the answer, anywhere in it, or all of it.
RULES: dict[str, Callable[[str, Sequence[str]], bool]] = {"bounded": _bounded, "plain": _plain, "exact": _exact}


def judge_by_rule(name: str, answer: str, golds: Sequence[str]) -> str:
    """Return what a rule, ``rule:bounded``, says of an answer: ``right`` or ``wrong``."""
    return "right" if RULES[name.removeprefix(RULE)](answer, golds) else "wrong"
