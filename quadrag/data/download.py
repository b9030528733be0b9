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
    """Return what was found and expected of a local file; None where it is right, ValueError where nothing is known."""
    if file.sha256 is None and file.blob is None:
        raise ValueError(f"{file.name} has neither a sha256 nor a git blob id")
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"{size} bytes, expected {file.size}"
    if file.sha256 is not None and (found := sha256(path)) != file.sha256:
        return f"sha256 {found}, expected {file.sha256}"
    if file.blob is not None and (found := _digest(path, hashlib.sha1(b"blob %d\0" % size))) != file.blob:
        return f"git blob id {found}, expected {file.blob}"
    return None


def sha256(path: Path) -> str:
    """Return the sha256 of a file as 64 hexadecimal digits; a large one is summed once while it stays."""
    state = path.stat()
    if state.st_size < 1 << 26:
        return _digest(path, hashlib.sha256())
    return _sum_once(path, state.st_size, state.st_mtime_ns, state.st_ino)


@functools.lru_cache(maxsize=64)
def _sum_once(path: Path, size: int, moment: int, node: int) -> str:
    return _digest(path, hashlib.sha256())


def _digest(path: Path, total: hashlib._Hash) -> str:
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            total.update(chunk)
    return total.hexdigest()


def fetch(files: Iterable[RemoteFile], folder: Path) -> Path:
    """Bring files into a folder; those already there and right are left alone, and nothing is left of a wrong one.

    ``QUADRAG_MIRROR`` names a server that answers for the upstream host under the same paths.
    """
    for file in files:
        target = folder / file.name
        if target.is_file() and fault(target, file) is None:
            continue
        try:
            with scratch(target) as partial:
                url = _mirror(file.url)
                _transfer(url, partial)
                wrong = fault(partial, file)
                if wrong is not None:
                    raise QuadragError(f"{file.name} from {url} has {wrong}; removed it, run again or use --data-dir")
                partial.replace(target)
        except OSError as error:
            raise QuadragError(
                f"cannot write {target} ({error.strerror or error}); make room there or name a folder in QUADRAG_CACHE"
            ) from None
    return folder


def _mirror(url: str) -> str:
    mirror = os.environ.get("QUADRAG_MIRROR")
    return f"{mirror.rstrip('/')}{urlsplit(url).path}" if mirror else url


def _transfer(url: str, target: Path) -> None:
    import requests

    try:
        with requests.get(url, stream=True, timeout=TIMEOUT) as response:
            response.raise_for_status()
            with target.open("wb") as out:
                for chunk in response.iter_content(_CHUNK):
                    out.write(chunk)
    except requests.HTTPError as error:
        raise QuadragError(f"{url} answered {error.response.status_code}; run again later or use --data-dir") from None
    except requests.RequestException as error:
        raise QuadragError(
            f"cannot fetch {url} ({type(error).__name__}); check the network, name a mirror in QUADRAG_MIRROR, or use"
            " --data-dir; `--data-dir sample` needs no network"
        ) from None
