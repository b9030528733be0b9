"""Results for programs: one object of all that runs came to."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quadrag.provenance import join
from quadrag.results.items import with_pooled
from quadrag.results.note import NoteCode
from quadrag.results.run import Run, Status

from .messages import say, say_invalid
from .names import count_all, count_both
from .notes import note_validity
from .published import list_reasons
from .tables import spread_samples


def describe_results(results: Sequence[Run], profiles: Sequence[str], folder: Path | None) -> dict[str, Any]:
    """Return runs of one benchmark as an object for JSON, values in the metrics' own units, mostly 0 to 1.

    Args:
        results: of the runs.
        profiles: those whose rows are wanted.
        folder: where the runs lie; None of answers that were scored without one.

    Returns:
        ``benchmark``, ``config``, ``name`` (what answered) and ``recipe``, null where runs differ; ``folder``;
        ``valid``, and why not (``invalid``); ``notes``, what stands above a table; what is partial (``stopped``,
        ``coverage``); whose the data are (``provenance``); what keeps the runs from
        their recipe's row (``not_replicated``); and ``rows``, a metric over all questions of a split each, before them
        those over all splits. One that could not be computed says why (``not_run``), one of several samples
        has their spread.
    """
    runs = [result.record for result in results]

    def shared(values: Sequence[str | None]) -> str | None:
        return values[0] if len(set(values)) == 1 else None

    several = len({run.llm for run in runs}) > 1
    reasons = [(name, say(reason)) for name, reason in list_reasons(results, profiles[0])]
    return {
        "benchmark": runs[0].benchmark,
        "config": shared([run.config for run in runs]),
        "name": shared([run.llm for run in runs]),
        "folder": None if folder is None else str(folder),
        "valid": not any(run.find_notes(NoteCode.INVALID) for run in runs),
        "invalid": [f"{run.llm}: {line}" if several else line for run in runs for line in say_invalid(run)],
        "notes": [say(note) for note in note_validity(results)],
        "stopped": next((say(result.stopped) for result in results if result.stopped), None),
        "coverage": next((str(run.coverage) for run in runs if run.coverage), None),
        "provenance": join(run.provenance for run in runs).value,
        "recipe": shared([_name_recipe(result) for result in results]),
        "not_replicated": [f"{name}: {why}" if len({*dict(reasons)}) > 1 else why for name, why in reasons],
        "rows": [row for result in results for row in _rows(result, profiles)],
    }


def _name_recipe(result: Run) -> str | None:
    return result.record.spec.replica.recipe if result.record.spec.replica else None


def _rows(result: Run, profiles: Sequence[str]) -> Iterator[dict[str, Any]]:
    scores = [score for score in result.whole() if score.profile in profiles]
    for score in with_pooled(result, scores, *profiles):
        spread = spread_samples(result, score)
        yield {
            "name": result.record.llm,
            "recipe": _name_recipe(result),
            "retriever": result.record.retriever,
            **{name: getattr(score.key, name) for name in ("config", "split", "metric", "key")},
            **{name: getattr(score, name) for name in ("profile", "value", "interval")},
            "n": count_both(score)[0],
            "n_total": count_all(score),
            "signature": score.signature,
            **({"samples": spread._asdict()} if spread else {}),
            "valid": score.status is not Status.INVALID,
            **({} if score.ran else {"not_run": score.reason}),
        }
