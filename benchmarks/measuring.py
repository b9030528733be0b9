"""How benchmarks measure: seconds, memory, fresh processes, tables in Markdown."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds and result of a call."""
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result


def processor() -> float:
    """Return the seconds that processors spent on this process and on those it started that have ended."""
    return sum(os.times()[:4])


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a fresh process, so that neither memory nor compiled code is left over from another call."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@contextmanager
def peak() -> Iterator[list[float]]:
    """Watch the resident memory, in GB, of this process and of those it starts; memory that they share counts twice.

    The second number is without the pages of mapped files, which go when memory is wanted.
    """
    found, stop = [0.0, 0.0], threading.Event()

    def watch() -> None:
        own = multiprocessing.current_process().pid
        while not stop.wait(0.05):
            pids = [own, *(process.pid for process in multiprocessing.active_children())]
            for n, name in enumerate(("VmRSS", "RssAnon")):
                found[n] = max(found[n], sum(resident(pid, name) for pid in pids))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        stop.set()
        watcher.join()


def resident(pid: int | None, name: str = "VmRSS") -> float:
    """Return a figure of a process, in GB; 0 of one that has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e6 for line in status.splitlines() if line.startswith(name)), 0.0)


def table(head: list[str], body: list[list[str]]) -> None:
    """Print a table in Markdown."""
    print("\n| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for line in body:
        print("| " + " | ".join(line) + " |", flush=True)


def exponent(sizes: list[int], costs: list[float]) -> str:
    """Return the slope of the line fitted through the logarithms."""
    return f"{np.polyfit(np.log(sizes), np.log(costs), 1)[0]:.2f}"
