"""Notes on the papers' rows in a table: where they come from, and what sets ours apart from them."""

from collections.abc import Sequence

from quadrag.benchmark import load
from quadrag.prompts import are_own
from quadrag.provenance import Provenance
from quadrag.results.note import Note, NoteCode
from quadrag.results.record import RunRecord
from quadrag.spec import RAG, UNKNOWN
from quadrag.systems.extractive import EXTRACTIVE

from .paper_tables import load_tables
from .published import Published, find_beside


def note_paper(benchmark: str, rows: Sequence[Published]) -> list[Note]:
    """Say where printed numbers come from, of which row if of one, under which conditions, and which are doubtful."""
    if not rows:
        return []
    tables = dict.fromkeys(row.table for row in rows)
    varies = load_tables(benchmark).varies
    named = {row.setting_of(varies[row.table]) for row in rows if row.table in varies}
    source = {"paper": load(benchmark).paper, "tables": [*tables]}
    source |= {"kind": "row", "row": named.pop()} if len(tables) == len(named) == 1 else {}
    conditions = [*dict.fromkeys(part for row in rows for part in row.conditions.split("; "))]
    doubtful = [
        Note(
            NoteCode.DOUBTFUL_PRINT,
            {"model": row.model, "what": row.language or row.key, "printed": row.printed, "why": row.doubt},
        )
        for row in rows
        if row.doubtful
    ]
    return [Note(NoteCode.PUBLISHED_SOURCE, source), *doubtful, Note(NoteCode.CONDITIONS, {"conditions": conditions})]


def note_beside(runs: Sequence[RunRecord]) -> list[Note]:
    """Say why no printed row stands beside answers of which nobody said how their passages were found.

    Where one does, say whose prompts the answers are by, and of a file's that nobody knows.
    """
    real = [run for run in runs if run.whose.comparable]  # beside the sample and own data stands none anyway
    beside = [run for run in real if find_beside(run)]
    notes = []
    if any(run.retriever == UNKNOWN and run not in beside for run in real):
        notes.append(Note(NoteCode.UNSAID, {"kind": "retriever"}))
    if any(run.command[1:2] == ["score"] and not run.log for run in beside):
        notes.append(Note(NoteCode.UNSAID, {"kind": "prompts"}))
    if any(map(_is_prompted, beside)):
        notes.append(Note(NoteCode.OTHER_PROMPTS))
    if any(run.whose is Provenance.UNVERIFIED for run in beside):
        notes.append(Note(NoteCode.UNVERIFIED))
    return notes


def _is_prompted(run: RunRecord) -> bool:
    """Whether a model was asked with quadrag's prompts, and not by a recipe, which says so itself."""
    by_model = run.command[1:2] == ["run"] and run.llm != EXTRACTIVE and run.retriever != RAG
    own = are_own(run.benchmark, run.prompts) or run.retriever == load(run.benchmark).handed_over
    return by_model and not (run.spec.replica or own)


def note_corpus(runs: Sequence[RunRecord]) -> list[Note]:
    """Say where ours searched another corpus than the printed rows beside them, as with the gold documents in it.

    A system of one's own had these where it found any.
    """
    added = dict.fromkeys(
        f"{name}={added}"
        for run in runs
        for name in load(run.benchmark).corpus_options
        if (added := _find_added(run, name))
    )
    return [Note(NoteCode.OTHER_CORPUS, {"options": [*added]})] if added else []


def _find_added(run: RunRecord, option: str) -> str:
    """Return of which split an option put gold documents into a run's corpus; "" where none."""
    gave = run.service or {}
    found = gave.get("by") == "id" or (gave.get("by") == "text" and gave.get("gold"))
    if run.retrieval is None:
        return "+".join(run.splits) if found else ""
    return str(run.options.get(option) or "")
