"""Attacks on a process: killed, torn, starved, beside another one.

Each takes the world, a job and a seed of its own, and yields findings: what does not hold. However a job was disturbed,
the same command then ends with the same files, has lost no answer, and has paid for none twice.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from jobs import CONCURRENCY, Job
from world import WATCH, World

from quadrag.errors import QuadragError, parse_json

JOURNALS = ("stages", "retrieving.jsonl", "answering.jsonl")
LIMIT = "import resource\nresource.setrlimit(resource.RLIMIT_{0}, ({1}, resource.RLIM_INFINITY))\n"
FEW = "import os, resource\nnumber = len(os.listdir('/proc/self/fd')) + {0}\n"
FEW += "resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))\n"
TEAR = """
def _at(number, opens):
    if number >= {0} and opens:
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({1}, resource.RLIM_INFINITY))
"""
READ_ONLY = """
import ctypes, os
folder = os.path.realpath({0!r}).encode()
libc = ctypes.CDLL(None, use_errno=True)
def must(code):
    if code:
        raise SystemExit(os.strerror(ctypes.get_errno()))
if os.getuid():
    for place, _, _ in [*os.walk(folder)]:
        os.chmod(place, 0o555)
else:  # a mount that this process alone sees
    must(libc.unshare(0x20000))
    for source, target, flags in ((b"none", b"/", 0x44000), (folder, folder, 0x1000), (b"none", folder, 0x1021)):
        must(libc.mount(source, target, None, flags, None))
"""
Attack = Callable[[World, Job, Random], Iterator[str]]


def find_bad_end(code: int, said: str) -> Iterator[str]:
    """Yield what is wrong with how a process ended: a traceback, another code than 0, 2 and 3, no one line."""
    if "Traceback" in said or code not in (0, 2, 3):
        yield f"ended with code {code}: {said[-500:]}"
    elif code == 2 and not any(line.startswith("quadrag: ") and len(line) < 1000 for line in said.splitlines()):
        yield f"code 2 without one line that says why: {said[-300:]}"


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
    code, said = world.run(place, job)
    if code:
        yield f"the same command does not go on: code {code}, {said[-500:]}"
        return
    found = world.result(place, job)
    for name in sorted(found.keys() | whole.files.keys()):
        if found.get(name) != whole.files.get(name):
            yield f"{name} is {'another' if name in found else 'gone'}"
    asked = world.asked()
    if asked.keys() != whole.asked.keys():
        yield f"{len(asked.keys() ^ whole.asked.keys())} requests were never made, or are of no undisturbed run"
    if (extra := asked.total() - whole.asked.total()) > calls:
        yield f"{extra} calls were made twice, of which {calls} can have been in flight"
    if job.asks:
        shutil.rmtree(place / "out")
        world.server.bodies.clear()
        code, _ = world.run(place, job)
        if code or world.asked():
            yield f"asked again: {world.asked().total()} answers were lost (code {code})"
        if world.result(place, job) != whole.files:
            yield "other files from the same ledger"


def kill(world: World, job: Job, draw: Random) -> Iterator[str]:
    """Kill -9, one to three times: where a file changes, in the middle of a write, or at any time."""
    whole, place, kills = world.whole(job), world.place(job), 0
    world.server.bodies.clear()
    for _ in range(draw.randint(1, 3)):
        moment, how = 1 + int(draw.random() * whole.moments), draw.choice(["moment", "write", "time"])
        at = f"def _at(number, opens):\n    if number == {moment}: os.kill(os.getpid(), signal.SIGKILL)\n"
        if how == "write":
            at = TEAR.format(moment, draw.choice([1, 100, 5000, 40_000]))
        process = world.start(place, job, before="" if how == "time" else at + WATCH)
        code, said = process.end(draw.uniform(0, whole.seconds) if how == "time" else None)
        kills += code < 0
        if code > 0:
            yield from find_bad_end(code, said)
        yield from find_torn(place)
    yield from goes_on(world, job, place, kills * CONCURRENCY)


def _starve(world: World, job: Job, before: str, place: Path | None = None) -> Iterator[str]:
    place = place or world.place(job)
    world.server.bodies.clear()
    code, said = world.run(place, job, before=before)
    yield from find_bad_end(code, said)
    yield from find_torn(place)
    yield from goes_on(world, job, place, CONCURRENCY if code else 0)


def few_files(world: World, job: Job, draw: Random) -> Iterator[str]:
    """No file descriptors left."""
    yield from _starve(world, job, FEW.format(draw.randint(1, 40)))


def large_files(world: World, job: Job, draw: Random) -> Iterator[str]:
    """Every write fails that passes some size, as on a full disk."""
    # What the process says has room.
    yield from _starve(world, job, LIMIT.format("FSIZE", draw.choice([8192, 20_000, 50_000, 200_000])))


def read_only(world: World, job: Job, draw: Random) -> Iterator[str]:
    """The cache, or the whole folder, cannot be written."""
    place = world.place(job)
    names = draw.choice([("cache", "hf"), (".",)])
    for name in names:
        (place / name).mkdir(exist_ok=True)
    yield from _starve(world, job, "".join(READ_ONLY.format(str(place / name)) for name in names), place)


def twice(world: World, job: Job, draw: Random) -> Iterator[str]:
    """Two at once on one folder, ledger and cache; they may ask the same while both are in flight."""
    place = world.place(job)
    world.server.bodies.clear()
    first = world.start(place, job)
    time.sleep(draw.uniform(0, world.whole(job).seconds))
    for process in (world.start(place, job, second=True), first):
        yield from find_bad_end(*process.end())
    yield from goes_on(world, job, place, world.whole(job).asked.total())
