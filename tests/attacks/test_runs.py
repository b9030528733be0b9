"""Whole commands against a hostile server: they end well, what failed is unscored, and nothing shows a secret."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hostile_server import GOOD, KEY, QUERY, SECRETS, HostileServer, fill

from quadrag.cli import main

ROWS = yaml.safe_load((Path(__file__).parent / "replies.yaml").read_text(encoding="utf-8"))
LATE = ("wire-stall", "wire-drip")
# Met also where only some kinds are: those that ended a run, became a number or filled the memory.
WORST = ("error-deep-list", "charset-hex", "charset-idna", "wait-year", "redirect-port", "usage-nan", "text-null")
WORST += ("text-tools", "surrogate", "surrogate-plain", "size-bomb", "echo-reply", "echo-basic", "escapes-colour")
MODEL = ("{base}/v1?api_key={query}#m", "--timeout", "2")
RUNS = {
    "model": ("rgb", "noise_robustness_en", "--samples", "3", "--seed", "1", "--llm", *MODEL),
    "judge": ("omnieval", "all", "--judge", *MODEL),
    "service": ("omnieval", "all", "--rag", "{base}/rag?api_key={query}", "--timeout", "2"),
}
# Questions enough for so many calls: a judge is asked five times of each, a model 15 times, and a service once.
LIMITS = {"model": lambda n: n // 15 + 1, "judge": lambda n: n // 5 + 1, "service": lambda n: n + 1}
# A judge of whose first verdicts none can be read is asked no further.
VERDICT = {"message": {"content": '{"prediction": 1}'}}
WELL = {route: {"name": "well", **(VERDICT if route == "judge" else {})} for route in RUNS}


def deal(route: str, count: int) -> list[dict[str, Any]]:
    kind = "plain" if route == "service" else "chat"
    rows = [row for row in ROWS if row.get("for", kind) == kind]
    random.Random(0).shuffle(rows)
    return sorted(rows, key=lambda row: row["name"] not in WORST)[:count]


def command(route: str, server: HostileServer, out: Path) -> list[str]:
    words = [word.format(base=server.secret_url, query=QUERY) for word in RUNS[route]]
    (out / "calls.yaml").write_text("calls: {max_reply_bytes: 1000000}")
    words += ["--spec", str(out / "calls.yaml")]
    return ["run", *words, "--data-dir", "sample", "--ledger", str(out / "L"), "--out", str(out / "run")]


def check(route: str, server: HostileServer, out: Path, said: str) -> None:
    names, well = server.deal, server.asked["well"]
    assert "Traceback" not in said and "\x1b" not in said
    files = ("run.json", "report.html", "scores.json", "answers.jsonl")
    shown = [(out / "run" / name).read_text("utf-8") for name in files]
    for name, secret in SECRETS.items():
        assert not any(secret in text for text in [said, *shown]), name
    if route == "judge":
        judged = [row for row in json.loads(shown[2]) if row["signature"].endswith("judge:m")]
        assert 1 <= max(row["n_scored"] for row in judged) <= well, "the good verdicts alone are read"
        assert all(row["n_scored"] or row["value"] is None for row in judged if row["profile"] == "official")
        return
    answers = [json.loads(line) for line in (out / "run" / "answers.jsonl").open(encoding="utf-8")]
    texts = {fill(row["text"]) for row in ROWS if "text" in row and row["name"] in names} | {GOOD}
    assert {row["answer"] for row in answers if row["state"] == "ok"} <= texts
    assert all((row["answer"] is None) == (row["state"] != "ok") for row in answers)


@pytest.mark.slow(6, 60, 200)
@pytest.mark.parametrize("route", RUNS)
def test_a_run_ends_whatever_it_is_told(tmp_path, monkeypatch, capfd, route, rounds):
    monkeypatch.setenv("QUADRAG_API_KEY", KEY)
    monkeypatch.setattr("quadrag.chat.calls.backoff", lambda attempt: 0.01)
    rows = [row for row in deal(route, rounds) if row["name"] not in LATE]
    with HostileServer([WELL[route], *rows]) as server:
        server.deal = ["well", *(row["name"] for row in rows)]
        code = main([*command(route, server, tmp_path), "--limit", str(LIMITS[route](len(rows)))])
        said = capfd.readouterr()
        assert code == 3, said.err
        assert not set(server.deal) - server.asked.keys()
    check(route, server, tmp_path, said.out + said.err)
    run = str(tmp_path / "run")
    assert main(["report", run]) in (0, 3)
    assert main(["show", run, "--limit", "100"]) == 0
    shown = capfd.readouterr().out
    assert "\x1b" not in shown and not [name for name, secret in SECRETS.items() if secret in shown]
    # Of a model's samples and a judge's verdicts some are shown; which of them were told a secret changes.
    assert route != "service" or "quadrag knows *** *** *** ***" in shown
