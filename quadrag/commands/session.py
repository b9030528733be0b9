"""What the commands that ask models share: the models and the ledger they open, what they may spend, how they end."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError


@contextlib.contextmanager
def open_session(arguments: argparse.Namespace, budget: Any) -> Iterator[Any]:
    """Open the models and the ledger that the arguments name, and close them."""
    from quadrag.baselines.benchmark import load
    from quadrag.baselines.campaign import time_limit
    from quadrag.baselines.models import Embedding, check_roles, judge_spec, open_model
    from quadrag.baselines.pipeline import Session
    from quadrag.baselines.rag_service import open_rag
    from quadrag.baselines.score import verdict_format
    from quadrag.ledger import Ledger
    from quadrag.prices import Prices

    prices = Prices.load(arguments.prices) if arguments.prices else None
    embed = Embedding(arguments.bertscore) if arguments.bertscore else None
    llm_spec = getattr(arguments, "llm", None)
    if llm_spec is not None and not llm_spec.strip():
        raise QuadragError("--llm is empty; expected extractive, http://HOST:PORT/v1#MODEL or the like")
    llm_spec = llm_spec or "extractive"
    with contextlib.ExitStack() as stack:
        rag = getattr(arguments, "rag", None)
        if llm_spec == "extractive" and not arguments.judge and not rag:
            yield Session(command=typed(arguments), embed=embed)
            return
        ledger = stack.enter_context(Ledger(arguments.ledger))
        common: dict[str, Any] = {
            "ledger": ledger,
            "concurrency": arguments.concurrency,
            "prices": prices,
            "budget": budget,
            "replay": arguments.replay,
        }
        temperature = getattr(arguments, "temperature", None)
        asked = {
            "temperature": load(arguments.benchmark).TEMPERATURE if temperature is None else temperature,
            "top_p": getattr(arguments, "top_p", None),
            "max_tokens": getattr(arguments, "max_tokens", None),
            "seed": getattr(arguments, "seed", None),
        }
        if rag:
            llm: Any = open_rag(
                rag,
                ledger=ledger,
                concurrency=arguments.concurrency,
                replay=arguments.replay,
                name=arguments.rag_name,
                body=arguments.rag_body,
                timeout=300.0 if arguments.rag_timeout is None else arguments.rag_timeout,
                parameters={**asked, "temperature": temperature},  # a service has a temperature of its own
                budget=budget,
            )
        else:
            llm = open_model(llm_spec, parameters=asked, time_limit=time_limit(arguments), **common)
        judges: list[Any] = []
        check_roles(arguments.judge)
        for role, named in enumerate(arguments.judge):
            shape = verdict_format(load(arguments.benchmark), arguments.judge_format, role)
            spec, preset = judge_spec(named)
            verdict = {"temperature": 0, "max_tokens": arguments.judge_max_tokens, **preset, **shape}
            judge = open_model(spec, parameters=verdict, **common)
            if judge is None or spec.startswith("challenge:"):
                raise QuadragError(f"--judge {spec} judges nothing; expected http://host:port/v1#model or the like")
            judges.append(judge)
        for model in (llm, *judges):
            if model is not None:
                stack.callback(model.close)
        yield Session(llm, judges, typed(arguments), embed)


def open_budget(arguments: argparse.Namespace) -> Any:
    """Return what the command may spend on all its models together; None where nothing bounds it."""
    if arguments.budget is None:
        return None
    if not arguments.prices:
        raise QuadragError("--budget needs the prices of the models; name a price file with --prices")
    from quadrag.prices import Budget, Prices

    return Budget(arguments.budget, Prices.load(arguments.prices).currency)


def closing(results: Sequence[tuple[Path, Any]]) -> int:
    """Say what failed and what stopped; the exit code."""
    failures = {place: why for _, result in results for place, why in (result.info.get("failures") or {}).items()}
    stopped = [result.stopped for _, result in results if result.stopped]
    if failures and not stopped:
        place, why = next(iter(failures.items()))
        print(f"{len(failures)} answers failed and are unscored (first, {place}: {why}); run again to ask them again")
    verdicts = sum(result.info.get("failed_verdicts") or 0 for _, result in results)
    if verdicts and not stopped:
        print(f"{verdicts} verdicts failed and are unscored; run again to ask them again")
    if stopped:
        print(f"quadrag: {stopped[0]}", file=sys.stderr)
    return 2 if stopped else 0


def typed(arguments: argparse.Namespace) -> list[str]:
    """Return the command as typed, less user names, passwords and queries in addresses."""
    return [
        "quadrag",
        *(re.sub(r"(\w+://)[^/,\s]*@", r"\1", re.sub(r"\?[^#\s]*", "", word)) for word in arguments.typed),
    ]
