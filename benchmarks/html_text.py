"""HTML to text: `quadrag.retrieval.webpage.text` beside BeautifulSoup over lxml, on real pages of CRAG.

The peer is `BeautifulSoup(html, "lxml").get_text(" ", strip=True)`, as the authors' baseline has it. Both get the same
strings in interleaved rounds. Then the texts are compared: whether an accepted answer that stands in the peer's text
stands in ours, as `quadrag recall` looks for it. It does not say whose text is the better one to answer from.

    pip install beautifulsoup4 lxml
    python benchmarks/html_text.py REAL/CRAG
"""

from __future__ import annotations

import argparse
import bz2
import gc
import json
import statistics
import time
from pathlib import Path

from bs4 import BeautifulSoup
from measuring import table

from quadrag.baselines.crag.recall import normalise
from quadrag.retrieval.webpage import text


def slow(html: str) -> str:
    return BeautifulSoup(html, "lxml").get_text(" ", strip=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="CRAG of the real upstream files")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with bz2.open(next(options.folder.rglob("dev_data.jsonl.bz2")), "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pages = [(row["answer"], page["page_result"]) for row in rows for page in row["search_results"]]

    routes = {"BeautifulSoup over lxml": slow, "quadrag": text}
    texts = {name: [normalise(function(page)) for _, page in pages] for name, function in routes.items()}
    costs: dict[str, list[float]] = {name: [] for name in routes}
    for _ in range(options.rounds):
        for name, function in routes.items():
            gc.collect()  # the other's trees
            started = time.perf_counter()
            for _, page in pages:
                function(page)
            costs[name].append((time.perf_counter() - started) * 1000 / len(pages))
    middle = {name: statistics.median(cost) for name, cost in costs.items()}
    peer = middle["BeautifulSoup over lxml"]
    found = {
        name: [normalise(answer) in words for (answer, _), words in zip(pages, texts[name], strict=True)]
        for name in routes
    }
    body = [[name, f"{ms:.2f}", f"{peer / ms:.1f}", str(sum(found[name]))] for name, ms in middle.items()]
    table(["who", "ms a page", "times as fast", "pages with an accepted answer"], body)
    lost = sum(theirs and not own for theirs, own in zip(*found.values(), strict=True))
    print(f"\n{len(pages)} pages; an answer that the peer's text holds and ours lacks: {lost}")


if __name__ == "__main__":
    main()
