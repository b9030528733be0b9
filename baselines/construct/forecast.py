"""What making a dataset will take of its model, before it is asked: the steps at work with kept replies alone.

A row goes on as far as the ledger holds replies for it. The call that it then needs is noted as it would be sent. What
its later calls would say depends on the reply, so they are noted as often as the steps ask at most, and taken to be as
long as that one. So a dataset that was begun is estimated by what is left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from quadrag.chat.estimate import Estimator, Size

from ..systems.system import Completer
from .steps import Drop, Each, Maker, Row, Step, as_work

_PROMPT = 500  # tokens of a prompt beside its document, where no call of a row is known
_USUAL = "字" * 400  # as long as a usual reply
NOTES = (
    "What is asked depends on the replies: these are the most calls there can be. Half of them are asked only where a "
    "reply cannot be read, and none of what a check lets go.",
    "A call behind one that is not made yet is taken to be as long as that one; a reply, to have 400 characters.",
)


class _NotKept(Exception):
    """A call whose reply the ledger does not hold."""


class _Kept:
    """A model that gives kept replies only, and counts what it was asked for one row."""

    model = ""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator, self.asked = estimator, 0

    def complete(self, batch: Sequence[Any], *, samples: Sequence[int] | None = None) -> list[Any]:
        self.asked += len(batch)
        replies = self._estimator.complete(batch, samples=samples)
        # A failure is none of the ledger's: it keeps replies alone.
        if not all(getattr(reply, "cached", True) for reply in replies):
            raise _NotKept
        return replies


def forecast(steps: Sequence[Step], rows: Sequence[Row], estimator: Estimator) -> None:
    """Note in the estimator's estimate, by step, what rows ask of the model at most."""
    model = _Kept(estimator)
    maker = Maker(cast(Completer, model))
    here, waiting = list(rows), False  # whether a call of an earlier step is still to be made
    for at, step in enumerate(steps):
        if not isinstance(step, Each):
            here = step.work(here)[0] if here else []
            continue
        estimator.expect = lambda batch, name=step.name: [(name, _USUAL)] * len(batch)  # type: ignore[misc]
        kept: list[Row] = []
        lacking = waiting
        for row in here:
            model.asked = 0
            try:
                (found,) = maker.advance([as_work(step.work, row)])
            except _NotKept:
                lacking = True
                calls = estimator.estimate.stage(step.name, estimator.model, estimator.rate).calls
                size = next((size for size in reversed(calls.values()) if size is not None), None)
                _note_rest(steps[at:], row, model.asked, size, estimator)
            else:
                if not isinstance(found, Drop):
                    kept += [one for one in found if "dropped" not in one]
                elif waiting:  # for the lack of what that call will bring
                    _note_rest(steps[at:], row, 0, None, estimator)
        here, waiting = kept, lacking


def _note_rest(steps: Sequence[Step], row: Row, asked: int, size: Size | None, estimator: Estimator) -> None:
    """Note the calls of a row that follow those asked, in the first of the steps and in all others."""
    estimate, name = estimator.estimate, estimator.model
    if size is None:
        most = estimator.parameters.get("max_tokens")
        size = Size(_PROMPT + estimate.count(name, row.get("text", "")), estimate.count(name, _USUAL), most)
    rows = 1
    for step in steps:
        if isinstance(step, Each):
            calls = estimate.stage(step.name, name, estimator.rate).calls if step.asks else {}
            for _ in range(rows * step.asks - asked):
                calls[f"{len(calls)}".encode()] = size
            rows, asked = rows * step.makes, 0
