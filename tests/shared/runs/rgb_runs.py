"""One short run of RGB, by the command line, and the rows that it leaves."""

import json
from pathlib import Path

ONE = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")  # 12 questions


def rows(path):
    # Not splitlines, which also cuts at signs that a JSON string may hold.
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line]


def llm(server, ledger="L"):
    return ("--llm", f"{server.url}#m", "--ledger", ledger)
