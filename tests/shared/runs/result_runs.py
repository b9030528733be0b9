"""Which model, organisation and files the tests of results name, and how they plan what runs give."""

from __future__ import annotations

import json

from quadrag.hub.results.plan import plan_results

ORG, MODEL = "quadrag-test", "ann/model"
RGB, CRAG = ".eval_results/quadrag-rgb.yaml", ".eval_results/quadrag-crag-none.yaml"


def plan(*runs, model=MODEL, **options):
    return plan_results(ORG, model, runs, **{"accept_data": True, **options})


def scores_of(folder):
    rows = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return {
        (row["split"], f"{row['metric']}.{row['key']}", row["profile"]): row for row in rows if row["slice"] == "all"
    }


def change_inputs(**entries):
    return lambda info: info["inputs"].update(entries)
