"""A recipe's steps: what each makes of its rows, a file for each, and a count of what was rejected and why.

A work that asks a model is a generator: it yields a `Request` and is handed the text of the reply. The works of many
rows go side by side, so that their requests are one batch, and steps of single rows that follow each other are done
for a few rows before the next ones begin: what a budget ends early is then a smaller dataset, not half of one.

Run again, a recipe makes everything anew from the replies in the ledger, the same to the byte.
"""

import contextlib
import inspect
import itertools
from collections import Counter, abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.chat.client import Completer
from quadrag.chat.policy import BudgetReached
from quadrag.chat.reply import Failure, as_verdict
from quadrag.printing import Progress
from quadrag.records import dumps

Row = dict[str, Any]
WAVE = 128  # rows that go through steps of single rows together
BUDGET = "budget reached"


class Rejected(Exception):
    """A row is let go; the text says why, in words that can be counted."""


class Request(NamedTuple):
    """A chat to be answered; another `sample` asks the same anew."""

    chat: list[dict[str, str]]
    sample: int = 0


Work = abc.Generator[Request, str, list[Row]]


class Step(NamedTuple):
    """A step: what becomes of a row, or with `together` of all of them.

    `work` returns rows, by itself or as a `Work`; one with ``dropped`` is let go for the reason that stands there, as
    is a row whose work raises `Rejected`. For the estimate, `requests` is how many a row makes at most (with `once` all
    rows together), and `makes` how many rows come of one.
    """

    name: str
    work: Callable[[Any], Any]
    requests: int = 0
    makes: int = 1
    once: bool = False
    together: bool = False


def reject(row: Row, why: object) -> Row:
    """Return what stands in a step's file for a row that is let go."""
    return {"id": row["id"], "dropped": str(why)}


@dataclass
class Generator:
    """What makes rows, asking a model where there is one; `stopped` says why no more is asked once a budget ends."""

    completer: Completer | None = None
    stopped: str | None = None

    def make(self, work: Callable[[Row], Any], rows: Sequence[Row]) -> list[Row]:
        """Do the works of rows side by side; each round of their requests is one batch."""
        works = [_as_work(work, row) for row in rows]
        made: list[list[Row]] = [[] for _ in works]
        replies: dict[int, Any] = dict.fromkeys(range(len(works)))  # None begins a work
        while replies:
            asked: dict[int, Request] = {}
            for at, reply in replies.items():
                try:
                    asked[at] = works[at].throw(reply) if isinstance(reply, Rejected) else works[at].send(reply)
                except StopIteration as end:
                    made[at] = end.value
                except Rejected as why:
                    made[at] = [reject(rows[at], why)]
            replies = dict(zip(asked, self._ask([*asked.values()]), strict=True))
        return [*itertools.chain.from_iterable(made)]

    def _ask(self, requests: Sequence[Request]) -> list[str | Rejected]:
        if self.stopped or self.completer is None or not requests:
            return [Rejected(BUDGET)] * len(requests)
        samples = [request.sample for request in requests]
        try:
            replies = self.completer.complete([request.chat for request in requests], samples=samples)
        except BudgetReached as stop:
            replies, self.stopped = stop.results, str(stop)
        return [self._read(reply) for reply in replies]

    def _read(self, reply: Any) -> str | Rejected:
        text = as_verdict(reply)
        if not isinstance(text, Failure):
            return text
        if not text.asked:
            return Rejected(BUDGET)
        return Rejected("reply cut by length" if text.reason == "truncated" else "no reply")


def _as_work(work: Callable[[Row], Any], row: Row) -> Work:
    made = work(row)
    rows: list[Row] = (yield from made) if inspect.isgenerator(made) else made
    return rows


def run_steps(
    steps: Sequence[Step], rows: Sequence[Row], generator: Generator, folder: Path, first: int = 1
) -> tuple[list[Row], list[Row]]:
    """Run steps one after the other, the rows of each, with those let go, into a file as ``01-NAME.jsonl``.

    It returns the rows of the last step, and of each step `step`, its name, `rows`, how many came in, `kept`, and
    `dropped`, how many were let go by reason. `first` is the number of the first file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counts: dict[str, Row] = {step.name: {"rows": 0, "kept": 0, "dropped": Counter()} for step in steps}
    rows = list(rows)
    with contextlib.ExitStack() as stack:
        paths = [folder / f"{at:02}-{step.name}.jsonl" for at, step in enumerate(steps, first)]
        files = [stack.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in paths]
        for together, group in itertools.groupby(zip(steps, files, strict=True), lambda pair: pair[0].together):
            chain = list(group)
            kept: list[Row] = []
            for wave in _waves(f"{chain[0][0].name} to {chain[-1][0].name}", rows, len(rows) if together else WAVE):
                for step, file in chain:
                    made = step.work(wave) if together else generator.make(step.work, wave)
                    wave_kept = [row for row in made if "dropped" not in row]
                    dropped = [row for row in made if "dropped" in row]
                    file.writelines(f"{dumps(row)}\n" for row in [*wave_kept, *dropped])
                    count = counts[step.name]
                    count["rows"] += len(wave)
                    count["kept"] += len(wave_kept)
                    count["dropped"].update(row["dropped"] for row in dropped)
                    wave = wave_kept
                kept += wave
            rows = kept
    stages = [
        {"step": name, **count, "dropped": dict(count["dropped"].most_common())} for name, count in counts.items()
    ]
    return rows, stages


def _waves(label: str, rows: Sequence[Row], size: int) -> Iterator[list[Row]]:
    with Progress(label, len(rows)) as progress:
        for begin in range(0, len(rows), max(size, 1)):
            yield list(rows[begin : begin + size])
            progress.update(begin + size)
