"""What a run retrieved, and what is relevant, as TREC run and qrels files: input of trec_eval, ir_measures, ranx.

A run line is ``QID Q0 DOCID RANK SCORE TAG``, a qrels line ``QID 0 DOCID 1``. Those programs order by score, which they
hold in single precision, and not by rank: so where a question's scores do not fall from rank to rank in that precision
(ties, or a retriever without scores), one over the rank stands in their place. In an id, which may be a service's, what
does not print, blanks and ``%`` are written as in an address, and a key is hidden; an empty id is ``%``. Nothing is
measured here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from quadrag.chat.keys import known_keys
from quadrag.errors import QuadragError
from quadrag.records import Key, Passage, Question, document_id, write_text

from ..core.benchmark import load
from ..core.run_files import check_stage
from ..core.run_record import RunRecord, read_run
from ..core.spec import RunSpec
from ..core.task import load_questions
from ..scoring.served import find_documents
from ..systems.rag.system import RAG
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
    data_dir = data_dir or run.spec.data_dir
    if not (folder / "retrieved.jsonl").is_file():
        raise QuadragError(f"{folder} holds no retrieved.jsonl; expected the folder of a run that found passages")
    check_stage(folder, run, "retrieved.jsonl")
    questions = _load(folder, run, data_dir)
    found = retrieve.read(folder / "retrieved.jsonl", questions)
    if not any(found.values()):
        return []
    tag = re.sub(r"\W+", "-", f"quadrag-{run.retriever}")
    why_not = "relevance is known of documents, not of passages" if passages else _unranked(run, questions)
    if run.retriever == RAG and not passages:
        # As its passages were known to the run's own scores, by their ids or by their text.
        evidence, known = find_documents(load(questions[0].benchmark), _spec_again(run, data_dir), questions, found)
        found = {
            key: tuple(passage._replace(id=ident) for passage, ident in zip(shown, known[key], strict=True))
            for key, shown in found.items()
        }
        why_not = evidence.why or why_not
    hide = known_keys().hide
    found = {key: tuple(one._replace(id=hide(one.id)) for one in shown) for key, shown in found.items()}
    splits = dict.fromkeys(question.split for question in questions)
    return [
        _write_split(
            [q for q in questions if q.split == split],
            found,
            out / f"{questions[0].config}-{split}",
            tag,
            why_not,
            passages,
        )
        for split in splits
    ]


def _unranked(run: RunRecord, questions: Sequence[Question]) -> str | None:
    """Say why what a run found cannot be held against what is relevant; None where it can."""
    if not any(question.relevant for question in questions):
        return f"{questions[0].benchmark} says of no document that it is relevant"
    task = _spec_again(run, None)
    if task.retriever == RAG:
        return None
    benchmark = load(task.benchmark)
    if any(metric.ranks for metric in benchmark.metrics(task.config, task.conditions)):
        return None
    found = "the relevant documents are not in the corpus of this run"
    if benchmark.corpus and "gold" in benchmark.corpus.options:
        found += f"; {benchmark.name} has them there with --option gold=test"
    return found


def _write_split(
    questions: Sequence[Question],
    found: Mapping[Key, Sequence[Passage]],
    stem: Path,
    tag: str,
    why_not: str | None,
    passages: bool,
) -> Written:
    lines = [line for question in questions for line in run_lines(question.id, found[question.key], tag, passages)]
    qrels = [line for question in questions for line in qrels_lines(question)] if why_not is None else []
    run, judged = (stem.with_name(f"{stem.name}.{kind}") for kind in ("run", "qrels"))
    write_text(run, "".join(lines))
    if why_not is None:
        write_text(judged, "".join(qrels))
    else:
        judged.unlink(missing_ok=True)  # of an earlier call
    return Written(run, None if why_not else judged, len(questions), len(lines), len(qrels), why_not)


def run_lines(ident: str, shown: Sequence[Passage], tag: str, passages: bool = False) -> Iterator[str]:
    """Yield the lines of one question, best first, each id once; further passages of a document keep their ranks."""
    names: list[str] = []
    for rank, passage in enumerate(shown, 1):
        first = passage.id if passages else document_id(passage) or passage.id
        # A service may give an id twice, and one that looks as if it had been made here.
        made = (f"{passage.id}#{number}" for number in count(rank))
        names.append(next(name for name in chain((first, passage.id), made) if name not in names))
    scores = _scores([passage.score for passage in shown])
    for rank, (name, score) in enumerate(zip(names, scores, strict=True), 1):
        yield f"{_fit(ident)} Q0 {_fit(name)} {rank} {score!r} {tag}\n"


def qrels_lines(question: Question) -> Iterator[str]:
    """Yield a line for each document that is relevant to a question."""
    for name in question.relevant:
        yield f"{_fit(question.id)} 0 {_fit(name)} 1\n"


def _scores(scores: Sequence[float | None]) -> list[float]:
    """Return scores that put the list in its own order, wherever they are read in single precision."""
    if all(score is not None for score in scores):
        singles = np.asarray(scores, dtype=np.float32)
        if np.isfinite(singles).all() and (np.diff(singles) < 0).all():
            return [float(score) for score in scores if score is not None]
    return [1 / rank for rank in range(1, len(scores) + 1)]


def _fit(name: str) -> str:
    """Return an id as one column that a terminal shows as it stands."""
    return "".join(one if one.isprintable() and one not in " %" else _escape(one) for one in name) or "%"


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _spec_again(run: RunRecord, data_dir: str | None) -> RunSpec:
    """Return a run's spec without the options that name a file, which decide no question."""
    known = load(run.benchmark).options
    asked = {
        name: value
        for name, value in run.spec.options.items()
        if name != "rag_prompt" and (name not in known or known[name].check is None)
    }
    return run.spec.changed(data_dir=data_dir, options=asked)


def _load(folder: Path, run: RunRecord, data_dir: str | None) -> list[Question]:
    spec, found = _spec_again(run, data_dir), list[Question]()
    for split in run.splits:
        found += load_questions(spec.changed(split=split), load(run.benchmark))[0]
    if digest_questions(found) != run.digests["questions"]:
        raise QuadragError(
            f"{data_dir or 'what is prepared or downloaded'} holds other questions than {folder} was run on; name the"
            " folder of those with --data-dir"
        )
    return found
