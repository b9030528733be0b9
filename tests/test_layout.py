"""The house keeps its order: who may import whom, what the wheel holds, what every published unit brings along."""

import ast
import shutil
import stat
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("metrics", "baselines", "datasets_scripts", "hub_cards")
METRICS = sorted(path.parent for path in (ROOT / "metrics").glob("*/*.py") if path.stem == path.parent.name)
# From the ground up: a layer imports itself and those above it in this list. A benchmark's room is `baselines/NAME`.
FLOORS = (
    "metrics/_shared",
    "quadrag quadrag/stats quadrag/data quadrag/chat",
    "quadrag/results",
    "quadrag/retrieval quadrag/systems quadrag/scoring quadrag/run",
    "quadrag/reporting quadrag/judges quadrag/construct quadrag/hub quadrag/audit",
    "quadrag/api quadrag/harnesses quadrag/commands",
    "baselines/NAME",
)
BENCHMARKS = [path.parent.name for path in (ROOT / "baselines").glob("*/benchmark.py")]


def python_files(room: str) -> list[Path]:
    return [path for path in sorted((ROOT / room).rglob("*.py")) if not path.is_symlink()]


def module_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return parts if parts[0] == "quadrag" else ("quadrag", *parts)


FILES = {module_of(path): path for room in ("quadrag", "baselines", "metrics/_shared") for path in python_files(room)}


def imported(path: Path) -> set[Path]:
    here = module_of(path)
    package = here if path.name == "__init__.py" else here[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[tuple[str, ...]] = []
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple((node.module or "").split(".")) if node.module else ()
            names = [name if (name := (*base, alias.name)) in FILES else base for alias in node.names]
        found |= {FILES[name] for name in names if name in FILES}
    return found - {path}


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts[:-1]
    if path.name in ("cli.py", "__main__.py"):
        return "quadrag/commands"  # what the command line begins with
    if parts[0] == "baselines" and len(parts) > 1 and parts[1] in BENCHMARKS:
        return "baselines/NAME"
    return "/".join(parts[:2])


def floor_of(path: Path) -> int:
    return next(at for at, rooms in enumerate(FLOORS) if room_of(path) in rooms.split())


@cache  # two seconds, which whoever collects tests need not wait
def arrows() -> dict[Path, set[Path]]:
    kept = [path for path in FILES.values() if path.name != "__init__.py" or room_of(path) != "quadrag"]
    return {path: imported(path) for path in kept}


def test_imports_run_one_way_floor_by_floor(capsys: pytest.CaptureFixture[str]) -> None:
    used: dict[str, set[str]] = {room: set() for room in FLOORS}
    back = []
    for path, others in arrows().items():
        if room_of(path) == "baselines":
            continue  # its docstring alone
        for other in others:
            floor, below = floor_of(path), floor_of(other)
            used[FLOORS[floor]].add(FLOORS[below])
            if below > floor:
                back.append(f"{path.relative_to(ROOT)} imports {other.relative_to(ROOT)}")
    with capsys.disabled():
        print("\n\nrooms from the ground up, and what each imports")
        for room in FLOORS:
            print(f"  {room:42} {', '.join(sorted(used[room] - {room}, key=FLOORS.index)) or '-'}")
    assert not back, "\n".join(back)


def test_no_two_files_import_each_other_however_far_around() -> None:
    state: dict[Path, str] = {}

    def visit(path: Path, way: tuple[Path, ...]) -> None:
        if state.get(path) == "open":
            circle = [str(each.relative_to(ROOT)) for each in (*way[way.index(path) :], path)]
            raise AssertionError(f"a circle: {' > '.join(circle)}")
        if path not in state:
            state[path] = "open"
            for other in sorted(arrows().get(path, ())):
                visit(other, (*way, path))
            state[path] = "done"

    for path in arrows():
        visit(path, ())


def test_no_benchmark_imports_another() -> None:
    for path, others in arrows().items():
        if room_of(path) == "baselines/NAME":
            mine = path.relative_to(ROOT).parts[1]
            theirs = {other.relative_to(ROOT).parts[1] for other in others if room_of(other) == "baselines/NAME"}
            assert theirs <= {mine}, f"{path} imports {theirs - {mine}}"


@pytest.mark.parametrize("path", python_files("datasets_scripts") + python_files("metrics"), ids=str)
def test_leaves_import_packages_and_files_beside_them_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            assert node.level == 1 and node.module, f"{path} reaches out of its folder"
            assert (path.parent / f"{node.module}.py").is_file(), f"{path}: nothing beside it is named {node.module}"
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] not in ("quadrag", "tests", *ROOMS), f"{path} imports {name}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    out = tmp_path_factory.mktemp("wheel")
    tree = tmp_path_factory.mktemp("tree")
    # From a copy, so that a build folder left in the checkout cannot leak into the wheel.
    names = subprocess.run(
        ["git", "-c", "core.quotepath=off", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)],
        cwd=tree,
        check=True,
        capture_output=True,
    )
    (path,) = out.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        assert not [one.filename for one in archive.infolist() if stat.S_ISLNK(one.external_attr >> 16)]
        return set(archive.namelist())


@pytest.mark.slow
def test_wheel_has_one_top_level_name(wheel: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"quadrag"}


def test_wheel_holds_every_leaf_file_and_no_litter(wheel: set[str]) -> None:
    tracked = subprocess.run(
        ["git", "-c", "core.quotepath=off", "ls-files", "-co", "--exclude-standard", "--", *ROOMS, "quadrag"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    expected = {
        name if name.startswith("quadrag/") else f"quadrag/{name}" for name in tracked if (ROOT / name).exists()
    }
    found = {name for name in wheel if name.startswith("quadrag/")}
    assert found == expected
    assert not [name for name in wheel if "__pycache__" in name or name.endswith(".pyc")]


@pytest.mark.parametrize("linked", [True, False])
def test_a_checkout_whose_links_are_text_files_is_not_built(tmp_path: Path, linked: bool) -> None:
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "metrics" / "_shared").mkdir(parents=True)
    (tmp_path / "metrics" / "_shared" / "tally.py").touch()
    (tmp_path / "metrics" / "rouge").mkdir()
    tally = tmp_path / "metrics" / "rouge" / "tally.py"
    if linked:
        tally.symlink_to("../_shared/tally.py")
    else:
        tally.write_text("../_shared/tally.py")
    done = subprocess.run([sys.executable, "setup.py", "--name"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == linked
    told = done.stderr.splitlines()
    assert linked or (len(told) == 1 and told[0].startswith("metrics/rouge/tally.py is a link in git and a text file"))
