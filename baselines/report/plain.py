"""Results for programs: one object of all that runs came to."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quadrag.provenance import join

from ..core.run_record import RunRecord
from ..reporting.messages import say, say_invalid
from ..results.note import NoteCode
from ..results.run import Result
from ..results.score import Score, Status
from ..tables.cells import count_all, count_both
from ..tables.replicas import list_reasons
from ..tables.run_notes import note_validity
from ..tables.slices import select_whole
from .pooled import pool_profiles
from .samples import spread_samples


def name_recipe(run: RunRecord) -> str | None:
    """Return the recipe of a run; None where it is of none."""
    return run.spec.replica.recipe if run.spec.replica else None


def describe_results(results: Sequence[Result], profiles: Sequence[str], folder: Path | None) -> dict[str, Any]:
    """Return runs of one benchmark as an object for JSON, values in the metrics' own units, mostly 0 to 1.

    Args:
        results: of the runs.
        profiles: those whose rows are wanted.
        folder: where the runs lie; None of answers that were scored without one.

    Returns:
        ``benchmark``, ``config`` and ``name`` (what answered), null where runs differ; ``folder``; ``valid``, and why
        not (``invalid``); ``notes``, what stands above a table, each after the runs that it is of, unless it is of all;
        what is partial (``stopped``, ``coverage``); whose the data are (``provenance``); the ``recipe``, null
        where runs differ, and what keeps them from its row (``not_replicated``); and ``rows``, one for every metric
        over all questions of a split, before them those over all splits (``all 5 splits``). A row that could not be
        computed says why (``not_run``), one of several samples says how far they lie apart (``samples``).
    """
    runs = [result.run for result in results]

    def shared(values: Sequence[str | None]) -> str | None:
        return values[0] if len(set(values)) == 1 else None

    several = shared([run.llm for run in runs]) is None
    reasons = list_reasons(results, profiles[0])
    return {
        "benchmark": runs[0].benchmark,
        "config": shared([run.config for run in runs]),
        "name": shared([run.llm for run in runs]),
        "folder": None if folder is None else str(folder),
        "valid": not any(run.has_note(NoteCode.INVALID) for run in runs),
        "invalid": [f"{run.llm}: {line}" if several else line for run in runs for line in say_invalid(run)],
        "notes": _note_each(results),
        "stopped": next((result.stopped for result in results if result.stopped), None),
        "coverage": next((run.coverage for run in runs if run.coverage), None),
        "provenance": join(run.whose for run in runs).value,
        "recipe": shared([name_recipe(run) for run in runs]),
        "not_replicated": [
            f"{name}: {say(reason)}" if len({name for name, _ in reasons}) > 1 else say(reason)
            for name, reason in reasons
        ],
        "rows": [row for result in results for row in _rows(result, profiles)],
    }


def _note_each(results: Sequence[Result]) -> list[str]:
    """List what stands above the tables of some runs, after the names of those that it is of, unless it is of all."""
    inputs = [result.run for result in results]
    said = [[one.llm for one in inputs], [one.config for one in inputs], [" ".join(one.splits) for one in inputs]]
    differ = [names for names in said if len({*names}) > 1]
    runs = [" ".join(names) for names in zip(*differ, strict=True)] or [""] * len(results)
    if len({*runs}) < len(results) > 1:
        runs = [str(result.folder or f"#{number}") for number, result in enumerate(results, 1)]
    return [say(note) for note in note_validity(results, runs)]


def _rows(result: Result, profiles: Sequence[str]) -> Iterator[dict[str, Any]]:
    inputs = result.run
    for row in _select(result, profiles):
        spread = spread_samples(result, row)
        yield {
            "name": inputs.llm,
            "recipe": name_recipe(result.run),
            "retriever": inputs.retriever,
            **{name: getattr(row.key, name) for name in ("config", "split", "metric", "key")},
            **{name: getattr(row, name) for name in ("profile", "value", "interval")},
            "n": count_both(row)[0],
            "n_total": count_all(row),
            "signature": row.signature,
            **({"samples": spread._asdict()} if spread else {}),
            "valid": row.status is not Status.INVALID,
            **({"not_run": row.reason} if not row.ran else {}),
        }


def _select(result: Result, profiles: Sequence[str]) -> list[Score]:
    """Select the rows over all questions, first those over all splits of a config."""
    rows = [row for row in select_whole(result.scores) if row.profile in profiles]
    return [*pool_profiles(result, rows), *rows]
