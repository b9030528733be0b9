"""The index store: folders named by what built them, made once and found again.

A folder is built beside its place and then moved there, so it is whole or not there; a lock keeps two processes from
building it twice. What lies in a folder is its builder's choice. Nothing is ever removed because it is old.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir
from quadrag.records import write_text

from .passages import PassageStore

KEY_FILE = "key.json"


class IndexStore:
    """Folders of indexes under one root."""

    def __init__(self, root: Path | None = None) -> None:
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

        `key`: everything that decides what the folder holds, as JSON; ``kind`` opens the folder's name.
        `build`: fills the empty folder it is given. What it raises passes through, and nothing of the folder stays.
        `resumes`: what `build` left stays when it fails or is killed; it knows by itself what of that is whole.
        """
        place = self.path(key)
        if (place / KEY_FILE).is_file():
            return place
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / f".{place.name}.lock"):
                # Another process may have built it while this one waited.
                if not (place / KEY_FILE).is_file():
                    # Under the lock nobody else is at it: what a killed build left is litter.
                    kept = self.root / f".{place.name}.kept.part" if resumes else None
                    for stray in {place, *self.root.glob(f".{place.name}.*.part")} - {kept}:
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
            write_text(aside / KEY_FILE, json.dumps(key, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
            aside.chmod(0o755)  # mkdtemp's is 0o700, which would shut others out of a shared cache
            aside.rename(place)
        finally:
            if kept is None:
                shutil.rmtree(aside, ignore_errors=True)


@dataclass(slots=True)
class Indexes:
    """The passages that are searched, and where indexes over them are kept.

    `told` is what is to be told of the indexes in the record of a run.
    """

    passages: PassageStore
    key: Mapping[str, Any]
    store: IndexStore
    told: dict[str, Any] = field(default_factory=dict)
