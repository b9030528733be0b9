"""How tokens are counted for a model: by its own tokenizer where that is here, else by the rule."""

import os
from pathlib import Path

import pytest
import tiktoken
from tokenizers import Tokenizer, models, pre_tokenizers

from quadrag.retrieval import cl100k
from quadrag.systems.tokens import find_counting, reckon

TEXT = "Who won the race in 2023? 第七届龙舟公开赛在哪里举行？"


@pytest.fixture
def words(tmp_path):
    """A folder with a tokenizer of words."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.mark.parametrize(("model", "name"), [("gpt-3.5-turbo", "cl100k_base"), ("openai/gpt-4o-mini", "o200k_base")])
def test_openai_models_have_their_own_encodings(model, name):
    count, how = find_counting(model)
    assert how == f"counted by its own {name}"
    assert count(TEXT) == len(tiktoken.get_encoding(name).encode(TEXT))


def test_an_encoding_whose_file_is_not_here_is_not_downloaded(monkeypatch, tmp_path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert cl100k.find_encoding("gpt-4") is None
    assert find_counting("gpt-4")[1].startswith("reckoned, 4.4 characters a token")


def test_a_folder_and_a_name_that_was_downloaded_bring_their_tokenizer(words):
    place = Path(os.environ["HF_HOME"]) / "hub" / "models--org--mine"
    (place / "snapshots" / "c0").mkdir(parents=True)
    (place / "snapshots" / "c0" / "tokenizer.json").symlink_to(words / "tokenizer.json")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("c0")
    for model in (str(words), "org/mine"):
        count, how = find_counting(model)
        assert (count(TEXT), how) == (7, "counted by its own tokenizer.json")


def test_the_rule():
    for model in ("some-model", "org/unknown", "../no name at all"):
        assert find_counting(model)[0] is reckon
    assert reckon("") == 0
    assert reckon("a" * 44) == 10 == reckon("赛" * 10)
    assert reckon("，。：「" + "가" * 6) == 10
