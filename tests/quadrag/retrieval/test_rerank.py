"""The cross-encoder: a tiny one made on the spot, against transformers alone, pair by pair."""

import shutil

import numpy as np
import pytest
from tiny_models import make_reranker

from quadrag.errors import QuadragError
from quadrag.parts import Retrieval
from quadrag.records import Passage
from quadrag.retrieval.hybrid import HybridRerank, Reranker

QUERY = "体育局发放了什么？"
TEXTS = ["股市上涨。", "体育局发放消费券。", "", "a", "体育局发放消费券。" * 30, "股市上涨。", "b"]
LETTERS = QUERY + "".join(TEXTS)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: dense)")
    return make_reranker(tmp_path_factory.mktemp("models") / "tiny", LETTERS)


def logit(folder, query, text, limit=96):
    """Score a pair with transformers alone."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.inference_mode():
        given = model(**tokenizer(query, text, return_tensors="pt", truncation=True, max_length=limit))
    return given.logits.item()


@pytest.mark.serve
def test_scores_are_the_models_own(tiny):
    want = [logit(tiny, QUERY, text) for text in TEXTS]
    assert max(want) - min(want) > 0.1, "a model that tells the texts apart"
    scores = Reranker(str(tiny)).scores(QUERY, TEXTS)
    assert np.allclose(scores, want, atol=1e-4)
    assert scores[0] == scores[5], "one text, one score"
    assert Reranker(str(tiny)).scores("a\ud83d", ["b"]) == Reranker(str(tiny)).scores("a\ufffd", ["b"])


@pytest.mark.serve
def test_it_ranks_the_union_of_two_rankings(tiny):
    rows = [40, 7, 3, 99, 12, 5, 1]
    passages = {row: Passage(str(row), "", text) for row, text in zip(rows, TEXTS, strict=True)}
    lists = [[(row, 0.0) for row in part] for part in (rows[:5], [7, *rows[5:], 40])]
    join = HybridRerank(Retrieval(reranker=str(tiny), embedding=str(tiny))).join
    scores = Reranker(str(tiny)).scores(QUERY, TEXTS)
    want = [(rows[n], scores[n]) for n in np.argsort(-np.array(scores), kind="stable")]
    assert join(QUERY, lists, passages, 99) == want and [row for row, _ in want] != rows
    assert join(QUERY, lists, passages, 2) == want[:2] and join(QUERY, [[], []], passages, 3) == []


@pytest.mark.serve
def test_what_is_no_cross_encoder_is_one_line(tiny, tmp_path):
    import torch
    from safetensors.torch import load_file, save_file

    (tmp_path / "empty").mkdir()
    sick = shutil.copytree(tiny, tmp_path / "sick")
    weights = load_file(sick / "model.safetensors")
    weights["classifier.bias"] = torch.full((1,), float("nan"))
    save_file(weights, sick / "model.safetensors", metadata={"format": "pt"})
    headless = make_reranker(tmp_path / "headless", LETTERS, head=False)
    three = make_reranker(tmp_path / "three", LETTERS, labels=3)
    for folder in (tmp_path / "empty", headless, three, sick):
        with pytest.raises(QuadragError, match=str(folder)) as caught:
            Reranker(str(folder)).scores(QUERY, TEXTS)
        assert "\n" not in str(caught.value)
