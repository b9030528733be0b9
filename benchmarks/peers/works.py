"""The works, and each peer's way of doing them: a function that takes what all are given, and returns what is timed."""

from __future__ import annotations

import asyncio
import bz2
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CONCURRENCY = 16
OURS = "quadrag"
K = 8
Given = dict[str, Any]
Work = Callable[[], Any]


class Peer(NamedTuple):
    """One way to do a work, and what it needs.

    `part` is the share of the calls that it is given, where all of them would take minutes; times are then scaled.
    """

    name: str
    prepare: Callable[[Given], Work]
    packages: tuple[str, ...] = ()
    bare: bool = False  # without what the packages depend on
    part: float = 1.0


def read(real: Path, url: str) -> Given:
    """Read real passages, pages, questions and answers; calls go to a server."""
    with next(real.rglob("documents_dup_part_1_part_1")).open(encoding="utf-8") as lines:
        texts = [line.strip() for _, line in zip(range(4000), lines, strict=False)]
    passages = [text[at : at + 128] for text in texts for at in range(0, len(text), 128)][:20_000]
    with bz2.open(next(real.rglob("dev_data.jsonl.bz2")), "rt", encoding="utf-8") as lines:
        pages = [page["page_result"] for line in lines for page in json.loads(line)["search_results"]]
    golds = [text[:120] for text in texts if len(text) > 200][:400]
    with next((real / "RGB").rglob("en_fact.json")).open(encoding="utf-8") as lines:
        english = [passage for line in lines for passage in json.loads(line)["positive"]]
    return {
        "passages": passages,
        "queries": [text[20:60] for text in texts if len(text) > 60][:400],
        "pages": pages,
        "golds": golds,
        "answers": [gold[10:] + gold[:10] for gold in golds],
        "english": english,
        "accepted": [passage[:80] for passage in english],
        "questions": [f"{gold[:20]}？" for gold in golds],
        "chats": [[{"role": "user", "content": f"{n} {text[:80]}"}] for n, text in enumerate(passages[:1000])],
        "url": url,
        "rgb": str(real / "RGB"),
        "limit": 100,
    }


def load(name: str) -> Any:
    """Load a metric."""
    import evaluate

    return evaluate.load(str(ROOT / "metrics" / name))


def bm25_by_quadrag(given: Given) -> Work:
    from quadrag.benchmark import Document
    from quadrag.retrieval.bm25 import build_index, open_index
    from quadrag.retrieval.chunk import Chunking
    from quadrag.retrieval.passages import PassageStore

    folder = Path(tempfile.mkdtemp())

    def do() -> list[list[int]]:
        documents = (Document(str(n), "", text) for n, text in enumerate(given["passages"]))
        store = PassageStore.build(documents, folder, Chunking(10**6))
        build_index(store, folder, "unigram")
        return [[row for row, _ in hits] for hits in open_index(folder, "unigram")(given["queries"], K)]

    return do


def terms(texts: list[str]) -> list[list[str]]:
    """Cut texts into characters, so that no cutting is measured."""
    from quadrag.retrieval.bm25 import analyser

    return list(map(analyser("unigram"), texts))


def bm25_by_bm25s(given: Given) -> Work:
    import bm25s

    def do() -> list[list[int]]:
        index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        index.index(terms(given["passages"]), show_progress=False)
        return index.retrieve(terms(given["queries"]), k=K, show_progress=False)[0].tolist()

    return do


def bm25_by_rank_bm25(given: Given) -> Work:
    from rank_bm25 import BM25Okapi

    def do() -> list[list[int]]:
        index = BM25Okapi(terms(given["passages"]))
        scores = [index.get_scores(query) for query in terms(given["queries"])]
        return [sorted(range(len(each)), key=lambda row: (-each[row], row))[:K] for each in scores]

    return do


def text_by_quadrag(given: Given) -> Work:
    from quadrag.retrieval.webpage import text

    text("<p>loads what loads once")
    return lambda: [text(page) for page in given["pages"]]


def text_by_beautifulsoup(given: Given) -> Work:
    from bs4 import BeautifulSoup

    return lambda: [BeautifulSoup(page, "lxml").get_text(" ", strip=True) for page in given["pages"]]


def compute(name: str, predictions: list[str], references: list[Any], *keys: str) -> Work:
    """Compute a metric of ours, which has loaded what it loads once."""
    module = load(name)
    module.compute(predictions=predictions[:1], references=references[:1])

    def do() -> list[float]:
        rows = module.compute(predictions=predictions, references=references)["per_item"]
        return [row[key] for row in rows for key in keys]

    return do


def f1_by_quadrag(given: Given) -> Work:
    return compute("omnieval_overlap", given["english"], [[gold] for gold in given["accepted"]], "em", "f1")


def f1_by_flashrag(given: Given) -> Work:
    """FlashRAG cuts answers in English at blanks."""
    from flashrag.evaluator.metrics import ExactMatch, F1_Score

    settings = {"dataset_name": "own", "metric_setting": {}}
    measures = [ExactMatch(settings), F1_Score(settings)]

    def do() -> list[float]:
        golds = [[gold] for gold in given["accepted"]]
        data = SimpleNamespace(pred=given["english"], golden_answers=golds, choices=[[]])
        both = [measure.calculate_metric(data)[1] for measure in measures]
        return [float(value) for pair in zip(*both, strict=True) for value in pair]

    return do


def rouge_by_quadrag(given: Given) -> Work:
    return compute("crud_overlap", given["answers"], given["golds"], "bleu", "rouge_l")


def rouge_by_pairs(given: Given) -> Work:
    def do() -> list[float]:
        pairs = zip(given["answers"], given["golds"], strict=True)
        rows = [load("crud_overlap").compute(predictions=[a], references=[b]) for a, b in pairs]
        return [row["per_item"][0][key] for row in rows for key in ("bleu", "rouge_l")]

    return do


def calls_by_quadrag(given: Given) -> Work:
    from quadrag.chat.client import ChatClient
    from quadrag.chat.ledger import Ledger

    def do() -> list[Any]:
        with (
            tempfile.TemporaryDirectory() as folder,
            Ledger(Path(folder, "l")) as ledger,
            ChatClient(f"{given['url']}#m", ledger=ledger, concurrency=CONCURRENCY) as client,
        ):
            return client(given["chats"])

    return do


def calls_by_openai(given: Given) -> Work:
    import openai

    async def do() -> list[str]:
        gate = asyncio.Semaphore(CONCURRENCY)
        async with openai.AsyncOpenAI(base_url=given["url"], api_key="x") as client:

            async def call(chat: Any) -> str:
                async with gate:
                    made = await client.chat.completions.create(model="m", messages=chat)
                return made.choices[0].message.content or ""

            return await asyncio.gather(*map(call, given["chats"]))

    return lambda: asyncio.run(do())


def calls_by_requests(given: Given) -> Work:
    import requests

    def do() -> list[str]:
        with requests.Session() as session:
            url, bodies = f"{given['url']}/chat/completions", [{"model": "m", "messages": c} for c in given["chats"]]
            return [session.post(url, json=body).json()["choices"][0]["message"]["content"] for body in bodies]

    return do


def verdicts_by_quadrag(given: Given) -> Work:
    from quadrag.chat.client import ChatClient

    module = load("truthfulness")
    texts = {"predictions": given["answers"], "references": given["golds"], "questions": given["questions"]}

    def do() -> list[float]:
        with ChatClient(f"{given['url']}#m", concurrency=CONCURRENCY, parameters={"temperature": 0}) as judge:
            made = module.compute(**texts, judge=judge)
        return [row["truthfulness"] for row in made["per_item"]]

    return do


def verdicts_by_ragas(given: Given) -> Work:
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


def verdicts_by_deepeval(given: Given) -> Work:
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
    settings = {
        "async_config": AsyncConfig(max_concurrent=CONCURRENCY),
        "cache_config": CacheConfig(write_cache=False),
        "display_config": DisplayConfig(show_indicator=False, print_results=False),
    }

    def do() -> list[float]:
        made = evaluate(cases, [right], **settings)
        return [case.metrics_data[0].score * 10 for case in made.test_results]  # which it divides by ten

    return do


def task_by_quadrag(given: Given) -> Work:
    asked = ["run", "rgb", "noise_robustness_zh", "--split", "noise_0", "--data-dir", given["rgb"], "--ledger", "l"]
    asked += ["--llm", f"{given['url']}#m", "--concurrency", str(CONCURRENCY), "--limit", str(given["limit"])]

    def do() -> list[float]:
        type_in(["quadrag", *asked, "--out", "run"])
        rows = json.loads(Path("run/scores.json").read_text(encoding="utf-8"))
        found = (row for row in rows if row["key"] == "accuracy" and row["profile"] == "official")
        return [next(row["value"] for row in found if row["slice"] in (None, "", "all"))]

    return do


def task_by_lm_eval(given: Given) -> Work:
    folder = type_in(["quadrag", "harness", "lm-eval"]).strip()
    served = f"model=m,base_url={given['url']}/chat/completions,tokenizer_backend=None,num_concurrent={CONCURRENCY}"
    asked = ["--include_path", folder, "--tasks", "quadrag_rgb_noise_robustness_zh", "--apply_chat_template"]
    asked += ["--model", "local-chat-completions", "--model_args", served, "--limit", str(given["limit"])]
    asked += ["--metadata", json.dumps({"data_dir": given["rgb"]}), "--output_path", "out"]

    def do() -> list[float]:
        type_in(["lm_eval", "run", *asked], OPENAI_API_KEY="x")
        made = json.loads(next(Path("out").rglob("results_*.json")).read_text(encoding="utf-8"))
        (task,) = made["results"].values()
        return [task["rgb_accuracy.accuracy,none"]]

    return do


def type_in(command: list[str], **env: str) -> str:
    """Run a command, as a user types it, and return what it prints."""
    line = [sys.executable, "-m", *command]
    ran = subprocess.run(line, env={**os.environ, **env}, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(ran.stderr[-600:])
    return ran.stdout


WORKS = {
    "BM25": (
        Peer(OURS, bm25_by_quadrag),
        Peer("bm25s", bm25_by_bm25s, ("bm25s",)),
        Peer("rank_bm25", bm25_by_rank_bm25, ("rank_bm25",)),
    ),
    "HTML to text": (
        Peer(OURS, text_by_quadrag),
        Peer("BeautifulSoup, lxml", text_by_beautifulsoup, ("beautifulsoup4", "lxml")),
    ),
    "EM and F1": (Peer(OURS, f1_by_quadrag), Peer("FlashRAG", f1_by_flashrag, ("flashrag-dev",), bare=True)),
    "BLEU and ROUGE-L": (Peer(OURS, rouge_by_quadrag), Peer("evaluate, a pair at a time", rouge_by_pairs)),
    "calls": (
        Peer(OURS, calls_by_quadrag),
        Peer("openai", calls_by_openai, ("openai",)),
        Peer("requests, one after the other", calls_by_requests, part=0.05),
    ),
    "verdicts": (
        Peer(OURS, verdicts_by_quadrag),
        Peer("ragas", verdicts_by_ragas, ("ragas", "langchain-community<0.4")),
        Peer("deepeval", verdicts_by_deepeval, ("deepeval",)),
    ),
    "a task": (
        Peer(OURS, task_by_quadrag),
        Peer("lm-eval", task_by_lm_eval, ("lm-eval[api]>=0.4.13,<0.5",)),
    ),
}
