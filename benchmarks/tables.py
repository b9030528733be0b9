"""What the tables that go into pages have in common: the machine they were made on, and their place in the page."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

END = "<!-- end -->"


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
