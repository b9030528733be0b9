"""Seconds from CRUD-RAG's corpus files to Arrow and back, beside `datasets` alone on the same lines.

Two peers write each line as one string: `Dataset.from_generator`, and the packaged loader `load_dataset("text")`. The
third makes quadrag's very rows (date, body, identity, copies folded) by plain code in `Dataset.from_generator`.
Verification (size, sha256 and git blob id of every file) and the fingerprint are timed by themselves and within
`quadrag prepare`. Rounds are interleaved and medians are shown; every build goes into an empty folder. It does not
measure a download.

    python benchmarks/corpus_to_arrow.py ../real/CRUD_RAG --rounds 3
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

VERSION = sys.version.split()[0]
SCRATCH = Path(tempfile.mkdtemp(prefix="quadrag-bench-"))
os.environ |= {"HF_HOME": str(SCRATCH / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}

import datasets  # noqa: E402  # reads the environment once, at its import

from quadrag.data import files  # noqa: E402
from quadrag.data.builders import fingerprint, open_builder, point_to  # noqa: E402
from quadrag.data.prepare import prepare  # noqa: E402


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor: the clock alone suffers from a machine's other work."""
    started, worked = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - worked


def medians(each: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(one for one, _ in each), statistics.median(one for _, one in each)


def from_generator(paths: list[Path], folder: Path) -> None:
    def lines() -> Iterator[dict[str, str]]:
        for path in paths:
            for line in path.read_text(encoding="utf-8").split("\n"):
                if line:
                    yield {"text": line}

    datasets.Dataset.from_generator(lines, cache_dir=str(folder))


def plain_code(paths: list[Path], folder: Path) -> None:
    def documents() -> Iterator[dict[str, Any]]:
        rows: dict[str, dict[str, Any]] = {}
        for path in paths:
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                date, _, body = line.partition("，正文：") if "，正文：" in line[:223] else ("", "", line)
                if not body.strip():
                    continue
                identity = hashlib.sha256(re.sub(r"[\s\ufeff]", "", body).encode()).hexdigest()
                if identity in rows:
                    rows[identity]["aliases"].append(f"{path.name}:{number}")
                else:
                    rows[identity] = {"id": identity, "file": path.name, "line": number, "date": date, "body": body}
                    rows[identity] |= {"aliases": [], "gold": False}
        yield from rows.values()

    datasets.Dataset.from_generator(documents, cache_dir=str(folder))


def text_loader(paths: list[Path], folder: Path) -> None:
    datasets.load_dataset("text", data_files=[str(path) for path in paths], cache_dir=str(folder))


def build(root: str, folder: Path) -> None:
    builder, _ = opened(root)
    builder.download_and_prepare(output_dir=str(folder))


def opened(root: str) -> tuple[Any, dict[str, Path]]:
    """The corpus builder of a folder, without the verification that `open_builder` does."""
    from quadrag import catalogue

    builder = catalogue.builder_class("crud_rag")(config_name="corpus", dataset_name="crud_rag")
    found, _ = files.locate_files("crud_rag", builder.config, root)
    point_to(builder, Path(root))
    return builder, found


def reload() -> None:
    builder, _ = open_builder("crud_rag", "corpus")
    corpus = builder.as_dataset(split="corpus")
    assert corpus[0]["line"] == 1
    assert corpus[-1]["body"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("root", help="checkout of CRUD_RAG, or the folder of its corpus files")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    builder, found = opened(arguments.root)
    paths, config = list(found.values()), builder.config
    size = sum(path.stat().st_size for path in paths)

    def prepared() -> None:
        # The cache of the round before would be taken as it stands.
        shutil.rmtree(SCRATCH / "hf" / "datasets" / "crud_rag", ignore_errors=True)
        prepare("crud_rag", "corpus", arguments.root)

    work: dict[str, Callable[[Path], None]] = {
        "datasets: Dataset.from_generator": lambda folder: from_generator(paths, folder),
        'datasets: load_dataset("text")': lambda folder: text_loader(paths, folder),
        "datasets: quadrag's rows, plain code": lambda folder: plain_code(paths, folder),
        "quadrag: download_and_prepare": lambda folder: build(arguments.root, folder),
        "quadrag: verification": lambda _: files.describe("crud_rag", config, "", found) and None,
        "quadrag: fingerprint": lambda _: fingerprint(builder) and None,
        "quadrag: prepare, all of it": lambda _: prepared(),
        "quadrag: reload, first and last row": lambda _: reload(),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for number in range(arguments.rounds):
        for name, step in work.items():
            folder = SCRATCH / f"{number}-{len(times[name])}-{abs(hash(name))}"
            times[name].append(seconds(lambda step=step, folder=folder: step(folder)))  # type: ignore[misc]
            shutil.rmtree(folder, ignore_errors=True)
    rows = prepare("crud_rag", "corpus", arguments.root).built["corpus"]["corpus"]
    (peer, peer_cpu) = medians(times["datasets: quadrag's rows, plain code"])
    print(f"{len(paths)} files, {size / 1e6:.0f} MB, {rows} rows, datasets {datasets.__version__}, Python {VERSION}")
    print(f"{'medians':38} clock s    cpu s   to plain code, clock and cpu   all rounds by the clock")
    for name, each in times.items():
        clock, cpu = medians(each)
        rounds = " ".join(f"{one:.2f}" for one, _ in each)
        print(f"{name:38} {clock:7.3f}  {cpu:7.3f}   {clock / peer:21.2f}  {cpu / peer_cpu:5.2f}   {rounds}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
