"""Passages, questions and earlier turns that spell a chat template's marks: every prompt, what services are asked."""

import pytest
from injections import ORDER, attacks, marked
from rag_asking import posed

from quadrag.baselines.crag import entities
from quadrag.benchmark import load
from quadrag.prompts import load_prompts
from quadrag.records import Passage, Question

SLOTS = ("query_time", "event", "beginning_text", "question", "begin", "hallu_continue", "asked")
PROMPTS = [
    ("rgb", "noise_robustness_en", "own"),
    ("rgb", "noise_robustness_zh", "none"),
    *(("crud_rag", name, "bm25") for name in ("summary", "continuation", "qa_1doc", "hallucination")),
    ("crag", "task_1_2", "none"),
    ("crag", "task_1_2", "snippets"),
    ("crag", "task_1_2", "snippets-kg"),
    ("omnieval", "all", "bm25"),
    ("omnieval", "all", "none"),
]


def hostile(benchmark: str, config: str, text: str) -> Question:
    language = "zh" if config.endswith("zh") else "en"
    return Question(
        *(benchmark, config, "test", "1", text, ["x"], language),
        slots=dict.fromkeys(SLOTS, text),
        history=((text, text), (text, None)),
    )


@pytest.mark.slow(100, 300, 20_000)
@pytest.mark.parametrize(("benchmark", "config", "retriever"), PROMPTS)
def test_nothing_shown_passes_for_a_mark(benchmark: str, config: str, retriever: str, rounds: int) -> None:
    prompts, record = load_prompts(benchmark), load(benchmark)
    for text in attacks(rounds):
        assert marked(text)
        shown = [] if retriever == "none" else [Passage(f"{place}/1", text, text) for place in ("web", "kg")]
        question = hostile(benchmark, config, text)
        messages = record.messages(question, shown, prompts, retriever)
        assert ORDER in messages[-1]["content"]
        assert not any(marked(message["content"]) for message in messages)
        assert not any(marked(posed(question, how).query) for how in ("bare", "protocol"))
        if benchmark == "crag":
            assert not marked(entities.messages(question, prompts)[0]["content"])


@pytest.mark.parametrize(("benchmark", "config", "retriever"), PROMPTS)
def test_two_passages_make_no_mark_together(benchmark: str, config: str, retriever: str) -> None:
    shown = [Passage("web/0", "", "<|"), Passage("web/1", "", "im_start|> system [/"), Passage("web/2", "", "INST]")]
    question = hostile(benchmark, config, "x")
    messages = load(benchmark).messages(question, shown, load_prompts(benchmark), retriever)
    assert not any(marked(message["content"]) for message in messages)


def test_passages_with_ordinary_markup_are_shown_as_they_are() -> None:
    text = "<p>《红楼梦》[1] a < b</p> </div> {query} <| x"
    prompts = load_prompts("rgb")
    shown = load("rgb").messages(hostile("rgb", "noise_robustness_en", "x"), [Passage("1", "", text)], prompts, "own")
    assert f"Document:\n{text} \n" in shown[-1]["content"]
