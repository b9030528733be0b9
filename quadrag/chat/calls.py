"""Many calls at once: bounded concurrency, retries, a budget, and whether the server lives.

`Engine` is an event loop in a thread of its own, so that callers need none and may themselves run in one (notebooks
do); all else here runs on that loop. Single attempts are `http.py`'s work, how many are in flight at once `pace.py`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import random
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from quadrag.chat.batch import Job
from quadrag.chat.faults import Fault
from quadrag.chat.http import LONGEST_WAIT, Wire
from quadrag.chat.ledger import Shelf
from quadrag.chat.pace import Pace
from quadrag.chat.prices import TEMPLATE_TOKENS, Budget, Rate
from quadrag.chat.refusals import Refused, adjust, read_refusal
from quadrag.chat.reply import Outcome, Row

Settled = Callable[[list[tuple[Job, Outcome]]], None]

# While nothing has answered yet, a lost call is tried again this often and then waits for the others.
_FIRST_TRIES = 2
# Seconds without any answer after which a call that finds no server is not tried again: else a server that dies in
# mid-run costs every call left its whole backoff.
_GONE_AFTER = 30.0
_LOOK = 0.2  # seconds between two looks at a budget that others share
_TELL_EVERY = 0.1  # seconds


@dataclass
class Limits:
    """How calls are made: ``concurrency`` at once, ``retries`` new attempts each, within ``budget``.

    `proven` says that the model has answered calls like these before; `refused`, which grows, what of their fields it
    refuses.
    """

    concurrency: int
    retries: int
    rate: Rate | None = None
    budget: Budget | None = None
    proven: bool = False
    refused: Refused = field(default_factory=dict)


class Engine:
    """The running side of a chat client; it lives as long, and keeps the connections open between batches."""

    def __init__(self, wire: Wire, shelf: Shelf | None, spent: dict[str, Any]) -> None:
        """Start the loop; no connection is opened. `spent` are running totals, which are updated in place."""
        self._wire = wire
        self._dispatcher = _Dispatcher(wire, shelf, spent)
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="quadrag-chat", daemon=True)
        thread.start()
        # Also at the interpreter's exit, when nobody called close().
        self._finish = weakref.finalize(self, _stop, self._loop, thread, wire)

    def list_models(self) -> list[str] | Fault:
        """Return the ids that the server lists, or why there are none."""
        try:
            return asyncio.run_coroutine_threadsafe(self._wire.list_models(), self._loop).result()
        except Fault as fault:
            return fault

    def run(
        self,
        model: str,
        parameters: Mapping[str, Any],
        jobs: Sequence[Job],
        limits: Limits,
        outcomes: dict[bytes, Outcome],
        progress: Callable[[list[bytes]], None] | None,
    ) -> None:
        """Make calls and wait for them.

        Raises:
            QuadragError: nothing ever answered and all first calls failed, or the ledger cannot be written.
            BudgetReached: the next call could pass the budget; every call in flight has settled.
        """
        finished_keys: queue.SimpleQueue[list[bytes] | None] = queue.SimpleQueue()
        waiting: list[bytes] = []
        sent_at = time.monotonic()

        def settled(finished: list[tuple[Job, Outcome]]) -> None:
            nonlocal waiting, sent_at
            outcomes.update((job.key, outcome) for job, outcome in finished)
            if progress is None:
                return
            waiting.extend(job.key for job, _ in finished)
            # Each message wakes the caller's thread, which takes the interpreter from the loop.
            if time.monotonic() - sent_at >= _TELL_EVERY:
                finished_keys.put(waiting)
                waiting, sent_at = [], time.monotonic()

        calls = self._dispatcher.run(model, parameters, jobs, limits, settled)
        running = asyncio.run_coroutine_threadsafe(calls, self._loop)
        running.add_done_callback(lambda _: finished_keys.put(None))
        try:
            while (keys := finished_keys.get()) is not None:
                if progress is not None:
                    progress(keys)
            if progress is not None and waiting:
                progress(waiting)
        except BaseException:
            # An interrupt, or an error of the caller's own progress function.
            running.cancel()
            while finished_keys.get() is not None:
                continue
            raise
        running.result()

    def close(self) -> None:
        """Close the connections and end the thread."""
        self._finish()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, wire: Wire) -> None:
    async def down() -> None:
        # After an interrupt workers may still be on their way out.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await wire.close()

    closing = asyncio.run_coroutine_threadsafe(down(), loop)
    closing.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
    thread.join(timeout=5.0)
    if not thread.is_alive():
        loop.close()


class _Dispatcher:
    """Makes the calls of one client; keeps between batches whether the server ever answered."""

    def __init__(self, wire: Wire, shelf: Shelf | None, spent: dict[str, Any]) -> None:
        self._wire, self._shelf, self._spent = wire, shelf, spent
        self._pace = Pace(wire.server.bounds.timeout)
        self._pulse = _Pulse(wire, self._pace)

    async def run(
        self, model: str, parameters: Mapping[str, Any], jobs: Sequence[Job], limits: Limits, settled: Settled
    ) -> None:
        left = iter(jobs)
        unsent = self._wire.transport.unsent
        self._model, self._limits = model, limits
        self._parameters = {name: value for name, value in parameters.items() if name not in unsent}
        self._purse = _Purse(parameters, limits, self._spent)
        commit = _GroupCommit(model, self._shelf, settled)
        self._pace.begin(limits.concurrency)
        self._pulse.begin(model, limits.concurrency)

        async def worker() -> None:
            for job in left:
                await self._pace.enter()
                try:
                    outcome = await self._call(job)
                finally:
                    self._pace.leave()
                await commit.keep(job, outcome)
            await self._pulse.leave()

        workers = [asyncio.ensure_future(worker()) for _ in range(limits.concurrency)]
        # A first call that hangs may do so by its question; sent later, another one takes little from a slow server.
        patience = asyncio.get_running_loop().call_later(self._wire.server.bounds.timeout / 2, self._ask_another)
        try:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for finished in done:
                finished.result()
        finally:
            patience.cancel()
            for running in workers:
                running.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            commit.flush()

    def _ask_another(self) -> None:
        if not self._pulse.successes:
            self._pace.widen()

    async def _call(self, job: Job) -> Outcome:
        body = dict(self._parameters)
        if job.sample and isinstance(body.get("seed"), int):
            # With one seed for all, the samples of a question would be the same text.
            body["seed"] += job.sample
        worst = self._purse.worst(job)
        attempt = stalled = 0
        seen = self._pulse.successes
        counted = False
        own: Refused = {}  # of this call alone, until one without it has been answered
        while True:
            while (wait := self._wire.pause) > 0:
                await asyncio.sleep(wait + backoff(0) * 0.1)
            await self._purse.reserve(worst)
            self._spent["calls"] += not counted
            counted = True
            known = {**self._limits.refused, **own}
            reason = await self._attempt(job, adjust(body, known), worst)
            if not isinstance(reason, Fault):
                if known:
                    reason["refused"] = known
                    self._limits.refused.update(known)
                return reason
            if reason.refusal and (more := read_refusal(reason, body, known, self._limits.budget is not None)):
                own = known | more
                self._spent["retries"] += 1
                continue
            if not reason.stalled and not self._pulse.successes:
                self._pace.widen()
            stalled += reason.stalled
            through = reason.status == 429 and self._pulse.successes > seen and self._limits.retries > 0
            gone = not reason.connected and self._pulse.successes > 0 and self._pulse.silence() > _GONE_AFTER
            exhausted = attempt >= self._limits.retries or gone or stalled > self._wire.transport.stalls
            if not reason.retry or (reason.wait or 0.0) > LONGEST_WAIT or (exhausted and not through):
                # A server that answered before is not dead because it refuses this call's content.
                refused = self._limits.proven and reason.status is not None and reason.status not in (401, 403, 404)
                if not reason.own and not refused:
                    await self._pulse.park(reason)
                self._spent["failed"] += 1
                return reason.detail if attempt == 0 else f"{reason.detail} (after {attempt} retries)"
            self._spent["retries"] += 1
            if through:
                # The server limits the rate while others get through: waiting one's turn is no failed attempt.
                seen = self._pulse.successes
                await asyncio.sleep(reason.wait or backoff(attempt))
                continue
            attempt += 1
            if self._pulse.successes == 0 and reason.status is None and (reason.stalled or attempt > _FIRST_TRIES):
                await self._pulse.park(reason)
            if reason.stalled:
                self._pace.leave()
                await self._pace.enter()
            quick = self._pulse.successes == 0 and not reason.connected
            pause = backoff(attempt - 1) * (0.5 if quick else 1.0)
            await asyncio.sleep(max(pause, reason.wait or 0.0))

    async def _attempt(self, job: Job, body: dict[str, Any], worst: Decimal) -> Row | Fault:
        cost = worst
        flight, began = 1 + self._wire.load, time.monotonic()
        try:
            row = await self._wire.ask(job.messages, self._model, body)
            cost = self._purse.count(row, worst)
        except Fault as fault:
            # The server may have done the work of a reply that was lost: it counts as done.
            cost = worst if fault.billed else Decimal(0)
            self._spent["timed_out"] += fault.stalled
            if fault.stalled and self._pulse.successes:
                self._pace.narrow(flight, time.monotonic() - began)
            return fault
        finally:
            self._purse.settle(worst, cost)
        self._pulse.answered()
        self._pace.answered(flight, row["latency"])
        return row


class _GroupCommit:
    """What finishes in one turn of the loop goes into the ledger at once, before it is handed on."""

    def __init__(self, model: str, shelf: Shelf | None, settled: Settled) -> None:
        self._model, self._shelf, self._settled = model, shelf, settled
        self._finished: list[tuple[Job, Outcome, asyncio.Future[None]]] = []

    async def keep(self, job: Job, outcome: Outcome) -> None:
        """Wait until an outcome is kept; this worker asks nothing before, so a kill repeats only calls in flight."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._finished.append((job, outcome, done))
        if len(self._finished) == 1:
            loop.call_soon(self.flush)
        await done

    def flush(self) -> None:
        finished, self._finished = self._finished, []
        if not finished:
            return
        try:
            rows = [(job.key, outcome) for job, outcome, _ in finished if not isinstance(outcome, str)]
            first = self._shelf.put_many(rows, self._model) if self._shelf is not None and rows else {}
            self._settled([(job, first.get(job.key, outcome)) for job, outcome, _ in finished])
        except Exception as error:
            for _, _, done in finished:
                if not done.done():
                    done.set_exception(error)
            return
        for _, _, done in finished:
            if not done.done():
                done.set_result(None)


class _Pulse:
    """Whether the server lives: calls that fail before any answer wait for one; where all do, it is dead."""

    def __init__(self, wire: Wire, pace: Pace) -> None:
        self._wire, self._pace = wire, pace
        self.successes = 0  # of all batches
        self._model = ""
        self._working = 0
        self._alive_at = 0.0
        self._parked: list[tuple[asyncio.Future[None], Fault]] = []

    def begin(self, model: str, workers: int) -> None:
        self._model, self._working = model, workers
        self._alive_at = time.monotonic()
        self._parked.clear()

    def silence(self) -> float:
        """Return the seconds since an answer came, or since the batch began."""
        return time.monotonic() - self._alive_at

    def answered(self) -> None:
        """Note an answer: whoever waits for the first one goes on."""
        self.successes += 1
        self._alive_at = time.monotonic()
        for parked, _ in self._parked:
            if not parked.done():
                parked.set_result(None)
        self._parked.clear()

    async def park(self, fault: Fault) -> None:
        """Wait until something has answered; the last call to fail finds the server dead."""
        if self.successes:
            return
        parked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parked.append((parked, fault))
        await self._raise_if_dead()
        await parked

    async def leave(self) -> None:
        """Let a worker end, which has no more to do; the others may be those that wait for a first answer."""
        self._working -= 1
        await self._raise_if_dead()

    async def _raise_if_dead(self) -> None:
        """Raise when every call that may be in flight waits for a first answer."""
        if self._parked and not self.successes and len(self._parked) >= min(self._working, self._pace.allowed):
            faults, wire = [fault for _, fault in self._parked], self._wire
            raise await wire.transport.explain_dead(faults, self._model, wire.keys, wire.list_models)


class _Purse:
    """What the calls of a batch cost: the worst is set aside before each, and what it came to is counted after."""

    def __init__(self, parameters: Mapping[str, Any], limits: Limits, spent: dict[str, Any]) -> None:
        self._parameters, self._rate, self._budget, self._spent = parameters, limits.rate, limits.budget, spent
        self._line = asyncio.Lock()
        self._freed = asyncio.Event()

    def worst(self, job: Job) -> Decimal:
        """Return the most that a call can cost; 0 where nothing bounds it."""
        if self._rate is None or self._budget is None:
            return Decimal(0)
        longest = self._parameters.get("max_tokens") or self._parameters["max_completion_tokens"]
        # No tokenizer makes more tokens than there are bytes.
        return self._rate.cost(job.size + TEMPLATE_TOKENS, int(longest))

    async def reserve(self, worst: Decimal) -> None:
        """Set a call's worst cost aside, when there is room for it; there never will be where no call is in flight."""
        if self._budget is None:
            return
        # One after the other: else small calls would pass a large one for ever.
        async with self._line:
            while not self._budget.reserve(worst):
                if self._budget.open == 0:
                    raise self._budget.stop(worst)
                self._freed.clear()
                # Another client may share the budget, and its events do not come here.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._freed.wait(), _LOOK)

    def settle(self, worst: Decimal, cost: Decimal) -> None:
        """Put in the place of a call's worst cost what it came to."""
        if self._budget is not None:
            self._budget.settle(worst, cost)
            self._freed.set()

    def count(self, row: Row, worst: Decimal) -> Decimal:
        """Add a reply's tokens and cost to what is spent; return the cost, the worst where it is not known."""
        usage = row["usage"]
        if usage is None:
            return worst
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        self._spent["prompt_tokens"] += prompt
        self._spent["completion_tokens"] += completion
        if self._rate is None:
            return worst
        cost = self._rate.cost(prompt, completion)
        self._spent["cost"] = float(Decimal(str(self._spent["cost"])) + cost)
        return cost


def backoff(attempt: int) -> float:
    """Return seconds to wait after failed attempt n (from 0): 0.5 s doubled each time up to 20, less up to half."""
    return min(0.5 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)
