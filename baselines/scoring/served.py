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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from quadrag.data.prepare import find_source
from quadrag.errors import QuadragError, one_line
from quadrag.passages import UNNAMED
from quadrag.records import Answer, Key, Passage, Question, document_id

from ..core.benchmark import Benchmark, Document, MetricUse
from ..core.parts import Conditions
from ..core.spec import RunSpec
from ..core.task import Corpus, load_rows, open_whole_corpus, script_options
from ..systems.own import NOT_GIVEN, as_served
from .drive import score
from .judging import Judging, Scored, score_answers
from .pieces import LEAST, find_pieces, squeeze

_LONGEST = 16  # characters of an id that is shown
_MOST = 0.5  # share of the passages that may be too short to be known, so that a ranking still says something
_HEX = re.compile("[0-9a-f]")  # each as 0 leaves what is alike in the hashes and UUIDs of a corpus

Golds = Mapping[Key, Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a system gave.

    Attributes:
        passages: how many, over all questions.
        questions: how many questions had any.
        texts: whether any passage has a text.
        by: ``id`` or ``text``, the way to the benchmark's documents; ``form`` where ids have the form of theirs and
            none is a gold document's; ``none`` where every search found nothing; None where there is no way.
        why: why retrieval is not ranked; None where it is, or where the benchmark never ranks.
        bare: how many answers came without passages.
        gold: how many passages are gold documents of their questions, where texts are the way.
        strange: how many of the others are part of no document of the corpus by their text, or none of it by their id
            where ``form`` is the way; None where nobody looked.
        short: how many that are not known have a text that is too short for it.
        lacking: which files of the corpus are not here, where documents are ranked; "" where none is lacking.
    """

    passages: int = 0
    questions: int = 0
    texts: bool = False
    by: str | None = None
    why: str | None = None
    bare: int = 0
    gold: int = 0
    strange: int | None = None
    short: int = 0
    lacking: str = ""


def score_service(
    session: Judging,
    inner: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: RunSpec,
    passages: Mapping[Key, Sequence[Passage]],
    searched: bool = True,
) -> tuple[Scored, Evidence]:
    """Score a system's answers, and then its rankings; those without a passage too, where it `searched`.

    Returns:
        What `score_answers` does, and what the system gave.
    """
    evidence, rankings = find_documents(inner, task, questions, passages, searched)
    if evidence.by in ("id", "text", "form") and (corpus := _open_corpus(inner, task, questions[0].split)):
        evidence = replace(evidence, lacking=corpus.source.lacking)
    bare = sum(answer.answer is not None and not passages[answer.key] for answer in answers)
    evidence = replace(evidence, bare=bare)
    served = as_served(inner, evidence.texts, evidence.why)

    def metrics(config: str, conditions: Conditions, ranks: bool = False) -> list[MetricUse]:
        return [use._replace(ranks=False) for use in served.metrics(config, conditions) if use.ranks is ranks]

    def ranking_keywords(use: MetricUse, asked: Sequence[Question], conditions: Conditions) -> dict[str, Any]:
        return served.keywords(use._replace(ranks=True), asked, conditions)

    generation = replace(served, metrics=metrics)
    scored = score_answers(session, generation, questions, answers, task, None, passages if evidence.texts else None)
    ranks = [
        # The user's own passages stand whatever became of the call; where it failed without any, nothing was ranked.
        replace(answer, answer=json.dumps(rankings[answer.key]), state="ok")
        if answer.answer is not None or passages[answer.key]
        else answer
        for answer in answers
    ]
    golds = {question.key: replace(question, references=list(question.relevant)) for question in questions}
    ranking = replace(
        served,
        metrics=lambda config, conditions: metrics(config, conditions, ranks=True),
        keywords=ranking_keywords,
        parse=lambda config, text: json.loads(text),
    )
    lines, rows = score(ranking, golds, ranks, task.conditions)
    items = [item | line for item, line in zip(scored.items, lines, strict=True)]
    return scored._replace(items=items, scores=scored.scores + rows), evidence


def find_documents(
    inner: Benchmark,
    task: RunSpec,
    questions: Sequence[Question],
    passages: Mapping[Key, Sequence[Passage]],
    searched: bool = True,
) -> tuple[Evidence, dict[Key, list[str]]]:
    """Find the benchmark's documents among a system's passages; `searched`: it said what it found, were it nothing.

    Returns:
        What the system gave, and per question the ids of its passages in their order, the gold documents' among them.
    """
    own = {key: [document_id(passage) for passage in found] for key, found in passages.items()}
    every = [document for found in own.values() for document in found]
    evidence = Evidence(
        passages=len(every),
        questions=sum(map(bool, passages.values())),
        texts=any(passage.text.strip() for found in passages.values() for passage in found),
    )
    gold = {document for question in questions for document in question.relevant}
    if inner.corpus is None:
        return evidence, own
    if not gold:
        return replace(evidence, why="no question here has a gold document"), own
    if not every:
        return replace(evidence, by="none" if searched else None, why=None if searched else NOT_GIVEN), own
    if not gold.isdisjoint(every):
        return replace(evidence, by="id"), own
    forms = {_HEX.sub("0", document) for document in gold}
    formed = any(_HEX.sub("0", document) in forms for document in every)
    texts = {(key, at): squeeze(found.text) for key, row in passages.items() for at, found in enumerate(row)}
    if evidence.texts and (known := _find_by_text(inner, task, questions, passages, texts, formed)):
        strange = [texts[place] for place in texts.keys() - known.names.keys()]
        short = sum(0 < len(text) < LEAST for text in strange)
        if short > _MOST * len(every):
            few = f"{short} of {len(every)} are under {LEAST} characters"
            return replace(evidence, why=f"most passages are too short to be known; {few}"), own
        ids = {key: [known.names.get((key, at), ident) for at, ident in enumerate(own[key])] for key in own}
        long = sum(len(text) >= LEAST for text in strange) if known.whole else None
        return replace(evidence, by="text", gold=known.gold, strange=long, short=short), ids
    if formed:
        there = _find_in_corpus(inner, task, questions[0].split, {*every}, _find_ids)
        strange_ids = None if there is None else sum(document not in there for document in every)
        return replace(evidence, by="form", strange=strange_ids), own
    why, short = "the system gave no id and no text of a gold document", sum(0 < len(t) < LEAST for t in texts.values())
    if ident := next((ident for ident in every if not ident.startswith(UNNAMED)), None):
        wanted = next((document for document in sorted(gold) if document.startswith(ident)), min(gold))
        why += f"; one of its ids is {one_line(ident, _LONGEST)!r}, one of the corpus is {one_line(wanted, _LONGEST)!r}"
    return replace(evidence, why=why, short=short), own


class _Known(NamedTuple):
    """The documents that passages are known to be of by their texts, by question and place.

    `gold` counts those of gold documents; `whole` says whether the corpus is here and was looked through.
    """

    names: dict[tuple[Key, int], str]
    gold: int
    whole: bool


def _find_by_text(
    inner: Benchmark,
    task: RunSpec,
    questions: Sequence[Question],
    passages: Mapping[Key, Sequence[Passage]],
    texts: Mapping[tuple[Key, int], str],
    formed: bool,
) -> _Known | None:
    """Find documents by texts; None where no text is known and passages have ids to go by.

    Where ids have the form of the corpus' (`formed`), it is not looked through for texts alone.
    """
    golds = match_gold(inner, task, questions, passages)
    names = {(key, at): name for key, row in golds.items() for at, name in enumerate(row) if name is not None}
    hits = len(names)
    if not hits and formed:
        return None
    missed = {place: text for place, text in texts.items() if place not in names}
    there = _find_in_corpus(inner, task, questions[0].split, {*missed.values()} - {""}, find_pieces)
    names |= {place: name for place, text in missed.items() if (name := (there or {}).get(text)) is not None}
    nameless = any(text and passages[key][at].id.startswith(UNNAMED) for (key, at), text in missed.items())
    return _Known(names, hits, there is not None) if names or (nameless and inner.gold) else None


def match_gold(
    inner: Benchmark, task: RunSpec, questions: Sequence[Question], passages: Mapping[Key, Sequence[Passage]]
) -> dict[Key, list[str | None]]:
    """Return the gold document that each passage is known by its text to be of, by question; None where it is none."""
    read = read_gold(inner, task, questions)
    golds = {key: [(ident, squeeze(text)) for ident, text in pairs] for key, pairs in read.items()}
    return {key: [_match(passage, golds.get(key, ())) for passage in found] for key, found in passages.items()}


def _match(passage: Passage, golds: Sequence[tuple[str, str]]) -> str | None:
    text = squeeze(passage.text)
    for ident, gold in golds:
        if (len(text) >= LEAST and text in gold) or (len(gold) >= LEAST and gold in text):
            return ident
    return None


def read_gold(inner: Benchmark, task: RunSpec, questions: Sequence[Question]) -> dict[Key, list[tuple[str, str]]]:
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


def _find_ids(wanted: Collection[str], documents: Iterable[Document]) -> dict[str, str]:
    return {document.id: document.id for document in documents if document.id in wanted}


def _find_in_corpus(
    inner: Benchmark,
    task: RunSpec,
    split: str,
    wanted: Collection[str],
    find: Callable[[Collection[str], Iterable[Document]], dict[str, str]],
) -> dict[str, str] | None:
    """Return the ids of the corpus' documents that are wanted, as `find` knows them; None where it is not here."""
    if not wanted:
        return {}
    try:
        corpus = _open_corpus(inner, task, split)
        return find(wanted, corpus.documents()) if corpus else None
    except QuadragError:
        return None


def _open_corpus(inner: Benchmark, task: RunSpec, split: str) -> Corpus | None:
    """Open the corpus that the documents are of, with the gold documents where it takes them; None if not here."""
    if inner.corpus is None or (task.data_dir is None and find_source(inner.name, inner.corpus.config) is None):
        return None  # which is not worth fetching it
    try:
        return open_whole_corpus(inner, task.data_dir, {"gold": split} if "gold" in inner.corpus.options else {})
    except QuadragError:  # a folder with the questions alone
        return None
