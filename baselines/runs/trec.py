"""What a run retrieved, and what is relevant, as TREC run and qrels files: input of trec_eval, ir_measures, ranx.

A run line is ``QID Q0 DOCID RANK SCORE TAG``, a qrels line ``QID 0 DOCID 1``. Those programs order by score, which they
hold in single precision, and not by rank: so where a question's scores do not fall from rank to rank in that precision
(ties, or a retriever without scores), one over the rank stands in their place. In an id, which may be a service's, what
does not print, blanks and ``%`` are written as in an address, and a key is hidden; an empty id is ``%``. Nothing is
measured here.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from quadrag.chat.keys import known_keys
from quadrag.errors import QuadragError
from quadrag.records import Passage, Question, document_id, write_text

from ..core.benchmark import load
from ..core.run_record import RunRecord, check_stage, read_run
from ..core.spec import RAG, RunSpec
from ..core.task import load_questions
from ..scoring.served import find_documents
from . import retrieve
from .questions import digest_questions


class Written(NamedTuple):
    """The files of one split: its run, and its qrels, None where `why_not` says why there are none."""

    run: Path
    qrels: Path | None
    questions: int
    lines: int
    relevant: int
    why_not: str | None


def write(folder: Path, out: Path, data_dir: str | None = None, passages: bool = False) -> list[Written]:
    """Write the files of every split of a run.

    Args:
        folder: of the run, with its ``run.json`` and ``retrieved.jsonl``.
        out: folder of the files ``CONFIG-SPLIT.run`` and ``CONFIG-SPLIT.qrels``; it is made.
        data_dir: where the run's questions are, as `quadrag run` takes it.
        passages: write every passage under its own id, for which there are no qrels; else the first passage of a
            document under the document's. The further ones keep their ranks, as they do in the run's own scores.

    Returns:
        What was written of each split; nothing of a run without passages.
    """
    run = read_run(folder)
    check_stage(folder, run, "retrieved.jsonl")
    spec = _spec_again(run, data_dir or run.spec.data_dir)
    questions = _load_again(folder, run, spec)
    found = retrieve.read(folder / "retrieved.jsonl", questions)
    if not any(found.values()):
        return []
    why_not = "relevance is known of documents, not of passages" if passages else _tell_unranked(spec, questions)
    if run.retriever == RAG and not passages:
        # As its passages were known to the run's own scores, by their ids or by their text.
        evidence, known = find_documents(load(spec.benchmark), spec, questions, found)
        found = {
            key: tuple(passage._replace(id=ident) for passage, ident in zip(shown, known[key], strict=True))
            for key, shown in found.items()
        }
        why_not = evidence.why or why_not
    hide, tag, written = known_keys().hide, re.sub(r"\W+", "-", f"quadrag-{run.retriever}"), []
    for split in dict.fromkeys(question.split for question in questions):
        asked = [question for question in questions if question.split == split]
        lines: list[str] = []
        for question in asked:
            shown = [passage._replace(id=hide(passage.id)) for passage in found[question.key]]
            lines += run_lines(question.id, shown, tag, passages)
        relevant = [line for question in asked for line in qrels_lines(question)] if why_not is None else []
        name, qrels = out / f"{spec.config}-{split}.run", out / f"{spec.config}-{split}.qrels"
        write_text(name, "".join(lines))
        qrels.unlink(missing_ok=True)  # of an earlier call
        if why_not is None:
            write_text(qrels, "".join(relevant))
        there = qrels if why_not is None else None
        written.append(Written(name, there, len(asked), len(lines), len(relevant), why_not))
    return written


def run_lines(ident: str, shown: Sequence[Passage], tag: str, passages: bool = False) -> Iterator[str]:
    """Yield the lines of one question, best first, each id once; further passages of a document keep their ranks."""
    names: list[str] = []
    for rank, passage in enumerate(shown, 1):
        first = passage.id if passages else document_id(passage) or passage.id
        # A service may give an id twice, and one that looks as if it had been made here.
        made = (f"{passage.id}#{number}" for number in count(rank))
        names.append(next(name for name in chain((first, passage.id), made) if name not in names))
    scores = [np.nan if passage.score is None else float(passage.score) for passage in shown]
    singles = np.asarray(scores, dtype=np.float32)
    if not (np.isfinite(singles).all() and (np.diff(singles) < 0).all()):
        scores = [1 / rank for rank in range(1, len(names) + 1)]
    for rank, (name, score) in enumerate(zip(names, scores, strict=True), 1):
        yield f"{_fit(ident)} Q0 {_fit(name)} {rank} {score!r} {tag}\n"


def qrels_lines(question: Question) -> Iterator[str]:
    """Yield a line for each document that is relevant to a question."""
    for name in question.relevant:
        yield f"{_fit(question.id)} 0 {_fit(name)} 1\n"


def _fit(name: str) -> str:
    """Return an id as one column that a terminal shows as it stands."""

    def fit_sign(sign: str) -> str:
        return sign if sign.isprintable() and sign not in " %" else quote(sign, "", errors="surrogatepass")

    return "".join(map(fit_sign, name)) or "%"


def _tell_unranked(spec: RunSpec, questions: Sequence[Question]) -> str | None:
    """Say why what a run found cannot be held against what is relevant; None where it can."""
    benchmark = load(spec.benchmark)
    if not any(question.relevant for question in questions):
        return f"{benchmark.name} says of no document that it is relevant"
    if spec.retriever == RAG or any(metric.ranks for metric in benchmark.metrics(spec.config, spec.conditions)):
        return None
    cure = benchmark.corpus and "gold" in benchmark.corpus.options
    more = f"; {benchmark.name} has them there with --option gold=test" if cure else ""
    return f"the relevant documents are not in the corpus of this run{more}"


def _spec_again(run: RunRecord, data_dir: str | None) -> RunSpec:
    """Return a run's spec without the options that name a file, which decide no question."""
    known = load(run.benchmark).options
    asked = {
        name: value
        for name, value in run.spec.options.items()
        if name != "rag_prompt" and (name not in known or known[name].check is None)
    }
    spec: RunSpec = run.spec.changed(data_dir=data_dir, options=asked)
    return spec


def _load_again(folder: Path, run: RunRecord, spec: RunSpec) -> list[Question]:
    parts = [load_questions(spec.changed(split=split), load(spec.benchmark))[0] for split in run.splits]
    questions = [question for part in parts for question in part]
    if digest_questions(questions) != run.digests["questions"]:
        raise QuadragError(
            f"{spec.data_dir or 'what is prepared or downloaded'} holds other questions than {folder} was run on; name"
            " the folder of those with --data-dir"
        )
    return questions
