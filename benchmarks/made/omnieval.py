"""OmniEval's corpus at its full size, made up: 362,558 nodes in upstream's form, and queries cut from some.

The real one is gated. This one has the paper's number of nodes and of characters for each of the six sources (Table 2,
`baselines/omnieval/published.csv`), both to the last one. What the table leaves open is assumed: its lengths are
characters; within a source they are log-normal (sigma 0.3); the sources are mixed at random, so that a quarter of the
file is a quarter of each. BSCF-PDF's nodes come out at 3,435 characters, more than the 2,048 that upstream keeps whole:
its documents may be counted before they were cut; the table is followed. Text is words of jieba's dictionary, the n-th
most frequent drawn about as often as 1/n, with commas, full stops and numbers; with ``--text``, passages of the real
news of CRUD-RAG, each at a random place, so that each character comes about six times. All by a named seed.
"""

from __future__ import annotations

import csv
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from quadrag.data import builders

SEED = 362558
SIGMA = 0.3  # of the logarithm of lengths within a source
TITLE = 12  # characters of a node's first line
ASKED = 30  # characters of a query
PUBLISHED = Path(__file__).parents[2] / "baselines/omnieval/published.csv"


def sources() -> dict[str, tuple[int, int]]:
    """Return nodes and characters of each source, as published."""
    found: dict[str, dict[str, int]] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == "2":
                name = row["setting"].partition(";")[0].removeprefix("source=")
                found.setdefault(name, {})[row["metric"]] = int(row["value"])
    return {name: (values["documents"], values["length"]) for name, values in found.items()}


ALL = sum(nodes for nodes, _ in sources().values())


def portions(total: int, weights: np.ndarray) -> np.ndarray:
    """Share a whole number out by weights."""
    return np.diff(np.round(np.cumsum(weights) / weights.sum() * total).astype(np.int64), prepend=0)


def sizes(nodes: int) -> Iterator[tuple[str, int]]:
    """Yield source and length of each node, in the order of the file."""
    draw = np.random.default_rng(SEED)
    table = sources()
    counts = portions(nodes, np.array([count for count, _ in table.values()]))
    names = np.repeat(np.arange(len(table)), counts)
    drawn = [
        portions(round(length * count / whole), np.exp(SIGMA * draw.standard_normal(count)))
        for count, (whole, length) in zip(counts, table.values(), strict=True)
    ]
    lengths, order = np.concatenate(drawn), draw.permutation(nodes)
    for at in order:
        yield list(table)[names[at]], int(lengths[at])


def words() -> Iterator[str]:
    """Yield endless text of words of jieba's dictionary."""
    import jieba

    with jieba.get_dict_file() as file:
        entries = [line.decode("utf-8").split() for line in file]
    known = [entry[0] for entry in sorted(entries, key=lambda entry: (-int(entry[1]), entry[0]))]
    numbers = [f"{n / 100:g}" for n in range(1, 50_001)]
    kinds = [*known, *numbers, "，", "。"]
    draw = np.random.default_rng(SEED + 1)
    while True:
        kind, which = draw.random(1 << 20), draw.random(1 << 20)
        # N ** u, with u even in [0, 1), falls on n about as often as 1/n.
        ids = (len(known) ** which).astype(np.int64) - 1
        ids = np.where(kind < 0.145, len(known) + (which * len(numbers)).astype(np.int64), ids)
        ids[kind < 0.125] = len(kinds) - 1
        ids[kind < 0.09] = len(kinds) - 2
        yield "".join(map(kinds.__getitem__, ids.tolist()))


def pieces(text: str | None, lengths: list[int]) -> Iterator[str]:
    """Yield a text of each length: of words, or from the news in a folder."""
    if text is None:
        stream, held, at = words(), "", 0
        for length in lengths:
            while len(held) - at < length:
                held, at = held[at:] + next(stream), 0
            yield held[at : at + length]
            at += length
        return
    builder, _ = builders.open_builder("crud_rag", "corpus", text)
    news = "".join(row["body"].replace("\n", "") for row in builders.rows(builder, "corpus"))
    draw = random.Random(SEED + 1)
    for length in lengths:
        start = draw.randrange(len(news) - length)
        yield news[start : start + length]


def make(folder: Path, nodes: int, text: str | None, queries: int) -> dict[str, Any]:
    """Write the corpus in upstream's form, and beside it what is asked: parts of nodes, with the nodes' rows."""
    started = time.perf_counter()
    place = folder / "made-2048-256_nodes"
    place.mkdir()
    plan = list(sizes(nodes))
    chosen = set(random.Random(SEED + 2).sample(range(nodes), min(queries, nodes)))
    asked = []
    with (place / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for row, piece in enumerate(pieces(text, [length for _, length in plan])):
            # The first line is the title that a prompt shows; its end counts as one of the characters.
            title = piece[:TITLE]
            contents = f"{title}\n{piece[TITLE + 1 :]}"[: len(piece)]
            node = {"id": f"{plan[row][0]}-{row}", "title": title, "contents": contents}
            file.write(json.dumps(node, ensure_ascii=False) + "\n")
            if row in chosen:
                start = max(0, (len(contents) - ASKED) // 2)
                asked.append((contents[start : start + ASKED].replace("\n", ""), row))
    (folder / "queries.json").write_text(json.dumps(asked, ensure_ascii=False), encoding="utf-8")
    characters = sum(length for _, length in plan)
    seconds = time.perf_counter() - started
    return {"characters": characters, "bytes": (place / "corpus.jsonl").stat().st_size, "seconds": seconds}
