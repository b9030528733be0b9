"""What may be wrong with CRUD-RAG's data: reports of the same event in the corpus, question files that do not fit."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from quadrag.audit.audited import Audited
from quadrag.audit.checks import answers_in_questions, duplicate_questions
from quadrag.audit.finding import Fault, count_off
from quadrag.audit.overlap import near_duplicates


class _News(NamedTuple):
    id: str
    place: str  # file and line
    text: str


def audit(audited: Audited) -> Iterator[Fault]:
    """Yield the faults of all splits, of the question files of their tasks, and of the corpus."""
    for part in audited.parts:
        yield from duplicate_questions(part)
        yield from answers_in_questions(part, lambda question: [[question.references]] if question.references else [])
    there = audited.find_splits("ragquesteval")
    for task in audited.configs:
        if task in there:
            yield from _question_file(audited, task)
    if audited.parts and audited.find_splits("corpus"):
        yield from _near_duplicates(audited)


def _near_duplicates(audited: Audited) -> Iterator[Fault]:
    articles: dict[str, str] = {}
    for part in audited.parts:
        for row in audited.rows(part.config, part.split):
            articles.update(zip(row["document_ids"], row["documents"], strict=True))
    news = (_News(row["id"], f"{row['file']}:{row['line']}", row["body"]) for row in audited.rows("corpus", "corpus"))
    found = defaultdict(list)
    for one in near_duplicates(articles, news):
        found[one.article].append(one)
    for part in audited.parts:
        for question in part.questions:
            alike = [
                one for gold in question.relevant for one in found[gold] if one.document.id not in question.relevant
            ]
            if alike:
                alike.sort(key=lambda one: -one.share)
                places = count_off([f"{one.document.place} ({one.share:.0%})" for one in alike])
                yield Fault(*question.key, "near_duplicate", f"the corpus repeats the gold article: {places}")


def _question_file(audited: Audited, task: str) -> Iterator[Fault]:
    """Yield the entries of a task's question file (of split ``test``) that no question has, or that are not whole."""
    parts = [part for part in audited.parts if (part.config, part.split) == (task, "test")]
    asked = {question.id: None for part in parts for question in part.questions}
    file = f"ragquesteval {task}"
    entries = {row["id"]: row for row in audited.rows("ragquesteval", task)}
    for key, row in entries.items():
        questions, answers = len(row["questions"]), len(row["answers"])
        if asked and key not in asked:
            yield Fault(task, "test", key, "broken_reference", f"{file} has it, the split has no such question")
        elif questions != answers or not questions:
            evidence = f"{file} has of it questions: {questions}, answers: {answers}"
            yield Fault(task, "test", key, "broken_reference", evidence)
    for key in asked:
        if key not in entries:
            yield Fault(task, "test", key, "broken_reference", f"{file} does not have it")
