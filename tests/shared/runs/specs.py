"""Specs and records of runs that tests make without a run."""

import json
from pathlib import Path
from typing import Any

from quadrag.parts import Retrieval
from quadrag.results import RunRecord
from quadrag.spec import RunSpec


def spec_file(**said: Any) -> tuple[str, str]:
    """Return the option of a file in the current folder that says settings which no option does."""
    Path("spec.json").write_text(json.dumps(said), encoding="utf-8")
    return "--spec", "spec.json"


def spec_of(
    benchmark: str,
    config: str,
    split: str | None = None,
    data_dir: str | None = None,
    retriever: str = "own",
    retrieval: Retrieval | None = None,
    options: dict[str, Any] | None = None,
    limit: int | None = None,
) -> RunSpec:
    """Make a spec with nothing filled in but its retrieval."""
    return RunSpec(
        benchmark=benchmark,
        config=config,
        split=split,
        data_dir=data_dir,
        retriever=retriever,
        retrieval=retrieval or Retrieval(),
        options=options or {},
        limit=limit,
    )


def record_of(
    benchmark: str,
    config: str,
    splits: list[str],
    retriever: str = "none",
    llm: str = "m",
    judge: str | None = None,
    retrieval: dict[str, Any] | None = None,
    **facts: Any,
) -> RunRecord:
    """Make the record of a run that somebody is said to have made."""
    digests = {"splits": splits, "system": {"model": llm, "service": None, "parameters": {}}}
    digests |= {"retrieval": retrieval} if retrieval else {}
    judging = {"judges": [{"model": judge, "service": None, "parameters": {}}]} if judge else {}
    return RunRecord(spec_of(benchmark, config, retriever=retriever), digests, judging, judge, **facts)
