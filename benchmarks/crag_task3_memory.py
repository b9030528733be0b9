"""Peak memory of CRAG's task 3 on a made archive of upstream's form: 100 questions, 50 pages each, 300 kB a page.

Each way to the rows runs in a process of its own, whose peak is the kernel's (VmHWM, pages of mapped files included);
the limit holds for all of them. `--peer` adds the same build with the batch of 1,000 rows that `datasets` writes by
default. The archive is made of few packed runs repeated, which take as long to unpack as any. It measures no download.

    python benchmarks/crag_task3_memory.py [--questions 100] [--limit 500] [--peer]
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from pathlib import Path

PAGES, PAGE = 50, 300_000
WAYS = {
    "datasets alone": "nothing is read: what the imports take",
    "rows": "quadrag.data.builders.rows, straight from the parts",
    "streaming": "builder.as_streaming_dataset",
    "prepare": "quadrag prepare: both splits into the cache",
    "prepared": "quadrag.data.builders.rows from that cache",
    "peer": "download_and_prepare in batches of 1,000 rows",
}


def html(rng: random.Random, number: int) -> str:
    """A page of 300,000 characters that bzip2 packs about as real ones; one in five has an emoji.

    An emoji takes Python to four bytes a character.
    """
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(500)]
    parts = [f'<p class="c{number}">{" ".join(rng.choices(words, k=30))}</p>\n' for number in range(150)]
    text = "".join(rng.choices(parts, k=3000))
    mark = "\N{WINKING FACE}" if number % 5 == 0 else "\N{RIGHT SINGLE QUOTATION MARK}"
    return f"<html><body>{mark}{text}"[:PAGE]


def make(folder: Path, questions: int) -> int:
    """Write the four parts of an archive; returns the bytes of its lines."""
    rng = random.Random(20260101)
    pages = [
        {
            "page_name": f"page {number}",
            "page_url": f"https://example.org/{number}",
            "page_snippet": "a snippet",
            "page_result": html(rng, number),
            "page_last_modified": "",
        }
        for number in range(PAGES)
    ]
    tail = (json.dumps(pages)[1:] + "}\n").encode()
    packed_tail = bz2.compress(tail, 9)
    runs, size = [], 0
    for number in range(questions):
        row = {
            "interaction_id": str(uuid.UUID(int=number + 1)),
            "query_time": "03/13/2024, 09:30:59 PT",
            **{"domain": "open", "question_type": "simple", "static_or_dynamic": "static", "popularity": ""},
            **{"query": f"question {number}?", "answer": "an answer", "alt_ans": [], "split": number % 2},
        }
        head = (json.dumps(row)[:-1] + ', "search_results": [').encode()
        runs += [bz2.compress(head), packed_tail]
        size += len(head) + len(tail)
    member = tarfile.TarInfo("crag_task_3_dev_v5/crag_task_3_dev_v5.jsonl")
    member.size = size
    ends = [bz2.compress(member.tobuf(tarfile.GNU_FORMAT)), bz2.compress(b"\0" * (-size % 512 + 1024))]
    whole = b"".join([ends[0], *runs, ends[1]])
    quarter = -(-len(whole) // 4)
    for part in range(4):
        path = folder / f"crag_task_3_dev_v5.tar.bz2.part{part}"
        path.write_bytes(whole[part * quarter : (part + 1) * quarter])
    return size


def peak() -> float:
    """The most memory that this process ever had, in MB."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def child(way: str, folder: str) -> None:
    """Go one way to the rows; print seconds to the first row, seconds in all, rows and the peak."""
    import datasets

    from quadrag import catalogue
    from quadrag.data import builders
    from quadrag.data.prepare import prepare

    datasets.disable_progress_bars()
    started = time.perf_counter()
    first, count = 0.0, 0
    if way == "prepare":
        count = sum(prepare("crag", "task_3", folder).built["task_3"].values())
    elif way != "datasets alone":
        builder = catalogue.builder_class("crag")(config_name="task_3", writer_batch_size=1000)
        builders.point_to(builder, Path(folder))
        if way == "peer":
            builder.download_and_prepare(output_dir=f"{folder}/peer")
            count = sum(split.num_examples for split in builder.info.splits.values())
        elif way == "streaming":
            found = iter(builder.as_streaming_dataset(split="public"))
        else:
            builder, _ = builders.open_builder("crag", "task_3", folder if way == "rows" else None, split="public")
            found = builders.rows(builder, "public")
        for row in found if way != "peer" else ():
            first = first or time.perf_counter() - started
            assert sum(map(len, row["page_result"])) == PAGES * PAGE
            count += 1
    print(json.dumps([first, time.perf_counter() - started, count, peak()]))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--limit", type=float, default=500, help="MB; beyond it the exit code is 1")
    parser.add_argument("--peer", action="store_true", help="needs several GB of memory")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return 0
    scratch = Path(tempfile.mkdtemp(prefix="quadrag-bench-"))
    try:
        size = make(scratch, arguments.questions)
        print(f"{arguments.questions} questions, {size / 1e6:.0f} MB of lines, Python {sys.version.split()[0]}")
        print(f"{'peak MB':>8}  {'first s':>8}  {'all s':>7}  rows")
        over = []
        env = os.environ | {"HF_HOME": str(scratch / "hf"), "HF_HUB_OFFLINE": "1"}
        for way, what in WAYS.items():
            if way == "peer" and not arguments.peer:
                continue
            command = [sys.executable, __file__, "--child", way, str(scratch)]
            done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
            first, seconds, rows, most = json.loads(done.stdout.splitlines()[-1])
            print(f"{most:8.0f}  {first:8.2f}  {seconds:7.1f}  {rows:4}  {way}: {what}", flush=True)
            if way != "peer" and most > arguments.limit:
                over.append(way)
        if over:
            print(f"over {arguments.limit:.0f} MB: {', '.join(over)}")
        return 1 if over else 0
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
