"""What each stage costs as its input grows, on one worker and on two, and what that makes of a very large one.

Stages: HTML to text, chunks, BM25 (terms counted and indexed), near copies, vectors (where sentence-transformers is
installed), calls, scores. Each is done at an eighth, a quarter, a half and all of its size, in a process of its own;
cost is fitted as a power of the size. From what the largest size took a unit, the second table reckons 100 million
passages and 1 million questions. Those hours are an extrapolation: no run of that size was made.

    python benchmarks/scaling.py REAL                        # prints both tables
    python benchmarks/scaling.py REAL --page docs/scale.md   # and puts them into the page
    python benchmarks/scaling.py REAL --fraction 0.1         # a quick look
"""

from __future__ import annotations

import argparse
import bz2
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tables import machine, put

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "servers"))

PARTS = (0.125, 0.25, 0.5, 1.0)
PLACES = ("1", "2")
LATENCY, CONCURRENCY = 0.05, 64
Work = Callable[[], Any]


@dataclass(frozen=True)
class Stage:
    """A stage: its unit, how many of them are all, and how many a hundred million passages or a million questions are.

    `prepare` takes the real data, a number of units and a folder, and returns what is timed.
    """

    name: str
    unit: str
    size: int
    wanted: int
    prepare: Callable[[Path, int, Path], Work]
    needs: str | None = None


def texts(real: Path) -> Iterator[str]:
    """Yield real documents again and again, each with a number before it so that none is a copy."""
    files = sorted(real.rglob("documents_dup_part_*"))
    lines = [line.strip() for file in files[:6] for line in file.read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(cycle(lines)):
        yield f"{number} {line}"


def html(real: Path, size: int, folder: Path) -> Work:
    from quadrag import parallel
    from quadrag.retrieval.webpage import text

    with bz2.open(next(real.rglob("dev_data.jsonl.bz2")), "rt", encoding="utf-8") as lines:
        pages = [page["page_result"] for line in lines for page in json.loads(line)["search_results"]]
    given = list(islice(cycle(pages), size))
    return lambda: sum(map(len, parallel.each(text, given)))


def store(real: Path, size: int, folder: Path) -> Any:
    from quadrag.benchmark import Document
    from quadrag.retrieval.chunk import Chunking
    from quadrag.retrieval.passages import PassageStore

    pieces = (text[at : at + 128] for text in texts(real) for at in range(0, len(text), 128))
    documents = (Document(str(number), "", piece) for number, piece in enumerate(islice(pieces, size)))
    return PassageStore.build(documents, folder, Chunking(10**6))


def chunks(real: Path, size: int, folder: Path) -> Work:
    from quadrag.benchmark import Document
    from quadrag.retrieval.chunk import Chunking
    from quadrag.retrieval.passages import PassageStore

    documents = [Document(str(number), "", text) for number, text in enumerate(islice(texts(real), size))]
    return lambda: PassageStore.build(documents, folder, Chunking())


def bm25(real: Path, size: int, folder: Path) -> Work:
    from quadrag.retrieval.bm25 import build_index

    passages, place = store(real, size, folder), folder / "index"
    place.mkdir()
    return lambda: build_index(passages, place, "jieba")


def copies(real: Path, size: int, folder: Path) -> Work:
    from quadrag.construct.documents import reject_copies

    rows = [{"id": str(number), "text": text} for number, text in enumerate(islice(texts(real), size))]
    return lambda: reject_copies(rows)


def vectors(real: Path, size: int, folder: Path) -> Work:
    from quadrag.retrieval.encoder import Encoder
    from quadrag.retrieval.vectors.dense import write_vectors

    passages, encoder = store(real, size, folder), Encoder("all-MiniLM-L6-v2")
    return lambda: write_vectors(passages, folder, encoder.documents, lambda done: None)


def calls(real: Path, size: int, folder: Path) -> Work:
    from quadrag.chat.client import ChatClient
    from quadrag.chat.ledger import Ledger

    chats = [[{"role": "user", "content": text[:200]}] for text in islice(texts(real), size)]

    def do() -> None:
        with (
            Ledger(folder / "l.sqlite") as ledger,
            ChatClient(os.environ["SERVER"] + "#m", ledger=ledger, concurrency=CONCURRENCY) as client,
        ):
            assert all(isinstance(reply, str) for reply in client(chats))

    return do


def scores(real: Path, size: int, folder: Path) -> Work:
    from quadrag.benchmark import load
    from quadrag.parts import Conditions
    from quadrag.records import Answer, Question
    from quadrag.scoring.drive import score

    place = ("crud_rag", "summary", "test")
    questions, answers = {}, []
    for number, text in enumerate(islice(texts(real), size)):
        question = Question(*place, str(number), text[:30], text[:200], "zh")
        questions[question.key] = question
        answers.append(Answer(*place, str(number), 0, text[30:230]))
    return lambda: score(load("crud_rag"), questions, answers, Conditions("none", top_k=0))


STAGES = (
    Stage("HTML to text", "pages", 3_000, 50_000_000, html),
    Stage("chunks", "documents", 40_000, 16_000_000, chunks),
    Stage("BM25, jieba", "passages", 400_000, 100_000_000, bm25),
    Stage("near copies", "documents", 8_000, 16_000_000, copies),
    Stage("vectors", "passages", 4_000, 100_000_000, vectors, "sentence_transformers"),
    Stage("calls", "calls", 8_000, 1_000_000, calls),
    Stage("scores", "answers", 8_000, 1_000_000, scores),
)


def size_on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def do_stage(name: str, size: int, on: str, real: Path) -> None:
    """Do a stage in this process, and print what it took."""
    from quadrag import parallel

    stage = next(one for one in STAGES if one.name == name)
    with tempfile.TemporaryDirectory() as folder, parallel.use(on):
        do = stage.prepare(real, size, Path(folder))
        before = size_on_disk(Path(folder))
        started = time.perf_counter()
        do()
        seconds = time.perf_counter() - started
        kept = size_on_disk(Path(folder)) - before
    peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 2**20
    print(json.dumps({"seconds": seconds, "gb": peak, "kept": kept}))


def exponent(sizes: list[int], costs: list[float]) -> float:
    """Return the slope of the line fitted through the logarithms."""
    xs, ys = [math.log(one) for one in sizes], [math.log(one) for one in costs]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def main() -> None:
    if sys.argv[1:2] == ["--do"]:
        do_stage(sys.argv[2], int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]))
        return
    names = [stage.name for stage in STAGES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, help="folder of the real upstream files: CRUD_RAG, CRAG")
    parser.add_argument("--stage", nargs="*", choices=names, default=names)
    parser.add_argument("--fraction", type=float, default=1.0, help="of all sizes")
    parser.add_argument("--price", type=float, default=0.10, help="of a core for an hour, for the second table")
    parser.add_argument("--page", type=Path, help="a page that holds the tables between its two marks")
    options = parser.parse_args()

    from chat_server import server_process

    stages = [one for one in STAGES if one.name in options.stage and (one.needs is None or find_spec(one.needs))]
    grown, reckoned = [], []
    with server_process("--latency", str(LATENCY)) as url:
        for stage in stages:
            sizes = [max(1, round(stage.size * part * options.fraction)) for part in PARTS]
            took: dict[str, list[dict[str, Any]]] = {}
            for place in PLACES:
                for size in sizes:
                    env = {**os.environ, "PYTHONPATH": str(ROOT), "SERVER": url}
                    asked = [
                        sys.executable,
                        __file__,
                        "--do",
                        stage.name,
                        str(size),
                        place,
                        str(options.real.resolve()),
                    ]
                    ran = subprocess.run(asked, env=env, capture_output=True, text=True)
                    if ran.returncode:
                        raise SystemExit(f"{stage.name}: {ran.stderr[-1500:]}")
                    took.setdefault(place, []).append(json.loads(ran.stdout.splitlines()[-1]))
            one, two = took["1"], took["2"]
            seconds = " | ".join(f"{each['seconds']:.2f}" for each in one)
            slope = exponent(sizes, [each["seconds"] for each in one])
            faster = one[-1]["seconds"] / two[-1]["seconds"]
            grown.append(
                f"| {stage.name} | {sizes[-1]:,} {stage.unit} | {seconds} | {slope:.2f} | {two[-1]['seconds']:.2f} | "
                f"{faster:.2f} | {one[-1]['gb']:.2f} |"
            )
            hours = one[-1]["seconds"] / sizes[-1] * stage.wanted / 3600
            disk = one[-1]["kept"] / sizes[-1] * stage.wanted / 1e9
            memory = one[-1]["gb"] * (stage.wanted / sizes[-1]) ** max(0.0, exponent(sizes, [e["gb"] for e in one]))
            reckoned.append(
                f"| {stage.name} | {stage.wanted:,} {stage.unit} | {hours:,.1f} | {hours / 64:,.1f} | "
                f"{hours * options.price:,.0f} | {disk:,.0f} | {memory:,.0f} |"
            )
    head = (
        "| stage | all | an eighth, s | a quarter, s | a half, s | all, s | exponent | on two, s | times as fast | GB |"
    )
    second = "| stage | size | hours of a core | hours on 64 | money | GB kept | GB of memory |"
    tables = [head, "|---" * 10 + "|", *grown, "", f"{machine()}.", "", second, "|---" * 7 + "|", *reckoned]
    put("\n".join(tables), "benchmarks/scaling.py", options.page)


if __name__ == "__main__":
    main()
