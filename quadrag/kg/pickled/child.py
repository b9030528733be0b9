"""Pickles converted in a process of their own, with limits of memory and time, into lines of JSON for this one.

The child runs `pickles.py`, which executes nothing; the limits are for streams that are made to swell. It can
write no file (RLIMIT_FSIZE 0) and speaks through its standard output alone; a stream that brings the interpreter down
(tuples in tuples as a key are hashed by recursion) ends the child alone. A limit of time is of processor time, so a
reader that is slow to take the lines is no fault of the file.
"""

import gc
import json
import signal
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from quadrag.errors import QuadragError
from quadrag.kg.pickled.frames import Frame, array, frame, scalar
from quadrag.kg.pickled.pickles import Global, Made, Refused, one_line, read

_MEBIBYTE = 2**20
# Measured on the music dictionaries' layout: 8 to 10 bytes of memory for a byte of pickle, the stream included; dicts
# of few and repeated values take more, and a genuine file must never meet the limit.
_LEAST_MEMORY, _MEMORY_PER_BYTE = 512 * _MEBIBYTE, 24
# Measured at 0.1 to 0.3 s for a MiB.
_LEAST_SECONDS, _SECONDS_PER_MEBIBYTE = 60, 2
_LONGEST_LINE = 256 * _MEBIBYTE


def read_items(path: Path, memory: int | None = None, seconds: int | None = None) -> Iterator[tuple[Any, str]]:
    """Read a pickled dict.

    Args:
        path: the file.
        memory: most bytes of address space that reading may take; by default 512 MiB and 24 times the file's size.
        seconds: most seconds of processor time; by default 60, and 2 for each MiB of the file.

    Yields:
        Each key with its value as JSON text, in the dict's order (sets as lists, in the order they are stored in).

    Raises:
        QuadragError: the pickle is refused or damaged, or reading it passes a limit.
    """
    return _records("items", path, memory, seconds)


def read_stored(path: Path, memory: int | None = None, seconds: int | None = None) -> Iterator[tuple[Any, str]]:
    """Read a SqliteDict file, whose values are pickles; arguments, results and errors as of `read_items`."""
    return _records("stored", path, memory or 2048 * _MEBIBYTE, seconds)


def read_table(path: Path, memory: int | None = None, seconds: int | None = None) -> Frame:
    """Read a pickled pandas DataFrame; arguments and errors as of `read_items`."""
    labels: list[tuple[Any, ...]] = []
    rows: list[tuple[Any, ...]] = []
    records = _records("frame", path, memory, seconds)
    names, columns = next(records)
    for label, row in records:
        labels.append(tuple(label))
        rows.append(tuple(json.loads(row)))
    return Frame(names, labels, json.loads(columns), rows)


def _records(how: str, path: Path, memory: int | None, seconds: int | None) -> Iterator[tuple[Any, str]]:
    if not path.is_file():
        raise QuadragError(f"no file {str(path)!r}; expected a pickle of the upstream knowledge graph")
    size = path.stat().st_size
    memory = _LEAST_MEMORY + _MEMORY_PER_BYTE * size if memory is None else memory
    seconds = _LEAST_SECONDS + _SECONDS_PER_MEBIBYTE * (size // _MEBIBYTE) if seconds is None else seconds
    # Isolated from PYTHONPATH and the working folder; the package is the one this process runs.
    code = "import sys; sys.path.insert(0, sys.argv[1]); from quadrag.kg.pickled.child import main; main()"
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-I", "-B", "-c", code, str(root), how, str(path), str(memory), str(seconds)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        assert child.stdout is not None
        while (line := child.stdout.readline(_LONGEST_LINE)).endswith(b"\n"):
            mark, _, rest = line.decode("ascii").rstrip("\n").partition("\t")
            if mark == "end":
                return
            if mark == "refused":
                raise QuadragError(f"{path.name}: {rest}; get the file again from upstream, and from nowhere else")
            key, _, value = rest.partition("\t")
            yield json.loads(key), value
        status = child.wait()
        if status == -signal.SIGXCPU:
            raise QuadragError(f"{path.name}: reading it took more than {seconds} s; get the file again from upstream")
        raise QuadragError(
            f"{path.name}: reading it failed (status {status}, limit {memory // _MEBIBYTE} MiB); "
            "get the file again from upstream"
        )
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()


def main() -> NoReturn:
    """Run as the child: set the limits, convert, and report in the last line how it ended."""
    import resource  # POSIX; elsewhere this process ends, and the parent says so

    how, file, memory, seconds = sys.argv[-4:]
    for limit, most in (
        (resource.RLIMIT_AS, int(memory)),
        (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # At the soft limit of time comes SIGXCPU, by which the parent can tell; at the hard one a plain kill.
        resource.setrlimit(limit, (max(most - 1, 0) if limit == resource.RLIMIT_CPU else most, most))
    gc.disable()  # millions of live objects, next to no rubbish
    ending = "end\n"
    try:
        for key, value in _convert(how, Path(file)):
            sys.stdout.write(f"item\t{key}\t{value}\n")
    except Refused as error:
        ending = f"refused\t{error}\n"
    except RecursionError:
        ending = "refused\tthe pickle is nested too deeply\n"
    except MemoryError:
        ending = f"refused\treading it needs more than {int(memory) // _MEBIBYTE} MiB of memory\n"
    except (OSError, sqlite3.Error) as error:
        ending = f"refused\tit cannot be read ({one_line(error)})\n"
    sys.stdout.write(ending)
    sys.stdout.flush()
    sys.exit(0)


def _convert(how: str, path: Path) -> Iterator[tuple[str, str]]:
    if how == "stored":
        yield from _stored(path)
        return
    whole = read(path.read_bytes())
    if how == "frame":
        table = frame(whole)
        yield _json(table.index_names), _json(table.columns)
        for label, row in zip(table.labels, table.rows, strict=True):
            yield _json(label), _json(row)
        return
    if type(whole) is not dict:
        raise Refused(f"the pickle holds a {type(whole).__name__}; expected a dict")
    for key, value in whole.items():
        if not isinstance(key, (str, int, float, type(None))):
            raise Refused(f"the pickle has a {type(key).__name__} as a key; expected text or numbers")
        yield _json(key), _json(value)


def _stored(path: Path) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        name = "unnamed" if "unnamed" in tables else tables[0] if len(tables) == 1 else None  # SqliteDict's own default
        if name is None:
            raise Refused(f"the file has {len(tables)} tables; expected that of a SqliteDict, named unnamed")
        quoted = '"' + name.replace('"', '""') + '"'
        for key, value in db.execute(f"SELECT key, value FROM {quoted} ORDER BY rowid"):
            if type(key) is not str or type(value) is not bytes:
                raise Refused(f"the entry {one_line(key)} is no pickle")
            yield _json(key), _json(read(value))


def _json(value: Any) -> str:
    """One line of ASCII: JSON's own escapes leave no raw tab or line break."""
    try:
        return json.dumps(value, default=_plain, separators=(",", ":"))
    except (RecursionError, Refused):
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
        raise Refused(f"the pickle holds what JSON cannot ({one_line(error)})") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Made):
        return array(value) if value.name in ("_reconstruct", "_frombuffer") else scalar(value)
    what = f"the global {value.name}" if isinstance(value, Global) else f"a value of the type {type(value).__name__}"
    raise Refused(f"the pickle holds {what} where plain data was expected")
