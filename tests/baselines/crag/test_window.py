"""Windows of a prompt: filled in order, in characters or in tokens, the last passage cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from quadrag.baselines.crag import window
from quadrag.baselines.crag.window import fill
from quadrag.baselines.runs.recipe import read_recipe
from quadrag.errors import QuadragError
from quadrag.records import Passage


def passages(*texts):
    return [Passage(f"web/{n}", "t", text) for n, text in enumerate(texts)]


def shown(*texts, size, tokenizer=None):
    return [(passage.id, passage.text) for passage in fill(passages(*texts), size, tokenizer)]


def test_passages_are_taken_in_order_and_the_last_one_is_cut():
    assert shown("abcd", "efgh", "ijkl", size=6) == [("web/0", "abcd"), ("web/1", "ef")]
    assert shown("abcd", "efgh", size=8) == [("web/0", "abcd"), ("web/1", "efgh")]
    assert shown("abcd", "efgh", size=100) == [("web/0", "abcd"), ("web/1", "efgh")]


def test_an_empty_window_shows_nothing_and_an_empty_passage_takes_no_place():
    assert shown("abcd", size=0) == []
    assert shown("", " \n", "abcd", size=4) == [("web/2", "abcd")]


def test_sizes_are_in_tokens_of_a_named_tokenizer(words):
    assert shown("one two three", "two two", size=4, tokenizer=words) == [("web/0", "one two three"), ("web/1", "two ")]
    assert shown("one two three", size=2, tokenizer=words) == [("web/0", "one two ")]


def test_a_tokenizer_that_cannot_be_had_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(QuadragError, match="no tokenizer from"):
        fill(passages("one"), 5, str(tmp_path))


# Section 5.1, in tokens: of the web and of the graph. Of Mixtral it says nothing; its recipe has those of Llama 3.
PAPERS = {"falcon": (1000, 500), "flan-t5": (1000, 500), "llama-2": (2000, 1000)}


@pytest.mark.parametrize(
    "path", sorted((Path(window.__file__).parent / "recipes").glob("*.yaml")), ids=lambda p: p.stem
)
def test_recipes_hold_the_papers_tokens_and_who_found_the_entities(path):
    name, recipe = read_recipe(str(path))
    web, graph = next((sizes for model, sizes in PAPERS.items() if model in name), (4000, 2000))
    options = [run.get("options", {}) for run in recipe["runs"]]
    assert [one.get("web_window") for one in options] == [None, web, web, web]
    assert [one.get("kg_window") for one in options] == [None, None, graph, graph]
    assert recipe["entity_model"] == "meta-llama/Meta-Llama-3-8B-Instruct"
