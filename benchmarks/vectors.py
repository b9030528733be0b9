"""Indexes over a million vectors: time and memory to build, milliseconds a query, recall@10 against exact search.

The vectors are those of `dense_search.py`: made by a named seed, topics with noise, memory-mapped from a file. Every
index is built and searched in a process of its own, while its memory is looked at ten times a second, with that of its
children: what it holds for itself, and that with the mapped files, which the system takes back when it needs the room.
All queries are asked at once; `found` is the recall of the index's own ten, `ranked` that of the ten after exact
ranking. Made topics are no texts: ``--embedded FILE.npy`` adds embeddings of real texts, of which every 50th is a
query. Where the file is lacking, it is made of the corpus in ``--real CRUD_RAG`` by all-MiniLM-L6-v2.

    python benchmarks/vectors.py --embedded real.npy --real REAL/CRUD_RAG
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from dense_search import SEED, make

from quadrag.baselines.retrieval.store import Indexes, IndexStore
from quadrag.baselines.retrieval.vectors import dense
from quadrag.baselines.retrieval.vectors.indexes import make_index

SPECS = ("faiss,IVF_SQ8", "milvus:{}/vectors.db,IVF_SQ8")
SHORT = ("", ",nlist=256,nprobe=16", ",nlist=256,nprobe=32")  # of few vectors, shares of the lists as for a million


def work(spec: str, vectors: Path, queries: Path, right: Path, root: str, answer: Any) -> None:
    """Build an index and search it."""
    passages, asked, wanted = np.load(vectors, mmap_mode="r"), np.load(queries), np.load(right)
    index, indexes = make_index(spec.format(root)), Indexes(None, {}, IndexStore(Path(root)))  # type: ignore[arg-type]
    index.check()
    started = time.perf_counter()
    index.vectors, index.set = passages, index.settings(len(passages))
    index.open_built(indexes, {"kind": "dense"})
    built = time.perf_counter()
    found = index.nearest(asked, 10)
    seconds = time.perf_counter() - built
    own = index.find(asked, 10)
    share = [
        float(np.mean([len(set(one) & set(rows)) / 10 for one, rows in zip(ours, wanted.tolist(), strict=True)]))
        for ours in (own.tolist(), [[row for row, _ in hits] for hits in found])
    ]
    answer.put((index.set, built - started, seconds / len(asked) * 1000, *share))


def memory(process: int) -> tuple[int, int]:
    """Return kB that a process and its children hold for themselves, and with mapped files."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return 0, 0
    own = [int((re.search(rf"{name}:\s+(\d+)", status) or [0, 0])[1]) for name in ("RssAnon", "VmRSS")]
    below = [memory(int(child)) for child in children]
    return own[0] + sum(one for one, _ in below), own[1] + sum(both for _, both in below)


def measure(spec: str, vectors: Path, queries: Path, right: Path) -> str:
    """Return a line of the table."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    with tempfile.TemporaryDirectory(dir=vectors.parent) as root:
        process = context.Process(target=work, args=(spec, vectors, queries, right, root, answer))
        process.start()
        most = [0, 0]
        while process.is_alive() and answer.empty():
            most = [max(pair) for pair in zip(most, memory(process.pid or 0), strict=True)]
            time.sleep(0.1)
        numbers, built, query, own, ranked = answer.get(timeout=10)
        process.join()
    name = spec.partition(":")[0].partition(",")[0]
    kind = " ".join([numbers.pop("kind"), *(f"{key} {value}" for key, value in numbers.items())])
    held = " | ".join(f"{kilobytes / 1e6:.1f}" for kilobytes in most)
    return f"| {name} {kind} | {built:.0f} | {held} | {query:.1f} | {own:.3f} | {ranked:.3f} |"


def embed(path: Path, folder: Path, texts: int) -> None:
    """Write embeddings of the first words of real articles."""
    from quadrag.baselines.retrieval.encoder import Encoder

    date = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:?")
    files = sorted(folder.rglob("documents_dup_part_*"))
    lines = (date.sub("", line).strip() for file in files for line in file.read_text(encoding="utf-8").splitlines())
    heads = list(dict.fromkeys(line[:40] for line in lines if len(line) > 64))
    np.save(path, Encoder("all-MiniLM-L6-v2").documents(heads[:: max(1, len(heads) // texts)][:texts]))


def table(title: str, passages: dense.Vectors, asked: dense.Vectors, folder: Path, specs: tuple[str, ...]) -> None:
    """Print the table of some vectors, which lie in a folder as v.npy."""
    np.save(folder / "q.npy", asked)
    started = time.perf_counter()
    hits = dense.nearest(passages, asked, 10)
    seconds = time.perf_counter() - started
    np.save(folder / "right.npy", np.array([[row for row, _ in one] for one in hits]))
    print(f"\n{title}, {len(asked)} queries\n")
    print("| index | build, s | memory, GB | with mapped files | ms a query | found | ranked |")
    print("|---|---|---|---|---|---|---|")
    print(f"| exact | | | | {seconds / len(asked) * 1000:.1f} | | 1.000 |", flush=True)
    for spec in specs:
        print(measure(spec, folder / "v.npy", folder / "q.npy", folder / "right.npy"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--embedded", type=Path, help="embeddings of real texts, float32 [n, d]")
    parser.add_argument("--real", type=Path, help="CRUD_RAG of the real upstream files")
    parser.add_argument("--texts", type=int, default=10_000, help="of them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.embedded:
            if not options.embedded.exists():
                embed(options.embedded, options.real, options.texts)
            vectors = np.load(options.embedded)
            asked = np.arange(len(vectors)) % 50 == 0
            np.save(folder / "v.npy", vectors[~asked])
            title = f"{len(vectors) - asked.sum():,} embeddings of real texts, {vectors.shape[1]} dimensions"
            specs = tuple(f"{spec}{numbers}" for spec in SPECS for numbers in SHORT)
            table(title, vectors[~asked], vectors[asked], folder, specs)
        passages = make(folder / "v.npy", options.passages, options.dimension, SEED + 1)
        queries = np.array(make(folder / "q.npy", options.queries, options.dimension, SEED + 2))
        title = f"{options.passages:,} made vectors, {options.dimension} dimensions"
        table(title, passages, queries, folder, SPECS)


if __name__ == "__main__":
    main()
