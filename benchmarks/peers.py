"""quadrag beside its peers: the same work, in one run, each peer in an environment of its own.

Works: passages found by BM25, HTML to text, exact match and F1, BLEU and ROUGE-L of Chinese, calls to a server,
verdicts of a judge, a task inside a harness. For each: seconds, peak memory of the process, and how far the peer's
results are from quadrag's. The server sleeps and gives one reply, so that what is measured is what each adds. A peer is
installed at its first use, below ``--environments``, on the packages of the environment that this runs in; RAGChecker
(6.5 GB) is left out. Rounds are interleaved, medians shown. What a peer's values mean is not compared.

    python benchmarks/peers.py REAL                        # prints the table
    python benchmarks/peers.py REAL --page docs/peers.md   # and puts it into the page
    python benchmarks/peers.py REAL --work calls judge --rounds 1
"""

from __future__ import annotations

import argparse
import asyncio
import bz2
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "servers"))

K, CONCURRENCY, LATENCY = 8, 16, 0.05
Given = dict[str, Any]
OURS = "quadrag"
QUIET = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "RAGAS_DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1"}
START, END = "<!-- made by benchmarks/peers.py -->", "<!-- end -->"


@dataclass(frozen=True)
class Entry:
    """One way to do a work: what it needs, and a function from what is given to its results; the first is quadrag's.

    `part` is the share of the work that it is given, where all of it would take minutes; times are then scaled.
    """

    work: str
    name: str
    do: Callable[[Given], Any]
    packages: tuple[str, ...] = ()
    bare: bool = False  # without what the packages depend on
    part: float = 1.0


ENTRIES: list[Entry] = []


def entry(work: str, name: str, *packages: str, bare: bool = False, part: float = 1.0) -> Any:
    """Enter a function as a way to do a work; it prepares, and returns what is timed."""

    def enter(do: Callable[[Given], Any]) -> Callable[[Given], Any]:
        ENTRIES.append(Entry(work, name, do, packages, bare, part))
        return do

    return enter


# Passages found by BM25: characters are terms, so that no cutting is measured.


@entry("BM25", OURS)
def _(given: Given) -> Callable[[], Any]:
    from quadrag.baselines.core.document import Document
    from quadrag.baselines.retrieval.bm25 import Bm25Index
    from quadrag.baselines.retrieval.chunk import Chunking
    from quadrag.baselines.retrieval.passages import PassageStore

    folder = Path(tempfile.mkdtemp())

    def do() -> list[list[int]]:
        documents = (Document(str(n), "", text) for n, text in enumerate(given["passages"]))
        store = PassageStore.build(documents, folder, Chunking(10**6))
        found = Bm25Index.build(store, folder, "unigram").search(given["queries"], K)
        return [[row for row, _ in hits] for hits in found]

    return do


def terms(texts: list[str]) -> list[list[str]]:
    from quadrag.baselines.retrieval.terms import analyser

    return list(map(analyser("unigram"), texts))


@entry("BM25", "bm25s", "bm25s")
def _(given: Given) -> Callable[[], Any]:
    import bm25s

    def do() -> list[list[int]]:
        index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        index.index(terms(given["passages"]), show_progress=False)
        return index.retrieve(terms(given["queries"]), k=K, show_progress=False)[0].tolist()

    return do


@entry("BM25", "rank_bm25", "rank_bm25")
def _(given: Given) -> Callable[[], Any]:
    from rank_bm25 import BM25Okapi

    def do() -> list[list[int]]:
        index = BM25Okapi(terms(given["passages"]))
        scores = [index.get_scores(query) for query in terms(given["queries"])]
        return [sorted(range(len(one)), key=lambda row: (-one[row], row))[:K] for one in scores]

    return do


# HTML to text.


@entry("HTML to text", OURS)
def _(given: Given) -> Callable[[], Any]:
    from quadrag.baselines.crag.webpage import text

    text("<p>loads what loads once")
    return lambda: [text(page) for page in given["pages"]]


@entry("HTML to text", "BeautifulSoup, lxml", "beautifulsoup4", "lxml")
def _(given: Given) -> Callable[[], Any]:
    from bs4 import BeautifulSoup

    return lambda: [BeautifulSoup(page, "lxml").get_text(" ", strip=True) for page in given["pages"]]


# Exact match and F1 of answers in English, which FlashRAG cuts at blanks.


@entry("EM and F1", OURS)
def _(given: Given) -> Callable[[], Any]:
    module = load("omnieval_overlap")
    module.compute(predictions=["loads"], references=[["what loads once"]])

    def do() -> list[float]:
        made = module.compute(predictions=given["english"], references=[[gold] for gold in given["accepted"]])
        return [row[key] for row in made["per_item"] for key in ("em", "f1")]

    return do


@entry("EM and F1", "FlashRAG", "flashrag-dev", bare=True)
def _(given: Given) -> Callable[[], Any]:
    from types import SimpleNamespace

    from flashrag.evaluator.metrics import ExactMatch, F1_Score

    settings = {"dataset_name": "own", "metric_setting": {}}
    measures = [ExactMatch(settings), F1_Score(settings)]

    def do() -> list[float]:
        golds = [[gold] for gold in given["accepted"]]
        data = SimpleNamespace(pred=given["english"], golden_answers=golds, choices=[[]])
        both = [measure.calculate_metric(data)[1] for measure in measures]
        return [float(value) for pair in zip(*both, strict=True) for value in pair]

    return do


# BLEU and ROUGE-L of Chinese.


@entry("BLEU and ROUGE-L", OURS)
def _(given: Given) -> Callable[[], Any]:
    module = load("crud_overlap")
    module.compute(predictions=["读取"], references=["词典"])

    def do() -> list[float]:
        rows = module.compute(predictions=given["answers"], references=given["golds"])["per_item"]
        return [row[key] for row in rows for key in ("bleu", "rouge_l")]

    return do


@entry("BLEU and ROUGE-L", "evaluate, a pair at a time")
def _(given: Given) -> Callable[[], Any]:
    def do() -> list[float]:
        pairs = zip(given["answers"], given["golds"], strict=True)
        rows = [load("crud_overlap").compute(predictions=[a], references=[b]) for a, b in pairs]
        return [row["per_item"][0][key] for row in rows for key in ("bleu", "rouge_l")]

    return do


# Calls to a server.


@entry("calls", OURS)
def _(given: Given) -> Callable[[], Any]:
    return lambda: ask(given, given["chats"])


@entry("calls", "openai", "openai")
def _(given: Given) -> Callable[[], Any]:
    import openai

    async def all_of() -> list[str]:
        gate = asyncio.Semaphore(CONCURRENCY)
        async with openai.AsyncOpenAI(base_url=given["url"], api_key="x") as client:

            async def one(chat: Any) -> str:
                async with gate:
                    made = await client.chat.completions.create(model="m", messages=chat)
                return made.choices[0].message.content or ""

            return await asyncio.gather(*map(one, given["chats"]))

    return lambda: asyncio.run(all_of())


@entry("calls", "requests, one after the other", part=0.05)
def _(given: Given) -> Callable[[], Any]:
    import requests

    def do() -> list[str]:
        with requests.Session() as session:
            url, bodies = f"{given['url']}/chat/completions", [{"model": "m", "messages": c} for c in given["chats"]]
            return [session.post(url, json=one).json()["choices"][0]["message"]["content"] for one in bodies]

    return do


# Verdicts of a judge: one call an item.


@entry("verdicts", OURS)
def _(given: Given) -> Callable[[], Any]:
    from quadrag.chat.client import ChatClient

    module = load("truthfulness")

    def do() -> list[float]:
        with ChatClient(f"{given['url']}#m", concurrency=CONCURRENCY, parameters={"temperature": 0}) as judge:
            made = module.compute(
                predictions=given["answers"], references=given["golds"], questions=given["questions"], judge=judge
            )
        return [row["truthfulness"] for row in made["per_item"]]

    return do


@entry("verdicts", "ragas", "ragas", "langchain-community<0.4")
def _(given: Given) -> Callable[[], Any]:
    import openai
    from ragas import EvaluationDataset, RunConfig, evaluate
    from ragas.dataset_schema import SingleTurnSample
    from ragas.llms import llm_factory
    from ragas.metrics import AspectCritic

    model = llm_factory("m", client=openai.AsyncOpenAI(base_url=given["url"], api_key="x"))
    critic = AspectCritic(name="right", definition="Is the response right by the reference?", llm=model)
    rows = zip(given["questions"], given["answers"], given["golds"], strict=True)
    samples = [SingleTurnSample(user_input=q, response=a, reference=g) for q, a, g in rows]

    def do() -> list[float]:
        settings = RunConfig(max_workers=CONCURRENCY)
        made = evaluate(EvaluationDataset(samples), [critic], run_config=settings, show_progress=False)
        return [row["right"] for row in made.scores]

    return do


@entry("verdicts", "deepeval", "deepeval")
def _(given: Given) -> Callable[[], Any]:
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import GEval
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase, SingleTurnParams

    model = LocalModel(model="m", base_url=given["url"], api_key="x", temperature=0)
    wanted = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT]
    steps = ["Is the actual output right by the expected output?"]
    right = GEval(name="right", evaluation_params=wanted, evaluation_steps=steps, model=model)
    rows = zip(given["questions"], given["answers"], given["golds"], strict=True)
    cases = [LLMTestCase(input=q, actual_output=a, expected_output=g) for q, a, g in rows]

    def do() -> list[float]:
        made = evaluate(
            cases,
            [right],
            async_config=AsyncConfig(max_concurrent=CONCURRENCY),
            cache_config=CacheConfig(write_cache=False),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
        )
        return [one.metrics_data[0].score * 10 for one in made.test_results]  # which it divides by ten

    return do


# A task of a benchmark, from its questions to the table, as it is typed.


@entry("a task", OURS)
def _(given: Given) -> Callable[[], Any]:
    asked = ["run", "rgb", "noise_robustness_zh", "--split", "noise_0", "--data-dir", given["rgb"], "--ledger", "l"]
    asked += ["--llm", f"{given['url']}#m", "--concurrency", str(CONCURRENCY), "--limit", str(given["limit"])]

    def do() -> list[float]:
        typed([sys.executable, "-m", "quadrag", *asked, "--out", "run"])
        rows = json.loads(Path("run/scores.json").read_text(encoding="utf-8"))
        found = (row for row in rows if row["key"] == "accuracy" and row["profile"] == "official")
        return [next(row["value"] for row in found if row["slice"] in (None, "", "all"))]

    return do


@entry("a task", "lm-eval", "lm-eval[api]>=0.4.13,<0.5", "quadrag")
def _(given: Given) -> Callable[[], Any]:
    folder = subprocess.run(
        [sys.executable, "-m", "quadrag", "harness", "lm-eval"], check=True, capture_output=True, text=True
    ).stdout.strip()
    served = f"model=m,base_url={given['url']}/chat/completions,tokenizer_backend=None,num_concurrent={CONCURRENCY}"
    asked = ["--include_path", folder, "--tasks", "quadrag_rgb_noise_robustness_zh", "--apply_chat_template"]
    asked += ["--model", "local-chat-completions", "--model_args", served, "--limit", str(given["limit"])]
    asked += ["--metadata", json.dumps({"data_dir": given["rgb"]}), "--output_path", "out"]

    def do() -> list[float]:
        typed([sys.executable, "-m", "lm_eval", "run", *asked], OPENAI_API_KEY="x")
        made = json.loads(next(Path("out").rglob("results_*.json")).read_text(encoding="utf-8"))
        (task,) = made["results"].values()
        return [task["rgb_accuracy.accuracy,none"]]

    return do


def typed(command: list[str], **env: str) -> None:
    """Run a command, as a user types it."""
    ran = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(ran.stderr[-600:])


def load(name: str) -> Any:
    import evaluate

    return evaluate.load(str(ROOT / "metrics" / name))


def ask(given: Given, chats: Any) -> list[Any]:
    from quadrag.chat.client import ChatClient
    from quadrag.chat.ledger import Ledger

    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger(Path(folder, "l")) as ledger,
        ChatClient(f"{given['url']}#m", ledger=ledger, concurrency=CONCURRENCY) as client,
    ):
        return client(chats)


# The run.


def prepare(real: Path, url: str) -> Given:
    """Read what the works are given: real passages, pages, questions and answers."""
    crud, crag = real / "CRUD_RAG", real / "CRAG"
    with next(crud.rglob("documents_dup_part_1_part_1")).open(encoding="utf-8") as lines:
        texts = [line.strip() for _, line in zip(range(4000), lines, strict=False)]
    passages = [text[at : at + 128] for text in texts for at in range(0, len(text), 128)][:20_000]
    with bz2.open(next(crag.rglob("dev_data.jsonl.bz2")), "rt", encoding="utf-8") as lines:
        pages = [page["page_result"] for line in lines for page in json.loads(line)["search_results"]]
    golds = [text[:120] for text in texts if len(text) > 200][:400]
    answers = [gold[10:] + gold[:10] for gold in golds]
    questions = [f"{gold[:20]}？" for gold in golds]
    with next((real / "RGB").rglob("en_fact.json")).open(encoding="utf-8") as lines:
        english = [passage for line in lines for passage in json.loads(line)["positive"]]
    return {
        "passages": passages,
        "queries": [text[20:60] for text in texts if len(text) > 60][:400],
        "pages": pages,
        "golds": golds,
        "answers": answers,
        "english": english,
        "accepted": [passage[:80] for passage in english],
        "questions": questions,
        "chats": [[{"role": "user", "content": f"{n} {text[:80]}"}] for n, text in enumerate(passages[:1000])],
        "url": url,
        "rgb": str(real / "RGB"),
        "limit": 100,
    }


def cut(given: Given, part: float) -> Given:
    """Return a part of what is asked; of what is searched, all."""
    asked = ("queries", "chats")
    return {k: v[: max(1, round(len(v) * part))] if k in asked else v for k, v in given.items()}


def do_entry(work: str, name: str, given: Path, result: Path) -> None:
    """Do one entry's work in this process, and write what it took and came to."""
    one = next(each for each in ENTRIES if (each.work, each.name) == (work, name))
    do = one.do(cut(json.loads(given.read_text(encoding="utf-8")), one.part))
    os.chdir(tempfile.mkdtemp())
    started = time.perf_counter()
    made = do()
    seconds = time.perf_counter() - started
    held = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    peak = max(int(held.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
    result.write_text(json.dumps({"seconds": seconds / one.part, "mb": peak, "made": made}), encoding="utf-8")


def environment(one: Entry, below: Path) -> str:
    """Return the Python of an entry's environment, which is made where there is none."""
    wanted = [package for package in one.packages if package != "quadrag"]
    if not wanted:
        return sys.executable
    place = below / "".join(sign if sign.isalnum() else "-" for sign in one.name)
    python = place / "bin" / "python"
    if not (place / "done").exists():
        print(f"installing {', '.join(wanted)} into {place}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        purelib = place / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        here = sysconfig.get_path("purelib")
        (purelib / "below.pth").write_text(f"import site; site.addsitedir({here!r})\n")
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *["--no-deps"][: one.bare]]
        subprocess.run([*pip, *wanted], check=True)
        (place / "done").touch()
    return str(python)


@contextmanager
def serving() -> Iterator[str]:
    """Serve one reply that every judge can read."""
    from chat_server import server_process

    verdict = json.dumps({"verdict": 1, "score": 1, "reason": "It is."})
    with server_process("--latency", str(LATENCY), "--text", verdict) as url:
        yield url


def likeness(mine: Any, theirs: Any, part: float) -> str:
    """Say how far a peer's results are from quadrag's."""
    if isinstance(mine[0], list):  # rows that were found
        pairs = list(zip(mine, theirs, strict=False))
        same = sum(len(set(one) & set(other)) for one, other in pairs) / sum(len(one) for one, _ in pairs)
        return f"{same:.1%} of the passages are the same"
    if isinstance(mine[0], str) and len(mine[0]) > 500:  # texts of pages
        words = [Counter(" ".join(texts).lower().split()) for texts in (mine, theirs)]
        return f"{(words[0] & words[1]).total() / words[1].total():.1%} of its words"
    if isinstance(mine[0], str):
        return f"{sum(a == b for a, b in zip(mine, theirs, strict=False))} of {len(theirs)} replies are the same"
    return f"values differ by {max(abs(a - b) for a, b in zip(mine, theirs, strict=True)):.1g} at most"


def machine() -> str:
    """Describe the machine."""
    load, *_ = os.getloadavg()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, on "
        f"{time.strftime('%Y-%m-%d')}; load at the end {load:.1f}"
    )


def main() -> None:
    if sys.argv[1:2] == ["--do"]:
        do_entry(sys.argv[2], sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5]))
        return
    works = list(dict.fromkeys(one.work for one in ENTRIES))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, help="folder of the real upstream files: CRUD_RAG, CRAG, RGB")
    parser.add_argument("--work", nargs="*", choices=works, default=works)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "quadrag-peers")
    parser.add_argument("--page", type=Path, help="a page that holds the table between its two marks")
    options = parser.parse_args()

    entries = [one for one in ENTRIES if one.work in options.work]
    pythons = {one.name: environment(one, options.environments) for one in entries}
    took: dict[tuple[str, str], list[Given]] = {}
    with tempfile.TemporaryDirectory() as folder, serving() as url:
        given, result = Path(folder, "given.json"), Path(folder, "result.json")
        given.write_text(json.dumps(prepare(options.real.resolve(), url)), encoding="utf-8")
        for _ in range(options.rounds):
            for one in entries:
                env = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT), "QUADRAG_CACHE": folder}
                command = [pythons[one.name], str(Path(__file__).resolve()), "--do", one.work, one.name]
                ran = subprocess.run([*command, str(given), str(result)], env=env, capture_output=True, text=True)
                if ran.returncode:
                    raise SystemExit(f"{one.work}, {one.name}: {ran.stderr[-1500:]}")
                took.setdefault((one.work, one.name), []).append(json.loads(result.read_text(encoding="utf-8")))

    lines = ["| work | | seconds | to quadrag | peak, MB | beside quadrag's results |", "|---|---|---|---|---|---|"]
    for one in entries:
        rounds = took[one.work, one.name]
        ours = took[one.work, OURS]
        seconds = statistics.median(each["seconds"] for each in rounds)
        ratio = statistics.median(t["seconds"] / o["seconds"] for t, o in zip(rounds, ours, strict=True))
        said = "" if one.name == OURS else likeness(ours[0]["made"], rounds[0]["made"], one.part)
        peak = statistics.median(each["mb"] for each in rounds)
        scaled = f" (from {one.part:.0%})" if one.part < 1 else ""
        lines.append(f"| {one.work} | {one.name} | {seconds:.2f}{scaled} | {ratio:.1f} | {peak:.0f} | {said} |")
    table = "\n".join([*lines, "", f"{machine()}; medians of {options.rounds}."])
    print(table)
    if options.page:
        text = options.page.read_text(encoding="utf-8")
        head, tail = text.partition(START)[0], text.partition(END)[2]
        options.page.write_text(f"{head}{START}\n\n{table}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
