"""Chunks of whole files: those that the splitter of CRUD-RAG's authors makes, and the articles that they are of.

The expected chunks of ``llama_index_chunks.json`` were made by llama_index 0.9.32 itself.
"""

import json
import sys
from pathlib import Path

import pytest
from specs import spec_file, spec_of

from quadrag.benchmark import SourceFile, load
from quadrag.errors import QuadragError
from quadrag.loading import open_corpus
from quadrag.parts import Retrieval
from quadrag.records import Passage, document_id
from quadrag.retrieval import chunk
from quadrag.retrieval.chunk import FileChunking
from quadrag.retrieval.passages import PassageStore

pytestmark = pytest.mark.plugins

GENUINE = json.loads(Path(__file__).with_name("llama_index_chunks.json").read_text(encoding="utf-8"))
RUN = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--limit", 4)
FILES = {"chunk_source": "files", "chunk_tokenizer": "cl100k_base"}


@pytest.fixture
def file(tmp_path):
    """The text as a file of the corpus, read by the dataset script."""
    path = tmp_path / "data" / "80000_docs" / "documents_dup_part_1_part_1"
    path.parent.mkdir(parents=True)
    path.write_text(GENUINE["text"], encoding="utf-8", newline="")
    task = spec_of("crud_rag", "qa_1doc", None, str(tmp_path), "dense", Retrieval(chunk_source="files"))
    (file,) = open_corpus(task, load("crud_rag")).documents()
    return file


@pytest.mark.parametrize("case", GENUINE["cases"], ids=lambda case: f"{case['size']}-{case['overlap']}")
def test_chunks_are_those_of_the_genuine_splitter(file, case):
    found = FileChunking(case["size"], case["overlap"], "cl100k_base").cut(file)
    assert [text for _, text in found] == case["chunks"]


def test_an_encoder_reads_the_path_before_the_text(file, tmp_path):
    store = PassageStore.build([file], tmp_path, FileChunking(64, 0, "cl100k_base"))
    assert next(store.encoded()) == GENUINE["encoded"] != store[0].text
    assert len(list(store.encoded())) == len(store)


def test_a_chunk_is_of_the_article_that_most_of_it_is_from():
    file = SourceFile("f", "", "一二三四五六。七。\n八九。甲乙丙。\n\n丁。\n", ["a", "b", "", "a", ""])
    assert list(FileChunking(7).cut(file)) == [
        ("a", "一二三四五六。"),
        ("a", "七。\n八九。"),  # three characters of each
        ("b", "甲乙丙。"),  # the line ends around it are taken away
        ("a", "丁。"),
    ]
    assert [*FileChunking(9).cut(SourceFile("f", "", "一二三四。\n五。", ["a", "b"]))] == [("a", "一二三四。\n五。")]


def test_passages_of_an_article_are_numbered_through_all_files(tmp_path):
    files = [SourceFile(name, "", "一二。三四。", ["a"]) for name in ("f", "g")]
    store = PassageStore.build(files, tmp_path, FileChunking(3))
    assert [store[row].id for row in range(len(store))] == ["a#0", "a#1", "a#2", "a#3"]


def test_the_path_takes_its_tokens_from_the_chunk():
    file = SourceFile("f", "12345", "一二三四五六", ["a"])
    assert [text for _, text in FileChunking(8).cut(file)] == ["一二三", "四五六"]
    with pytest.raises(QuadragError, match=r"chunk of 5 has no room .* path f; expected at least 6"):
        list(FileChunking(5).cut(file))


def test_gold_documents_are_found_and_their_chunks_hold_nothing_else(cli):
    # Of the bundled sample's gold documents only those of summaries are in no file.
    run = ("run", "crud_rag", "summary", "--data-dir", "sample", "--limit", 4)
    code, _, err = cli(*run, *spec_file(retrieval=FILES), "--option", "gold=test", "--out", "r")
    assert (code, err) == (0, "")
    scores = json.loads(Path("r/scores.json").read_text(encoding="utf-8"))
    assert next(row["value"] for row in scores if row["key"] == "hit@8" and row["profile"] == "official") == 1
    task = spec_of("crud_rag", "summary", None, "sample", "bm25", Retrieval(chunk_source="files"), {"gold": "test"})
    texts = {one.id: one.text for one in open_corpus(task, load("crud_rag")).documents() if one.id in one.articles}
    rows = [json.loads(line) for line in Path("r/retrieved.jsonl").read_text(encoding="utf-8").splitlines()]
    found = [passage for row in rows for passage in row["passages"] if document_id(Passage(**passage)) in texts]
    assert found and all(passage["text"] in texts[document_id(Passage(**passage))] for passage in found)
    inputs = json.loads(Path("r/run.json").read_text(encoding="utf-8"))["digests"]
    assert inputs["retrieval"]["chunk_source"] == "files" and inputs["search"]["chunks"]["tokenizer"] == "cl100k_base"


def test_what_is_lacking_is_one_line(cli, monkeypatch, tmp_path):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    chunk._load_cl100k.cache_clear()
    code, _, err = cli(*RUN, *spec_file(retrieval=FILES))
    assert code == 2 and err.count("\n") == 1 and "pip install --no-deps llama-index-core" in err
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    code, _, err = cli(*RUN, *spec_file(retrieval=FILES))
    assert code == 2 and err.count("\n") == 1 and "pip install '.[tokens]'" in err


def test_a_corpus_without_files_is_refused(cli):
    files = spec_file(retrieval={"chunk_source": "files"})
    code, _, err = cli("run", "omnieval", "extractive_qa", "--data-dir", "sample", *files)
    assert code == 2 and err.count("\n") == 1 and "no files of many documents" in err
