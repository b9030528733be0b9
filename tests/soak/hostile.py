"""Attacks on what is read: kept files that are damaged, files that are given, servers, orders to a judge.

Each takes the world, a job and a seed of its own, and yields findings, as those of `attacks.py` do.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import disturb
import yaml
from attacks import find_bad_end, find_torn
from hostile_server import GOOD, HostileServer, fill
from jobs import Job
from world import Ended, World

REPLIES = Path(__file__).parents[1] / "attacks" / "replies.yaml"
CANARY = "canary"  # made by a pickle that somebody reads


class _Pickled:
    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return os.open, (CANARY, os.O_CREAT | os.O_WRONLY)


def _flip(content: bytes, draw: Random) -> bytes:
    for _ in range(draw.choice([1, 1, 2, 20])):
        at = draw.randrange(len(content))
        content = content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]
    return content


def _blank(content: bytes, draw: Random) -> bytes:
    at = draw.randrange(len(content))
    return content[:at] + bytes(len(content) - at)


DAMAGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "flip": _flip,
    "cut": lambda content, draw: content[: draw.randrange(len(content))],
    "blank": _blank,
    "more": lambda content, draw: content + content[: draw.randint(1, 5000)],
    "empty": lambda content, draw: b"",
    "pickle": lambda content, draw: pickle.dumps(_Pickled()),
    "deep": lambda content, draw: b"[" * 100_000,
}
UNICODE = (
    *("\x00", "\ud800", "\u202eabc", "a\u0301\u0301\u0301", "\u2028", "\ufeff1", "../../x", "1\n2", "\U0010ffff", ""),
    *("ﷺ", "👨‍👩‍👧‍👦" * 50, "x" * 100_000, "１", "²", "%s{0}", "=1+1", "-1", "null", "\x1b[2J", "ß", "İ", "<script>"),
)


def _damage(path: Path, draw: Random) -> str:
    """Damage a file and leave its time; returns how."""
    content, state = path.read_bytes(), path.stat()
    how = "flip" if draw.random() < 0.5 else draw.choice([*DAMAGES])
    path.write_bytes(DAMAGES[how](content, draw))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    return how


def _find_pickled(world: World, place: Path) -> Iterator[str]:
    if (place / CANARY).exists():
        yield "a pickle was read"


def kept(world: World, job: Job, draw: Random) -> Iterator[str]:
    """A file that is kept is damaged: the same numbers, or one line with code 2 that says what brings them back."""
    whole = world.whole(job)
    template, place = whole.folder.with_name(job.name), whole.folder.with_name("damaged")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(whole.folder, place)
    paths = [path for path in sorted(place.rglob("*")) if path.is_file() and path.stat().st_size]
    paths = [path for path in paths if not (template / path.relative_to(place)).exists()]
    paths = [path for path in paths if path.suffix not in (".lock", ".html", ".txt") and "modules" not in path.parts]
    paths = [
        path for path in paths if not {"indexes", "kg", "kg.sqlite"} & {*path.parts}
    ]  # made again, and have no sums
    # What reads caches is `then`; scores need nothing of `out`; a run that is done does not look at what it read.
    aside = [path for path in paths if "out" not in path.relative_to(place).parts]
    anew = bool(job.then) or job.command[0] == "score" or (bool(aside) and draw.random() < 0.5)
    paths = aside if anew else paths
    if not paths:
        return
    path = draw.choice(paths)
    what = f"{_damage(path, draw)} in {path.relative_to(place)}"
    if anew:
        shutil.rmtree(place / "out")
    ended = world.run(place, job, job.then or job.command)
    yield from (f"{what}: {finding}" for finding in [*find_bad_end(ended), *_find_pickled(world, place)])
    if ended.code == 0:
        found = world.made(place, job)
        names = [name for name in found.keys() | whole.files.keys() if found.get(name) != whole.files.get(name)]
        if names and not ended.err.strip():
            yield f"{what}: {', '.join(sorted(names))} changed, and nothing is said"
    elif ended.code == 2:
        yield from (f"{what}: {finding}" for finding in _heed(world, job, place, ended))


def _heed(world: World, job: Job, place: Path, ended: Ended) -> Iterator[str]:
    """Do what the line says of a damaged file: remove what it names, prepare anew; then all is as it was."""
    line = ended.err.strip().splitlines()[-1]
    named = [place / re.sub(r":\d+$", "", word.strip("():;,'\"")) for word in line.split()]  # and the line's number
    named = [path for path in named if place in path.parents and path.exists()]
    if not named or not re.search("remove|move .* away", line):
        yield f"the line does not say what to do: {line}"
        return
    for path in named:
        path = path.parent if "the folder" in line and path.is_file() else path
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    commands = [job.command] * bool(job.then and "quadrag prepare" in line) + [job.then or job.command]
    for ended in (world.run(place, job, command) for command in commands):
        if ended.code:
            yield f"what the line says ({line}) does not help: {ended.err[-500:]}"
            return
    if (found := world.made(place, job)) != world.whole(job).files:
        yield f"other numbers after what the line says ({line}): {found}"


def given(world: World, job: Job, draw: Random) -> Iterator[str]:
    """A file that is given is damaged, a pickle, or a bomb: it is read, or refused in one line."""
    place = world.place(job)
    path = draw.choice([path for path in sorted((place / "data").rglob("*")) if path.is_file() and path.stat().st_size])
    what = f"{_damage(path, draw)} in {path.relative_to(place)}"
    ended = world.run(place, job)
    findings = [*find_bad_end(ended), *find_torn(place), *_find_pickled(world, place)]
    yield from (f"{what}: {finding}" for finding in findings)


def answers(world: World, job: Job, draw: Random) -> Iterator[str]:
    """Answers with ids and texts of every kind of Unicode, and one of 100 MB."""
    place = world.place(job)
    path = place / "first" / "answers.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    name, text = draw.choice(["id", "answer", "answer", "split"]), draw.choice([*UNICODE, "长" * 33_000_000])
    draw.choice(rows)[name] = text
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    what = f"{text[:20]!r} as {name}"
    ended = world.run(place, job)
    yield from (f"{what}: {finding}" for finding in [*find_bad_end(ended), *find_torn(place)])
    if "\x1b[2J" in ended.out + ended.err:
        yield f"{what}: the terminal is told"


def logs(world: World, job: Job, draw: Random) -> Iterator[str]:
    """A harness's log, a zip of members that are hostile: refused in one line, nothing is unpacked."""
    place = world.place(job)
    header = {"version": 2, "status": "success", "eval": {"task": "x", "model": "m"}}
    members = {
        "header.json": json.dumps(header).encode(),
        "samples/1_epoch_1.json": draw.choice([b"[" * 100_000, b"{}", b"\x00", b'{"id": 1, "epoch": 1}']),
        draw.choice(["../out/x", "/out/x", "samples/../../out"]): b"x",
        "summaries.json": draw.choice([b"[]", b"null", b" " * 200_000_000]),
    }
    with zipfile.ZipFile(place / "log.eval", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for member, content in members.items():
            file.writestr(member, content)
    if draw.random() < 0.5:
        _damage(place / "log.eval", draw)
    ended = world.run(place, job, ("score", "log.eval", "--data-dir", "sample", "--out", "out"))
    yield from find_bad_end(ended)
    if ended.code == 0 or (place / "out").exists():
        yield "a log that is none was scored"


def servers(world: World, job: Job, draw: Random) -> Iterator[str]:
    """A model that replies in every way of `replies.yaml`: failures that are counted, no answer that nobody gave."""
    rows = [row for row in yaml.safe_load(REPLIES.read_text("utf-8")) if row.get("for", "chat") == "chat"]
    dealt = draw.sample(rows, 5)
    place = world.place(job)
    with HostileServer([{"name": "well"}, *dealt]) as server:
        server.deal = ["well", *(row["name"] for row in dealt)]
        command = tuple(word.replace("{llm}", f"{server.url}/v1#m") for word in job.command)
        bounds = ("--timeout", "2", "--max-reply-bytes", "1000000")
        ended = world.run(place, job, (*command, *bounds), disturb.SOON)
    what = ", ".join(server.deal)
    findings = [*find_bad_end(ended), *find_torn(place), *_find_made_up(place, ended, dealt)]
    yield from (f"{what}: {finding}" for finding in findings)


def _find_made_up(place: Path, ended: Ended, dealt: list[dict[str, str]]) -> Iterator[str]:
    path = place / "out" / "answers.jsonl"
    texts = {GOOD, *(fill(row["text"]) for row in dealt if "text" in row)}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        row = json.loads(line)
        if (row["answer"] is None) == (row["state"] == "ok") or row["answer"] not in {None, *texts}:
            yield f"an answer that nobody gave: {row['answer']!r:.100}, {row['state']}"
    if "\x1b[2J" in ended.out + ended.err:
        yield "the terminal is told"


def injections(world: World, job: Job, draw: Random) -> Iterator[str]:
    """A judge that obeys what gets out of its place in the prompt: no verdict is turned."""
    metric = draw.choice(["truthfulness", "rejection_rate", "error_detection", "omnieval.hal", "omnieval.acc"])
    place = world.place(job)
    ended = world.run(place, job, (*job.command, "--metric", metric), disturb.SOON)
    turned = re.search(r"(?m)^all +([\d.]+)", ended.out)
    if ended.code or turned is None:
        yield f"{metric}: code {ended.code}, {ended.err[-300:]}"
    elif float(turned[1]):
        yield f"{metric}: {turned[1]}% of the hostile texts turned the verdict"
