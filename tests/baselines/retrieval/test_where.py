"""A search in a part of a corpus: which documents it is, and what is found in them."""

from pathlib import Path

import pytest
from exported import copy_as_authors
from specs import spec_of

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.parts import Retrieval
from quadrag.baselines.core.task import open_corpus, open_whole_corpus
from quadrag.baselines.report.all import tabulate_all
from quadrag.baselines.retrieval.retrievers import Dense
from quadrag.baselines.retrieval.search import Search
from quadrag.baselines.retrieval.store import IndexStore
from quadrag.baselines.retrieval.vectors.indexes import Exact
from quadrag.baselines.runs.finished import read_runs
from quadrag.data.builders import rows, splits
from quadrag.errors import QuadragError
from quadrag.records import document_id

QUERIES = ["龙舟公开赛", "8月的高温天气", "the"]


@pytest.fixture(scope="module")
def corpus():
    return open_whole_corpus(load("crud_rag"), "sample", {"gold": "test"})


@pytest.fixture(scope="module")
def documents(corpus):
    return list(rows(corpus.builder, splits(corpus.builder)[0]))


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("date=2023-08*", lambda row: row["date"].startswith("2023-08")),
        ("date=*-08-*", lambda row: "-08-" in row["date"]),
        ("date=", lambda row: row["date"] == ""),
        ("gold=true", lambda row: row["gold"]),
        ("line=1", lambda row: row["line"] == 1),
        ("aliases=*", lambda row: len(row["aliases"]) > 0),
        ("file=documents_dup_part_1_part_1", lambda row: row["file"] == "documents_dup_part_1_part_1"),
    ],
)
def test_the_documents_of_which_it_is_true(corpus, documents, where, holds):
    wanted = {row["id"] for row in documents if holds(row)}
    assert 0 < len(wanted) < len(documents) and corpus.choose(where) == wanted


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("date", "'date' is not FIELD=VALUE"),
        ("dates=1", "unknown column of the corpus 'dates'; nearest: date"),
        ("date=2023-0[89]*", "is true of no document"),
    ],
)
def test_what_is_not_understood(corpus, where, said):
    with pytest.raises(QuadragError, match=said.replace("*", "[*]")):
        corpus.choose(where)


def test_it_finds_what_is_found_among_all(corpus, tmp_path, capsys):
    store, where = IndexStore(tmp_path), "date=2023*"
    search = Search(corpus, "bm25", Retrieval(where=where), store)
    all_found = Search(corpus, "bm25", Retrieval(top_k=len(search.passages)), store).find(QUERIES)
    chosen = corpus.choose(where)
    among = [[one for one in found if document_id(one) in chosen][:8] for found in all_found]
    assert search.find(QUERIES) == among != [found[:8] for found in all_found] and len(among[1]) == 8
    held = sum(document_id(search.passages[row]) in chosen for row in range(len(search.passages)))
    assert capsys.readouterr().err.count(f"{where} leaves {held} of {len(search.passages)} passages") == 1


def test_files_of_many_documents_have_no_columns_of_theirs():
    files = Retrieval(where="gold=true", chunk_source="files")
    with pytest.raises(QuadragError, match="not of files of them; leave chunk_source out"):
        open_corpus(
            spec_of("crud_rag", "qa_1doc", data_dir="sample", retriever="bm25", retrieval=files), load("crud_rag")
        )


def test_no_index_that_could_miss_what_is_left_is_asked():
    assert isinstance(Dense(Retrieval(index="faiss", where="gold=true"))._index, Exact)


def test_a_run_says_so_and_stands_beside_no_printed_number(cli, monkeypatch):
    data = copy_as_authors("crud_rag", Path("CRUD_RAG"), monkeypatch)
    run = ("run", "crud_rag", "qa_1doc", "--data-dir", data, "--limit", "2", "--llm", "extractive")
    for name, more in (("all", ()), ("part", ("--where", "gold=false"))):
        assert cli(*run, *more, "--out", name).code == 0
    tables = {name: str(list(tabulate_all(read_runs([name])))) for name in ("all", "part")}
    assert "where gold=false" in tables["part"] and "gpt-3.5-turbo" in tables["all"]
    assert "gpt-3.5-turbo" not in tables["part"]
