"""The score stage of a RAG service: its answers, and its rankings apart from them.

Two ways lead from a service's passages to the benchmark's documents, one for the whole run: by id, where at least one
passage bears the id of a gold document of some question (``DOC#n`` is a passage of ``DOC``); else by text. A passage is
known by its text where it is part of a gold document of its question, or holds one whole, blanks aside, with `LEAST`
characters or more; else where it is part of a document of the corpus, which then was found in vain. Where no passage is
known so, but an id has the form of a gold document's, as 64 hexadecimal digits, or passages have texts alone, nothing
was found. Of ids of another form that cannot be told, nor where most texts are too short to be known: nothing is
ranked, and the table says so.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from quadrag.data.prepare import find_source
from quadrag.errors import QuadragError, one_line
from quadrag.passages import UNNAMED
from quadrag.records import Answer, Key, Passage, Question, document_id

from ..core.benchmark import Benchmark, MetricUse
from ..core.document import Document
from ..core.spec import Conditions
from ..core.task import Corpus, Task, load_rows, open_whole_corpus, script_options
from ..systems.rag.system import NOT_GIVEN, Evidence, as_served, generation_metrics, ranking_metrics
from .drive import score
from .judging import Judging, Scored, score_answers
from .pieces import LEAST, find_pieces, squeeze

_LONGEST = 16  # characters of an id that is shown
_MOST = 0.5  # share of the passages that may be too short to be known, so that a ranking still says something
_HEX = re.compile("[0-9a-f]")


def score_service(
    session: Judging,
    inner: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: Task,
    passages: Mapping[Key, Sequence[Passage]],
    searched: bool = True,
) -> tuple[Scored, Evidence]:
    """Score a service's answers, and then its rankings; those without a passage too, where it `searched`.

    Returns:
        What `score_answers` does, and what the service gave.
    """
    evidence, rankings = find_documents(inner, task, questions, passages, searched)
    if evidence.by in ("id", "text", "form") and (corpus := _open_corpus(inner, task, questions[0].split)):
        evidence = replace(evidence, lacking=corpus.source.lacking)
    bare = sum(answer.answer is not None and not passages[answer.key] for answer in answers)
    evidence = replace(evidence, bare=bare)
    served = as_served(inner, evidence)
    generation = replace(
        served, metrics=lambda config, conditions: generation_metrics(inner, evidence, config, conditions)
    )
    shown = passages if evidence.texts else None
    scored = score_answers(session, generation, questions, answers, task, None, shown)
    ranks = [
        # The user's own passages stand whatever became of the call.
        replace(answer, answer=json.dumps(rankings[answer.key]), state="ok")
        if answer.answer is not None or passages[answer.key]
        else answer
        for answer in answers
    ]
    golds = {question.key: replace(question, references=list(question.relevant)) for question in questions}
    lines, rows = score(_as_rankings(inner, served, evidence), golds, ranks, task.conditions)
    items = [item | line for item, line in zip(scored.items, lines, strict=True)]
    return scored._replace(items=items, scores=scored.scores + rows), evidence


def _as_rankings(inner: Benchmark, served: Benchmark, evidence: Evidence) -> Benchmark:
    """Return a benchmark whose answers are rankings: where a call failed, it did, and did not find nothing."""

    def metrics(config: str, conditions: Conditions) -> list[MetricUse]:
        return [metric._replace(ranks=False) for metric in ranking_metrics(inner, evidence, config, conditions)]

    def keywords(metric: MetricUse, questions: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
        return served.keywords(metric._replace(ranks=True), questions, conditions)

    return replace(served, metrics=metrics, keywords=keywords, parse=lambda config, text: json.loads(text))


def find_documents(
    inner: Benchmark,
    task: Task,
    questions: Sequence[Question],
    passages: Mapping[Key, Sequence[Passage]],
    searched: bool = True,
) -> tuple[Evidence, dict[Key, list[str]]]:
    """Find the benchmark's documents among a service's passages; `searched`: it said what it found, were it nothing.

    Returns:
        What the service gave, and per question the ids of its passages in their order, the gold documents' among them.
    """
    own = {key: [document_id(passage) for passage in found] for key, found in passages.items()}
    evidence = Evidence(
        passages=sum(map(len, passages.values())),
        questions=sum(map(bool, passages.values())),
        texts=any(passage.text.strip() for found in passages.values() for passage in found),
    )
    gold = {document for question in questions for document in question.relevant}
    if inner.corpus is None:
        return evidence, own
    if not gold:
        return replace(evidence, why="no question here has a gold document"), own
    if not evidence.passages:
        return replace(evidence, by="none" if searched else None, why=None if searched else NOT_GIVEN), own
    if any(document in gold for found in own.values() for document in found):
        return replace(evidence, by="id"), own
    forms = {_find_form(document) for document in gold}
    formed = any(_find_form(document) in forms for found in own.values() for document in found)
    if evidence.texts and (by_text := _find_by_text(inner, task, questions, passages, lookup=not formed)):
        known, gold_found, strange = by_text
        ids = {key: [name or ident for name, ident in zip(known[key], own[key], strict=True)] for key in own}
        unknown = [one for key in own for one, name in zip(passages[key], known[key], strict=True) if name is None]
        if (short := _count_short(unknown)) > _MOST * evidence.passages:
            why = (
                f"most passages are too short to be known; {short} of {evidence.passages} are under {LEAST} characters"
            )
            return replace(evidence, why=why), own
        return replace(evidence, by="text", gold=gold_found, strange=strange, short=short), ids
    if formed:
        every = [document for found in own.values() for document in found]
        corpus = _find_in_corpus(inner, task, questions[0].split, {*every}, _find_ids)
        strange = None if corpus is None else sum(document not in corpus for document in every)
        return replace(evidence, by="form", strange=strange), own
    why = "the system gave no id and no text of a gold document"
    if given := next((name for found in own.values() for name in found if not name.startswith(UNNAMED)), None):
        whole = next((one for one in sorted(gold) if one.startswith(given)), None)
        shown, wanted = one_line(given, _LONGEST), one_line(whole or min(gold), _LONGEST)
        why += f"; one of its ids is {shown!r}, one of the corpus is {wanted!r}"
        why += "; the first is shorter, give ids whole" * (whole is not None)
        why += "; a bare string is an id, give texts under `text`" * (" " in given or not given.isascii())
    return replace(evidence, why=why, short=_count_short(chain(*passages.values()))), own


def _count_short(passages: Iterable[Passage]) -> int:
    return sum(0 < len(squeeze(one.text)) < LEAST for one in passages)


def _find_form(ident: str) -> str:
    """Return an id with each hexadecimal digit as 0: what is alike in the hashes and UUIDs of a corpus."""
    return _HEX.sub("0", ident)


def _find_by_text(
    inner: Benchmark,
    task: Task,
    questions: Sequence[Question],
    passages: Mapping[Key, Sequence[Passage]],
    lookup: bool,
) -> tuple[dict[Key, list[str | None]], int, int | None] | None:
    """Find documents by the texts of passages; None where no text is known and passages have ids to go by.

    Args:
        inner: the benchmark.
        task: what was run.
        questions: those of the passages.
        passages: of each question.
        lookup: look into the corpus too where no passage is of a gold document.

    Returns:
        Of each passage the document's id or None; how many are of gold documents, and of how many the text, long
        enough for it, is part of none and of no document of the corpus, None where that is not here.
    """
    golds = _read_gold_texts(inner, task, questions)
    known = _match_each(passages, golds)
    missed = [(key, at) for key, names in known.items() for at, name in enumerate(names) if name is None]
    hits = sum(map(len, known.values())) - len(missed)
    if not hits and not lookup:
        return None
    texts = {(key, at): squeeze(passages[key][at].text) for key, at in missed}
    wanted = {*texts.values()} - {""}
    corpus = _find_in_corpus(inner, task, questions[0].split, wanted, find_pieces)
    for (key, at), text in texts.items():
        known[key][at] = (corpus or {}).get(text)
    strange = [passages[key][at] for key, at in missed if known[key][at] is None]
    nameless = bool(golds) and any(one.text and one.id.startswith(UNNAMED) for one in strange)
    if not hits and len(strange) == len(missed) and not nameless:
        return None
    long = sum(len(text) >= LEAST for (key, at), text in texts.items() if known[key][at] is None)
    return known, hits, None if corpus is None else long


def match_gold(
    inner: Benchmark, task: Task, questions: Sequence[Question], passages: Mapping[Key, Sequence[Passage]]
) -> dict[Key, list[str | None]]:
    """Return the gold document that each passage is known by its text to be of, by question; None where it is none."""
    return _match_each(passages, _read_gold_texts(inner, task, questions))


def _match_each(
    passages: Mapping[Key, Sequence[Passage]], golds: Mapping[Key, Sequence[tuple[str, str]]]
) -> dict[Key, list[str | None]]:
    return {key: [_match(one, golds.get(key, ())) for one in found] for key, found in passages.items()}


def _find_ids(wanted: Collection[str], documents: Iterable[Document]) -> dict[str, str]:
    return {one.id: one.id for one in documents if one.id in wanted}


def _find_in_corpus(
    inner: Benchmark,
    task: Task,
    split: str,
    wanted: Collection[str],
    find: Callable[[Collection[str], Iterable[Document]], dict[str, str]],
) -> dict[str, str] | None:
    """Return the ids of the corpus' documents that are wanted, as `find` knows them; None where it is not here.

    The gold documents of a split are looked at too, where the corpus takes them.
    """
    if not wanted:
        return {}
    corpus = _open_corpus(inner, task, split)
    try:
        return find(wanted, corpus.documents()) if corpus else None
    except QuadragError:
        return None


def _open_corpus(inner: Benchmark, task: Task, split: str) -> Corpus | None:
    """Open the corpus that the documents are of, with the gold documents where it takes them; None if not here."""
    if inner.corpus is None or (task.data_dir is None and find_source(inner.name, inner.corpus.config) is None):
        return None  # which is not worth fetching it
    gold = {"gold": split} if "gold" in inner.corpus.options else {}
    try:
        return open_whole_corpus(inner, task.data_dir, gold)
    except QuadragError:  # a folder with the questions alone
        return None


def _match(passage: Passage, golds: Sequence[tuple[str, str]]) -> str | None:
    text = squeeze(passage.text)
    for ident, gold in golds:
        if (len(text) >= LEAST and text in gold) or (len(gold) >= LEAST and gold in text):
            return ident
    return None


def _read_gold_texts(inner: Benchmark, task: Task, questions: Sequence[Question]) -> dict[Key, list[tuple[str, str]]]:
    golds = read_gold(inner, task, questions)
    return {key: [(ident, squeeze(text)) for ident, text in pairs] for key, pairs in golds.items()}


def read_gold(inner: Benchmark, task: Task, questions: Sequence[Question]) -> dict[Key, list[tuple[str, str]]]:
    """Read the gold documents of questions, each with its id and its text; {} where the benchmark holds no texts."""
    if inner.gold is None:
        return {}
    ids, texts = inner.gold
    wanted = {question.key for question in questions}
    found: dict[Key, list[tuple[str, str]]] = {}
    options = script_options(task, as_served(inner))
    for split in dict.fromkeys(question.split for question in questions):
        for row in load_rows(inner.name, task.config, task.data_dir, options, split)[0]:
            key = (task.config, split, str(row["id"]))
            # OmniEval lists ids and texts apart; where they are not as many, which is which is unknown.
            if key in wanted and len(row[ids]) == len(row[texts]):
                found[key] = list(zip(row[ids], row[texts], strict=True))
    return found
