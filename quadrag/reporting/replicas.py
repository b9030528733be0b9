"""Which printed row the runs of a recipe replicate, and why they do not: decided here alone.

A row is replicated where all that its recipe fixes holds: model, settings, the authors' data, every question. It is
marked in the table, and so, by another sign, is the row of a recipe that is not replicated.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.data.card_facts import card_facts
from quadrag.prompts import are_own
from quadrag.provenance import Provenance
from quadrag.results.note import Note, NoteCode, group_notes
from quadrag.results.record import RunRecord
from quadrag.results.run import PROFILES, Run
from quadrag.spec import Replica

from .table import Row, Table

_REPLICATED, _ROW = "<", "~"  # what stands behind a printed row


# The rows in tables.


def find_row(runs: Iterable[RunRecord], labels: Sequence[str]) -> str:
    """Find the printed row, among those with labels, that a recipe of the runs is of; "" where none is."""
    replicas = [run.spec.replica for run in runs if run.spec.replica]
    return next((label for label in labels if any(_is_row(label, replica) for replica in replicas)), "")


def place_lines(printed: Sequence[Row], ours: Sequence[tuple[str, Sequence[Row]]]) -> list[Row]:
    """Put our lines right under the printed one whose label stands beside them; those without one behind all."""
    lines: list[Row] = []
    for one in printed:
        lines.append(replace(one, rule=True) if lines and lines[-1].kind == "ours" else one)
        for under in (block for label, block in ours if label == one.label):
            lines += [replace(line, rule=False) for line in under]
    return lines + [line for label, block in ours if not label for line in block]


def mark_replicas(table: Table, results: Sequence[Run], profile: str) -> Table:
    """Mark the printed rows of the runs' recipes; `profile` is the one shown first."""
    reasons = _judge_recipes(results, profile)
    replicas = [replica for result in results if (replica := result.record.spec.replica)]

    def mark(line: Row) -> str:
        of = (one for one in replicas if line.kind == "published" and _is_row(line.label, one))
        return next((_ROW if reasons[one.recipe] else _REPLICATED for one in of), "")

    marks = [mark(line) for line in table.rows]
    lines = [replace(line, label=line.label + sign) for line, sign in zip(table.rows, marks, strict=True)]
    owner = _name_owner([result.record for result in results])
    kinds = {_REPLICATED: "replicated", _ROW: "row"}
    notes = [Note(NoteCode.ROW_MARK, {"kind": kind, "prompts": owner}) for sign, kind in kinds.items() if sign in marks]
    return replace(table, rows=lines, notes=[*notes, *table.notes])


def _is_row(label: str, replica: Replica) -> bool:
    """Whether a line is of a recipe's row: it is named by it, or, where a row has a language, the recipe is by it."""
    named, words = replica.row.split(), re.split("[, ]+", label.strip())
    return bool(named) and (replica.recipe.endswith(f"-{'-'.join(words)}") or set(named) <= set(words))


# Notes.


def note_recipe(run: RunRecord) -> list[Note]:
    """Say which row the recipe of a run is of, which model was asked and with whose prompts."""
    if (replica := run.spec.replica) is None:
        return []
    row = replica.row + (f" ({replica.model})" if replica.model else "")
    asked = {"recipe": replica.recipe, "row": row, "model": run.llm, "prompts": _name_owner([run])}
    return [Note(NoteCode.RECIPE, asked)]


def _name_owner(runs: Iterable[RunRecord]) -> str:
    return "the user's own" if all(are_own(one.benchmark, one.prompts) for one in runs) else "ours"


def note_replicas(results: Sequence[Run], profile: str, alone: bool = False) -> list[Note]:
    """Say of the recipes whose rows are not replicated all that keeps them from it.

    Args:
        results: of the runs in a table.
        profile: the one that it shows first.
        alone: whether it is about one run, whatever else its recipe has.
    """
    judged = _judge_recipes(results, profile, alone)
    told = ((name, Note(NoteCode.NOT_REPLICATED, {"why": why})) for name, why in judged.items() if why)
    return group_notes(told, [*judged])


def list_reasons(results: Sequence[Run], profile: str) -> list[tuple[str, Note]]:
    """List what keeps runs from replicating their recipes' rows, each with the name of the recipe."""
    return [(name, reason) for name, why in _judge_recipes(results, profile).items() for reason in why]


# What a recipe fixes, and a run is not.


def _judge_recipes(results: Sequence[Run], profile: str, alone: bool = False) -> dict[str, list[Note]]:
    """Return by recipe in what its runs are not what it fixes; nothing where they replicate its row."""
    recipes: dict[str, list[Run]] = {}
    for result in results:
        if replica := result.record.spec.replica:
            recipes.setdefault(replica.recipe, []).append(result)
    return {name: _list_departures(ours, profile, alone) for name, ours in recipes.items()}


def _list_departures(results: Sequence[Run], profile: str, alone: bool) -> list[Note]:
    replicas = [replica for result in results if (replica := result.record.spec.replica)]
    reasons = [
        reason for result, replica in zip(results, replicas, strict=True) for reason in _depart(result.record, replica)
    ]
    if len(results) < replicas[0].runs and not alone:
        reasons.append(_reason("runs", done=len(results), total=replicas[0].runs))
    asked, whole = _count_questions(results)
    if asked < whole:
        reasons.append(_reason("questions", done=f"{asked:,}", total=f"{whole:,}"))
    if profile != PROFILES[0]:
        reasons.append(_reason("profile", profile=profile))
    return [reason for at, reason in enumerate(reasons) if reason not in reasons[:at]]


def _reason(kind: str, **params: Any) -> Note:
    return Note(NoteCode.NOT_REPLICATED, {"kind": kind, **params})


def _depart(run: RunRecord, replica: Replica) -> Iterator[Note]:
    """Yield in what one run is not what its recipe fixes, less its questions."""
    served = run.served_as
    models = [("model", replica.model, run.llm, served.get("llm"))]
    if run.found.get("entities"):
        finder = run.entity["model"] if run.entity else "none"
        models.append(("entity_model", replica.entity_model, finder, served.get("entity")))
    for kind, row, *names in models:
        own = [name for name in names if name]
        if row and any(_fold(name) != _fold(row) for name in own):
            yield _reason(kind, own=own, row=row)
    for name, said in replica.replaced.items():
        yield _reason("setting", name=name, own=(run.retrieval or {}).get(name), row=said)
    for name, (changed, said) in replica.changed.items():
        yield _reason("setting", name=name, own=changed, row="none" if said is None else said)
    if refused := [name for name in replica.sent if name not in run.sent]:
        yield _reason("refused", fields=refused)
    if run.given:
        yield _reason("files", files=run.given)
    if others := set(run.splits).difference(splits := _list_splits(run)):
        yield _reason("setting", name="split", own=sorted(others), row=splits)
    if run.whose is not Provenance.AUTHORS:
        yield _reason(f"data_{run.whose.value}")
    if run.stopped:
        yield _reason("stopped")
    if run.has_note("invalid"):
        yield _reason("invalid")


def _fold(names: str) -> list[str]:
    """Return a list of models less letter case, kinds of hyphens, and who publishes a model."""
    return [name.rpartition("/")[2].casefold().replace("_", "-") for name in names.split(", ")]


def _count_questions(results: Sequence[Run]) -> tuple[int, int]:
    """Count the questions that runs answered, each once, and those of the authors' splits.

    Of a split whose size is not known to the question, and of other data than theirs, it is what the data hold.
    """
    counts: dict[str, tuple[int, int]] = {}
    for result in results:
        run, coverage = result.record, result.record.coverage
        facts = card_facts(run.benchmark) if run.whose.theirs else None
        known = [facts.find_rows(run.config, split) if facts else None for split in _list_splits(run)]
        asked = len({(row["split"], row["id"]) for row in result.items})
        numbers = [rows.number for rows in known if rows and rows.number and not rows.about]
        whole = sum(numbers) if len(numbers) == len(known) else coverage.total if coverage else asked
        counts[run.config] = min((asked, whole), counts.get(run.config, (asked, whole)))
    return sum(asked for asked, _ in counts.values()), sum(whole for _, whole in counts.values())


def _list_splits(run: RunRecord) -> list[str]:
    """List the splits that the paper's rows are on."""
    default = load(run.benchmark).default_split
    return [default] if default else list(catalogue.config(run.benchmark, run.config).splits)
