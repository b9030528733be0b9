"""The tasks: one for every config that holds questions. What ``-T`` may set is said in `quadrag.harnesses.examination`.

Each is spelled out, since Inspect finds the tasks of a file by reading it.
"""
# mypy: allow-untyped-decorators
# Inspect's types are not there where ours are checked.

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task  # type: ignore[import-not-found]  # the types are checked without it

from quadrag.harnesses.inspect.task import examined


@task
def rgb_noise_robustness_en(**settings: Any) -> Task:
    """RGB, noise robustness, English."""
    return examined("rgb", "noise_robustness_en", settings)


@task
def rgb_noise_robustness_en_original(**settings: Any) -> Task:
    """RGB, noise robustness, English, the data before their revision."""
    return examined("rgb", "noise_robustness_en_original", settings)


@task
def rgb_noise_robustness_zh(**settings: Any) -> Task:
    """RGB, noise robustness, Chinese."""
    return examined("rgb", "noise_robustness_zh", settings)


@task
def rgb_noise_robustness_zh_original(**settings: Any) -> Task:
    """RGB, noise robustness, Chinese, the data before their revision."""
    return examined("rgb", "noise_robustness_zh_original", settings)


@task
def rgb_negative_rejection_en(**settings: Any) -> Task:
    """RGB, negative rejection, English."""
    return examined("rgb", "negative_rejection_en", settings)


@task
def rgb_negative_rejection_en_original(**settings: Any) -> Task:
    """RGB, negative rejection, English, the data before their revision."""
    return examined("rgb", "negative_rejection_en_original", settings)


@task
def rgb_negative_rejection_zh(**settings: Any) -> Task:
    """RGB, negative rejection, Chinese."""
    return examined("rgb", "negative_rejection_zh", settings)


@task
def rgb_negative_rejection_zh_original(**settings: Any) -> Task:
    """RGB, negative rejection, Chinese, the data before their revision."""
    return examined("rgb", "negative_rejection_zh_original", settings)


@task
def rgb_information_integration_en(**settings: Any) -> Task:
    """RGB, information integration, English."""
    return examined("rgb", "information_integration_en", settings)


@task
def rgb_information_integration_zh(**settings: Any) -> Task:
    """RGB, information integration, Chinese."""
    return examined("rgb", "information_integration_zh", settings)


@task
def rgb_counterfactual_robustness_en(**settings: Any) -> Task:
    """RGB, counterfactual robustness, English."""
    return examined("rgb", "counterfactual_robustness_en", settings)


@task
def rgb_counterfactual_robustness_zh(**settings: Any) -> Task:
    """RGB, counterfactual robustness, Chinese."""
    return examined("rgb", "counterfactual_robustness_zh", settings)


@task
def crud_rag_continuation(**settings: Any) -> Task:
    """CRUD-RAG, continuing an article."""
    return examined("crud_rag", "continuation", settings)


@task
def crud_rag_qa_1doc(**settings: Any) -> Task:
    """CRUD-RAG, questions on one document."""
    return examined("crud_rag", "qa_1doc", settings)


@task
def crud_rag_qa_2doc(**settings: Any) -> Task:
    """CRUD-RAG, questions on two documents."""
    return examined("crud_rag", "qa_2doc", settings)


@task
def crud_rag_qa_3doc(**settings: Any) -> Task:
    """CRUD-RAG, questions on three documents."""
    return examined("crud_rag", "qa_3doc", settings)


@task
def crud_rag_hallucination(**settings: Any) -> Task:
    """CRUD-RAG, correcting a false continuation."""
    return examined("crud_rag", "hallucination", settings)


@task
def crud_rag_summary(**settings: Any) -> Task:
    """CRUD-RAG, summary of an event."""
    return examined("crud_rag", "summary", settings)


@task
def crag_qa(**settings: Any) -> Task:
    """CRAG, the questions alone: there are no pages to show."""
    return examined("crag", "qa", {"retriever": "none", **settings})


@task
def crag_task_1_2(**settings: Any) -> Task:
    """CRAG, five pages a question."""
    return examined("crag", "task_1_2", settings)


@task
def crag_task_3(**settings: Any) -> Task:
    """CRAG, fifty pages a question."""
    return examined("crag", "task_3", settings)


@task
def omnieval_all(**settings: Any) -> Task:
    """OmniEval, all five tasks."""
    return examined("omnieval", "all", settings)


@task
def omnieval_extractive_qa(**settings: Any) -> Task:
    """OmniEval, extractive questions."""
    return examined("omnieval", "extractive_qa", settings)


@task
def omnieval_multi_hop_qa(**settings: Any) -> Task:
    """OmniEval, multi-hop questions."""
    return examined("omnieval", "multi_hop_qa", settings)


@task
def omnieval_contrast_qa(**settings: Any) -> Task:
    """OmniEval, contrast questions."""
    return examined("omnieval", "contrast_qa", settings)


@task
def omnieval_long_form_qa(**settings: Any) -> Task:
    """OmniEval, long-form questions."""
    return examined("omnieval", "long_form_qa", settings)


@task
def omnieval_conversational_qa(**settings: Any) -> Task:
    """OmniEval, conversational questions."""
    return examined("omnieval", "conversational_qa", settings)
