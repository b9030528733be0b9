"""The house keeps its order: who may import whom, what the wheel holds, what every published unit brings along."""

import ast
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import quadrag

ROOT = Path(__file__).parents[1]
ROOMS = ("metrics", "baselines", "datasets_scripts", "hub_cards")


def python_files(room: str) -> list[Path]:
    return [path for path in sorted((ROOT / room).rglob("*.py")) if not path.is_symlink()]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is installed, alone in a folder, so that imports can be planted into it."""
    installed = Path(quadrag.__file__).parent
    if installed == ROOT / "quadrag":
        pytest.skip("a checkout is on the path; the layers are those of the wheel: make test")
    return Path(shutil.copytree(installed, tmp_path_factory.mktemp("installed") / "quadrag"))


def lint(package: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), str(ROOT / "setup.cfg"), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    return subprocess.run(command, cwd=package.parent, env=environment, capture_output=True, text=True)


def test_imports_run_down_and_in_no_circle(package: Path) -> None:
    done = lint(package)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "planted"),
    [
        ("stats/means.py", "from quadrag.chat import ledger"),
        ("results/run.py", "def late():\n    import quadrag.run.run"),
        ("run/run.py", "from quadrag.reporting import table"),
        ("commands/demo.py", "from quadrag.baselines.rgb import benchmark"),
        ("baselines/rgb/benchmark.py", "import quadrag.baselines.crag.benchmark"),
        ("systems/models.py", "import quadrag.scoring.drive"),  # which imports systems
    ],
)
def test_an_import_that_runs_up_is_found(package: Path, file: str, planted: str) -> None:
    path = package / file
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n\n{planted}\n", encoding="utf-8")
    try:
        assert lint(package).returncode == 1
    finally:
        path.write_text(text, encoding="utf-8")


def test_the_engine_names_no_benchmark_and_no_metric() -> None:
    names = {path.name for room in ("datasets_scripts", "metrics") for path in (ROOT / room).iterdir() if path.is_dir()}
    word = re.compile(rf"\b({'|'.join(sorted(name for name in names if name[0] != '_'))})\b")
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value[:60]!r}"
        for path in python_files("quadrag")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and word.search(node.value)
    ]
    assert not named, "\n".join(named)


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
        for shared, linked in (("datasets_scripts/_shared/reading.py", "datasets_scripts/rgb/reading.py"),):
            assert archive.read(f"quadrag/{linked}") == (ROOT / shared).read_bytes()
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


@pytest.mark.parametrize("room", ["metrics", "datasets_scripts"])
@pytest.mark.parametrize("linked", [True, False])
def test_a_checkout_whose_links_are_text_files_is_not_built(tmp_path: Path, linked: bool, room: str) -> None:
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / room / "_shared").mkdir(parents=True)
    (tmp_path / room / "_shared" / "tally.py").touch()
    (tmp_path / room / "rouge").mkdir()
    tally = tmp_path / room / "rouge" / "tally.py"
    if linked:
        tally.symlink_to("../_shared/tally.py")
    else:
        tally.write_text("../_shared/tally.py")
    done = subprocess.run([sys.executable, "setup.py", "--name"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == linked
    told = done.stderr.splitlines()
    assert linked or (len(told) == 1 and told[0].startswith(f"{room}/rouge/tally.py"))
