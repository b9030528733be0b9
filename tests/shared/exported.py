"""Files to export, and what a folder holds before and after."""

import hashlib
import shutil
from pathlib import Path

import pytest

from quadrag import catalogue
from quadrag.data.files import sample_dir


def files_below(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def copy_sample(benchmark: str, folder: Path) -> str:
    shutil.copytree(sample_dir(benchmark), folder)
    return str(folder)


def copy_as_authors(benchmark: str, folder: Path, patch: pytest.MonkeyPatch) -> str:
    known = catalogue.builder_class(benchmark).FILES
    for path in filter(Path.is_file, Path(copy_sample(benchmark, folder)).rglob("*")):
        name = next((one for one in known if Path(one).name == path.name), None)
        if name:
            content = path.read_bytes()
            patch.setitem(known, name, (len(content), hashlib.sha256(content).hexdigest(), None))
    return str(folder)
