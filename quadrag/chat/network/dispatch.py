"""Many calls at once: bounded concurrency, retries, a hard budget, group commit; a dead server is found early.

Everything here runs on one event loop. Single attempts are `quadrag.chat.network.wire`'s work.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quadrag.chat.faults import Fault
from quadrag.chat.network.wire import LONGEST_WAIT, Endpoint, Wire, backoff
from quadrag.chat.prices import TEMPLATE_TOKENS, Budget, Rate
from quadrag.chat.reply import Outcome, Row
from quadrag.chat.shelf import Shelf
from quadrag.progress import say

# While nothing has answered yet, a lost call is tried again this often and then waits for the others.
_FIRST_TRIES = 2
# Seconds without any answer after which a call that finds no server is not tried again: else a server that dies in
# mid-run costs every call left its whole backoff.
_GONE_AFTER = 30.0
_BUDGET_LOOK = 0.2  # seconds


@dataclass(slots=True)
class Job:
    """One call to make: its ledger key, messages, sample number and size in bytes of JSON."""

    key: bytes
    messages: list[dict[str, Any]]
    sample: int
    size: int


Settled = Callable[[list[tuple[Job, Outcome]]], None]


@dataclass
class Limits:
    """How calls are made: ``concurrency`` at once, ``retries`` new attempts each, within ``budget``.

    `proven` says that the model has answered calls like these before.
    """

    concurrency: int
    retries: int
    rate: Rate | None = None
    budget: Budget | None = None
    proven: bool = False


class Dispatcher:
    """Makes the calls of one client; keeps between batches whether the server ever answered."""

    def __init__(
        self,
        wire: Wire,
        shelf: Shelf | None,
        spent: dict[str, Any],
    ) -> None:
        """Bind the dispatcher to its servers.

        Args:
            wire: the way to the servers.
            shelf: where replies are committed before they are handed on.
            spent: running totals, updated in place.
        """
        self.wire = wire
        self.shelf = shelf
        self.spent = spent
        self.successes = 0
        self._model = ""
        self._parameters: Mapping[str, Any] = {}
        self._limits = Limits(1, 0)
        self._working = 0
        self._alive_at = 0.0
        self._told_stalled = False
        self._parked: list[tuple[asyncio.Future[None], Fault]] = []
        self._finished: list[tuple[Job, Outcome, asyncio.Future[None]]] = []
        self._settled: Settled = lambda outcomes: None

    async def run(
        self, model: str, parameters: Mapping[str, Any], jobs: Iterable[Job], limits: Limits, settled: Settled
    ) -> None:
        """Make the calls.

        Args:
            model: the model's name, as requested.
            parameters: the request's other fields, the same for every call.
            jobs: calls with different keys.
            limits: concurrency (not above the number of jobs), retries, prices and budget.
            settled: takes what is finished, after it was committed; called once per turn of the loop.

        Raises:
            QuadragError: nothing ever answered and all first calls failed, or the ledger cannot be written.
            BudgetReached: the next call could pass the budget; every call in flight has settled.
        """
        queue = iter(list(jobs))
        self._model, self._parameters, self._limits = model, parameters, limits
        self._settled = settled
        self._parked.clear()
        self._budget_line = asyncio.Lock()
        self._budget_freed = asyncio.Event()

        async def worker() -> None:
            for job in queue:
                await self._commit(job, await self._call(job))
            self._working -= 1
            await self._raise_if_dead()

        self._working = self._limits.concurrency
        self._alive_at = time.monotonic()
        workers = [asyncio.ensure_future(worker()) for _ in range(self._working)]
        try:
            bounds = self.wire.bounds
            # Where the first calls have as long as any, each finds out for itself.
            first = bounds.first if bounds.first < bounds.timeout and not self.wire.heard else None
            done, left = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION, timeout=first)
            if left and not any(one.exception() for one in done):
                await self._raise_if_silent()
                done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for one in done:
                one.result()
        finally:
            for one in workers:
                one.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            if self._finished:
                self._flush()

    async def _call(self, job: Job) -> Outcome:
        body = dict(self._parameters)
        if job.sample and isinstance(body.get("seed"), int):
            # With one seed for all, the samples of a question would be the same text.
            body["seed"] += job.sample
        worst = self._worst_cost(job)
        attempt = stalled = 0
        last: Endpoint | None = None
        seen = self.successes
        counted = False
        while True:
            endpoint, wait = self.wire.choose(last)
            if wait > 0:
                await asyncio.sleep(wait + backoff(0) * 0.1)
                continue
            await self._reserve(worst)
            self.spent["calls"] += not counted
            counted = True
            cost = worst
            try:
                row = await self.wire.ask(endpoint, job.messages, self._model, body)
                cost = self._account(row, worst)
            except Fault as fault:
                # The server may have done the work of a reply that was lost: it counts as done.
                cost = worst if fault.billed else Decimal(0)
                reason = fault
            else:
                self._revive()
                return row
            finally:
                self._settle(worst, cost)
            last = endpoint
            stalled += reason.stalled
            elsewhere = not reason.connected and self.wire.others_ready(endpoint)
            through = reason.status == 429 and self.successes > seen and self._limits.retries > 0
            gone = not reason.connected and self.successes > 0 and time.monotonic() - self._alive_at > _GONE_AFTER
            exhausted = (
                (attempt >= self._limits.retries or gone or self._tires(reason, stalled))
                and not elsewhere
                and not through
            )
            if not reason.retry or (reason.wait or 0.0) > LONGEST_WAIT or exhausted:
                # A server that answered before is not dead because it refuses this call's content.
                refused = self._limits.proven and reason.status is not None and reason.status not in (401, 403, 404)
                if not reason.own and not refused:
                    await self._park(reason)
                self.spent["failed"] += 1
                return reason.detail if attempt == 0 else f"{reason.detail} (after {attempt} retries)"
            self.spent["retries"] += 1
            if elsewhere:
                continue
            if through:
                # The server limits the rate while others get through: waiting one's turn is no failed attempt.
                seen = self.successes
                await asyncio.sleep(reason.wait or backoff(attempt))
                continue
            attempt += 1
            if self.successes == 0 and reason.status is None and (reason.stalled or attempt > _FIRST_TRIES):
                await self._park(reason)
            if self.wire.leaves(endpoint) and reason.wait is None:
                continue
            quick = self.successes == 0 and not reason.connected
            pause = backoff(attempt - 1) * (0.5 if quick else 1.0)
            await asyncio.sleep(max(pause, reason.wait or 0.0))

    def _tires(self, fault: Fault, stalled: int) -> bool:
        """Whether a call got no reply in time so often that it fails; of the first such one a line is said."""
        transport = self.wire.transport
        if not fault.stalled or transport.stalls is None:
            return False
        if self._limits.retries and not self._told_stalled:
            self._told_stalled = True
            way = f"{transport.timeout_option} SECONDS waits longer"
            say(f"{fault.detail}; such a call is made once more, then it fails; {way}")
        return stalled > transport.stalls

    # Budget.

    def _worst_cost(self, job: Job) -> Decimal:
        rate = self._limits.rate
        if rate is None or self._limits.budget is None:
            return Decimal(0)
        longest = self._parameters.get("max_tokens") or self._parameters["max_completion_tokens"]
        # No tokenizer makes more tokens than there are bytes.
        return rate.cost(job.size + TEMPLATE_TOKENS, int(longest))

    async def _reserve(self, worst: Decimal) -> None:
        budget = self._limits.budget
        if budget is None:
            return
        # One after the other: else small calls would pass a large one for ever.
        async with self._budget_line:
            while not budget.reserve(worst):
                if budget.open == 0:
                    raise budget.stop(worst)
                self._budget_freed.clear()
                # Another client may share the budget, and its events do not come here.
                with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                    await asyncio.wait_for(self._budget_freed.wait(), _BUDGET_LOOK)

    def _settle(self, worst: Decimal, cost: Decimal) -> None:
        if self._limits.budget is not None:
            self._limits.budget.settle(worst, cost)
            self._budget_freed.set()

    def _account(self, row: Row, worst: Decimal) -> Decimal:
        usage = row["usage"]
        if usage is None:
            return worst
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        self.spent["prompt_tokens"] += prompt
        self.spent["completion_tokens"] += completion
        if self._limits.rate is None:
            return worst
        cost = self._limits.rate.cost(prompt, completion)
        self.spent["cost"] = float(Decimal(str(self.spent["cost"])) + cost)
        return cost

    # Dead or alive.

    async def _park(self, fault: Fault) -> None:
        """Wait until something has answered; the last call to fail finds the server dead."""
        if self.successes:
            return
        parked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parked.append((parked, fault))
        await self._raise_if_dead()
        await parked

    async def _raise_if_dead(self) -> None:
        """Raise when every worker that is left waits for a first answer."""
        if self._parked and not self.successes and len(self._parked) >= self._working:
            faults = [one for _, one in self._parked]
            wire = self.wire
            raise await wire.transport.explain_dead(faults, self._model, wire.keys, wire.list_models)

    async def _raise_if_silent(self) -> None:
        """Raise when calls are in flight and no server ever answered anything."""
        wire = self.wire
        if wire.heard or not any(one.load for one in wire.endpoints):
            return
        said = f"{', '.join(one.shown for one in wire.endpoints)}: no reply within {wire.bounds.first:g} s"
        silent = [Fault(said, stalled=True)] * self._working
        raise await wire.transport.explain_dead(silent, self._model, wire.keys, wire.list_models)

    def _revive(self) -> None:
        self.successes += 1
        self._alive_at = time.monotonic()
        for parked, _ in self._parked:
            if not parked.done():
                parked.set_result(None)
        self._parked.clear()

    # Group commit.

    async def _commit(self, job: Job, outcome: Outcome) -> None:
        """Wait until an outcome is kept; this worker asks nothing before, so a kill repeats only calls in flight."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._finished.append((job, outcome, done))
        if len(self._finished) == 1:
            loop.call_soon(self._flush)
        await done

    def _flush(self) -> None:
        finished, self._finished = self._finished, []
        if not finished:
            return
        try:
            rows = [(job.key, outcome) for job, outcome, _ in finished if not isinstance(outcome, str)]
            first = self.shelf.put_many(rows, self._model) if self.shelf is not None and rows else {}
            self._settled([(job, first.get(job.key, outcome)) for job, outcome, _ in finished])
        except Exception as error:
            for _, _, done in finished:
                if not done.done():
                    done.set_exception(error)
            return
        for _, _, done in finished:
            if not done.done():
                done.set_result(None)
