"""How benchmarks measure, and how their tables come into a page: seconds, memory, fresh processes, the machine."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
END = "<!-- end -->"
sys.path.insert(0, str(ROOT / "tests" / "servers"))


def options_of(text: str | None, **numbers: float) -> argparse.ArgumentParser:
    """Return a parser with the text of a script, and with an option for each number."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, help=f"default: {value}")
    return parser


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return seconds and result of a call."""
    started = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - started, result


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a fresh process, so that neither memory nor compiled code is left over from another call."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak() -> float:
    """Return the most resident memory that this process had, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM"))


def exponent(sizes: list[int], costs: list[float]) -> float:
    """Return the slope of the line fitted through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def table(head: str, body: list[list[Any]]) -> str:
    """Return a table in Markdown; the names of its columns are parted by ``|``."""
    lines = [f"| {head} |", "|---" * (head.count("|") + 1) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, line))} |" for line in body)])


def machine() -> str:
    """Describe the machine."""
    load, *_ = os.getloadavg()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, on "
        f"{time.strftime('%Y-%m-%d')}; load at the end {load:.1f}"
    )


def put(tables: str, maker: str, page: Path | None) -> None:
    """Print tables, and put them between the marks of what made them, where a page is named."""
    print(tables)
    if page:
        start = f"<!-- made by {maker} -->"
        text = page.read_text(encoding="utf-8")
        before, after = text.partition(start)[0], text.partition(END)[2]
        page.write_text(f"{before}{start}\n\n{tables}\n\n{END}{after}", encoding="utf-8")
