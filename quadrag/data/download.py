"""Verified download of upstream files into a folder; a file carries another name until size and sum are right."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from quadrag.errors import QuadragError
from quadrag.scratch import scratch

_CHUNK = 1 << 20
TIMEOUT = (10, 60)  # seconds to connect, seconds between two chunks


class RemoteFile(NamedTuple):
    """A file upstream: its name here, its address, and what verifies it (None where unknown).

    `blob` is git's id of the content: the sha1 of ``blob LENGTH``, a zero byte and the content.
    """

    name: str
    url: str
    size: int | None = None
    sha256: str | None = None
    blob: str | None = None


def fault(path: Path, file: RemoteFile) -> str | None:
    """Return what was found and expected of a local file; None where all that is known of it is right."""
    from quadrag.datasets_scripts._shared.reading import mismatch  # with `datasets`, a second

    wrong: str | None = mismatch(path, *file[2:])
    return wrong


def sha256(path: Path) -> str:
    """Return the sha256 of a file as 64 hexadecimal digits; it is summed once while it stays."""
    return _sum_once(path, path.stat().st_size, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _sum_once(path: Path, size: int, moment: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(files: Iterable[RemoteFile], folder: Path) -> Path:
    """Bring files into a folder; those already there and right are left alone, and nothing is left of a wrong one.

    ``QUADRAG_MIRROR`` names a server that answers for the upstream host under the same paths.
    """
    for file in files:
        if file.sha256 is None and file.blob is None:
            raise ValueError(f"{file.name} has neither a sha256 nor a git blob id")
        target = folder / file.name
        if target.is_file() and fault(target, file) is None:
            continue
        try:
            with scratch(target) as partial:
                mirror = os.environ.get("QUADRAG_MIRROR")
                url = f"{mirror.rstrip('/')}{urlsplit(file.url).path}" if mirror else file.url
                _transfer(url, partial)
                if wrong := fault(partial, file):
                    raise QuadragError(f"{file.name} from {url} has {wrong}; removed it, run again or use --data-dir")
                partial.replace(target)
        except OSError as error:
            raise QuadragError(
                f"cannot write {target} ({error.strerror or error}); make room there or name a folder in QUADRAG_CACHE"
            ) from None
    return folder


def _transfer(url: str, target: Path) -> None:
    import requests

    try:
        with requests.get(url, stream=True, timeout=TIMEOUT) as response:
            response.raise_for_status()
            with target.open("wb") as out:
                for chunk in response.iter_content(_CHUNK):
                    out.write(chunk)
    except requests.RequestException as error:
        why = f"status {error.response.status_code}" if error.response is not None else type(error).__name__
        raise QuadragError(
            f"cannot fetch {url} ({why}); check the network, name a mirror in QUADRAG_MIRROR, or use --data-dir;"
            " `--data-dir sample` needs no network"
        ) from None
