"""How many faults the tests find: small changes of the code, drawn by a seed, each run against the tests of its room.

``python tests/mutations draw --seed 36 --count 100 > drawn.jsonl`` draws them from the checkout; ``run drawn.jsonl``
changes a copy of it, one after the other, and writes what the tests said: ``caught``, ``survived`` or ``slow`` (they
took five times as long as without, or 600 s). Which survivors change no value is for people to say.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# The files of a room, the tests that hold it, and the subjects of the goldens that do.
ROOMS = {
    "scorers": ("metrics/*/*.py", "tests/metrics metrics", "metrics"),
    "run": (
        "quadrag/run/**/*.py quadrag/systems/*.py quadrag/scoring/*.py quadrag/*.py",
        "tests/quadrag/run tests/quadrag/systems tests/quadrag/scoring tests/quadrag/audit tests/quadrag/api "
        "tests/quadrag/commands/test_cli.py tests/baselines/test_planted.py",
        "runs_rgb or scored",
    ),
    "client": ("quadrag/chat/*.py", "tests/quadrag/chat tests/quadrag/run/test_at_once.py", ""),
    "results": (
        "quadrag/api/*.py quadrag/stats/*.py quadrag/results/*.py quadrag/reporting/**/*.py",
        "tests/quadrag/api tests/quadrag/stats tests/quadrag/results tests/quadrag/reporting",
        "compared",
    ),
    "judges": ("quadrag/judges/*.py", "tests/quadrag/judges tests/baselines/crag", ""),
    "construct": ("quadrag/construct/*.py", "tests/quadrag/construct tests/baselines/construct", "constructed"),
    "retrieval": ("quadrag/retrieval/**/*.py", "tests/quadrag/retrieval", "retrieval"),
    "data": (
        "quadrag/data/*.py datasets_scripts/*/*.py",
        "tests/quadrag/data tests/datasets_scripts tests/quadrag/run/test_provenance.py",
        "exported",
    ),
    "plugins": ("baselines/**/*.py", "tests/baselines", "graph or runs or constructed"),
}
_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_NAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}


def mutant(node: ast.expr) -> ast.expr | None:
    """Return what stands in place of a part of the code, with one change; None of a part that is not changed."""
    new: Any = copy.copy(node)
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            new.ops = [_COMPARED[type(op)]()]
        case ast.BinOp(op=op, left=left) if type(op) in _COMPUTED and not isinstance(left, ast.JoinedStr):
            new.op = _COMPUTED[type(op)]()
        case ast.BoolOp(op=op):
            new.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.IfExp():
            new.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Constant(value=int() | float() as value):  # a bool too
            new.value = not value if isinstance(value, bool) else value + 1
        case ast.Call(func=ast.Name(id=name)) if name in _NAMED:
            new.func = ast.Name(_NAMED[name], ast.Load())
        case _:
            return None
    return new


def parts(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that may be changed: none of errors, annotations, decorators and texts."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.JoinedStr):
                if isinstance(child, ast.expr):
                    yield child
                yield from parts(child)


def draw(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Draw changes, as many of each room."""
    source = random.Random(seed)
    for number, (room, (patterns, *_)) in enumerate(ROOMS.items()):
        every = []
        for path in sorted({path for pattern in patterns.split() for path in ROOT.glob(pattern)}):
            text = "" if path.is_symlink() else path.read_text(encoding="utf-8")
            for part in parts(ast.parse(text)):
                if changed := mutant(part):
                    every.append((path, part, ast.get_source_segment(text, part), ast.unparse(changed)))
        for path, part, old, new in source.sample(every, count // len(ROOMS) + (number < count % len(ROOMS))):
            place = str(path.relative_to(ROOT))
            yield {"room": room, "file": place, "line": part.lineno, "column": part.col_offset, "old": old, "new": new}


def run(changes: list[dict[str, Any]], tests: str, subjects: str) -> Iterator[dict[str, Any]]:
    """Run the tests of a room against each change, in a copy of the checkout; first without any."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        for file in files.strip("\0").split("\0"):
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, tree / file, follow_symlinks=False)
        said, usual = ask(tree, tests, subjects, "", 3600)
        if said != "survived":
            raise SystemExit(f"the tests {tests} fail without a change")
        for change in changes:
            path = tree / change["file"]
            text = path.read_text(encoding="utf-8")
            path.write_text(apply(text, change), encoding="utf-8")
            said, seconds = ask(tree, tests, subjects, path.stem, min(600, 5 * usual + 30))
            path.write_text(text, encoding="utf-8")
            yield {**change, "said": said, "seconds": round(seconds)}


def apply(text: str, change: dict[str, Any]) -> str:
    """Put a change in its place; columns count bytes."""
    content, old = text.encode(), change["old"].encode()
    before = len(b"".join(content.splitlines(keepends=True)[: change["line"] - 1])) + change["column"]
    if content[before : before + len(old)] != old:
        raise SystemExit(f"{change['file']}:{change['line']} is not {change['old']!r}")
    return (content[:before] + f"({change['new']})".encode() + content[before + len(old) :]).decode()


def ask(tree: Path, tests: str, subjects: str, module: str, limit: float) -> tuple[str, float]:
    """Run tests in a copy until the first that fails, first those that name a module most; return that and the time."""
    places = [tree / test for test in tests.split()]
    files = [path for place in places for path in ([place] if place.is_file() else place.rglob("test_*.py"))]
    files.sort(key=lambda path: -path.read_text(encoding="utf-8").count(module or str(path)))
    goldens = [["tests/golden", "-k", subjects]] if subjects else []
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    begin = time.perf_counter()
    for arguments in (list(map(str, files)), *goldens):
        line = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
        try:
            code = subprocess.run(line, cwd=tree, env=environment, capture_output=True, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            return "slow", limit
        if code:
            return "caught", time.perf_counter() - begin
    return "survived", time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("--seed", type=int, default=36)
    drawing.add_argument("--count", type=int, default=100)
    running = commands.add_parser("run")
    running.add_argument("file", type=Path)
    running.add_argument("--room", choices=ROOMS, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "draw":
        for change in draw(arguments.seed, arguments.count):
            print(json.dumps(change, ensure_ascii=False))
        return
    changes = [json.loads(line) for line in arguments.file.read_text(encoding="utf-8").splitlines()]
    for room in arguments.room or ROOMS:
        for result in run([change for change in changes if change["room"] == room], *ROOMS[room][1:]):
            print(json.dumps(result, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
