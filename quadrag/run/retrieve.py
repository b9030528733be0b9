"""The retrieve stage: which passages are shown with each question.

RGB brings its own documents, CRUD-RAG searches a corpus, CRAG has a finder of its own; ``none`` shows none.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.benchmark import Finder, load
from quadrag.chat.client import Completer
from quadrag.chat.estimate import Estimate
from quadrag.errors import QuadragError, Unreadable, parse_json
from quadrag.loading import Corpus
from quadrag.passages import read_passages
from quadrag.printing import Progress
from quadrag.prompts import Prompts
from quadrag.records import Key, Passage, Question, jsonl_text, read_jsonl
from quadrag.spec import RunSpec


def find_context(
    questions: Sequence[Question], finder: Finder, llm: Completer | None, prompts: Prompts, partial: Path
) -> dict[Key, tuple[Passage, ...]]:
    """Return the passages of every question as a benchmark's own finder finds them.

    Args:
        questions: all of them.
        finder: finds passages, maybe for seconds a question.
        llm: the model that may be asked about questions first.
        prompts: of the benchmark.
        partial: a file where they are written one by one, so that a run that was cut short goes on from there.
    """
    found = _read_partial(partial)
    with Progress("searching", len(questions)) as progress, partial.open("a", encoding="utf-8") as lines:
        for question, passages in finder.find(questions, llm, prompts, frozenset(found)):
            found[question.key] = passages
            lines.write(jsonl_text(rows([question], found)))
            lines.flush()
            progress.update(len(found), len(questions))
    return found


def _read_partial(partial: Path) -> dict[Key, tuple[Passage, ...]]:
    """Read what a run found before it was cut short, and cut the file off at the first line that is not whole."""
    found: dict[Key, tuple[Passage, ...]] = {}
    kept = 0
    for line in partial.read_bytes().splitlines(keepends=True) if partial.is_file() else ():
        try:
            key, passages = _read_row(parse_json(line, partial))
        except (QuadragError, KeyError, TypeError, Unreadable):
            break
        if not line.endswith(b"\n"):
            break
        found[key] = passages
        kept += len(line)
    if partial.is_file():
        os.truncate(partial, kept)
    return found


def retrieve(
    questions: Sequence[Question], task: RunSpec, corpus: Corpus | None, estimate: Estimate | None = None
) -> tuple[dict[Key, tuple[Passage, ...]], Mapping[str, Any]]:
    """Return the passages of every question, by its key, and what is to be told of how they were found.

    For an estimate no large corpus is indexed.
    """
    if corpus is None:
        shown = task.retriever == load(task.benchmark).default_context
        return {question.key: question.passages if shown else () for question in questions}, {}
    from quadrag.retrieval.search import Search, find_or_stand_in

    queries, told = list(dict.fromkeys(question.query for question in questions)), {}
    if estimate is not None:
        hits = find_or_stand_in(corpus, task.retrieves, task.retrieval, queries, estimate.notes)
    else:
        search = Search(corpus, task.retrieves, task.retrieval)
        hits, told = search.find(queries), search.found
    by_query = dict(zip(queries, hits, strict=True))
    return {question.key: tuple(by_query[question.query]) for question in questions}, told


def rows(questions: Iterable[Question], passages: Mapping[Key, tuple[Passage, ...]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of ``retrieved.jsonl``, one per question in their order."""
    for question in questions:
        yield {
            **dict(zip(("benchmark", "config", "split", "id"), (question.benchmark, *question.key), strict=True)),
            "passages": [passage._asdict() for passage in passages[question.key]],
        }


def read(
    path: Path, questions: Sequence[Question], lines: Iterable[tuple[int, Mapping[str, Any]]] | None = None
) -> dict[Key, tuple[Passage, ...]]:
    """Read ``retrieved.jsonl`` back, or `lines` that are to stand there, each with its number."""
    found: dict[Key, tuple[Passage, ...]] = {}
    for number, row in lines or read_jsonl(path):
        try:
            key, passages = _read_row(row)
        except (KeyError, TypeError, Unreadable) as error:
            raise QuadragError(f"{path}:{number} is not a retrieval result ({error!r})") from None
        found[key] = passages
    known = {question.key for question in questions}
    if found.keys() != known:
        raise QuadragError(
            f"{path} holds {len(found)} questions of which {len(found.keys() & known)} are among the {len(known)} "
            "asked; expected the retrieved.jsonl of a run of just these"
        )
    return found


def _read_row(row: Mapping[str, Any]) -> tuple[Key, tuple[Passage, ...]]:
    passages = read_passages([{"id": passage["id"], "text": passage["text"], **passage} for passage in row["passages"]])
    return (row["config"], row["split"], str(row["id"])), passages
