"""The index store: folders named by what built them, made once, found again, made anew when what matters changed.

A folder is built beside its place and then moved there, so it is whole or not there; a lock keeps two processes from
building it twice. What lies in a folder is its builder's affair. Nothing is ever removed because it is old, and a file
that was altered without changing its size is not noticed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir

KEY_FILE = "key.json"


class IndexStore:
    """Folders of indexes under one root."""

    def __init__(self, root: Path | None = None) -> None:
        """Name the root; it is made when the first index is.

        Args:
            root: None is ``indexes`` in the user's cache folder.
        """
        self.root = cache_dir() / "indexes" if root is None else Path(root)

    def path(self, key: Mapping[str, Any]) -> Path:
        """Return where the folder of a key lies, built or not: ``ROOT/KIND-HASH``, 16 hex digits of its sha256."""
        kind = key["kind"]
        if not isinstance(kind, str) or not kind.isidentifier():
            raise ValueError(f"an index key needs a plain word as its kind, not {kind!r}")
        text = json.dumps(key, ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":"))
        return self.root / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def get(self, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        """Return the folder that `build` made for a key, now or earlier.

        Args:
            key: everything that decides what the folder holds, as JSON: two runs with equal keys share it. ``kind``
                opens the folder's name.
            build: fills the empty folder it is given, which has another name until it is whole. What it raises passes
                through, and nothing of the folder stays.

        Raises:
            QuadragError: the folder cannot be written.
        """
        place = self.path(key)
        if _whole(place, key):
            return place
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / f".{place.name}.lock"):
                # Another process may have built it while this one waited.
                if not _whole(place, key):
                    # Under the lock nobody else is at it: what a killed build left is litter.
                    for stray in self.root.glob(f".{place.name}.*.part"):
                        shutil.rmtree(stray, ignore_errors=True)
                    self._build(place, key, build)
        except OSError as error:
            raise QuadragError(
                f"cannot build the index {place} ({error}); expected a folder that can be written, "
                "name another with QUADRAG_CACHE"
            ) from error
        return place

    def _build(self, place: Path, key: Mapping[str, Any], build: Callable[[Path], None]) -> None:
        aside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=self.root))
        try:
            build(aside)
            text = json.dumps({"key": key, "files": _sizes(aside)}, ensure_ascii=False, indent=1, allow_nan=False)
            (aside / KEY_FILE).write_text(text + "\n", encoding="utf-8", newline="\n")
            aside.chmod(0o755)  # mkdtemp's is 0o700, which would shut others out of a shared cache
            if place.is_dir() and not place.is_symlink():
                # Damaged, or not ours. Moved first: a removal that stops half-way must not leave half a folder here.
                place.rename(aside.with_suffix(".old.part"))
                shutil.rmtree(aside.with_suffix(".old.part"), ignore_errors=True)
            else:
                place.unlink(missing_ok=True)
            aside.rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _sizes(folder: Path) -> dict[str, int]:
    """Return the size of every file but the key's, by its path in the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != KEY_FILE)
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def _whole(place: Path, key: Mapping[str, Any]) -> bool:
    """Whether a folder is there, was built for this key, and holds the files it was left with."""
    try:
        found = json.loads((place / KEY_FILE).read_text(encoding="utf-8"))
        # By way of JSON, where a tuple and a list are one.
        return bool(found["key"] == json.loads(json.dumps(key)) and found["files"] == _sizes(place))
    except (OSError, ValueError, KeyError, TypeError):
        return False
