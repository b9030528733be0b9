"""What is done to a process before its command: each function returns Python source that the process runs first."""

from __future__ import annotations

# `_hook` is told of everything that changes files; threads call it too.
_WATCH = """
import os, signal, sys
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND
_KINDS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "sqlite3.connect"}
_seen = [0]
def _hook(name, given):
    opens = name == "open" and isinstance(given[2], int) and given[2] & _WRITES
    if opens or name in _KINDS:
        _seen[0] += 1
        _at(_seen[0], opens)
sys.addaudithook(_hook)
"""


def count(file: str) -> str:
    """Count the moments at which files change, and write their number at the end."""
    told = f"import atexit, pathlib\natexit.register(lambda: pathlib.Path({file!r}).write_text(str(_seen[0])))\n"
    return f"def _at(number, opens): pass\n{_WATCH}{told}"


def kill_at(number: int) -> str:
    """Kill the process at that moment."""
    return f"def _at(number, opens):\n    if number == {number}: os.kill(os.getpid(), signal.SIGKILL)\n{_WATCH}"


def tear_at(number: int, size: int) -> str:
    """From the first opened file at or after that moment on: kill the process in the write that passes `size` bytes."""
    return f"""
def _at(number, opens):
    if number >= {number} and opens:
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))
{_WATCH}"""


def no_large_files(size: int) -> str:
    """Let no write pass `size` bytes: it fails, as on a disk that is full."""
    return f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))\n"


def few_files(more: int) -> str:
    """Let the process open only so many more files."""
    return f"""
import os, resource
number = len(os.listdir("/proc/self/fd")) + {more}
resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))
"""


def read_only(folder: str) -> str:
    """Let the process write nothing in a folder: for root by a mount that it alone sees, else by the mode."""
    return f"""
import ctypes, os
folder = os.path.realpath({folder!r}).encode()
libc = ctypes.CDLL(None, use_errno=True)
def must(code):
    if code:
        raise SystemExit(os.strerror(ctypes.get_errno()))
if os.getuid():
    for place, _, _ in [*os.walk(folder)]:
        os.chmod(place, 0o555)
else:
    new_space, private, bind, again = 0x20000, 0x44000, 0x1000, 0x1021
    must(libc.unshare(new_space))
    must(libc.mount(b"none", b"/", None, private, None))
    must(libc.mount(folder, folder, None, bind, None))
    must(libc.mount(b"none", folder, None, again, None))
"""


def clock(seed: int) -> str:
    """Let the clock of the process jump, to both sides of the present, while it works."""
    return f"""
import random, time
draw, jump, now, now_ns = random.Random({seed}), [0], time.time, time.time_ns
def leap():
    if draw.random() < 0.05:
        jump[0] = draw.choice([-1_700_000_000, -86_400, -3_600, -1, 0, 60, 86_400, 2_000_000_000])
    return jump[0]
time.time, time.time_ns = lambda: now() + leap(), lambda: now_ns() + leap() * 10**9
"""


# Waits between two tries are of seconds, and here of no interest.
SOON = """
from quadrag.chat import calls
calls.backoff = lambda attempt: 0.01
"""
