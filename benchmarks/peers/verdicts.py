"""Verdicts of a judge: one call an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peers.peer import CONCURRENCY, OURS, Given, Peer, load


def by_quadrag(given: Given) -> Callable[[], Any]:
    from quadrag.chat.client import ChatClient

    module = load("truthfulness")

    def do() -> list[float]:
        with ChatClient(f"{given['url']}#m", concurrency=CONCURRENCY, parameters={"temperature": 0}) as judge:
            made = module.compute(
                predictions=given["answers"], references=given["golds"], questions=given["questions"], judge=judge
            )
        return [row["truthfulness"] for row in made["per_item"]]

    return do


def by_ragas(given: Given) -> Callable[[], Any]:
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


def by_deepeval(given: Given) -> Callable[[], Any]:
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


PEERS = (
    Peer(OURS, by_quadrag),
    Peer("ragas", by_ragas, ("ragas", "langchain-community<0.4")),
    Peer("deepeval", by_deepeval, ("deepeval",)),
)
