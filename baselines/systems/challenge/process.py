"""A model of the CRAG challenge in a process of its own, as seen from outside: load it, hand it batches, end it.

Pages go down the pipe one by one, so a batch of hundreds of megabytes lies in the model's process alone. What the model
prints is passed on to standard error, the last of it kept for messages. The process leads a group of its own: whatever
it starts ends with it, unless it left that group. POSIX only.
"""

import codecs
import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import write

from .model_file import ModelFile

BATCH_SIZES = range(1, 17)
_TICK = 0.5  # seconds
_CLOSE_SECONDS = 5.0  # for what the model does at its end, such as giving back a GPU
_TAIL = 4096  # bytes
_ENVIRONMENT = {
    # Upstream's baselines take sentences from a set, whose order is drawn anew for every process.
    "PYTHONHASHSEED": "0",
    # One of upstream's baselines was published with a breakpoint() in it.
    "PYTHONBREAKPOINT": "0",
}


class Died(Exception):
    """The model's process has ended, by itself or because it took too long; the message says how."""


class ModelProcess:
    """One running model; `ended` once it is no more. `say` makes a text fit for messages: one line, without keys."""

    def __init__(self, file: ModelFile, say: Callable[[str], str]) -> None:
        """Start the process and wait until the model is loaded, however long that takes.

        Raises:
            QuadragError: it cannot be loaded.
        """
        self.ended = False
        self._say = say
        self._name = f"challenge:{file.shown}"
        self._queries = 0  # in the batch
        self._tail = self._unread = b""
        settings = {
            "path": str(file.path),
            "name": file.name,
            "root": str(file.root),
            "folders": [str(folder) for folder in file.folders],
            "parent": os.getpid(),
        }
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("child.py")), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=file.root,
            env={**_ENVIRONMENT, **os.environ},
            start_new_session=True,
        )
        try:
            self._selector = selectors.DefaultSelector()
            self._selector.register(self._pipe("stdout"), selectors.EVENT_READ)
            self._printer = threading.Thread(target=self._pass_on, daemon=True)
            self._printer.start()
            loaded = self._read()
            if "failed" in loaded:
                raise QuadragError(f"{self._name} cannot be loaded ({say(loaded['failed'])}); see what it printed")
        except Died as death:
            raise QuadragError(f"{self._name} cannot be loaded: {death}") from None
        except BaseException:
            self.kill()
            raise

    def begin(self) -> int:
        """Begin a batch.

        Returns:
            How many queries the model wants in it, from 1 to 16.

        Raises:
            QuadragError: it wants another number, or does not say.
            Died: the process has ended.
        """
        self._queries = 0
        self._write(begin=True)
        reply = self._read()
        if reply["size"] not in BATCH_SIZES:
            self.kill()
            raise QuadragError(
                f"{self._name}: get_batch_size() gave {self._say(reply['shown'])}; expected a whole number from 1 to 16"
            )
        return int(reply["size"])

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a query with its pages to the batch.

        Raises:
            Died: the process has ended.
        """
        self._queries += 1
        self._write(item={name: record[name] for name in ("interaction_id", "query", "query_time")})
        for page in record.get("search_results") or ():
            self._write(page=dict(page))

    def answer(self, seconds: float | None) -> dict[str, Any]:
        """Have the batch answered.

        Args:
            seconds: the most that each of its queries may take, from the moment the model has them; None for any time.

        Returns:
            ``answers`` and ``seconds``, or ``failed`` with the reason.

        Raises:
            Died: the process ended, or took longer and was ended.
        """
        self._write(go=True)
        self._read()  # it has read the batch and starts
        if seconds is None:
            return self._read()
        limit = seconds * self._queries
        return self._read(limit, f"no answer within {limit:g} s, {seconds:g} s for each query of the batch")

    def close(self) -> None:
        """Let the model come to its end; it is killed where that takes too long."""
        with contextlib.suppress(OSError):
            self._pipe("stdin").close()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSE_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and its group at once."""
        if self.ended:
            return
        self.ended = True
        # The group's number is not given away while anything is left in it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._printer.join(1)  # longer only where something left the group and holds the pipe
        self._selector.close()
        for name in ("stdin", "stdout"):
            with contextlib.suppress(OSError):  # what is left in the buffer has no reader
                self._pipe(name).close()

    def _pipe(self, name: str) -> Any:
        return getattr(self._process, name)

    def _write(self, **content: Any) -> None:
        try:
            self._pipe("stdin").write(json.dumps(content).encode("ascii") + b"\n")
            if "page" not in content:
                self._pipe("stdin").flush()
        except OSError:
            raise self._death() from None

    def _read(self, seconds: float = math.inf, late: str = "") -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        parts = []
        while b"\n" not in self._unread:
            left = max(deadline - time.monotonic(), 0)
            # In short waits: an interrupt in the moment before one is heard only after it.
            if not self._selector.select(min(left, _TICK)):
                if left <= _TICK:
                    self.kill()
                    raise Died(late)
                continue
            chunk = os.read(self._pipe("stdout").fileno(), 2**16)
            if not chunk:
                raise self._death()
            parts.append(self._unread)
            self._unread = chunk
        line, _, self._unread = self._unread.partition(b"\n")
        reply: dict[str, Any] = json.loads(b"".join([*parts, line]))
        return reply

    def _death(self) -> Died:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_SECONDS)  # it has closed its pipes, but how it ends is still to come
        self.kill()
        status = self._process.returncode
        how = f"exit code {status}" if status >= 0 else f"signal {-status}, {signal.strsignal(-status)}"
        lines = self._tail.decode("utf-8", "replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "nothing printed")
        return Died(f"its process ended ({how}): {self._say(last)}")

    def _pass_on(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with self._pipe("stderr") as pipe:
            while chunk := os.read(pipe.fileno(), 2**16):
                self._tail = (self._tail + chunk)[-_TAIL:]
                with contextlib.suppress(OSError):  # nowhere to print to
                    write(decode(chunk), file=sys.stderr, end="")
