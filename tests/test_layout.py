"""The house keeps its order: who may import whom, what the wheel holds, what every published unit brings along."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from quadrag import commands

ROOT = Path(__file__).parents[1]
ROOMS = ("metrics", "baselines", "datasets_scripts", "hub_cards")
METRICS = sorted(path.parent for path in (ROOT / "metrics").glob("*/*.py") if path.stem == path.parent.name)
SCRIPTS = sorted(path for path in (ROOT / "datasets_scripts").glob("*/*.py") if path.stem == path.parent.name)


def imports(path: Path) -> list[tuple[int, str]]:
    """Modules that a file imports, as (level, dotted name); a relative import has a level above 0."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names] if node.module in (None, "quadrag") else [""]
            found += [(node.level, ".".join(filter(None, (node.module, name)))) for name in names]
    return found


def python_files(room: str) -> list[Path]:
    return [path for path in sorted((ROOT / room).rglob("*.py")) if path.name != "__init__.py"]


def test_there_is_something_to_check() -> None:
    assert len(METRICS) >= 3
    assert len(SCRIPTS) >= 1
    assert all(python_files(room) for room in ("metrics", "baselines", "datasets_scripts", "quadrag"))


@pytest.mark.parametrize("path", python_files("datasets_scripts") + python_files("metrics"), ids=str)
def test_leaves_import_packages_and_files_beside_them_only(path: Path) -> None:
    for level, name in imports(path):
        if level:
            assert level == 1, f"{path} reaches out of its folder: {name}"
            assert (path.parent / f"{name.split('.')[0]}.py").is_file(), f"{path}: nothing beside it is named {name}"
        else:
            assert name.split(".")[0] not in ("quadrag", "tests", *ROOMS), f"{path} imports {name}"


@pytest.mark.parametrize("path", python_files("quadrag"), ids=str)
def test_only_commands_and_harnesses_call_the_baselines(path: Path) -> None:
    for level, name in imports(path):
        assert level == 0, f"{path}: quadrag's own files import each other by full name"
        assert name.split(".")[0] not in ROOMS, f"{path} imports {name}"
        if name.startswith("quadrag.baselines"):
            # The tasks of a harness are another program's way in, as the command line is the user's.
            allowed = {"commands", "harnesses"} & set(path.parts)
            assert allowed, f"{path} imports {name}; only commands and a harness's tasks may"
        assert not name.startswith(("quadrag.metrics", "quadrag.datasets_scripts")), f"{path} imports a leaf: {name}"


def test_every_command_is_named() -> None:
    files = {path.stem for path in (ROOT / "quadrag" / "commands").glob("*.py")}
    assert files - {"__init__", "options", "session"} == set(commands.NAMES)


@pytest.mark.parametrize("path", python_files("baselines"), ids=str)
def test_baselines_import_quadrag_and_each_other(path: Path) -> None:
    for level, name in imports(path):
        assert level <= 1, f"{path} reaches out of its room: {name}"
        assert name.split(".")[0] not in ROOMS
        assert not name.startswith(("quadrag.cli", "quadrag.metrics", "quadrag.datasets_scripts")), f"{path}: {name}"


@pytest.mark.parametrize("folder", METRICS, ids=lambda folder: folder.name)
def test_every_metric_brings_its_unit(folder: Path) -> None:
    for name in ("README.md", "requirements.txt", "app.py"):
        assert (folder / name).is_file(), f"{folder.name} lacks {name}"


@pytest.mark.parametrize("folder", METRICS, ids=lambda folder: folder.name)
def test_metric_modules_import_one_thing_a_line(folder: Path) -> None:
    # evaluate finds a module's imports line by line; `import a, b` on one line hides b from it.
    for node in ast.walk(ast.parse((folder / f"{folder.name}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert len(node.names) == 1


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_dataset_script_brings_a_sample_and_a_card(script: Path) -> None:
    assert list((script.parent / "sample").iterdir())
    assert (ROOT / "hub_cards" / f"{script.stem}.md").is_file()


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
            (tree / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)],
        cwd=tree,
        check=True,
        capture_output=True,
    )
    (path,) = out.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


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
