"""Many calls at once: bounded concurrency, retries, a budget, and whether the server lives.

`Engine` is an event loop in a thread of its own, so that callers need none and may themselves run in one (notebooks
do); all else here runs on that loop. Single attempts are `http.py`'s work.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quadrag.chat.faults import Fault
from quadrag.chat.http import Server
from quadrag.chat.ledger import Shelf, canonical
from quadrag.chat.prices import TEMPLATE_TOKENS, Budget, Rate
from quadrag.chat.refusals import Refused, adjust, read_refusal
from quadrag.chat.reply import Outcome, Row

# While nothing has answered yet, a lost call is tried again this often and then waits for the others.
_FIRST_TRIES = 2
_LONGEST_WAIT = 600.0  # seconds; a server that asks for longer is as good as refusing
# Seconds without any answer after which a call that finds no server is not tried again: else a server that dies in
# mid-run costs every call left its whole backoff.
_GONE_AFTER = 30.0
_IN_TIME = 0.75  # of the time limit
_LOOK = 0.2  # seconds between two looks at a budget that others share
_TELL_EVERY = 0.1  # seconds


@dataclass
class Job:
    """A call to make: its ledger key, messages and sample number."""

    key: bytes
    messages: list[dict[str, Any]]
    sample: int


@dataclass
class Order:
    """Calls to make of a model, and where what comes of them is entered.

    `proven` says that the model has answered calls like these before; `refused`, which grows, what of their fields it
    refuses.
    """

    model: str
    parameters: Mapping[str, Any]
    jobs: Sequence[Job]
    outcomes: dict[bytes, Outcome]
    rate: Rate | None
    proven: bool
    refused: Refused


class Gate:
    """How many calls are in flight: one until something is heard, then as many as the server bears, `most` at most.

    A reply says how many that is: were so many in flight, and each slower by as much, they would still come in time. A
    call that got none halves their number, and each reply in time widens it a little.
    """

    def __init__(self, most: int, timeout: float) -> None:
        self.flight = 0
        self._most, self._seconds = most, _IN_TIME * timeout
        self._allowed, self._debt = 1.0, 0  # places, and those that are taken back as they come free
        self._places = asyncio.Semaphore(1)
        self._narrowed = 0.0

    async def __aenter__(self) -> None:
        await self._places.acquire()
        self.flight += 1

    async def __aexit__(self, *_: object) -> None:
        self.flight -= 1
        self._debt += 1
        self._settle()

    def answered(self, flight: int, seconds: float) -> None:
        """Take note of a reply: how many calls were in flight when it was asked for, and how long it took."""
        self._allow(max(self._allowed + 1 / self._allowed, flight * self._seconds / max(seconds, 1e-3)))

    def widen(self) -> None:
        """Let more calls show whether a server lives that has refused some."""
        self._allow(2 * self._allowed)

    def narrow(self, began: float) -> None:
        """Take note of a call that was lost; those that were lost together are one."""
        if began >= self._narrowed:
            self._narrowed = time.monotonic()
            self._allow(self._allowed / 2)

    def _allow(self, number: float) -> None:
        number = max(1.0, min(number, self._most))
        self._debt += int(number) - int(self._allowed)
        self._allowed = number
        self._settle()

    def _settle(self) -> None:
        while self._debt > 0:
            self._debt -= 1
            self._places.release()


class Engine:
    """The running side of a chat client; it lives as long, and keeps the connections open between batches."""

    def __init__(
        self,
        server: Server,
        concurrency: int,
        retries: int,
        budget: Budget | None,
        shelf: Shelf | None,
        spent: dict[str, Any],
    ) -> None:
        """Start the loop; no connection is opened. `spent` are running totals, which are updated in place."""
        self.done: list[bytes] = []  # keys of the batch's calls that are settled
        self._server, self._concurrency, self._retries = server, concurrency, retries
        self._budget, self._shelf, self._spent = budget, shelf, spent
        self._gate = Gate(concurrency, server.bounds.timeout)
        self._line, self._freed = asyncio.Lock(), asyncio.Event()  # of calls that wait for the budget
        self._answers, self._heard = 0, asyncio.Event()  # of all batches: whether the server lives
        self._answered_at = self._pause_until = 0.0
        self._idle = threading.Event()
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="quadrag-chat", daemon=True)
        thread.start()
        # Also at the interpreter's exit, when nobody called close().
        self._finish = weakref.finalize(self, _stop, self._loop, thread, server)

    def list_models(self) -> list[str] | Fault:
        """Return the ids that the server lists, or why there are none."""
        try:
            return asyncio.run_coroutine_threadsafe(self._server.list_models(), self._loop).result()
        except Fault as fault:
            return fault

    def run(self, order: Order, tell: Callable[[], None]) -> None:
        """Make calls and wait for them; `tell` is called now and then, and at the end.

        Raises:
            QuadragError: nothing ever answered and all first calls failed, or the ledger cannot be written.
            BudgetReached: the next call could pass the budget; every call in flight has settled.
        """
        self.done = []
        self._idle.clear()
        running = asyncio.run_coroutine_threadsafe(self._run(order), self._loop)
        try:
            while not wait([running], _TELL_EVERY).done:
                tell()
        except BaseException:  # an interrupt, or an error of the caller's own progress function
            running.cancel()
            self._idle.wait()
            raise
        running.result()
        tell()

    def close(self) -> None:
        """Close the connections and end the thread."""
        self._finish()

    async def _run(self, order: Order) -> None:
        left = iter(order.jobs)
        self._order, self._answered_at = order, time.monotonic()
        self._lost: list[Fault] = []  # of calls that wait for a first answer
        self._kept: dict[bytes, Outcome] = {}
        self._commit: asyncio.Future[None] | None = None
        self._working = min(self._concurrency, len(order.jobs))
        unsent = self._server.transport.unsent
        self._body = {name: value for name, value in order.parameters.items() if name not in unsent}

        async def work() -> None:
            for job in left:
                await self._keep(job, await self._call(job))
            self._working -= 1
            await self._raise_if_dead()

        workers = [asyncio.ensure_future(work()) for _ in range(self._working)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            with contextlib.suppress(Exception):  # which was raised before, or is less than what ends the batch
                self._flush()
            self._idle.set()

    async def _call(self, job: Job) -> Outcome:
        attempt = stalled = 0
        seen = self._answers
        while True:
            result = await self._attempt(job)
            if not isinstance(result, Fault):
                self._spent["calls"] += 1
                return result
            stalled += result.stalled
            # The server limits the rate while others get through: waiting one's turn is no failed attempt.
            through = result.status == 429 and self._answers > seen and self._retries > 0
            if not _may_pass(result) or (not through and self._is_last(result, attempt, stalled)):
                if not result.own and not (self._order.proven and result.status not in (None, 401, 403, 404)):
                    await self._wait_for_answer(result)
                self._spent["calls"] += 1
                self._spent["failed"] += 1
                return result.detail if attempt == 0 else f"{result.detail} (after {attempt} retries)"
            self._spent["retries"] += 1
            seen = self._answers
            pause = backoff(attempt)
            if through:
                pause = result.wait or pause
            else:
                attempt += 1
            if result.status is None and (result.stalled or attempt > _FIRST_TRIES):
                await self._wait_for_answer(result)
            await asyncio.sleep(max(pause, result.wait or 0.0))

    def _is_last(self, fault: Fault, attempt: int, stalled: int) -> bool:
        gone = not fault.connected and self._answers > 0 and time.monotonic() - self._answered_at > _GONE_AFTER
        return attempt >= self._retries or gone or stalled > self._server.transport.stalls

    async def _attempt(self, job: Job) -> Row | Fault:
        """Ask once, and again only without fields that the server refuses."""
        body, refused = dict(self._body), self._order.refused
        if job.sample and isinstance(body.get("seed"), int):
            body["seed"] += job.sample  # with one seed for all, the samples of a question would be the same text
        own: Refused = {}  # of this call alone, until one without it has been answered
        async with self._gate:
            while True:
                known = {**refused, **own}
                result = await self._ask(job, adjust(body, known))
                if not isinstance(result, Fault):
                    if known:
                        result["refused"] = known
                        refused.update(known)
                    return result
                more = result.refusal and read_refusal(result, body, known, self._budget is not None)
                if not more:
                    if not self._answers and not result.stalled:
                        self._gate.widen()
                    return result
                own = known | more
                self._spent["retries"] += 1

    async def _ask(self, job: Job, body: dict[str, Any]) -> Row | Fault:
        while (pause := self._pause_until - time.monotonic()) > 0:
            await asyncio.sleep(pause + backoff(0) * 0.1)
        worst = self._worst_cost(job)
        await self._reserve(worst)
        flight, began, cost = self._gate.flight, time.monotonic(), worst
        try:
            row = await self._server.ask(job.messages, self._order.model, body)
            cost = self._count(row, worst)
        except Fault as fault:
            # The server may have done the work of a reply that was lost: it counts as done.
            cost = worst if fault.billed else Decimal(0)
            self._spent["timed_out"] += fault.stalled
            if fault.stalled and self._answers:
                self._gate.narrow(began)
            if fault.wait is not None and _may_pass(fault):
                self._pause_until = max(self._pause_until, time.monotonic() + fault.wait)
            return fault
        finally:
            if self._budget is not None:
                self._budget.settle(worst, cost)
                self._freed.set()
        self._answers += 1
        self._answered_at = time.monotonic()
        self._heard.set()
        self._gate.answered(flight, row["latency"])
        return row

    async def _wait_for_answer(self, fault: Fault) -> None:
        """Hold a failed call back until something has ever answered; where all calls wait so, the server is dead."""
        if not self._answers:
            self._lost.append(fault)
            await self._raise_if_dead()
            await self._heard.wait()

    async def _raise_if_dead(self) -> None:
        stalled = sum(fault.stalled for fault in self._lost)  # a second one tells that it was not the question's fault
        if self._lost and not self._answers and (len(self._lost) >= self._working or stalled > 1):
            server = self._server
            raise await server.transport.explain_dead(self._lost, self._order.model, server.keys, server.list_models)

    def _worst_cost(self, job: Job) -> Decimal:
        """Return the most that a call can cost; 0 where nothing bounds it."""
        rate, parameters = self._order.rate, self._order.parameters
        if rate is None or self._budget is None:
            return Decimal(0)
        longest = parameters.get("max_tokens") or parameters["max_completion_tokens"]
        # No tokenizer makes more tokens than there are bytes.
        return rate.cost(len(canonical(job.messages)) + TEMPLATE_TOKENS, int(longest))

    async def _reserve(self, worst: Decimal) -> None:
        """Set a call's worst cost aside, when there is room for it; there never will be where no call is in flight."""
        if self._budget is None:
            return
        async with self._line:  # one after the other: else small calls would pass a large one for ever
            while not self._budget.reserve(worst):
                if self._budget.open == 0:
                    raise self._budget.stop(worst)
                self._freed.clear()
                # Another client may share the budget, and its events do not come here.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._freed.wait(), _LOOK)

    def _count(self, row: Row, worst: Decimal) -> Decimal:
        """Add a reply's tokens and cost to what is spent; return the cost, the worst where it is not known."""
        usage, rate = row["usage"], self._order.rate
        if usage is None:
            return worst
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        self._spent["prompt_tokens"] += prompt
        self._spent["completion_tokens"] += completion
        if rate is None:
            return worst
        cost = rate.cost(prompt, completion)
        self._spent["cost"] = float(Decimal(str(self._spent["cost"])) + cost)
        return cost

    async def _keep(self, job: Job, outcome: Outcome) -> None:
        """Wait until an outcome is kept, with all others of this turn of the loop, in one commit.

        This worker asks nothing before, so a kill repeats only calls in flight.
        """
        self._kept[job.key] = outcome
        if self._commit is None:
            loop = asyncio.get_running_loop()
            self._commit = loop.create_future()
            loop.call_soon(self._flush_and_tell, self._commit)
        await self._commit

    def _flush_and_tell(self, commit: asyncio.Future[None]) -> None:
        self._commit = None
        try:
            self._flush()
        except Exception as error:
            if not commit.done():
                commit.set_exception(error)
            return
        if not commit.done():
            commit.set_result(None)

    def _flush(self) -> None:
        kept, self._kept = self._kept, {}
        rows = [(key, outcome) for key, outcome in kept.items() if not isinstance(outcome, str)]
        first = self._shelf.put_many(rows, self._order.model) if self._shelf is not None and rows else {}
        self._order.outcomes.update({**kept, **first})
        self.done.extend(kept)


def _may_pass(fault: Fault) -> bool:
    return fault.retry and (fault.wait or 0.0) <= _LONGEST_WAIT


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, server: Server) -> None:
    async def down() -> None:
        # After an interrupt workers may still be on their way out.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await server.close()

    closing = asyncio.run_coroutine_threadsafe(down(), loop)
    closing.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
    thread.join(timeout=5.0)
    if not thread.is_alive():
        loop.close()


def backoff(attempt: int) -> float:
    """Return seconds to wait after failed attempt n (from 0): 0.5 s doubled each time up to 20, less up to half."""
    return min(0.5 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)
