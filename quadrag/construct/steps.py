"""A recipe's steps: what each makes of its rows, a file for each, and a count of what was let go and why.

A step works on one row at a time (`Each`) or on all together (`Whole`). One that asks a model is a generator: it yields
an `Ask` and is handed the text of the reply. The works of many rows go side by side, so that their questions are one
batch. Steps of single rows that follow each other are done for a few rows before the next ones begin: what a budget
ends early is then a smaller dataset, and not the first half of one.

What a step did is not read back when a recipe is run again: it is made anew from the replies in the ledger, which gives
the same to the byte and asks for none of them twice.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from quadrag.chat.prices import BudgetReached
from quadrag.chat.reply import Failure, as_verdict
from quadrag.progress import Progress
from quadrag.records import dumps
from quadrag.systems.system import Completer

Row = dict[str, Any]
WAVE = 128  # rows that go through steps of single rows together
BUDGET = "budget reached"


class Drop(Exception):
    """A row is let go; the text says why, in words that can be counted."""


class Ask(NamedTuple):
    """A chat to be answered; another `sample` asks the same anew."""

    chat: list[dict[str, str]]
    sample: int = 0


Work = Generator[Ask, str, list[Row]]


@dataclass(frozen=True)
class Each:
    """A step of single rows: what becomes of a row, no, one or several; `Drop` says why none.

    Of several, one with ``dropped`` is let go for the reason that stands there, and is written as it is; the others are
    kept. For the estimate, `asks` is how often a row asks a model at most (with `once` all rows
    together), and `makes` how many rows come of one.
    """

    name: str
    work: Callable[[Row], Work | list[Row]]
    asks: int = 0
    makes: int = 1
    once: bool = False


@dataclass(frozen=True)
class Whole:
    """A step of all rows together: what is kept of them, and of each other one why it is not."""

    name: str
    work: Callable[[list[Row]], tuple[list[Row], list[tuple[Row, str]]]]


Step = Each | Whole


@dataclass
class Stage:
    """What became of a step's rows: how many came in, were kept, and were dropped for which reason."""

    name: str
    rows: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def as_row(self) -> Row:
        """Return the counts as plain values."""
        return {"step": self.name, "rows": self.rows, "kept": self.kept, "dropped": dict(self.dropped.most_common())}


class Maker:
    """What makes rows; `stopped` says why no more is asked, once a budget is reached."""

    def __init__(self, completer: Completer | None = None) -> None:
        """Take an open model; None for a recipe that asks none."""
        self.stopped: str | None = None
        self._completer = completer

    def advance(self, works: Sequence[Work]) -> list[list[Row] | Drop]:
        """Drive works side by side to their ends; each round of their questions is one batch."""
        results: list[list[Row] | Drop] = [[] for _ in works]
        pending: dict[int, Ask] = {}

        def go_on(at: int, step: Callable[[], Ask]) -> None:
            try:
                pending[at] = step()
            except StopIteration as end:
                results[at] = end.value
            except Drop as why:
                results[at] = why

        for at, work in enumerate(works):
            go_on(at, lambda work=work: next(work))  # type: ignore[misc]
        while pending:
            asked, pending = pending, {}
            for at, reply in zip(asked, self._ask(list(asked.values())), strict=True):
                work = works[at]
                if isinstance(reply, Drop):
                    go_on(at, lambda work=work, why=reply: work.throw(why))  # type: ignore[misc]
                else:
                    go_on(at, lambda work=work, text=reply: work.send(text))  # type: ignore[misc]
        return results

    def _ask(self, asked: Sequence[Ask]) -> list[str | Drop]:
        if self._completer is None:
            raise TypeError("a step asks a model where there is none")
        if self.stopped:
            return [Drop(BUDGET)] * len(asked)
        try:
            replies = self._completer.complete([one.chat for one in asked], samples=[one.sample for one in asked])
        except BudgetReached as stop:
            replies, self.stopped = stop.results, str(stop)
        return [self._read(reply) for reply in replies]

    def _read(self, reply: Any) -> str | Drop:
        text = as_verdict(reply)
        if not isinstance(text, Failure):
            return text
        if self.stopped and text.detail.endswith(self.stopped):
            return Drop(BUDGET)
        return Drop("reply cut by length" if text.reason == "truncated" else "no reply")


def run_steps(
    steps: Sequence[Step], rows: Iterable[Row], maker: Maker, folder: Path, first: int = 1
) -> tuple[list[Row], list[Stage]]:
    """Run steps one after the other; returns the rows of the last, and what became of the rows of each.

    `folder`: where the file of each step goes, as ``01-NAME.jsonl``: its rows, and with ``dropped`` those let go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    here = list(rows)
    with contextlib.ExitStack() as stack:
        stages = [
            _File(step, stack.enter_context(_open(folder / f"{at:02}-{step.name}.jsonl")))
            for at, step in enumerate(steps, first)
        ]
        for single, group in itertools.groupby(stages, lambda stage: isinstance(stage.step, Each)):
            chain = list(group)
            here = _run_each(chain, here, maker) if single else _run_whole(chain, here)
    return here, [stage.counts for stage in stages]


def _run_each(chain: Sequence[_File], rows: Sequence[Row], maker: Maker) -> list[Row]:
    kept: list[Row] = []
    with Progress(f"{chain[0].step.name} to {chain[-1].step.name}", len(rows)) as progress:
        for begin in range(0, len(rows), WAVE):
            wave = list(rows[begin : begin + WAVE])
            for stage in chain:
                wave = stage.take(wave, maker)
            kept += wave
            progress.update(begin + WAVE)
    return kept


def _run_whole(chain: Sequence[_File], rows: list[Row]) -> list[Row]:
    for stage in chain:
        stage.counts.rows += len(rows)
        assert isinstance(stage.step, Whole)
        rows, dropped = stage.step.work(rows)
        stage.write(rows, [({"id": row["id"]}, why) for row, why in dropped])
    return rows


class _File:
    def __init__(self, step: Step, file: IO[str]) -> None:
        self.step, self._file, self.counts = step, file, Stage(step.name)

    def take(self, rows: Sequence[Row], maker: Maker) -> list[Row]:
        assert isinstance(self.step, Each)
        self.counts.rows += len(rows)
        works = [as_work(self.step.work, row) for row in rows]
        kept: list[Row] = []
        dropped: list[tuple[Row, str]] = []
        for row, result in zip(rows, maker.advance(works), strict=True):
            if isinstance(result, Drop):
                dropped.append(({"id": row["id"]}, str(result)))
            else:
                kept += [one for one in result if "dropped" not in one]
                dropped += [(one, one["dropped"]) for one in result if "dropped" in one]
        self.write(kept, dropped)
        return kept

    def write(self, kept: Sequence[Row], dropped: Sequence[tuple[Row, str]]) -> None:
        self.counts.kept += len(kept)
        self.counts.dropped.update(why for _, why in dropped)
        lines = [*kept, *({**row, "dropped": why} for row, why in dropped)]
        self._file.writelines(f"{dumps(line)}\n" for line in lines)


def as_work(work: Callable[[Row], Work | list[Row]], row: Row) -> Work:
    """Return what becomes of a row as a work, a step by rule too."""
    found = work(row)
    return (yield from found) if inspect.isgenerator(found) else found  # type: ignore[return-value]


def _open(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")
