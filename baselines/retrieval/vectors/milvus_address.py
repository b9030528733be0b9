"""Where Milvus is, and how it is reached: Milvus Lite over a file, or a server or cluster at an address."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from filelock import FileLock

from quadrag.errors import QuadragError, tell_extra
from quadrag.paths import cache_dir

from ..weights import one_line
from .indexes import VectorIndex

_TIMEOUT = 10  # whole seconds: pymilvus 2.6 overlooks others


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """A file that ends in ``.db``, by its whole path, or the address of a server."""

    text: str

    @property
    def is_file(self) -> bool:
        """Whether it is Milvus Lite's."""
        return self.text.endswith(".db")

    def check(self) -> None:
        """Find out before long work whether it can be reached; a file is not opened.

        Raises:
            QuadragError: a package is missing, or the server does not answer or refuses.
        """
        try:
            import pymilvus  # noqa: F401

            if self.is_file and find_spec("milvus_lite") is None:
                raise ImportError("no module named milvus_lite, which files need")
        except ImportError as error:
            raise QuadragError(f"index milvus:{self.text} needs pymilvus ({error}); {tell_extra('milvus')}") from None
        if not self.is_file:
            self.connect().close()

    def connect(self) -> Any:
        """Return a client.

        Raises:
            QuadragError: the server does not answer or refuses, or the file is none of Milvus Lite's.
        """
        from pymilvus import MilvusClient

        # What goes wrong comes back as an exception; their logs would tell it a second time, with a traceback.
        for name in ("pymilvus", "milvus_lite"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        with self.in_one_line():
            return MilvusClient(self.text, token=os.environ.get("MILVUS_TOKEN", ""), timeout=_TIMEOUT)

    @contextmanager
    def in_one_line(self) -> Iterator[None]:
        """Turn what the client raises into a `QuadragError` of one line."""
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, grpc.RpcError) as error:
            text = one_line(error).replace(os.environ.get("MILVUS_TOKEN") or "\0", "***")
            advice = "does not answer or refuses ({}); is it running there, and is MILVUS_TOKEN right?"
            if self.is_file:
                advice = "cannot be used ({}); expected a file of Milvus Lite's own making, open in no other process"
                advice += "; move it away, and it is made anew"
            raise QuadragError(f"Milvus at {self.text} {advice.format(text)}") from None

    def lock(self, collection: str) -> FileLock:
        """Return what keeps the other processes of this machine from building the collection at the same time.

        Raises:
            QuadragError: the cache cannot be written to.
        """
        folder = cache_dir() / "indexes"
        name = hashlib.sha256(f"{self.text} {collection}".encode()).hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise QuadragError(
                f"cannot write to {folder} ({one_line(error)}); name a cache with QUADRAG_CACHE"
            ) from error
        return FileLock(folder / f".milvus-{name}.lock")


def read_address(index: VectorIndex) -> MilvusAddress:
    """Read where the spec of an index says that Milvus is.

    Raises:
        QuadragError: it is neither, or the file's folder is not there.
    """
    where = index.spec.where
    if where.startswith(("http://", "https://", "tcp://", "unix:")):
        return MilvusAddress(where)
    if not where.endswith(".db"):
        raise index.refuse()
    file = Path(where).expanduser().absolute()
    if not file.parent.is_dir():
        raise QuadragError(f"index {index.spec.text!r} lies in no folder that is there; make {file.parent}")
    return MilvusAddress(str(file))
