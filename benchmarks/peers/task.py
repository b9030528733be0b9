"""A task of a benchmark, from its questions to the table, as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers.peer import CONCURRENCY, OURS, Given, Peer


def by_quadrag(given: Given) -> Callable[[], Any]:
    asked = ["run", "rgb", "noise_robustness_zh", "--split", "noise_0", "--data-dir", given["rgb"], "--ledger", "l"]
    asked += ["--llm", f"{given['url']}#m", "--concurrency", str(CONCURRENCY), "--limit", str(given["limit"])]

    def do() -> list[float]:
        typed([sys.executable, "-m", "quadrag", *asked, "--out", "run"])
        rows = json.loads(Path("run/scores.json").read_text(encoding="utf-8"))
        found = (row for row in rows if row["key"] == "accuracy" and row["profile"] == "official")
        return [next(row["value"] for row in found if row["slice"] in (None, "", "all"))]

    return do


def by_lm_eval(given: Given) -> Callable[[], Any]:
    folder = subprocess.run(
        [sys.executable, "-m", "quadrag", "harness", "lm-eval"], check=True, capture_output=True, text=True
    ).stdout.strip()
    served = f"model=m,base_url={given['url']}/chat/completions,tokenizer_backend=None,num_concurrent={CONCURRENCY}"
    asked = ["--include_path", folder, "--tasks", "quadrag_rgb_noise_robustness_zh", "--apply_chat_template"]
    asked += ["--model", "local-chat-completions", "--model_args", served, "--limit", str(given["limit"])]
    asked += ["--metadata", json.dumps({"data_dir": given["rgb"]}), "--output_path", "out"]

    def do() -> list[float]:
        typed([sys.executable, "-m", "lm_eval", "run", *asked], OPENAI_API_KEY="x")
        made = json.loads(next(Path("out").rglob("results_*.json")).read_text(encoding="utf-8"))
        (task,) = made["results"].values()
        return [task["rgb_accuracy.accuracy,none"]]

    return do


def typed(command: list[str], **env: str) -> None:
    """Run a command, as a user types it."""
    ran = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(ran.stderr[-600:])


PEERS = (
    Peer(OURS, by_quadrag),
    Peer("lm-eval", by_lm_eval, ("lm-eval[api]>=0.4.13,<0.5", "quadrag")),
)
