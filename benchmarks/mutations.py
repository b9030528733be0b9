"""How many faults the tests find: small changes of the code, drawn by a seed, each run against the tests of its room.

``python benchmarks/mutations.py draw --seed 36 --count 100 > mutations.jsonl`` draws them from the checkout; ``run
mutations.jsonl`` changes a copy of it, one after the other, and writes what the tests said: ``caught``, ``survived`` or
``slow`` (they took five times as long as without, or 600 s). Which survivors change no value is for people to say.
`mutations.jsonl` has a hundred that were drawn by the seed 36 on commit d90dde9c, by lines of that commit.
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

ROOT = Path(__file__).resolve().parents[1]
# The files of a room, and the tests that hold it; a golden's subject by its name.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "scorers": (("metrics/*/*.py",), ("tests/metrics", "metrics")),
    "run": (
        ("quadrag/run/**/*.py", "quadrag/systems/**/*.py", "quadrag/scoring/*.py", "quadrag/*.py"),
        (
            "tests/quadrag/run",
            "tests/quadrag/systems",
            "tests/quadrag/scoring",
            "runs_rgb",
        ),
    ),
    "client": (("quadrag/chat/**/*.py",), ("tests/quadrag/chat",)),
    "results": (
        ("quadrag/api/*.py", "quadrag/stats/*.py", "quadrag/reporting/**/*.py"),
        ("tests/quadrag/api", "tests/quadrag/stats", "tests/quadrag/reporting", "compared"),
    ),
    "retrieval": (("quadrag/retrieval/**/*.py",), ("tests/quadrag/retrieval", "retrieval")),
    "data": (
        ("quadrag/data/*.py", "datasets_scripts/*/*.py"),
        ("tests/quadrag/data", "tests/datasets_scripts", "exported"),
    ),
}
_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_NAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}


def mutants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in place of a part of the code, each with one change."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        changed = copy.deepcopy(node)
        changed.ops = [_COMPARED[type(node.ops[0])]()]
        yield changed
    elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED and not isinstance(node.left, ast.JoinedStr):
        changed = copy.deepcopy(node)
        changed.op = _COMPUTED[type(node.op)]()
        yield changed
    elif isinstance(node, ast.BoolOp):
        changed = copy.deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NAMED:
        changed = copy.deepcopy(node)
        changed.func = ast.Name(_NAMED[node.func.id], ast.Load())
        yield changed


def parts(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that may be changed: none of errors, annotations, decorators and texts."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom) or not isinstance(
                child, ast.AST
            ):
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from parts(child)


def draw(seed: int, count: int) -> Iterator[dict[str, object]]:
    """Draw changes, as many of each room."""
    source = random.Random(seed)
    for number, (room, (patterns, _)) in enumerate(ROOMS.items()):
        files = sorted({path for pattern in patterns for path in ROOT.glob(pattern) if not path.is_symlink()})
        every = []
        for path in files:
            text = path.read_text(encoding="utf-8")
            for part in parts(ast.parse(text)):
                old = ast.get_source_segment(text, part)
                every += [(path, part, old, ast.unparse(changed)) for changed in mutants(part) if old]
        for path, part, old, new in source.sample(every, count // len(ROOMS) + (number < count % len(ROOMS))):
            place = str(path.relative_to(ROOT))
            yield {"room": room, "file": place, "line": part.lineno, "column": part.col_offset, "old": old, "new": new}


def run(changes: list[dict[str, object]], tests: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """Run the tests of a room against each change, in a copy of the checkout; first without any."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        kept = ("quadrag", "baselines", "metrics", "datasets_scripts", "hub_cards", "tests", "docs", "benchmarks")
        for name in kept:
            shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (*ROOT.glob("*.*"), ROOT / "Makefile"):
            if path.is_file():
                shutil.copy(path, tree)
        usual = ask(tree, tests, "", 3600)
        if usual[0] != "survived":
            raise SystemExit(f"the tests {' '.join(tests)} fail without a change")
        for change in changes:
            path = tree / str(change["file"])
            text = path.read_text(encoding="utf-8")
            path.write_text(apply(text, change), encoding="utf-8")
            said, seconds = ask(tree, tests, path.stem, min(600, 5 * usual[1] + 30))
            path.write_text(text, encoding="utf-8")
            yield {**change, "said": said, "seconds": round(seconds)}


def apply(text: str, change: dict[str, object]) -> str:
    """Put a change in its place."""
    lines = text.splitlines(keepends=True)
    before = sum(len(line.encode()) for line in lines[: int(str(change["line"])) - 1]) + int(str(change["column"]))
    content, old = text.encode(), str(change["old"]).encode()
    if content[before : before + len(old)] != old:
        raise SystemExit(f"{change['file']}:{change['line']} is not {change['old']!r}")
    return (content[:before] + f"({change['new']})".encode() + content[before + len(old) :]).decode()


def ask(tree: Path, tests: tuple[str, ...], module: str, limit: float) -> tuple[str, float]:
    """Run tests in a copy until the first that fails, first those that name a module most; return that and the time."""
    folders = [tree / test for test in tests if "/" in test]
    files = [path for folder in folders for path in folder.rglob("test_*.py")]
    places = sorted(map(str, files), key=lambda path: -Path(path).read_text(encoding="utf-8").count(module or path))
    subjects = " or ".join(test for test in tests if "/" not in test) if (tree / "tests/golden").is_dir() else ""
    begin = time.perf_counter()
    for arguments in (places, ["tests/golden", "-k", subjects] if subjects else []):
        if not arguments:
            continue
        line = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
        try:
            environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
            code = subprocess.run(line, cwd=tree, env=environment, capture_output=True, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            return "slow", limit
        if code:
            return "caught", time.perf_counter() - begin
    return "survived", time.perf_counter() - begin


def main() -> None:
    """Draw, or run what was drawn."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("--seed", type=int, default=36)
    drawing.add_argument("--count", type=int, default=100)
    running = commands.add_parser("run")
    running.add_argument("file", type=Path)
    running.add_argument("--room", choices=ROOMS)
    arguments = parser.parse_args()
    if arguments.command == "draw":
        for change in draw(arguments.seed, arguments.count):
            print(json.dumps(change, ensure_ascii=False))
        return
    changes = [json.loads(line) for line in arguments.file.read_text(encoding="utf-8").splitlines()]
    for room in [arguments.room] if arguments.room else ROOMS:
        for result in run([change for change in changes if change["room"] == room], ROOMS[room][1]):
            print(json.dumps(result, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
