"""The cross-encoder: a tiny one made on the spot, against transformers alone, pair by pair."""

import shutil

import numpy as np
import pytest
from tiny_models import make_reranker

from quadrag.errors import QuadragError
from quadrag.retrieval.rerank import PRESETS, Reranker

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


def test_names(tmp_path):
    assert PRESETS["bge-rank"].model == "BAAI/bge-reranker-base"
    with pytest.raises(QuadragError, match="unknown reranker 'bge-base'; nearest: bge-rank"):
        Reranker("bge-base")
    assert Reranker(str(tmp_path)).describe()["max_length"] is None
    assert Reranker(str(tmp_path)).scores("q", []) == []


@pytest.mark.serve
def test_scores_are_the_models_own(tiny):
    want = [logit(tiny, QUERY, text) for text in TEXTS]
    assert max(want) - min(want) > 0.1, "a model that tells the texts apart"
    for batch in (1, 3, 32):
        scores = Reranker(str(tiny), batch_size=batch, device="cpu").scores(QUERY, TEXTS)
        assert np.allclose(scores, want, atol=1e-4)
        assert scores[0] == scores[5], "one text, one score"
    assert Reranker(str(tiny)).scores("a\ud83d", ["b"]) == Reranker(str(tiny)).scores("a\ufffd", ["b"])


@pytest.mark.serve
def test_it_ranks(tiny):
    reranker = Reranker(str(tiny))
    rows = [40, 7, 3, 99, 12, 5, 1]
    scores = reranker.scores(QUERY, TEXTS)
    want = [rows[n] for n in np.argsort(-np.array(scores), kind="stable")]
    assert [row for row, _ in reranker.rerank(QUERY, rows, TEXTS, 7)] == want != rows
    assert reranker.rerank(QUERY, rows, TEXTS, 2) == reranker.rerank(QUERY, rows, TEXTS, 99)[:2]
    assert want.index(40) == want.index(5) - 1, "equal scores in the order they came in"
    assert dict(reranker.rerank(QUERY, rows, TEXTS, 7)) == dict(zip(rows, scores, strict=True))
    assert reranker.rerank(QUERY, [], [], 3) == []
    with pytest.raises(QuadragError, match="top-k 0"):
        reranker.rerank(QUERY, rows, TEXTS, 0)


@pytest.mark.serve
def test_it_is_loaded_once(tiny, tmp_path):
    moved = shutil.copytree(tiny, tmp_path / "moved")
    reranker = Reranker(str(moved))
    first = reranker.scores(QUERY, TEXTS)
    shutil.rmtree(moved)
    assert reranker.scores(QUERY, TEXTS) == first
    reranker.close()
    with pytest.raises(QuadragError, match="cannot load reranker"):
        reranker.scores(QUERY, TEXTS)


@pytest.mark.serve
def test_a_pair_ends_where_it_is_told_to(tiny):
    short = Reranker(str(tiny), max_length=20)
    assert np.allclose(short.scores(QUERY, [TEXTS[4]]), [logit(tiny, QUERY, TEXTS[4], 20)], atol=1e-4)
    assert short.describe() != Reranker(str(tiny)).describe()


@pytest.mark.serve
def test_what_is_no_cross_encoder_is_one_line(tiny, tmp_path):
    import torch
    from safetensors.torch import load_file, save_file

    (tmp_path / "empty").mkdir()
    sick = shutil.copytree(tiny, tmp_path / "sick")
    weights = load_file(sick / "model.safetensors")
    weights["classifier.bias"] = torch.full((1,), float("nan"))
    save_file(weights, sick / "model.safetensors", metadata={"format": "pt"})
    cases = {
        tmp_path / "empty": "cannot load reranker",
        make_reranker(tmp_path / "headless", LETTERS, head=False): "is BertModel; expected a cross-encoder",
        make_reranker(tmp_path / "three", LETTERS, labels=3): "gives 3 scores a pair; expected one",
        sick: "gave NaN",
    }
    for folder, message in cases.items():
        with pytest.raises(QuadragError, match=message) as caught:
            Reranker(str(folder)).scores(QUERY, TEXTS)
        assert "\n" not in str(caught.value)
