"""What a run retrieved, and what is relevant, as TREC run and qrels files: input of trec_eval, ir_measures, ranx.

Those programs order by score, in single precision, and not by rank: where a question's scores do not fall from rank to
rank in it, one over the rank stands in their place. In an id what does not print, blanks and ``%`` are written as in an
address, and a key is hidden; an empty id is ``%``.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from urllib.parse import quote

import numpy as np

from quadrag.records import Passage, Question, document_id, write_text
from quadrag.results.record import check_stage
from quadrag.run.folder import read_result

from .questions import RunReader


def write(folder: Path, out: Path, data_dir: str | None = None) -> dict[Path, int]:
    """Write ``CONFIG-SPLIT.run`` for every split of a run and, where its search was measured, ``CONFIG-SPLIT.qrels``.

    Return the number of lines of each file; nothing of a run without passages. `data_dir` says where the run's
    questions are now, None: where they were.
    """
    result = read_result(folder)
    run = result.record
    check_stage(folder, run, "retrieved.jsonl")
    reader = RunReader(folder, result, data_dir)
    documents = reader.documents
    tag = re.sub(r"\W+", "-", f"quadrag-{run.retriever}")
    by_text = (run.service or {}).get("by") == "text" and documents
    written: dict[Path, int] = {}
    for split in run.splits if any(reader.passages.values()) else ():
        lines: list[str] = []
        relevant: list[str] = []
        for question in (question for question in reader.questions.values() if question.split == split):
            shown = reader.passages[question.key]
            names = documents[question.key] if by_text else [None] * len(shown)
            named = [passage._replace(id=name or passage.id) for passage, name in zip(shown, names, strict=True)]
            lines += run_lines(question.id, named, tag)
            relevant += qrels_lines(question) if documents else ()
        qrels = out / f"{run.config}-{split}.qrels"
        qrels.unlink(missing_ok=True)  # of an earlier call
        for path, text in ((qrels.with_suffix(".run"), lines), (qrels, relevant)):
            if text:
                write_text(path, "".join(text))
                written[path] = len(text)
    return written


def run_lines(ident: str, shown: Sequence[Passage], tag: str) -> Iterator[str]:
    """Yield the lines of one question, best first: the first passage of a document under the document's id."""
    names: list[str] = []
    for rank, passage in enumerate(shown, 1):
        # A service may give an id twice, and one that looks as if it had been made here.
        ids = chain((document_id(passage) or passage.id, passage.id), (f"{passage.id}#{at}" for at in count(rank)))
        names.append(next(name for name in map(_fit, ids) if name not in names))
    scores = [np.nan if passage.score is None else float(passage.score) for passage in shown]
    singles = np.asarray(scores, dtype=np.float32)
    if not (np.isfinite(singles).all() and (np.diff(singles) < 0).all()):
        scores = [1 / rank for rank in range(1, len(names) + 1)]
    for rank, (name, score) in enumerate(zip(names, scores, strict=True), 1):
        yield f"{_fit(ident)} Q0 {name} {rank} {score!r} {tag}\n"


def qrels_lines(question: Question) -> Iterator[str]:
    for name in question.relevant:
        yield f"{_fit(question.id)} 0 {_fit(name)} 1\n"


def _fit(name: str) -> str:
    """Return an id as one column that a terminal shows as it stands."""
    fitted = (
        sign if sign.isprintable() and sign not in " %" else quote(sign, "", errors="surrogatepass") for sign in name
    )
    return "".join(fitted) or "%"
