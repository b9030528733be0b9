"""Many calls at once: bounded concurrency and retries, each call to the server that is best for it.

Everything here runs on one event loop. Single attempts are `wire.py`'s work, what they cost `purse.py`'s, whether the
servers live `pulse.py`'s, and that replies are kept before they are handed on `commit.py`'s.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from quadrag.chat.faults import Fault
from quadrag.chat.job import Job, Limits
from quadrag.chat.ledger.shelf import Shelf
from quadrag.chat.network.commit import GroupCommit, Settled
from quadrag.chat.network.pace import Pace
from quadrag.chat.network.pulse import Pulse
from quadrag.chat.network.purse import Purse
from quadrag.chat.network.wire import LONGEST_WAIT, Endpoint, Wire, backoff
from quadrag.chat.refusals import Refused, adjust, read_refusal
from quadrag.chat.reply import Outcome, Row

# While nothing has answered yet, a lost call is tried again this often and then waits for the others.
_FIRST_TRIES = 2
# Seconds without any answer after which a call that finds no server is not tried again: else a server that dies in
# mid-run costs every call left its whole backoff.
_GONE_AFTER = 30.0


class Dispatcher:
    """Makes the calls of one client; keeps between batches whether the server ever answered."""

    def __init__(self, wire: Wire, shelf: Shelf | None, spent: dict[str, Any]) -> None:
        """Bind the dispatcher to its servers."""
        self.wire = wire
        self.shelf = shelf
        self.spent = spent
        self._pace = Pace(wire.bounds.timeout, len(wire.endpoints))
        self._pulse = Pulse(wire, self._pace)

    async def run(
        self, model: str, parameters: Mapping[str, Any], jobs: Iterable[Job], limits: Limits, settled: Settled
    ) -> None:
        """Make the calls.

        Raises:
            QuadragError: nothing ever answered and all first calls failed, or the ledger cannot be written.
            BudgetReached: the next call could pass the budget; every call in flight has settled.
        """
        queue = iter(list(jobs))
        sent = {name: value for name, value in parameters.items() if name not in self.wire.transport.unsent}
        self._model, self._parameters, self._limits = model, sent, limits
        self._purse = Purse(parameters, limits, self.spent)
        commit = GroupCommit(model, self.shelf, settled)
        self._pace.begin(limits.concurrency)
        self._pulse.begin(model, limits.concurrency)

        async def worker() -> None:
            for job in queue:
                await self._pace.enter()
                try:
                    outcome = await self._call(job)
                finally:
                    self._pace.leave()
                await commit.keep(job, outcome)
            await self._pulse.leave()

        workers = [asyncio.ensure_future(worker()) for _ in range(limits.concurrency)]
        # A first call that hangs may do so by its question; sent later, another one takes little from a slow server.
        patience = asyncio.get_running_loop().call_later(self.wire.bounds.timeout / 2, self._ask_another)
        try:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for one in done:
                one.result()
        finally:
            patience.cancel()
            for one in workers:
                one.cancel()
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
        last: Endpoint | None = None
        seen = self._pulse.successes
        counted = False
        own: Refused = {}  # of this call alone, until one without it has been answered
        while True:
            endpoint, wait = self.wire.choose(last)
            if wait > 0:
                await asyncio.sleep(wait + backoff(0) * 0.1)
                continue
            await self._purse.reserve(worst)
            self.spent["calls"] += not counted
            counted = True
            known = {**self._limits.refused, **own}
            reason = await self._attempt(endpoint, job, adjust(body, known), worst)
            if not isinstance(reason, Fault):
                if known:
                    reason["refused"] = known
                    self._limits.refused.update(known)
                return reason
            if reason.refusal and (more := read_refusal(reason, body, known, self._limits.budget is not None)):
                own = known | more
                self.spent["retries"] += 1
                continue
            if not reason.stalled and not self._pulse.successes:
                self._pace.widen()
            last = endpoint
            stalled += reason.stalled
            elsewhere = not reason.connected and self.wire.others_ready(endpoint)
            through = reason.status == 429 and self._pulse.successes > seen and self._limits.retries > 0
            gone = not reason.connected and self._pulse.successes > 0 and self._pulse.silence() > _GONE_AFTER
            exhausted = (
                (attempt >= self._limits.retries or gone or stalled > self.wire.transport.stalls)
                and not elsewhere
                and not through
            )
            if not reason.retry or (reason.wait or 0.0) > LONGEST_WAIT or exhausted:
                # A server that answered before is not dead because it refuses this call's content.
                refused = self._limits.proven and reason.status is not None and reason.status not in (401, 403, 404)
                if not reason.own and not refused:
                    await self._pulse.park(reason)
                self.spent["failed"] += 1
                return reason.detail if attempt == 0 else f"{reason.detail} (after {attempt} retries)"
            self.spent["retries"] += 1
            if elsewhere:
                continue
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
            if self.wire.leaves(endpoint) and reason.wait is None:
                continue
            quick = self._pulse.successes == 0 and not reason.connected
            pause = backoff(attempt - 1) * (0.5 if quick else 1.0)
            await asyncio.sleep(max(pause, reason.wait or 0.0))

    async def _attempt(self, endpoint: Endpoint, job: Job, body: dict[str, Any], worst: Decimal) -> Row | Fault:
        """Ask once, at the worst cost that was set aside."""
        cost = worst
        flight, began = 1 + sum(one.load for one in self.wire.endpoints), time.monotonic()
        try:
            row = await self.wire.ask(endpoint, job.messages, self._model, body)
            cost = self._purse.count(row, worst)
        except Fault as fault:
            # The server may have done the work of a reply that was lost: it counts as done.
            cost = worst if fault.billed else Decimal(0)
            self.spent["timed_out"] += fault.stalled
            if fault.stalled and self._pulse.successes:
                self._pace.narrow(flight, time.monotonic() - began)
            return fault
        finally:
            self._purse.settle(worst, cost)
        self._pulse.answered()
        self._pace.answered(flight, row["latency"])
        return row
