"""Questions with the HTML of their web pages, read one at a time: fifty pages take 15 MB."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag import catalogue
from quadrag.data.builders import fingerprint, open_builder, options_of, rows
from quadrag.records import Question

from ..core.task import Task


def pages_fingerprint(task: Task) -> str:
    """Identify the pages of a task by the files, script and options that decide them: a question holds snippets alone.

    Raises:
        QuadragError: a file is missing or broken.
    """
    return fingerprint(_open(task, task.split))[:16]


def with_pages(task: Task, questions: Sequence[Question]) -> Iterator[tuple[Question, Mapping[str, Any]]]:
    """Yield questions with their rows, the pages' HTML included, in the order of the data.

    Raises:
        QuadragError: a file does not hold what it should.
    """
    wanted = {question.key: question for question in questions}
    for split in dict.fromkeys(question.split for question in questions):
        builder = _open(task, split)
        left = sum(key[1] == split for key in wanted)
        for row in rows(builder, split):
            question = wanted.pop((task.config, split, row["id"]), None)
            if question is not None:
                left -= 1
                yield question, row
            if not left:
                break


def challenge_records(task: Task, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """Yield questions in the form in which the challenge hands them to a model: no domain, no type, no answer."""
    for question, row in with_pages(task, questions):
        pages = zip(row["search_results"], row["page_result"], strict=True)
        yield {
            "interaction_id": question.id,
            "query": question.query,
            "query_time": question.slots["query_time"],
            "search_results": [{**page, "page_result": html} for page, html in pages],
        }


def _open(task: Task, split: str | None) -> Any:
    known = options_of(catalogue.config(task.benchmark, task.config))
    options = {name: value for name, value in task.options.items() if name in known}
    return open_builder(task.benchmark, task.config, task.data_dir, options, split)[0]
