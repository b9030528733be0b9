"""Quadrag killed, starved, damaged and lied to, at random by a seed, until the time is up; `make soak` runs it.

    python tests/soak --minutes 10 --seed 7 --only kill

A round is an attack on a job, `RECORDS`. Its draws depend on the seed, the attack and its number alone, so that a
finding comes again with `--seed` and `--round`; moments that depend on the machine's speed do not. At the end a table
says how many rounds each attack had and what was found; the code is then 1 where anything was. `--page docs/scale.md`
puts the table into the page.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import attacks
import hostile
import serving
from jobs import JOBS, Job
from world import World


class Record(NamedTuple):
    """An attack: how something is disturbed, on which jobs, and in words what must hold."""

    attack: attacks.Attack
    jobs: Sequence[Job]
    holds: str


class Finding(NamedTuple):
    """What does not hold, in which round."""

    attack: str
    job: str
    number: int
    what: str


START, END = "<!-- made by tests/soak -->", "<!-- end -->"
_ALL = [*JOBS.values()]
_ASKING = [job for job in _ALL if job.asks and job.command[0] == "run"]
_JUDGE = Job("certify-judge", ("certify-judge", "--injections", "--judge", "{obedient}", "--ledger", "L"), made=())
_SERVED = [JOBS["kg build"]] if find_spec("fastapi") and find_spec("uvicorn") else []
_SAME = "the same command ends with the same files; no answer is lost, no call paid twice"
_KEPT = "the same numbers, or one line; to do what it says brings them back"
_BELIEVED = ("prepare", "export")  # no sums are kept of what these write
RECORDS = {
    **{name: Record(attack, _ALL, _SAME) for name, attack in attacks.ATTACKS.items()},
    "kept files": Record(hostile.kept, [job for job in _ALL if job.command[0] not in _BELIEVED], _KEPT),
    "given files": Record(hostile.given, [job for job in _ALL if job.data], "read, or one line; no pickle is read"),
    "answers": Record(hostile.answers, [job for job in _ALL if job.before], "scored, or one line"),
    "logs": Record(hostile.logs, [JOBS["score rgb"]], "one line; nothing is unpacked"),
    "servers": Record(hostile.servers, _ASKING, "failures are counted, no answer is made up"),
    "kg server": Record(serving.kg_server, _SERVED, "good requests are answered as before, within bounded memory"),
    "injections": Record(hostile.injections, [_JUDGE], "no hostile text turns a verdict"),
}


def rounds(world: World, seed: str, names: Sequence[str]) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield the rounds of attacks by turns: attack, job, number and what was found."""
    for number in range(sys.maxsize):
        for name in names:
            yield run_round(world, seed, name, number)


def run_round(world: World, seed: str, name: str, number: int) -> tuple[str, str, int, list[str]]:
    """Run one round of an attack."""
    draw = random.Random(f"{seed} {name} {number}")
    record = RECORDS[name]
    # Job after job, from one of the seed's.
    first = random.Random(f"{seed} {name}").randrange(len(record.jobs))
    job = record.jobs[(first + number) % len(record.jobs)]
    try:
        found = list(record.attack(world, job, draw))
    except Exception:  # a fault of the soak itself is a finding too
        found = [traceback.format_exc()]
    world.clear()
    return name, job.name, number, found


def soak(
    world: World, seed: str, names: Sequence[str], is_over: Callable[[int], bool]
) -> tuple[Counter[str], list[Finding]]:
    """Run rounds until a function of their count says that it is over; a finding is printed when it is met."""
    done: Counter[str] = Counter()
    findings = []
    for name, job, number, found in rounds(world, seed, names):
        done[name] += 1
        for what in found:
            findings.append(Finding(name, job, number, what))
            print(f"FOUND by {name} on {job}, round {number}: {what}", flush=True)
        if is_over(done.total()):
            break
    return done, findings


def tell(done: Counter[str], findings: Sequence[Finding]) -> str:
    """Return the table."""
    found = Counter(one.attack for one in findings)
    lines = [f"{'attack':<16}{'rounds':>7}{'found':>7}  what must hold"]
    lines += [f"{name:<16}{done[name]:>7}{found[name]:>7}  {RECORDS[name].holds}" for name in done]
    return "\n".join([*lines, f"{'all':<16}{done.total():>7}{len(findings):>7}"])


def describe(done: Counter[str], findings: Sequence[Finding], seed: str) -> str:
    """Return the table as a page has it, with what is done and the machine."""
    found = Counter(one.attack for one in findings)
    lines = ["| attack | what is done | jobs | rounds | found | what must hold |", "|---" * 6 + "|"]
    for name, (attack, jobs, holds) in RECORDS.items():
        what = (attack.__doc__ or "").partition("\n")[0].partition(": ")[0].rstrip(".")
        lines.append(f"| {name} | {what} | {len(jobs)} | {done[name]} | {found[name]} | {holds} |")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return "\n".join([*lines, "", f"Seed {seed}; {machine}, on {time.strftime('%Y-%m-%d')}."])


def write_page(page: Path, table: str) -> None:
    """Put a table between the two marks of a page."""
    before, start, rest = page.read_text(encoding="utf-8").partition(START)
    _, end, after = rest.partition(END)
    page.write_text(f"{before}{start}\n\n{table}\n\n{end}{after}", encoding="utf-8")


def main(root: Path) -> int:
    """Soak."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="(default: 10)")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)), help="(default: drawn, printed)")
    parser.add_argument("--only", action="append", choices=[*RECORDS], help="this attack; may be repeated")
    parser.add_argument("--round", type=int, help="this round alone")
    parser.add_argument("--page", type=Path, help="a page that holds the table between its two marks")
    options = parser.parse_args()
    names = options.only or [*RECORDS]
    end = time.monotonic() + 60 * options.minutes
    print(f"seed {options.seed}", flush=True)
    with World(root) as world:
        if options.round is None:
            done, findings = soak(world, options.seed, names, lambda _: time.monotonic() > end)
        else:
            came = [run_round(world, options.seed, name, options.round) for name in names]
            done, findings = Counter(names), [Finding(*one, what) for *one, found in came for what in found]
    print(tell(done, findings))
    if options.page:
        write_page(options.page, describe(done, findings, options.seed))
    for one in findings:
        print(f"--seed {options.seed} --only {one.attack!r} --round {one.number}: {one.job}: {one.what[:300]}")
    return 1 if findings else 0
