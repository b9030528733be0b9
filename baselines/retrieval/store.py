"""The index store: folders named by what built them, made once, found again, made anew when what matters changed.

A folder is built beside its place and then moved there, so it is whole or not there; a lock keeps two processes from
building it twice. What lies in a folder is its builder's choice. Nothing is ever removed because it is old. Whenever a
folder is found again, its files are held against their sizes and CRC-32, 2 GB of them a second: a folder that was
altered is named and made anew.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir
from quadrag.progress import remark
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.sums import Sums, sum_files

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

    def get(self, key: Mapping[str, Any], build: Callable[[Path], None], *, resumes: bool = False) -> Path:
        """Return the folder that `build` made for a key, now or earlier.

        Args:
            key: everything that decides what the folder holds, as JSON: two runs with equal keys share it. ``kind``
                opens the folder's name.
            build: fills the empty folder it is given, which has another name until it is whole. What it raises passes
                through, and nothing of the folder stays.
            resumes: whether `build` goes on from what it left in the folder, which then stays when it fails or is
                killed. The builder knows by itself what of that is whole.

        Raises:
            QuadragError: the folder cannot be written.
        """
        place = self.path(key)
        if _find_fault(place, key) is None:
            return place
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / f".{place.name}.lock"):
                # Another process may have built it while this one waited.
                fault = _find_fault(place, key)
                if fault is not None:
                    if fault:
                        remark(f"the index {place} is damaged ({fault}) and is built again")
                    # Under the lock nobody else is at it: what a killed build left is litter.
                    kept = self.root / f".{place.name}.kept.part" if resumes else None
                    for stray in self.root.glob(f".{place.name}.*.part"):
                        if stray != kept:
                            shutil.rmtree(stray, ignore_errors=True)
                    self._build(place, key, build, kept)
        except OSError as error:
            raise QuadragError(
                f"cannot build the index {place} ({error}); expected a folder that can be written, "
                "name another with QUADRAG_CACHE"
            ) from error
        return place

    def _build(self, place: Path, key: Mapping[str, Any], build: Callable[[Path], None], kept: Path | None) -> None:
        aside = kept or Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=self.root))
        aside.mkdir(exist_ok=True)
        try:
            build(aside)
            _write_key(aside, key, sum_files(aside, KEY_FILE))
            aside.chmod(0o755)  # mkdtemp's is 0o700, which would shut others out of a shared cache
            if place.is_dir() and not place.is_symlink():
                # Damaged, or not ours. Moved first: a removal that stops half-way must not leave half a folder here.
                place.rename(aside.with_suffix(".old.part"))
                shutil.rmtree(aside.with_suffix(".old.part"), ignore_errors=True)
            else:
                place.unlink(missing_ok=True)
            aside.rename(place)
        finally:
            if kept is None:
                shutil.rmtree(aside, ignore_errors=True)


def _write_key(folder: Path, key: Mapping[str, Any], sums: Sums) -> None:
    text = json.dumps({"key": key, "files": sums}, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(folder / KEY_FILE, text + "\n")


def _find_fault(place: Path, key: Mapping[str, Any]) -> str | None:
    """Say what keeps a folder from being what was built for this key: None for nothing, "" where there is no folder."""
    if not place.exists():
        return ""
    try:
        found = parse_json((place / KEY_FILE).read_bytes(), KEY_FILE)
        # By way of JSON, where a tuple and a list are one.
        if found["key"] != json.loads(json.dumps(key)):
            return f"{KEY_FILE} is of another key"
        left, sums = found["files"], sum_files(place, KEY_FILE)
        if left == {name: size for name, (size, _) in sums.items()}:
            # As older versions left it, with sizes alone; in a cache that is shared it may not be ours to write.
            with suppress(OSError):
                _write_key(place, key, sums)
            return None
        return next((f"{name} is not as it was" for name in {**left, **sums} if left.get(name) != sums.get(name)), None)
    except (OSError, QuadragError, AttributeError, KeyError, TypeError):
        return f"{KEY_FILE} cannot be read"
