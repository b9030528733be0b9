"""The runs of one campaign, or of one system on several tasks, as one run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from quadrag.benchmark import load
from quadrag.judges.certificate import unique
from quadrag.provenance import join
from quadrag.results.note import rename_splits
from quadrag.results.record import RunRecord
from quadrag.results.run import Run
from quadrag.spec import NONE


def merge_runs(results: Sequence[Run]) -> Run:
    """Put the runs of one campaign together; where a config ran several times, splits say how they were answered."""
    ran = Counter(result.record.config for result in results)

    def how(result: Run) -> str:
        inputs = result.record
        if ran[inputs.config] == 1 or inputs.retriever == load(inputs.benchmark).default_retriever:
            return ""
        return f" ({'no documents' if inputs.retriever == NONE else inputs.retriever})"

    splits = dict.fromkeys(split for one in results if not how(one) for split in one.record.splits)
    return Run(
        _merge_records([replace(one.record, notes=rename_splits(one.record, how(one))) for one in results], [*splits]),
        [
            replace(score, key=score.key._replace(split=score.key.split + how(result)))
            for result in results
            for score in result.scores
        ],
        [line | {"split": line["split"] + how(result)} for result in results for line in result.items],
        asked={
            (config, split + how(result), name): one
            for result in results
            for (config, split, name), one in result.asked.items()
        },
        certificates=unique(one for result in results for one in result.certificates),
        texts={
            ((config, split + how(result), name), sample): text
            for result in results
            for ((config, split, name), sample), text in result.texts.items()
        },
        parts=[result.record for result in results],
    )


def _merge_records(runs: Sequence[RunRecord], splits: list[str]) -> RunRecord:
    """Return the first run's record with what is to be told above a table of all of them."""
    parts = [run.coverage.split(" of ") for run in runs if run.coverage]
    return replace(
        runs[0],
        digests={**runs[0].digests, "splits": splits},
        provenance=join(run.whose for run in runs).value,
        coverage=" of ".join(str(sum(map(int, counts))) for counts in zip(*parts, strict=True)) or None,
        short={place: kind for run in runs for place, kind in run.short.items()},
        notes=[note for run in runs for note in run.notes],
        dead_judge=any(run.dead_judge for run in runs),
        stopped=next((run.stopped for run in runs if run.stopped), None),
    )
