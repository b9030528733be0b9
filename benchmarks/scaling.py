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

import bz2
import json
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from measuring import apart, exponent, machine, options_of, put, table, timed

from quadrag import parallel
from quadrag.benchmark import Document, load
from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
from quadrag.construct.documents import reject_copies
from quadrag.records import Answer, Question
from quadrag.retrieval import webpage
from quadrag.retrieval.bm25 import build_index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore
from quadrag.scoring.drive import ScoringInputs, score
from quadrag.spec import RunSpec

PARTS = (0.125, 0.25, 0.5, 1.0)
LATENCY, CONCURRENCY = 0.05, 64
Work = Callable[[], Any]


class Stage(NamedTuple):
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
    with bz2.open(next(real.rglob("dev_data.jsonl.bz2")), "rt", encoding="utf-8") as lines:
        pages = [page["page_result"] for line in lines for page in json.loads(line)["search_results"]]
    cut = list(islice(cycle(pages), size))
    return lambda: sum(map(len, parallel.each(webpage.text, cut)))


def store(real: Path, size: int, folder: Path) -> PassageStore:
    pieces = (text[at : at + 128] for text in texts(real) for at in range(0, len(text), 128))
    documents = (Document(str(number), "", piece) for number, piece in enumerate(islice(pieces, size)))
    return PassageStore.build(documents, folder, Chunking(10**6))


def chunks(real: Path, size: int, folder: Path) -> Work:
    documents = [Document(str(number), "", text) for number, text in enumerate(islice(texts(real), size))]
    return lambda: PassageStore.build(documents, folder, Chunking())


def bm25(real: Path, size: int, folder: Path) -> Work:
    passages, place = store(real, size, folder), folder / "index"
    place.mkdir()
    return lambda: build_index(passages, place, "jieba")


def copies(real: Path, size: int, folder: Path) -> Work:
    rows = [{"id": str(number), "text": text} for number, text in enumerate(islice(texts(real), size))]
    return lambda: reject_copies(rows)


def vectors(real: Path, size: int, folder: Path) -> Work:
    from quadrag.retrieval.encoder import Encoder
    from quadrag.retrieval.vectors.dense import write_vectors

    passages, encoder = store(real, size, folder), Encoder("all-MiniLM-L6-v2")
    return lambda: write_vectors(passages, folder, encoder.documents, lambda done: None)


def calls(real: Path, size: int, folder: Path) -> Work:
    chats = [[{"role": "user", "content": text[:200]}] for text in islice(texts(real), size)]

    def do() -> None:
        with (
            Ledger(folder / "l.sqlite") as ledger,
            ChatClient(os.environ["SERVER"] + "#m", ledger=ledger, concurrency=CONCURRENCY) as client,
        ):
            assert all(isinstance(reply, str) for reply in client(chats))

    return do


def scores(real: Path, size: int, folder: Path) -> Work:
    place = ("crud_rag", "summary", "test")
    questions, answers = {}, []
    for number, text in enumerate(islice(texts(real), size)):
        question = Question(*place, str(number), text[:30], text[:200], "zh")
        questions[question.key] = question
        answers.append(Answer(*place, str(number), 0, text[30:230]))
    spec = RunSpec(benchmark="crud_rag", config="summary", retriever="none")
    return lambda: score(ScoringInputs(load("crud_rag"), questions, spec), answers)


STAGES = (
    Stage("HTML to text", "pages", 3_000, 50_000_000, html),
    Stage("chunks", "documents", 40_000, 16_000_000, chunks),
    Stage("BM25, jieba", "passages", 400_000, 100_000_000, bm25),
    Stage("near copies", "documents", 8_000, 16_000_000, copies),
    Stage("vectors", "passages", 4_000, 100_000_000, vectors, "sentence_transformers"),
    Stage("calls", "calls", 8_000, 1_000_000, calls),
    Stage("scores", "answers", 8_000, 1_000_000, scores),
)


def disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(place: int, size: int, workers: int, real: Path, server: str) -> tuple[float, float, float]:
    """Return the seconds of the stage at a place of the table, the GB of memory and the bytes that it leaves."""
    os.environ["SERVER"] = server
    with tempfile.TemporaryDirectory() as folder, parallel.use(str(workers)):
        work = STAGES[place].prepare(real, size, Path(folder))
        before = disk(Path(folder))
        seconds, _ = timed(work)
        kept = disk(Path(folder)) - before
    memory = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 2**20
    return seconds, memory, kept


def main() -> None:
    from chat_server import server_process

    names = [stage.name for stage in STAGES]
    parser = options_of(__doc__, fraction=1.0, price=0.10)
    parser.add_argument("real", type=Path, help="folder of the real upstream files: CRUD_RAG, CRAG")
    parser.add_argument("--stage", nargs="*", choices=names, default=names)
    parser.add_argument("--page", type=Path, help="a page that holds the tables between its two marks")
    options = parser.parse_args()

    grown, reckoned = [], []
    with server_process("--latency", str(LATENCY)) as url:
        for place, (name, unit, all_of, wanted, _, needs) in enumerate(STAGES):
            if name not in options.stage or (needs and not find_spec(needs)):
                continue
            sizes = [max(1, round(all_of * part * options.fraction)) for part in PARTS]
            each = [apart(measure, place, size, 1, options.real.resolve(), url) for size in sizes]
            on_two, *_ = apart(measure, place, sizes[-1], 2, options.real.resolve(), url)
            seconds, memory, kept = zip(*each, strict=True)
            times = [f"{one:.2f}" for one in (seconds[-1], exponent(sizes, seconds), on_two, seconds[-1] / on_two)]
            grown.append([name, f"{sizes[-1]:,} {unit}", *times, f"{memory[-1]:.2f}"])

            more = wanted / sizes[-1]
            hours, room = seconds[-1] * more / 3600, memory[-1] * more ** max(0.0, exponent(sizes, memory))
            costs = [f"{hours:,.1f}", f"{hours * options.price:,.0f}"]
            reckoned.append([name, f"{wanted:,} {unit}", *costs, f"{kept[-1] * more / 1e9:,.0f}", f"{room:,.0f}"])
    first = table("stage | size | seconds | exponent | on two, s | times as fast | GB", grown)
    second = table("stage | size | hours of a core | money | GB kept | GB of memory", reckoned)
    put(f"{first}\n\n{machine()}.\n\n{second}", "benchmarks/scaling.py", options.page)


if __name__ == "__main__":
    main()
