"""The score stage of a system that finds its own passages: its answers, and its rankings of the gold documents.

Two ways lead from its passages to these, one for the whole run: by id, where at least one passage bears the id of a
gold document of some question (``DOC#n`` is a passage of ``DOC``); else by text, where a passage is part of a gold
document of its question, or holds one whole, blanks aside, with `LEAST` characters or more. Where no passage is known
so, but an id has the form of a gold document's, as 64 hexadecimal digits, or passages have texts alone, nothing was
found. Of ids of another form that cannot be told, nor where most texts are too short: nothing is ranked.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quadrag.benchmark import NOT_GIVEN, Benchmark
from quadrag.errors import one_line
from quadrag.loading import load_rows, script_options
from quadrag.passages import UNNAMED
from quadrag.records import Answer, Key, Passage, Question, document_id
from quadrag.spec import RunSpec
from quadrag.systems.own import as_served

LEAST = 32  # characters, blanks aside, from which a part of a text is taken for a part of it and no chance
_LONGEST = 16  # characters of an id that is shown
_MOST = 0.5  # share of the passages that may be too short to be known, so that a ranking still says something
_HEX = re.compile("[0-9a-f]")  # each as 0 leaves what is alike in the hashes and UUIDs of a corpus


@dataclass(frozen=True, slots=True)
class Evidence:
    passages: int = 0  # over all questions
    questions: int = 0  # that had any
    texts: bool = False  # whether any passage has one
    # ``id`` or ``text``, the way to the gold documents; ``form`` where ids have the form of theirs and none is a gold
    # document's; None where there is no way
    by: str | None = None
    why: str | None = None  # why retrieval is not ranked; None where it is, or where the benchmark never ranks
    bare: int = 0  # answers without passages
    gold: int = 0  # passages that are gold documents of their questions, where texts are the way


def read_served(
    inner: Benchmark,
    spec: RunSpec,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    passages: Mapping[Key, Sequence[Passage]],
) -> tuple[Benchmark, dict[Key, list[Passage]], Evidence]:
    """Return a benchmark as it measures a system's answers and passages, those that are ranked, and what was given."""
    evidence, ids = find_documents(inner, spec, questions, passages)
    bare = sum(answer.answer is not None and not passages[answer.key] for answer in answers)
    ranked = {
        # The user's own passages stand whatever became of the call; where it failed without any, nothing was ranked.
        answer.key: [
            passage._replace(id=ident) for passage, ident in zip(passages[answer.key], ids[answer.key], strict=True)
        ]
        for answer in answers
        if answer.answer is not None or passages[answer.key]
    }
    return as_served(inner, evidence.texts, evidence.why), ranked, replace(evidence, bare=bare)


def find_documents(
    inner: Benchmark, spec: RunSpec, questions: Sequence[Question], passages: Mapping[Key, Sequence[Passage]]
) -> tuple[Evidence, dict[Key, list[str]]]:
    """Return what a system gave, and per question the ids of its passages in order, the gold documents' among them."""
    ids = {key: [document_id(passage) for passage in row] for key, row in passages.items()}
    documents = [document for row in ids.values() for document in row]
    texts = [_squeeze(passage.text) for row in passages.values() for passage in row]
    evidence = Evidence(len(documents), sum(map(bool, passages.values())), any(texts))
    gold = {document for question in questions for document in question.relevant}
    if inner.corpus is None:
        return evidence, ids
    if not gold:
        return replace(evidence, why="no question here has a gold document"), ids
    if not documents:
        return replace(evidence, why=NOT_GIVEN), ids
    if not gold.isdisjoint(documents):
        return replace(evidence, by="id"), ids
    matched = match_gold(inner, spec, questions, passages)
    names = {key: [name or ids[key][at] for at, name in enumerate(row)] for key, row in matched.items()}
    hits = [name is not None for row in matched.values() for name in row]
    forms = {_HEX.sub("0", document) for document in gold}
    if not any(hits) and any(_HEX.sub("0", document) in forms for document in documents):
        return replace(evidence, by="form"), ids
    others = [text for text, hit in zip(texts, hits, strict=True) if not hit]
    short = sum(0 < len(text) < LEAST for text in others)
    if any(texts) and short > _MOST * len(documents):
        few = f"{short} of {len(documents)} are under {LEAST} characters"
        return replace(evidence, why=f"most passages are too short to be known; {few}"), ids
    named = [ident for ident in documents if not ident.startswith(UNNAMED)]
    if any(hits) or (inner.gold and any(texts) and not named):
        return replace(evidence, by="text", gold=sum(hits)), names
    why = "the system gave no id and no text of a gold document"
    if named:
        why += f"; one of its ids is {one_line(named[0], _LONGEST)!r}, one of theirs {one_line(min(gold), _LONGEST)!r}"
    return replace(evidence, why=why), ids


def _squeeze(text: str) -> str:
    return "".join(text.split())


def match_gold(
    inner: Benchmark, spec: RunSpec, questions: Sequence[Question], passages: Mapping[Key, Sequence[Passage]]
) -> dict[Key, list[str | None]]:
    """Return the gold document that each passage is known by its text to be of, by question; None where it is none."""
    read = read_gold(inner, spec, questions)
    golds = {key: [(ident, _squeeze(text)) for ident, text in pairs] for key, pairs in read.items()}

    def match(text: str, key: Key) -> str | None:
        for ident, gold in golds.get(key, ()):
            if (len(text) >= LEAST and text in gold) or (len(gold) >= LEAST and gold in text):
                return ident
        return None

    return {key: [match(_squeeze(passage.text), key) for passage in row] for key, row in passages.items()}


def read_gold(inner: Benchmark, spec: RunSpec, questions: Sequence[Question]) -> dict[Key, list[tuple[str, str]]]:
    """Read the gold documents of questions, each with its id and its text; {} where the benchmark holds no texts."""
    if inner.gold is None:
        return {}
    ids, texts = inner.gold
    wanted = {question.key for question in questions}
    golds: dict[Key, list[tuple[str, str]]] = {}
    options = script_options(spec, as_served(inner))
    for split in dict.fromkeys(question.split for question in questions):
        for row in load_rows(inner.name, spec.config, spec.data_dir, options, split)[0]:
            key = (spec.config, split, str(row["id"]))
            # OmniEval lists ids and texts apart; where they are not as many, which is which is unknown.
            if key in wanted and len(row[ids]) == len(row[texts]):
                golds[key] = list(zip(row[ids], row[texts], strict=True))
    return golds
