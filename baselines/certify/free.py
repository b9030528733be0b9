"""What agrees with people and costs nothing: a rule by words, or the commonest label said of any answer."""

from collections import Counter
from typing import NamedTuple

from ..scoring.rules import RULE
from .figures import compare
from .labels import LabelSet
from .verdicts import Verdicts, known_verdicts, list_judges

_CHANCE = 0.05  # mid-p of a paired test


class Free(NamedTuple):
    """The best of what costs nothing."""

    name: str  # in a sentence
    agreement: float  # how often it is right
    beaten: bool  # whether the judge is right more often
    better: bool  # whether it is a rule that is right more often than the judge


def find_free(labels: LabelSet, judge: Verdicts) -> Free:
    """Find what costs nothing and agrees with people most often, on the items on which a judge has a verdict."""
    items = [item for item in labels.items if judge.given.get(item.id) is not None]
    ((commonest, count),) = Counter(item.label for item in items).most_common(1)
    best = f"always saying {commonest}", count, Verdicts("", dict.fromkeys((item.id for item in items), commonest))
    for name in () if judge.judge.startswith(RULE) else list_judges(labels):
        if name.startswith(RULE):
            said = known_verdicts(labels, name)
            count = sum(said.given[item.id] == item.label for item in items)
            best = max(best, (f"the free rule {name.removeprefix(RULE)}", count, said), key=lambda one: one[1])
    against = compare(labels, judge, best[2])
    apart, gain = against.test.mid_p < _CHANCE, against.first_only - against.second_only
    is_rule = best[2].judge.startswith(RULE)
    return Free(best[0], best[1] / len(items), apart and gain > 0, apart and gain < 0 and is_rule)
