"""Weights that need code of their own, and a chat model's that do not fit: refused in one line, or loaded as saved."""

import json
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from tiny_models import make_reranker

from quadrag.errors import QuadragError
from quadrag.parts import Trust
from quadrag.retrieval.encoder import Encoder
from quadrag.retrieval.search import make_retriever
from quadrag.run.plan import plan_run

pytestmark = pytest.mark.plugins

COMMIT, OTHER = "0123456789abcdef" * 2 + "01234567", "f" * 40
LETTERS = "abcdefgh "
# A BERT that gives the opposite of what transformers' own gives.
CODE = """
from transformers import BertModel

class Turned(BertModel):
    def forward(self, *args, **options):
        found = super().forward(*args, **options)
        found.last_hidden_state = -found.last_hidden_state
        return found
"""


@pytest.mark.parametrize("name", ["jina-zh", "gte-qwen2-1.5b"])
def test_a_preset_says_that_it_needs_code(name, cli):
    run = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--retriever", "dense", "--embedding", name)
    code, _, err = cli(*run)
    assert code == 2 and err.count("\n") == 1
    assert f"embedding {name} needs code of its own" in err
    assert f"--trust-remote-code {name}=REVISION,CODE_REVISION" in err
    trusted = Encoder(name, Trust.read([f"{name}={COMMIT},{OTHER}"]))
    assert (trusted.key()["revision"], trusted.key()["code"]) == (COMMIT, OTHER)


@pytest.mark.parametrize(
    "named", ["jina-zh=main,main", f"jina-zh={COMMIT}", "jina-zh=", f"jina-zh={COMMIT},{OTHER[1:]}"]
)
def test_both_commits_are_named(named, cli):
    code, _, err = cli("run", "rgb", "negative_rejection_zh", "--data-dir", "sample", "--trust-remote-code", named)
    assert code == 2 and err.count("\n") == 1 and "each 40 hexadecimal digits" in err


def test_a_folder_has_no_commits_and_a_name_on_the_hub_has(tmp_path):
    trust = Trust.read([f"{tmp_path}={COMMIT},{OTHER}", "org/model"])
    for name in (str(tmp_path), "org/model"):
        with pytest.raises(QuadragError, match=f"{name} needs code of its own"):
            Encoder(name, trust)


@pytest.mark.serve
@pytest.mark.usefixtures("torch")
def test_two_runs_of_one_process_do_not_see_each_others_trust(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "turned.Turned"}}))
    asked = {"embedding": str(tmp_path), "reranker": str(tmp_path)}
    partial = {"benchmark": "crud_rag", "config": "summary", "retriever": "hybrid-rerank", "retrieval": asked}
    trusting, plain = plan_run(partial, Trust.read([str(tmp_path)])), plan_run(partial)
    search = make_retriever(trusting.retrieves, trusting.retrieval).describe()
    assert [search[name]["code"] for name in ("embedding", "reranker")] == ["as in the folder"] * 2
    with pytest.raises(QuadragError, match=f"needs code of its own.*--trust-remote-code {tmp_path}, or"):
        make_retriever(plain.retrieves, plain.retrieval).describe()


@pytest.fixture
def torch():
    """Torch and all that loads models by it."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: dense)")
    return pytest.importorskip("torch", reason="torch is not installed (extra: dense)")


@pytest.mark.serve
@pytest.mark.usefixtures("torch")
def test_code_runs_where_it_is_allowed(minilm, tmp_path):
    plain = shutil.copytree(minilm, tmp_path / "minilm")
    vectors = Encoder(str(plain)).documents(["abc", "fgh"])
    config = json.loads((plain / "config.json").read_text())
    (plain / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "turned.Turned"}}))
    (plain / "turned.py").write_text(CODE)
    with pytest.raises(QuadragError, match="needs code of its own"):
        Encoder(str(plain)).documents(["abc"])
    trusted = Encoder(str(plain), Trust.read([str(plain)]))
    assert np.allclose(trusted.documents(["abc", "fgh"]), -vectors, atol=1e-6)


def take(weights):
    return weights.pop(next(name for name in weights if "attention.self.query.weight" in name))


CHANGES = {
    "none": lambda weights: None,
    "a layer of another name": lambda weights: weights.update({"other.self.q": take(weights)}),
    "a layer less": take,
    "a layer more": lambda weights: weights.update({"extra.weight": next(iter(weights.values())).clone()}),
}


@pytest.mark.serve
@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("change", CHANGES)
def test_weights_of_a_chat_model_that_do_not_fit_are_refused(tmp_path, change):
    pytest.importorskip("accelerate", reason="accelerate is not installed (extra: local)")
    from safetensors.torch import load_file, save_file

    from quadrag.systems.local import LocalModel

    folder = make_chat_model(tmp_path / "tiny")
    weights = load_file(folder / "model.safetensors")
    CHANGES[change](weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    refused = pytest.raises(QuadragError, match=r"not loaded as it was saved[^\n]*$")
    with nullcontext() if change == "none" else refused:
        LocalModel(str(folder), parameters={"max_tokens": 2}).complete([[{"role": "user", "content": "a"}]])


def make_chat_model(folder: Path) -> Path:
    """Write a tiny BERT as a decoder, with the tokenizer of the others."""
    from transformers import AutoTokenizer, BertConfig, BertLMHeadModel

    make_reranker(folder, LETTERS)
    config = BertConfig.from_pretrained(folder, is_decoder=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    BertLMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.serve
@pytest.mark.usefixtures("torch")
def test_a_chat_model_with_code_is_refused_in_one_line(tmp_path, monkeypatch):
    from quadrag.systems.local import LocalModel

    folder = make_chat_model(tmp_path / "tiny")
    config = json.loads((folder / "config.json").read_text())
    own = {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Model"}
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "own-chat", "auto_map": own}))
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(QuadragError, match=f"needs code of its own.*--trust-remote-code {folder}, or") as caught:
        LocalModel(str(folder), parameters={}).complete([[{"role": "user", "content": "a"}]])
    assert "\n" not in str(caught.value)
