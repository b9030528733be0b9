"""What is said under a table of the papers' rows in it: where they come from, and where ours had another search."""

from collections.abc import Sequence

from quadrag.provenance import Provenance

from ..core.benchmark import load
from ..core.prompts import are_own
from ..core.run_record import RunRecord
from ..core.spec import RAG, UNKNOWN
from ..systems.extractive import EXTRACTIVE
from .grid import Detail
from .paper import load_tables
from .published import Published, find_beside
from .replicas import PROMPTS, are_many

_UNVERIFIED = "unverified: nobody here can tell whether the data are those of the published values."


def note_paper(benchmark: str, rows: Sequence[Published]) -> list[str]:
    """Say where printed numbers come from, of which row if of one, under which conditions, and which are doubtful."""
    if not rows:
        return ["No published value stands beside."]
    tables = dict.fromkeys(row.table for row in rows)
    varies = load_tables(benchmark).varies
    named = {row.setting_of(varies[row.table]) for row in rows if row.table in varies}
    which = f", row {named.pop()}" if len(tables) == len(named) == 1 else ""
    conditions = "; ".join(dict.fromkeys(part for row in rows for part in row.conditions.split("; ")))
    return [
        f"Published: {load(benchmark).paper}, table {', '.join(tables)}{which}.",
        Detail(f"Published under: {conditions}."),
        *(
            f"? {row.model} {row.language or row.key} {row.printed}: {row.note.removeprefix('suspect: ')}."
            for row in rows
            if row.doubtful
        ),
    ]


def note_beside(runs: Sequence[RunRecord]) -> list[str]:
    """Say why no printed row stands beside answers of which nobody said how their passages were found.

    Where one does, say whose prompts the answers are by, and of a file's that nobody knows.
    """
    notes = []
    real = [run for run in runs if run.whose.comparable]  # beside the sample and own data stands none anyway
    if any(run.retriever == UNKNOWN and not find_beside(run) for run in real):
        notes.append(
            "The paper's rows vary how passages are found, so none stands beside: name yours with --retriever."
        )
    unsaid = [run for run in real if run.command[1:2] == ["score"] and not run.log]
    if any(find_beside(run) for run in unsaid):
        notes.append("With which prompts these answers were made is not known; the published ones are by the paper's.")
    if any(_is_prompted(run) and find_beside(run) for run in real) and not are_many(runs):
        notes.append(PROMPTS)
    if any(run.whose is Provenance.UNVERIFIED and find_beside(run) for run in real):
        notes.append(_UNVERIFIED)
    return notes


def _is_prompted(run: RunRecord) -> bool:
    """Whether a model was asked with quadrag's prompts, and not by a recipe, which says so itself."""
    inputs = run
    by_model = run.command[1:2] == ["run"] and inputs.llm != EXTRACTIVE and inputs.retriever != RAG
    handed = load(inputs.benchmark).handed_over
    return by_model and not (
        run.spec.replica or are_own(inputs.benchmark, inputs.prompts) or inputs.retriever == handed
    )


def note_corpus(runs: Sequence[RunRecord]) -> list[str]:
    """Say where ours searched another corpus than the printed rows beside them, as with the gold documents in it.

    A system of one's own had these where it found any.
    """
    added = dict.fromkeys(
        f"{name}={added}"
        for run in runs
        for name in load_tables(run.benchmark).corpus_options
        if (added := _find_added(run, name))
    )
    return [f"Ours searched a corpus with {', '.join(added)}, the published rows one without."] if added else []


def _find_added(run: RunRecord, option: str) -> str:
    """Return of which split an option put gold documents into a run's corpus; "" where none."""
    inputs, gave = run, run.service or {}
    found = gave.get("by") == "id" or (gave.get("by") == "text" and gave.get("gold"))
    if inputs.retrieval is None:
        return "+".join(inputs.splits) if found else ""
    return str(inputs.options.get(option) or "")
