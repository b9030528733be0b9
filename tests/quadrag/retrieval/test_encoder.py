"""Encoders: their names and what identifies their weights; with torch, the genuine all-MiniLM-L6-v2."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from quadrag.errors import QuadragError
from quadrag.retrieval.encoder import PRESETS, Encoder, Preset

CARD = "为这个句子生成表示以用于检索相关文章："
SENTENCE = "Given a web search query, retrieve relevant passages that answer the query"
TEXTS = ["股市", "体育局发放消费券", "a", "", "股市上涨，体育局发放了一批消费券。" * 3, "b c"]
COMMIT, OTHER = "0123456789abcdef" * 2 + "01234567", "f" * 40


def cache_on_the_hubs_terms(folder, name, commit):
    """Put a model where the Hub's client keeps what it has downloaded."""
    from huggingface_hub.constants import HF_HUB_CACHE

    place = Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
    (place / "refs").mkdir(parents=True, exist_ok=True)
    (place / "refs" / "main").write_text(commit)
    shutil.copytree(folder, place / "snapshots" / commit)
    return place


@pytest.mark.parametrize(
    ("name", "plain", "as_run"),
    [
        ("bge-base", ("", ""), ("", "")),  # as CRUD-RAG's authors ran it, not as its card has it
        ("bge-m3", ("", ""), (f"{CARD} ", CARD)),
        ("bge-large-zh", (CARD, ""), (f"{CARD}{CARD} ", CARD)),
        ("gte-qwen2-1.5b", (f"Instruct: {SENTENCE}\nQuery: ", ""), (f"{SENTENCE}:  ", "")),
        ("jina-zh", ("", ""), (" ", "")),
        ("org/some-model", (None, None), (None, None)),  # what is saved with the model
    ],
)
def test_what_stands_before_queries_and_passages_as_the_papers_ran_them(name, plain, as_run):
    for own, options in ((plain, {}), (as_run, {"on_passages": True})):
        encoder = Encoder(name, **options)
        assert (encoder.instruction, encoder.before_passages) == own
    assert {"m3e-base", "bge-base", "stella-base", "gte-base"} < set(PRESETS), "the four of CRUD-RAG's paper"


@pytest.mark.parametrize("name", ["bge", "./bge-base", "/nowhere/model", "a/b/c", "", "~/x"])
def test_a_name_that_can_be_none(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QuadragError, match="unknown embedding") as caught:
        Encoder(name)
    assert "\n" not in str(caught.value) and "bge-base" in str(caught.value)


def test_a_folder_is_known_by_its_bytes(tmp_path):
    folder = tmp_path / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "1_Pooling" / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    before = Encoder(str(folder)).key()
    moved = shutil.copytree(folder, tmp_path / "elsewhere" / "model")
    (moved / "README.md").write_text("Read me.")
    (moved / ".cache").mkdir()
    (moved / ".cache" / "x").write_text("x")
    assert Encoder(str(moved)).key() == before, "moved, and with what has no say"
    (moved / "model.safetensors").write_bytes(b"WEIGHTS")
    assert Encoder(str(moved)).key() != before, "other weights of one size under one name"
    (folder / "modules.json").write_text("[]")
    assert Encoder(str(folder)).key() != before


def test_a_model_of_the_hub_is_known_by_its_commit(tmp_path):
    cache_on_the_hubs_terms(tmp_path, "quadrag-tests/known", COMMIT)
    assert Encoder("quadrag-tests/known").key()["revision"] == COMMIT
    cache_on_the_hubs_terms(tmp_path, "quadrag-tests/known", OTHER)
    assert Encoder("quadrag-tests/known").key()["revision"] == OTHER
    assert Encoder(f"quadrag-tests/known@{COMMIT}").key()["revision"] == COMMIT
    for name in ("quadrag-tests/unknown", "quadrag-tests/known@v9", "models/no such folder"):
        with pytest.raises(QuadragError, match="no folder here and not to be had from the Hub") as caught:
            Encoder(name).key()
        assert "\n" not in str(caught.value)


def test_without_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    for use in (lambda it: it.check(), lambda it: it.queries(["a"]), lambda it: it.documents(["a"])):
        with pytest.raises(QuadragError, match=r"sentence-transformers.*pip install '\.\[dense\]'"):
            use(Encoder(str(tmp_path)))


def pooled(folder, text, limit=256):
    """Encode a text with transformers alone: the mean over its tokens, at unit length."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        states = model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=limit)).last_hidden_state
    mean = states[0].mean(0).numpy()
    return mean / np.linalg.norm(mean)


@pytest.mark.serve
def test_vectors_are_the_models_own(minilm):
    encoder = Encoder(str(minilm))
    vectors = encoder.documents(TEXTS)
    assert vectors.dtype == np.float32 and vectors.shape == (len(TEXTS), 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.allclose(vectors, [pooled(minilm, text) for text in TEXTS], atol=1e-5), "in the order they came in"
    assert np.array_equal(vectors, encoder(TEXTS)), "the same every time"
    assert encoder.documents([]).shape == encoder.queries([]).shape == (0, 384)
    assert np.array_equal(encoder.queries(["a\ud83d"]), encoder.queries(["a\ufffd"])), "half a surrogate pair"
    long = "股市" * 200
    assert np.allclose(encoder.queries([long]), [pooled(minilm, long)], atol=1e-5), "a text ends where the model does"


@pytest.mark.serve
def test_a_question_is_nearest_to_the_passage_that_answers_it(minilm):
    answers = {
        "How do plants make their food?": "Leaves turn sunlight, water and carbon dioxide into sugar.",
        "Who is the author of Hamlet?": "The tragedy of the Danish prince was written by Shakespeare.",
        "Why is my car not starting?": "A vehicle with a flat battery has no power for its engine.",
    }
    encoder = Encoder(str(minilm))
    cosines = encoder.queries([*answers]) @ encoder.documents([*answers.values()]).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2] and cosines.min() < 0.2 < cosines.diagonal().min()


@pytest.mark.serve
def test_an_instruction_stands_before_queries(minilm, tmp_path, monkeypatch):
    plain = Encoder(str(minilm)).documents(TEXTS)
    monkeypatch.setitem(PRESETS, "tiny", Preset("quadrag-tests/preset", CARD, max_length=30))
    cache_on_the_hubs_terms(minilm, "quadrag-tests/preset", COMMIT)
    preset, both = Encoder("tiny"), Encoder("tiny", on_passages=True)
    shown = [pooled(minilm, CARD + text, 30) for text in TEXTS]
    assert np.allclose(preset.queries(TEXTS), shown, atol=1e-5) and not np.allclose(plain, shown, atol=1e-3)
    assert np.allclose(preset.documents(TEXTS), [pooled(minilm, text, 30) for text in TEXTS], atol=1e-5)
    assert np.array_equal(both.documents(TEXTS), preset.queries(TEXTS)), "before passages where it is asked for"
    # A model that brings prompts: they are used.
    saved = shutil.copytree(minilm, tmp_path / "saved")
    settings = saved / "config_sentence_transformers.json"
    prompts = {"prompts": {"query": "abc: ", "document": "h: "}}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **prompts}))
    asked = Encoder(str(saved))
    assert np.allclose(asked.queries(TEXTS), [pooled(saved, "abc: " + text) for text in TEXTS], atol=1e-5)
    assert np.allclose(asked.documents(TEXTS), [pooled(saved, "h: " + text) for text in TEXTS], atol=1e-5)
    assert np.array_equal(Encoder(str(saved), on_passages=True).documents(TEXTS), asked.queries(TEXTS))


@pytest.mark.serve
def test_what_cannot_be_loaded_or_used_is_one_line(minilm, tmp_path):
    import torch
    from safetensors.torch import load_file, save_file

    (tmp_path / "empty").mkdir()
    cut = shutil.copytree(minilm, tmp_path / "cut")
    (cut / "model.safetensors").write_bytes((cut / "model.safetensors").read_bytes()[:100])
    broken = shutil.copytree(minilm, tmp_path / "broken")
    (broken / "config.json").write_text("{")
    for folder in (tmp_path / "empty", cut, broken):
        with pytest.raises(QuadragError, match="cannot load embedding") as caught:
            Encoder(str(folder)).queries(["a"])
        assert "\n" not in str(caught.value) and str(folder) in str(caught.value)
    sick = shutil.copytree(minilm, tmp_path / "sick")
    weights = load_file(sick / "model.safetensors")
    weights["embeddings.LayerNorm.weight"] = torch.full((384,), float("nan"))
    save_file(weights, sick / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(QuadragError, match="NaN"):
        Encoder(str(sick)).queries(["a"])
