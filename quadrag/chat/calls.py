"""Many calls at once: as many as the server bears, retries, a budget, and whether the server lives.

A batch runs on an event loop in a thread of its own, so that callers need none and may themselves run in one (notebooks
do). Single attempts are `http.py`'s work.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .http import Fault, Refused, Server, explain_dead, read_refusal
from .reply import Calls, Failure, Messages, Outcome, Reply

if TYPE_CHECKING:
    from .client import ChatClient

_LONGEST_WAIT = 600.0  # seconds; a server that asks for longer is as good as refusing
# Seconds without any answer after which a call that finds no server is not tried again: else a server that dies in
# mid-run costs every call left its whole backoff.
_GONE_AFTER = 30.0
_FIRST_TRIES = 2  # of a call without a connection, before it counts as lost where nothing was answered yet
_IN_TIME = 0.5  # of the time limit: calls that take longer than those before are not lost
_LOOK = 0.02  # seconds between two looks at a budget, which other clients may share
_PROGRESS_EVERY = 0.1  # seconds


class Pace:
    """How many calls are in flight: one until something is heard, then as many as the server bears, `most` at most.

    A reply says how many that is: as many as come within a part of the time limit, by how many came while it was waited
    for. One more is tried, until a call is lost to time: that halves their number. A reply doubles it at most.
    """

    def __init__(self, server: Server, most: int) -> None:
        self._server, self._most = server, most
        self._places, self._free = server.bears, asyncio.Semaphore(server.bears)
        self._lost_at, self._grows = 0.0, True

    async def __aenter__(self) -> None:
        await self._free.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._places -= 1
        self._open()

    def answered(self, replies: int, seconds: float) -> None:
        bears = int(replies * _IN_TIME * self._server.timeout / max(seconds, 1e-3)) + self._grows
        self._server.bears = max(1, min(bears, 2 * self._server.bears, self._most))
        self._open()

    def lost(self, began: float) -> bool:
        """Take note of a call that got no reply in time; of those that were in flight together True of the first."""
        if is_first := began >= self._lost_at:
            self._lost_at, self._grows = time.monotonic(), self._grows and self._server.bears == 1
            self._server.bears = max(1, self._server.bears // 2)
        return is_first

    def _open(self) -> None:
        while self._places < self._server.bears:
            self._places += 1
            self._free.release()


class Batch:
    """Calls of one client that are made together; what comes of each is entered in `outcomes`.

    What stands there shows that the model has answered before.
    """

    def __init__(self, client: ChatClient, server: Server, outcomes: dict[bytes, Outcome]) -> None:
        self._client, self._server, self._outcomes, self._spent = client, server, outcomes, client.spent
        self._model, self._rate, self._budget = client.served, client.rate(client.model), client.policy.budget
        self._refused: Refused = client.spent["refused"]
        self._proven = bool(outcomes) or client.spent["cached"] > 0
        self._lost: dict[bytes, Fault] = {}  # since the last reply, of calls of which nothing came
        self._kept: dict[bytes, Outcome] = {}
        self._commit: asyncio.Future[None] | None = None

    async def run(self, calls: Calls) -> None:
        self._loop, self._line = asyncio.get_running_loop(), asyncio.Lock()
        self._pace = Pace(self._server, self._client.policy.concurrency)
        if self._server.answers:
            self._server.answered_at = time.monotonic()
        left, self._unsent = iter(calls.items()), set(calls)

        async def work() -> None:
            for key, (messages, sample) in left:
                await self._keep(key, await self._call(key, messages, sample))

        self._working = min(self._client.policy.concurrency, len(calls))
        workers = [asyncio.ensure_future(work()) for _ in range(self._working)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            self._flush()
            await self._server.close()

    async def _call(self, key: bytes, messages: Messages, sample: int) -> Outcome:
        failed, stalled, seen = 0, 0, self._server.answers
        while True:
            async with self._pace:
                self._unsent.discard(key)
                began = time.monotonic()
                result = await self._ask_without_refused(messages, sample)
                is_first = isinstance(result, Fault) and result.stalled and self._pace.lost(began)
            if not isinstance(result, Fault):
                self._spent["calls"] += 1
                return result
            # The server limits the rate while others get through: waiting one's turn is no failed attempt.
            heard = self._server.answers > seen
            failed += not (result.status == 429 and heard)
            stalled = result.stalled + (stalled if self._server.transport.hangs or not heard else 0)
            silent = self._server.answers and time.monotonic() - self._server.answered_at > _GONE_AFTER
            lost = stalled > 1 or (silent and not result.connected)
            final = failed > self._client.policy.retries or lost or not _may_pass(result)
            if is_first if result.stalled else final or (result.status is None and failed > _FIRST_TRIES):
                self._raise_if_dead(key, result)
            if final:
                self._spent["calls"] += 1
                return Failure(result.reason, result.detail)
            self._spent["retries"] += 1
            seen = self._server.answers
            await asyncio.sleep(max(backoff(failed - 1), result.wait or 0.0))

    def _raise_if_dead(self, key: bytes, fault: Fault) -> None:
        """Note a call that is lost. Where the first ones all are, the server is dead.

        So it is where a second one got no reply in time, which is not the question's fault; unless all were asked.
        """
        answered = self._server.answers > 0
        # One that answered before is not dead because it refuses this call's content.
        content = not fault.retry and fault.status not in (None, 401, 403, 404)
        if fault.own or (self._proven and content) or (answered and not (fault.stalled and self._unsent)):
            return
        self._lost[key] = fault
        faults = [*self._lost.values()]
        if sum(lost.stalled for lost in faults) > 1 or (not answered and len(faults) >= self._working):
            raise explain_dead(faults, self._server.keys, self._server.transport.remedy, answered)

    async def _ask_without_refused(self, messages: Messages, sample: int) -> Reply | Fault:
        unsent = self._server.transport.unsent
        body = {name: value for name, value in self._client.parameters.items() if name not in unsent}
        if sample and isinstance(body.get("seed"), int):
            body["seed"] += sample  # with one seed for all, the samples of a question would be the same text
        refused_here: Refused = {}  # of this call alone, until one without it has been answered
        while True:
            refused = {**self._refused, **refused_here}
            sent = {refused.get(name) or name: value for name, value in body.items() if refused.get(name, name)}
            result = await self._ask(messages, sent)
            if not isinstance(result, Fault):
                self._refused.update(refused)
                return replace(result, refused=refused or None)
            newly_refused = result.refusal and read_refusal(result, body, refused, self._budget is not None)
            if not newly_refused:
                return result
            refused_here = refused | newly_refused
            self._spent["retries"] += 1

    async def _ask(self, messages: Messages, body: dict[str, Any]) -> Reply | Fault:
        while (pause := self._server.pause_until - time.monotonic()) > 0:
            await asyncio.sleep(pause + backoff(0) * 0.1)
        worst = Decimal(0)
        if self._budget is not None and self._rate is not None:
            worst = self._rate.bound(messages, self._client.parameters)
            async with self._line:  # one after the other: else small calls would pass a large one for ever
                while not self._budget.reserve(worst):
                    await asyncio.sleep(_LOOK)
        seen, cost = self._server.answers, worst
        try:
            reply = await self._server.ask(messages, self._model, body)
            cost = self._count(reply.usage, worst)
        except Fault as fault:
            # The server may have done the work of a reply that was lost: it counts as done.
            cost = worst if fault.billed else Decimal(0)
            if fault.wait is not None and _may_pass(fault):
                self._server.pause_until = max(self._server.pause_until, time.monotonic() + fault.wait)
            return fault
        finally:
            if self._budget is not None:
                self._budget.settle(worst, cost)
        self._server.answers += 1
        self._server.answered_at = time.monotonic()
        self._lost.clear()
        self._pace.answered(self._server.answers - seen, reply.latency)
        return reply

    def _count(self, usage: Mapping[str, int] | None, worst: Decimal) -> Decimal:
        if usage is None:
            return worst
        for name, tokens in usage.items():
            self._spent[name] += tokens
        if self._rate is None:
            return worst
        cost = self._rate.cost(**usage)
        self._spent["cost"] = float(Decimal(str(self._spent["cost"])) + cost)
        return cost

    async def _keep(self, key: bytes, outcome: Outcome) -> None:
        """Wait for the one commit of this turn of the loop: a worker asks nothing before, so a kill repeats no more."""
        self._kept[key] = outcome
        if self._commit is None:
            self._commit = self._loop.create_future()
            self._loop.call_soon(self._flush)
        await self._commit

    def _flush(self) -> None:
        commit, kept, self._commit, self._kept = self._commit, self._kept, None, {}
        if commit is None:
            return
        replies = [(key, outcome) for key, outcome in kept.items() if isinstance(outcome, Reply)]
        with suppress(asyncio.InvalidStateError):  # of workers that were told to stop
            try:
                ledger = self._client.ledger
                first = ledger.put_many(replies) if ledger is not None and replies else {}
                self._outcomes.update({**kept, **first})
                commit.set_result(None)
            except Exception as error:
                commit.set_exception(error)


def backoff(attempt: int) -> float:
    """Return seconds to wait after a failed attempt, which counts from 0."""
    return min(0.5 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)


def _may_pass(fault: Fault) -> bool:
    return fault.retry and (fault.wait or 0.0) <= _LONGEST_WAIT


def run_beside(work: Coroutine[Any, Any, Any], report: Callable[[], None] = lambda: None) -> Any:
    """Run a coroutine in a thread, on a loop of its own, and return what it returns.

    An interrupt, or an error of `report`, ends it; what has come by then is kept.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    def finish() -> Any:
        with closing(loop):
            return loop.run_until_complete(task)

    with ThreadPoolExecutor(1, "quadrag-chat") as pool:
        running = pool.submit(finish)
        try:
            while not wait([running], _PROGRESS_EVERY).done:
                report()
        except BaseException:
            with suppress(RuntimeError):  # of a loop that has just closed
                loop.call_soon_threadsafe(task.cancel)
            raise
        return running.result()
