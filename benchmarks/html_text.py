"""HTML to text: `quadrag.retrieval.webpage.text` beside BeautifulSoup over lxml, on real pages of CRAG.

The peer is `BeautifulSoup(html, "lxml").get_text(" ", strip=True)`, as the authors' baseline has it. Both get the same
strings; rounds are interleaved, and processor seconds stand beside the clock's, which other programs disturb more. Then
the texts are compared: whether an accepted answer that stands in the peer's text stands in ours, question by question
and page by page, as `quadrag recall` looks for it and with all blanks left out; and which words of the peer's text ours
lacks. Sentences are not cut here. It does not say whose text is the better one to answer from.

    pip install beautifulsoup4 lxml
    python benchmarks/html_text.py REAL/CRAG
"""

from __future__ import annotations

import argparse
import bz2
import gc
import json
import re
import statistics
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from quadrag.baselines.crag.recall.search import normalise
from quadrag.retrieval.webpage import text

WORD = re.compile(r"\w+")


def slow(html: str) -> str:
    return BeautifulSoup(html, "lxml").get_text(" ", strip=True)


def questions(folder: Path) -> list[dict[str, Any]]:
    path = next(folder.rglob("dev_data.jsonl.bz2"))
    with bz2.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def squeezed(words: str) -> str:
    return "".join(words.lower().split())


def answers(row: dict[str, Any]) -> list[str]:
    """The accepted answers; upstream's example file has the alternatives as the text of a list."""
    others = row.get("alt_ans", row.get("alternative_answers")) or []
    others = json.loads(others) if isinstance(others, str) else others
    return [answer for answer in (row["answer"], *others) if answer]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="CRAG of the real upstream files")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    rows = questions(options.folder)
    pages = [page["page_result"] for row in rows for page in row["search_results"]]
    size = sum(map(len, pages))
    names = ", ".join(f"{name} {version(name)}" for name in ("selectolax", "beautifulsoup4", "lxml"))
    print(f"{len(rows)} questions, {len(pages)} pages, {size / 1e6:.2f} million characters; {names}")

    routes = {"slow": slow, "ours": text}
    texts = {name: [function(page) for page in pages] for name, function in routes.items()}  # what loads once, loads
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in routes}
    for _ in range(options.rounds):
        for name, function in routes.items():
            gc.collect()  # the other's trees
            clock, processor = time.perf_counter(), time.process_time()
            for page in pages:
                function(page)
            costs[name].append((time.perf_counter() - clock, time.process_time() - processor))
    print("\n| | | s, median | ms a page | times as fast | rounds |\n|---|---|---|---|---|---|")
    for place, unit in enumerate(("clock", "processor")):
        seconds = {name: [cost[place] for cost in found] for name, found in costs.items()}
        ratios = [theirs / ours for theirs, ours in zip(seconds["slow"], seconds["ours"], strict=True)]
        shown = f"{statistics.median(ratios):.1f} | {min(ratios):.1f} to {max(ratios):.1f}"
        for name, label, last in (("slow", "BeautifulSoup over lxml", "1 | "), ("ours", "quadrag", shown)):
            middle = statistics.median(seconds[name])
            print(f"| {unit} | {label} | {middle:.3f} | {middle / len(pages) * 1000:.2f} | {last} |")

    found: Counter[str] = Counter()
    lost = []
    at = 0
    for row in rows:
        for _ in row["search_results"]:
            theirs, ours = texts["slow"][at], texts["ours"][at]
            at += 1
            for answer in answers(row):
                for way, prepare in (("whole words", normalise), ("blanks left out", squeezed)):
                    wanted = prepare(answer)
                    if wanted and wanted in prepare(theirs):
                        found[way] += 1
                        found[f"{way}, ours"] += wanted in prepare(ours)
                        if wanted not in prepare(ours):
                            lost.append((row["query"], answer, way))
                    elif wanted and wanted in prepare(ours):
                        found[f"{way}, ours alone"] += 1
    print("\n| an accepted answer in the text of a page | the slow route finds | of these ours | ours alone |")
    print("|---|---|---|---|")
    for way in ("whole words", "blanks left out"):
        print(f"| {way} | {found[way]} | {found[f'{way}, ours']} | {found[f'{way}, ours alone']} |")
    print(f"\nlost: {lost or 'none'}")

    words = {name: Counter(WORD.findall(" ".join(texts[name]).lower())) for name in texts}
    less, more = words["slow"] - words["ours"], words["ours"] - words["slow"]
    total = words["slow"].total()
    print(f"words: {total:,} of the peer, of which ours lacks {less.total():,} ({less.total() / total:.2%}); ")
    print(
        f"ours has {more.total():,} others; lacking most often: {', '.join(word for word, _ in less.most_common(12))}"
    )


if __name__ == "__main__":
    main()
