"""Names are found however they are written, wherever a benchmark or a metric is named."""

import pytest

import quadrag
from quadrag import catalogue
from quadrag.baselines.core.benchmark import load
from quadrag.errors import QuadragError


@pytest.mark.parametrize("name", ["crud_rag", "CRUD_RAG", "crud-rag", "CRUD-RAG", "crudrag", "Crud RAG"])
def test_a_benchmark_is_found_however_it_is_written(name):
    assert catalogue.benchmark_name(name) == load(name).name == "crud_rag"
    assert catalogue.builder_class(name) is catalogue.builder_class("crud_rag")
    (first, *_) = quadrag.questions(name, "summary", data_dir="sample", limit=1)
    assert first.benchmark == "crud_rag"
    assert next(iter(quadrag.corpus(name, data_dir="sample"))).text


def test_a_metric_is_found_however_it_is_written():
    assert catalogue.metric_folder("RGB-Accuracy") == catalogue.metric_folder("rgb_accuracy")


@pytest.mark.parametrize("name", ["crud", "crud_rag2", "", "rbg", "cräg"])
def test_another_name_is_refused(name):
    with pytest.raises(QuadragError, match="unknown benchmark"):
        catalogue.benchmark_name(name)
