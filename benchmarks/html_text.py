"""HTML to text: `quadrag.retrieval.webpage.text` beside BeautifulSoup over lxml, on real pages of CRAG.

The peer is `BeautifulSoup(html, "lxml").get_text(" ", strip=True)`, as the authors' baseline has it. Both get the same
strings in interleaved rounds. Then the texts are compared: whether an accepted answer that stands in the peer's text
stands in ours, as `quadrag recall` looks for it. It does not say whose text is the better one to answer from.

    pip install beautifulsoup4 lxml
    python benchmarks/html_text.py REAL/CRAG
"""

from __future__ import annotations

import bz2
import gc
import json
import statistics
from pathlib import Path

from bs4 import BeautifulSoup
from measuring import options_of, table, timed

from quadrag.baselines.crag.recall import normalise
from quadrag.retrieval.webpage import text


def slow(html: str) -> str:
    return BeautifulSoup(html, "lxml").get_text(" ", strip=True)


def main() -> None:
    parser = options_of(__doc__, rounds=5)
    parser.add_argument("folder", type=Path, help="CRAG of the real upstream files")
    options = parser.parse_args()
    with bz2.open(next(options.folder.rglob("dev_data.jsonl.bz2")), "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pages = [(normalise(row["answer"]), page["page_result"]) for row in rows for page in row["search_results"]]

    ways = {"BeautifulSoup over lxml": slow, "quadrag": text}
    found = {name: [answer in normalise(way(page)) for answer, page in pages] for name, way in ways.items()}
    costs: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, way in ways.items():
            gc.collect()  # the other's trees
            costs[name].append(timed(lambda way=way: [way(page) for _, page in pages])[0] * 1000 / len(pages))
    middle = {name: statistics.median(cost) for name, cost in costs.items()}
    body = [
        [name, f"{ms:.2f}", f"{middle[next(iter(ways))] / ms:.1f}", sum(found[name])] for name, ms in middle.items()
    ]
    print(table("who | ms a page | times as fast | pages with an accepted answer", body))
    lost = sum(theirs and not own for theirs, own in zip(*found.values(), strict=True))
    print(f"\n{len(pages)} pages; an answer that the peer's text holds and ours lacks: {lost}")


if __name__ == "__main__":
    main()
