"""A process that has imported what a run imports, and forks one run after another: each starts without those seconds.

A run is a process of its own, to be killed like any other, with the caches and the folder that its parent was given.
The libraries read the environment when they are imported, so it is the parent's for all its runs.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Children of the parent inherit its standard output, where the answers stand; what they print goes to standard error.
PARENT = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
exec(sys.argv[1])
print("ready", file=answers, flush=True)
while line := sys.stdin.readline():
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        arguments = json.loads(line)
        break
    print(pid, file=answers, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=answers, flush=True)
else:
    sys.exit()
exec(sys.argv[2])
"""


# Most of the two seconds that `import datasets, evaluate` takes.
LARGE = """
import aiohttp, dill, filelock, fsspec, importlib.util, jinja2, multiprocess.pool, numpy, pandas, pyarrow.csv
import pyarrow.dataset, pyarrow.json, pyarrow.parquet, requests, rich.console, rich.table, scipy.io, scipy.stats
import sqlite3, tqdm.auto, xxhash, yaml
for name in ("httpx", "httpx2"):  # of which the client of the Hub takes one
    if importlib.util.find_spec(name):
        __import__(name)
assert not {"datasets", "evaluate", "huggingface_hub", "quadrag"} & set(sys.modules)
"""

# For a parent whose runs all have its environment: those, too, that read it at their import.
ENVIRONMENTS = f"""
{LARGE}
import datasets, evaluate, huggingface_hub.hf_api
"""

# What a run does with the list `arguments`: the code, what it is given, environment, folder, files of its output.
AS_IF_FRESH = """
code, given, env, folder, *files = arguments
os.environ.clear()
os.environ.update(env)
os.chdir(folder)
for number, file in enumerate(files, 1):
    os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
sys.argv = ["-c", *given]
status = 0
try:
    exec(compile(code, "<string>", "exec"))
except SystemExit as end:
    if isinstance(end.code, str):
        raise
    status = end.code or 0
# All that an exit does but for the libraries' own end: of threads that a fork has not, pyarrow's may abort there.
import atexit, threading
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)
"""


class Warm:
    """A parent that runs `imports` once and `code` for every `start`, there with the list `arguments`."""

    def __init__(self, imports: str, code: str, cwd: Path, env: Mapping[str, str]) -> None:
        self.errors = cwd / "warm.err"
        with self.errors.open("wb") as errors:
            self._parent = subprocess.Popen(
                [sys.executable, "-c", PARENT, imports, code],
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,  # an answer that was read ahead could not be waited for
            )
        assert self._answer() == "ready", self.errors.read_text(errors="replace")

    def start(self, *arguments: Any) -> Run:
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(arguments).encode() + b"\n")
        self._parent.stdin.flush()
        return Run(self, int(self._answer()))

    def _answer(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline().decode().strip()

    def _answered(self, timeout: float | None = 0) -> bool:
        return bool(select.select([self._parent.stdout], [], [], timeout)[0])

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.kill()
        self._parent.communicate()


class Run:
    """One run, with the methods of `subprocess.Popen` that the tests use."""

    def __init__(self, warm: Warm, pid: int) -> None:
        self.pid, self._warm = pid, warm
        self.returncode: int | None = None

    def poll(self) -> int | None:
        # The parent takes the status only in order to tell it, so until then the number is this run's.
        return self.wait() if self.returncode is None and self._warm._answered() else self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not self._warm._answered(timeout):
                os.kill(self.pid, signal.SIGKILL)
                self.returncode = int(self._warm._answer())
                raise TimeoutError(f"the run did not end in {timeout} s and was killed")
            self.returncode = int(self._warm._answer())
        return self.returncode

    def kill(self, how: int = signal.SIGKILL) -> None:
        if self.poll() is None:
            os.kill(self.pid, how)
