"""One metric's score in Python, and the names by which it is found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from quadrag.baselines.report.compared.names import Place
from quadrag.baselines.tables.cells import ALIKE, RATE, format_value, join_bounds, write_bounds
from quadrag.baselines.tables.names import is_whole
from quadrag.errors import UnknownScore, unknown_name
from quadrag.labels import LANGUAGES
from quadrag.measure.number import Number
from quadrag.measure.words import in_python
from quadrag.metric_record import metric_record, show_key


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Score(Number):
    """One metric over all questions of a split.

    It is the number that it holds where one is expected: ``float(score)``, ``score * 100``, ``f"{score:.3f}"``,
    ``score > 0.8``, ``numpy.mean([score, other])``. Where there is none these raise a `QuadragError` that says why.
    ``print(score)`` writes it as tables do: ``accuracy 58.3% (95% 32.0–80.7), n 12/12``. Behind a value that rests on
    verdicts which say nothing of the answers stands ``!``.

    Attributes:
        value: in the metric's own unit, mostly 0 to 1; None where it could not be computed, or is not valid.
        interval: its 95% interval; None where there is none, as of fewer than 5 questions.
        n: the questions that the value is over; of a score that is not valid, those that could be read.
        n_total: all questions.
        unscored: how many have none, by reason.
        metric: the evaluate module.
        key: of its result.
        split: of the questions; ``all 5 splits`` of what is over all of them, where a question counts once.
        signature: how it was computed.
        valid: False where more than a fifth of the items failed, by no fault of the system's answers.
        reason: why there is no value, as "the judge does not answer", or why it says nothing of the answers, as "the
            judge says the same of every answer"; "" where all is well.
        labels: ``en`` or ``zh``, the language in which it is shown.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int
    n_total: int
    unscored: dict[str, int]
    metric: str
    key: str
    split: str
    signature: str
    valid: bool = True
    reason: str = ""
    labels: str = field(default=LANGUAGES[0], compare=False)

    @property
    def _number(self) -> float | None:
        return self.value

    @property
    def _line(self) -> str:
        if self.value is None:
            why = self.reason or f"none of its {self.n_total} questions was scored"
            return f"{self.key} has no value: {why}"
        unit = metric_record(self.metric).key(self.key).unit
        value = format_value(self.value, unit, self.n) + ("%" if unit == RATE else f" {unit}")
        mark, doubt = (ALIKE, f"; {ALIKE} {self.reason}") if self.reason else ("", "")
        bounds = join_bounds(write_bounds(self.value, self.interval or (), unit))
        return f"{self.key} {value}{mark}{f' (95% {bounds})' if bounds else ''}, n {self.n}/{self.n_total}{doubt}"


def refuse_attribute(owner: object, name: str, places: Mapping[str, Place]) -> NoReturn:
    """Refuse a name that an object does not have, with how a score that is called so is found.

    Raises:
        AttributeError: always.
    """
    found = f"; the score is [{name!r}]" * bool(match_names(name, places))
    raise AttributeError(f"{type(owner).__name__} has no attribute {name!r}{found}", name=name, obj=owner)


def match_names(name: str, places: Mapping[str, Place]) -> list[str]:
    """Return the names of the scores that are called so, with their split and their metric or without."""
    if name in places:
        return [name]
    return [
        known
        for known, (_, split, metric, key) in places.items()
        if str(name).removeprefix(f"{split}/") in (key, f"{metric}.{key}", show_key(metric, key))
    ]


def find_name(name: str, places: Mapping[str, Place]) -> str:
    """Return the name of the one score that is called so, with its split and its metric or without.

    Of several splits it is the score over all of them, where there is one.

    Raises:
        KeyError: there is none, or more than one.
    """
    found = match_names(name, places)
    found = [known for known in found if is_whole(places[known][1])] or found
    if len(found) > 1:
        what = "splits" if len({places[known][1] for known in found}) > 1 else "metrics"
        uses = ", ".join(f"result[{known!r}]" for known in found)
        raise UnknownScore(in_python(f"{name} stands for several {what}: use {uses}"))
    if not found:
        known = dict.fromkeys([*places, *(key for *_, key in places.values())])
        raise UnknownScore(in_python(str(unknown_name("score", name, known))))
    return found[0]
