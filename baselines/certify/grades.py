"""Which value of which metric people and judges grade, and what the grades are: its record says it (`metric.yaml`)."""

from collections.abc import Mapping
from dataclasses import dataclass

from quadrag import catalogue
from quadrag.errors import QuadragError, unknown_name
from quadrag.metric_record import metric_record

PAIRS = {"-1": -1.0, "0": 0.0, "1": 1.0}  # which of two answers is better: the first, neither, the second
# How people write grades that are words; what says only that an answer is good is no answer to another question.
_SPELLED = {
    "yes": "y true 1 是",
    "no": "n false 0 否 不是",
    "right": "yes y true 1 correct 对 正确 是",
    "wrong": "no n false 0 incorrect 错 错误 不对 否 不是",
}


@dataclass(frozen=True, slots=True)
class Graded:
    """A value that is graded."""

    metric: str  # the evaluate module
    key: str  # of its result
    grades: Mapping[str, float | None]  # what may be said of an answer, with its value

    @property
    def name(self) -> str:
        """What `--metric` calls it: the metric alone where it has one such key."""
        return self.metric if len(_keys(self.metric)) == 1 else f"{self.metric}.{self.key}"

    @property
    def asks(self) -> str:
        """What a person who grades an answer is asked."""
        return metric_record(self.metric).key(self.key).asks

    @property
    def spelled(self) -> str:
        """What a person may write, as a message says it: right or wrong (对 or 错)."""
        chinese = [next(filter(_is_chinese, _SPELLED.get(one, "").split()), "") for one in self.grades]
        return " or ".join(self.grades) + (f" ({' or '.join(chinese)})" if all(chinese) else "")

    def read(self, text: str) -> str | None:
        """Return the grade that a text is, in any of its spellings and letter cases; None where it is none."""
        said = text.strip().casefold()
        return next((one for one in self.grades if said in (one.casefold(), *_SPELLED.get(one, "").split())), None)


def find_graded(name: str) -> Graded:
    """Find what a name as ``truthfulness`` or ``omnieval.acc`` stands for.

    Raises:
        QuadragError: no metric has the name, or nobody grades it, or several of its values are graded.
    """
    module, _, key = name.partition(".")
    module = catalogue.metric_name(module)
    keys = _keys(module)
    if not keys:
        raise QuadragError(f"{module} asks no judge for a grade; expected one of {', '.join(_names())}")
    if not key and len(keys) > 1:
        raise QuadragError(f"{module} has several graded values; expected {' or '.join(f'{module}.{k}' for k in keys)}")
    if key and key not in keys:
        raise unknown_name(f"graded value of {module}", key, keys)
    key = key or next(iter(keys))
    return Graded(module, key, dict(keys[key]))


def _is_chinese(word: str) -> bool:
    return not word.isascii()


def _keys(module: str) -> dict[str, Mapping[str, float | None]]:
    return {name: key.grades for name, key in metric_record(module).keys.items() if key.grades}


def _names() -> list[str]:
    found = {name: _keys(name) for name in catalogue.metrics()}
    return [name if len(keys) == 1 else f"{name}.{key}" for name, keys in found.items() for key in keys]


def graded_keys() -> list[str]:
    """Return all graded values as rows of items name them, ``truthfulness.accuracy``."""
    return [f"{name}.{key}" for name in catalogue.metrics() for key in _keys(name)]
