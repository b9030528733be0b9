"""What is said of the corpus that a system of one's own searched: with gold documents, without, or a part of it."""

import pytest
from exported import copy_as_authors

import quadrag
from quadrag.baselines.report.run import tabulate_run

PLACE = ("crud_rag", "summary")
ADDED = "Ours searched a corpus with gold=test, the published rows one without."
LEFT_OUT = "the authors leave the gold documents out of this corpus, --option gold=test adds them."


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """The notes of a system that returns the passages that a function picks from a corpus with gold documents."""
    monkeypatch.chdir(tmp_path)
    data = copy_as_authors(PLACE[0], tmp_path / "CRUD", monkeypatch)

    def measure(pick, folder=data):
        corpus = list(quadrag.corpus(PLACE[0], data_dir="sample", gold="test"))
        found = quadrag.evaluate(*PLACE, lambda question: (question.id, pick(corpus)), data_dir=folder)
        return [note for grid in tabulate_run(found.result) for note in grid.notes]

    return measure


@pytest.mark.parametrize("give", [lambda one: one.id, lambda one: {"text": one.text}], ids=["ids", "texts"])
def test_gold_documents_among_the_passages_are_said_beside_published_rows(notes, give):
    plain = {one.id for one in quadrag.corpus(PLACE[0], data_dir="sample")}
    assert ADDED in notes(lambda corpus: [give(one) for one in corpus if one.id not in plain])
    without = notes(lambda corpus: [give(one) for one in corpus if one.id in plain][:4])
    (missed,) = [note for note in without if "is a gold document" in note]
    assert missed.endswith(LEFT_OUT) and ADDED not in without


def test_where_ids_are_of_no_corpus_that_is_said_alone(notes):
    (missed,) = [note for note in notes(lambda corpus: ["ab" * 32]) if "is a gold document" in note]
    assert missed.endswith("8 of their ids are none of `quadrag.corpus`.")


def test_a_part_of_the_corpus_is_said(notes):
    told = notes(lambda corpus: [corpus[-1].id])
    assert any(note.startswith("The corpus here is not whole: 4 of 49 files, lacking documents_dup") for note in told)
    assert not any("not whole" in note for note in notes(lambda corpus: [corpus[-1].id], "sample"))
