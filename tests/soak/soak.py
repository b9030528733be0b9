"""Quadrag killed and starved, at random by a seed, until the time is up; `make soak` runs it.

    python tests/soak --minutes 10 --seed 7 --only kill

A round is an attack on a job. Its draws depend on the seed, the attack and its number alone, so that a finding comes
again with `--seed` and `--round`; moments that depend on the machine's speed do not. The code is 1 where anything was
found.
"""

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import attacks
from jobs import JOBS, Job
from world import World

_ALL = [*JOBS.values()]
RECORDS: dict[str, tuple[attacks.Attack, Sequence[Job]]] = {
    "kill": (attacks.kill, _ALL),
    "two at once": (attacks.twice, _ALL),
    "writes fail": (attacks.large_files, _ALL),
    "no descriptors": (attacks.few_files, _ALL),
    "read-only": (attacks.read_only, _ALL),
}


def run_round(world: World, seed: str, name: str, number: int) -> list[str]:
    draw = random.Random(f"{seed} {name} {number}")
    attack, jobs = RECORDS[name]
    job = jobs[(random.Random(f"{seed} {name}").randrange(len(jobs)) + number) % len(jobs)]
    try:
        found = list(attack(world, job, draw))
    except Exception:  # a fault of the soak itself is a finding too
        found = [traceback.format_exc()]
    return [f"--seed {seed} --only {name!r} --round {number}: {job.name}: {what[:1000]}" for what in found]


def main(root: Path) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="(default: 10)")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)), help="(default: drawn, printed)")
    parser.add_argument("--only", action="append", choices=[*RECORDS], help="this attack; may be repeated")
    parser.add_argument("--round", type=int, help="this round alone")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    done, found = Counter[str](), Counter[str]()
    print(f"seed {options.seed}", flush=True)
    with World(root) as world:
        for number in range(sys.maxsize) if options.round is None else (options.round,):
            for name in options.only or RECORDS:
                if options.round is None and time.monotonic() > end:
                    break
                for what in run_round(world, options.seed, name, number):
                    found[name] += 1
                    print(f"FOUND {what}", flush=True)
                done[name] += 1
            else:
                continue
            break
    print("\n".join(f"{name:<16}{done[name]:>5} rounds{found[name]:>5} found" for name in done))
    return 1 if found else 0
