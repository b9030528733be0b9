"""What may be wrong with CRUD-RAG's data: reports of the same event in the corpus, question files that do not fit."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from quadrag.audit import Audited, Fault, count_off

SHINGLE = 12  # characters: long enough that a shared phrase of the trade (a ministry's name, say) is no duplicate
OVERLAP = 0.3  # of the article's shingles
_BLANK = re.compile(r"[\s\ufeff]+")


def audit(audited: Audited) -> Iterator[Fault]:
    with_file = audited.find_splits("ragquesteval")
    for task in audited.configs:
        if task in with_file:
            yield from _check_question_file(audited, task)
    if audited.questions and audited.find_splits("corpus"):
        yield from _check_corpus(audited)


def near_duplicates(
    articles: Mapping[str, str], documents: Iterable[tuple[str, str]], size: int = SHINGLE, overlap: float = OVERLAP
) -> Iterator[tuple[str, str, float]]:
    """Yield article, document and share where a document repeats at least `overlap` of an article's shingles.

    A shingle is a run of `size` characters without white space (Broder 1997). `documents` are names and texts.
    """
    shingles_of = {name: _shingles(text, size) for name, text in articles.items()}
    owners: dict[str, list[str]] = defaultdict(list)
    for name, shingles in shingles_of.items():
        for shingle in shingles:
            owners[shingle].append(name)
    for document, text in documents:
        shared = Counter(name for shingle in _shingles(text, size) & owners.keys() for name in owners[shingle])
        for name, count in shared.items():
            if count / len(shingles_of[name]) >= overlap:
                yield name, document, count / len(shingles_of[name])


def _shingles(text: str, size: int) -> set[str]:
    bare = _BLANK.sub("", text)
    return {bare[at : at + size] for at in range(len(bare) - size + 1)}


def _check_corpus(audited: Audited) -> Iterator[Fault]:
    articles: dict[str, str] = {}
    for place in audited.questions:
        for row in audited.rows(*place):
            articles.update(zip(row["document_ids"], row["documents"], strict=True))
    places: dict[str, str] = {}  # of each document, file and line

    def documents() -> Iterator[tuple[str, str]]:
        for row in audited.rows("corpus", "corpus"):
            places[row["id"]] = f"{row['file']}:{row['line']}"
            yield row["id"], row["body"]

    repeats = defaultdict(list)
    for article, document, share in near_duplicates(articles, documents()):
        repeats[article].append((share, document))
    for question in chain(*audited.questions.values()):
        alike = [hit for gold in question.relevant for hit in repeats[gold] if hit[1] not in question.relevant]
        if alike:
            alike.sort(key=lambda hit: -hit[0])
            listed = count_off([f"{places[document]} ({share:.0%})" for share, document in alike])
            yield Fault(*question.key, "near_duplicate", f"the corpus repeats the gold article: {listed}")


def _check_question_file(audited: Audited, task: str) -> Iterator[Fault]:
    asked = [question.id for question in audited.questions.get((task, "test"), ())]
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
