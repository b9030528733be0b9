"""Attacks on a process: killed, torn, starved, beside another one, under a clock that jumps.

Each takes the world, a job and a seed of its own, and yields findings: what does not hold. However a job was disturbed,
the same command then ends with the same files, has lost no answer, and has paid for none twice.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import disturb
from jobs import CONCURRENCY, Job
from world import Ended, World

from quadrag.errors import QuadragError
from quadrag.reading import parse_json

JOURNALS = ("stages", "retrieving.jsonl", "answering.jsonl")
Attack = Callable[[World, Job, Random], Iterator[str]]


def find_bad_end(ended: Ended) -> Iterator[str]:
    """Yield what is wrong with how a process ended: a traceback, another code than 0, 2 and 3, no one line."""
    if "Traceback" in ended.err:
        yield f"a traceback: {' / '.join(ended.err.strip().splitlines()[-3:])}"
    elif ended.code not in (0, 2, 3):
        yield f"ended with code {ended.code}: {ended.err[-300:]}"
    elif ended.code == 2:
        said = [line for line in ended.err.splitlines() if line.startswith("quadrag: ")]
        if not said or len(said[-1]) > 1000:
            yield f"code 2 without one line that says why: {ended.err[-300:]}"


def find_torn(place: Path) -> Iterator[str]:
    """Yield the files that stand in their place and are not whole; journals, whose last line may be half, are left."""
    for path in (place / "out").rglob("*.json*"):
        inside = path.relative_to(place)
        if inside.parts[1] in JOURNALS or any(part.startswith(".") for part in inside.parts) or not path.is_file():
            continue
        try:
            content = path.read_bytes()
            for text in content.splitlines() if content.startswith(b'{"') else [content]:
                parse_json(text, path.name)
        except QuadragError as error:
            yield f"{inside} is half-written: {error}"


def goes_on(world: World, job: Job, place: Path, calls: int = 0) -> Iterator[str]:
    """Run the command again, to its end; of what was asked, `calls` may have been lost in flight."""
    whole = world.whole(job)
    ended = world.run(place, job)
    if ended.code:
        yield f"the same command does not go on: code {ended.code}, {ended.err[-500:]}"
        return
    found = world.result(place, job)
    for name in sorted(found.keys() | whole.files.keys()):
        if found.get(name) != whole.files.get(name):
            yield f"{name} is {'another' if name in found else 'gone'}"
    yield from _find_paid(world, job, calls)
    if job.asks:
        shutil.rmtree(place / "out")
        world.forget()
        again = world.run(place, job)
        if again.code or world.asked():
            yield f"asked again: {len(world.asked())} answers were lost (code {again.code})"
        if world.result(place, job) != whole.files:
            yield "other files from the same ledger"


def _find_paid(world: World, job: Job, calls: int) -> Iterator[str]:
    whole, asked = world.whole(job).asked, Counter(world.asked())
    if foreign := asked.keys() - whole.keys():
        yield f"{len(foreign)} requests that no undisturbed run makes"
    if missing := whole.keys() - asked.keys():
        yield f"{len(missing)} requests were never made"
    if (extra := asked.total() - whole.total()) > calls:
        yield f"{extra} calls were made twice, of which {calls} can have been in flight"


def kill(world: World, job: Job, draw: Random) -> Iterator[str]:
    """Kill -9, one to three times: where a file changes, in the middle of a write, or at any time."""
    whole, place, kills = world.whole(job), world.place(job), 0
    world.forget()
    for _ in range(draw.randint(1, 3)):
        moment = 1 + int(draw.random() * whole.moments)
        how = draw.choice(["moment", "write", "time"])
        before = disturb.kill_at(moment) if how == "moment" else ""
        before = disturb.tear_at(moment, draw.choice([1, 100, 5000, 40_000])) if how == "write" else before
        process = world.start(place, job, before=before)
        ended = process.end(draw.uniform(0, whole.seconds) if how == "time" else None)
        kills += ended.code < 0
        if ended.code > 0:
            yield from find_bad_end(ended)
        yield from find_torn(place)
    yield from goes_on(world, job, place, kills * CONCURRENCY)


def _starve(world: World, job: Job, before: Callable[[Path], str]) -> Iterator[str]:
    """Run a job that lacks something, then whole."""
    place = world.place(job)
    world.forget()
    ended = world.run(place, job, before=before(place))
    yield from find_bad_end(ended)
    yield from find_torn(place)
    yield from goes_on(world, job, place, CONCURRENCY if ended.code else 0)


def few_files(world: World, job: Job, draw: Random) -> Iterator[str]:
    """No file descriptors left."""
    yield from _starve(world, job, lambda place: disturb.few_files(draw.randint(1, 40)))


def large_files(world: World, job: Job, draw: Random) -> Iterator[str]:
    """Every write fails that passes some size."""
    size = draw.choice([8192, 20_000, 50_000, 200_000])  # what the process says has room
    yield from _starve(world, job, lambda place: disturb.no_large_files(size))


def read_only(world: World, job: Job, draw: Random) -> Iterator[str]:
    """The cache, or the whole folder, cannot be written."""
    which = draw.choice([("cache", "hf"), (".",)])
    (world.whole(job).folder / "cache").mkdir(exist_ok=True)

    def before(place: Path) -> str:
        for name in which:
            (place / name).mkdir(exist_ok=True)
        return "".join(disturb.read_only(str(place / name)) for name in which)

    yield from _starve(world, job, before)


def clock(world: World, job: Job, draw: Random) -> Iterator[str]:
    """The clock jumps while it works, and files are of the past and of the future."""

    def before(place: Path) -> str:
        for path in place.rglob("*"):
            moved = draw.choice([0, 1_000_000, 4_000_000_000])
            os.utime(path, (moved, moved))
        return disturb.clock(draw.randrange(10**6))

    yield from _starve(world, job, before)


def full_disk(world: World, job: Job, draw: Random) -> Iterator[str]:
    """The disk is full before the job is done: a small one of its own, where root may have one."""
    place, whole = world.place(job), world.whole(job)
    used, needed = _size(place), _size(whole.folder)
    size = used + int((needed - used) * draw.uniform(0, 1)) + 4096
    world.forget()
    with _disk(place, size) as grow:
        ended = world.run(place, job, before="" if grow else disturb.no_large_files(size))
        if grow:
            grow()
        yield from find_bad_end(ended)
        yield from find_torn(place)
        yield from goes_on(world, job, place, CONCURRENCY if ended.code else 0)


def _size(folder: Path) -> int:
    pages = (path.stat().st_size // 4096 + 1 for path in folder.rglob("*"))
    return 4096 * sum(pages)


@contextmanager
def _disk(place: Path, size: int) -> Iterator[Callable[[], None] | None]:
    """Put what is in a folder onto a disk of some bytes; yields what makes it larger, None where there can be none."""
    aside = place.with_name(f"{place.name} aside")
    place.rename(aside)
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "quadrag-soak", str(place)]
    try:
        made = os.getuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        made = False
    shutil.copytree(aside, place, dirs_exist_ok=True)
    larger = ["mount", "-o", "remount,size=512m", str(place)]
    try:
        yield (lambda: subprocess.run(larger, check=True) and None) if made else None
    finally:
        if made:
            subprocess.run(["umount", "--lazy", str(place)], check=True)


def twice(world: World, job: Job, draw: Random) -> Iterator[str]:
    """Two at once on one folder, ledger and cache."""
    place = world.place(job)
    world.forget()
    first = world.start(place, job)
    time.sleep(draw.uniform(0, world.whole(job).seconds))
    for process in (world.start(place, job, second=True), first):
        yield from find_bad_end(process.end())
    yield from goes_on(world, job, place)


ATTACKS: dict[str, Attack] = {
    "kill": kill,
    "disk full": full_disk,
    "writes fail": large_files,
    "no descriptors": few_files,
    "read-only": read_only,
    "clock": clock,
    "two at once": twice,
}
