"""Upstream's pickled files as plain data: dicts, SqliteDict files, and pandas frames, whose layout is decoded by hand.

It knows the layouts that pandas 2 and 3 write for text and mixed objects, numbers, booleans, and times with or without
a zone. Times come out as pandas' own JSON writes them, ``2024-01-01T00:00:00.000``; NaN and NaT as None.
"""

import json
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError

from .restricted_pickle import Global, Made, Refused, one_line, read

_CODES = {"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}
_CODES |= {"f2": "e", "f4": "f", "f8": "d", "M8": "q"}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NOT_A_TIME = -(2**63)
_MOST_ROWS = 10_000_000  # of what tells only how many it has


class Frame(NamedTuple):
    """A table: `labels` (of the index) and `rows` have a list of plain values per row, in the frame's order."""

    index_names: list[Any]
    labels: list[Any]
    columns: list[Any]
    rows: list[Any]


def read_items(path: Path) -> Iterator[tuple[Any, str]]:
    """Read a pickled dict: each key with its value as JSON text; QuadragError if absent, refused or damaged."""
    try:
        whole = read(path.read_bytes())
        if type(whole) is not dict:
            raise Refused(f"the pickle holds a {type(whole).__name__}; expected a dict")
        for name, value in whole.items():
            if not isinstance(name, (str, int, float, type(None))):
                raise Refused(f"the pickle has a {type(name).__name__} as a key; expected text or numbers")
            yield name, _json(value)
    except (Refused, OSError) as error:
        raise _error(path, error) from None


def read_table(path: Path) -> Frame:
    """Read a pickled pandas DataFrame; errors as of `read_items`."""
    try:
        return Frame(*json.loads(_json(frame(read(path.read_bytes())))))
    except (Refused, OSError) as error:
        raise _error(path, error) from None


def read_stored(path: Path) -> Iterator[tuple[str, str]]:
    """Read a SqliteDict file, whose values are pickles; results and errors as of `read_items`."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            name = "unnamed" if "unnamed" in tables else tables[0] if len(tables) == 1 else None  # SqliteDict's default
            if name is None:
                raise Refused(f"the file has {len(tables)} tables; expected that of a SqliteDict, named unnamed")
            quoted = '"' + name.replace('"', '""') + '"'
            for key, value in db.execute(f"SELECT key, value FROM {quoted} ORDER BY rowid"):
                if type(key) is not str or type(value) is not bytes:
                    raise Refused(f"the entry {one_line(key)} is no pickle")
                yield key, _json(read(value))
    except (Refused, sqlite3.Error) as error:
        raise _error(path, error) from None


def _error(path: Path, error: Exception) -> QuadragError:
    return QuadragError(f"{path.name}: {one_line(error)}; get the file again from upstream, and from nowhere else")


def _json(value: Any) -> str:
    try:
        return json.dumps(value, default=_decoded, separators=(",", ":"))
    except Refused:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error) as error:
        raise Refused(f"the pickle holds what JSON cannot ({one_line(error)})") from None


def _decoded(value: Any) -> Any:
    if isinstance(value, Made):
        return array(value) if value.name in ("_reconstruct", "_frombuffer") else scalar(value)
    what = f"the global {value.name}" if isinstance(value, Global) else f"a value of the type {type(value).__name__}"
    raise Refused(f"the pickle holds {what} where plain data was expected")


def frame(made: Any) -> Frame:
    """Decode a pickled DataFrame; anything else is `Refused`."""
    if not isinstance(made, Made) or made.name != "DataFrame":
        what = made.name if isinstance(made, Made) else type(made).__name__
        raise Refused(f"the pickle holds a {what}; expected a pandas DataFrame")
    try:
        manager = made.state["_mgr"]
        blocks, (columns_index, rows_index) = manager.args
        _, names = _index(columns_index)
        index_names, labels = _index(rows_index)
        columns: list[list[Any]] = [[] for _ in names]
        for block in blocks:
            values, placement, _ = block.args
            table = array(values)
            for place, column in zip(_places(placement), table, strict=True):
                columns[place] = column
        rows = list(zip(*columns, strict=True))
        if len(rows) != len(labels):
            raise Refused(f"the pickled frame has {len(labels)} labels for {len(rows)} rows")
        return Frame(index_names, labels, [name for (name,) in names], rows)
    except Refused:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError, struct.error) as error:
        raise Refused(f"the pickled frame is laid out in an unknown way ({type(error).__name__})") from None


def array(made: Any) -> list[Any]:
    """Decode a pickled NumPy array of one or two dimensions, or pandas' of times (always rows), into (nested) lists."""
    if made.name == "NDArrayBacked":
        values = next(
            part for part in made.state if isinstance(part, Made) and part.name in ("_reconstruct", "_frombuffer")
        )
        zone = next((part for part in made.state if isinstance(part, Made) and part.name == "DatetimeTZDtype"), None)
        rows = array(values)
        rows = rows if not rows or isinstance(rows[0], list) else [rows]
        return [[text + "Z" if text and zone else text for text in row] for row in rows]
    if made.name == "_frombuffer":
        data, dtype, shape, order = made.args
        fortran = order == "F"
    elif made.name == "_reconstruct":
        _, shape, dtype, fortran, data = made.state
    else:
        raise Refused(f"the pickle holds a {made.name}; expected an array")
    flat = _decode(data, dtype, prod(shape))
    if len(shape) == 1:
        return flat
    high, wide = shape
    if high > _MOST_ROWS:
        raise Refused(f"the pickle holds an array of {high} rows; at most {_MOST_ROWS} are read")
    return [flat[row::high] if fortran else flat[row * wide : (row + 1) * wide] for row in range(high)]


def scalar(made: Made) -> Any:
    """Decode a pickled NumPy scalar; anything else is `Refused`."""
    if made.name != "scalar":
        raise Refused(f"the pickle holds a {made.name} where plain data was expected")
    dtype, data = made.args
    return _decode(data, dtype, 1)[0]


def _decode(data: Any, dtype: Any, count: int) -> list[Any]:
    if not isinstance(dtype, Made) or dtype.name != "dtype":
        raise Refused("the pickle holds an array without a type")
    code = dtype.args[0]
    if code in ("O8", "O"):
        if type(data) is not list or len(data) != count:
            raise Refused(f"the pickle holds an array of {count} objects with other content")
        return [_plain(value) for value in data]
    order = "<" if dtype.state[1] == "|" else dtype.state[1]
    if type(data) is not bytes or order not in ("<", ">"):
        raise Refused("the pickle holds an array of numbers with other content")
    if code[:1] == "U":
        width = 4 * int(code[1:])
        if len(data) != count * width:
            raise Refused(f"the pickle holds an array of {count} texts with other content")
        texts = (data[at : at + width] for at in range(0, count * width, width))
        return [text.decode("utf-32-le" if order == "<" else "utf-32-be").rstrip("\0") for text in texts]
    if code not in _CODES:
        raise Refused(f"the pickle holds an array of the type {code!r}; expected text, numbers or times")
    # unpack holds the length of the data against the count.
    values = list(struct.unpack(f"{order}{count}{_CODES[code]}", data))
    if code == "M8":
        ((unit, multiple, *_),) = (part for part in dtype.state[-1] if type(part) is tuple)
        return [_moment(value * multiple, _PER_SECOND[unit.decode("ascii")]) for value in values]
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, Made):
        return _plain(scalar(value))
    if isinstance(value, Global):
        raise Refused(f"the pickle holds the global {value.name} where plain data was expected")
    return None if value != value else value


def _moment(value: int, per_second: int) -> str | None:
    if value == _NOT_A_TIME:
        return None
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=value * 1000 // per_second)
    return moment.isoformat(timespec="milliseconds")


def _places(placement: Any) -> range | list[Any]:
    if placement.name == "slice":
        start, stop, step = placement.args
        return range(start, stop, 1 if step is None else step)
    return array(placement)


def _index(made: Any) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Names and labels of an index; a simple one has one name and labels of one part."""
    kind, parts = made.args
    if kind.name == "RangeIndex":
        span = range(parts["start"], parts["stop"], parts["step"])
        if len(span) > _MOST_ROWS:
            raise Refused(f"the pickled frame has {len(span)} labels; at most {_MOST_ROWS} are read")
        return [parts.get("name")], [(label,) for label in span]
    if kind.name == "MultiIndex":
        levels = [[label for (label,) in _index(level)[1]] for level in parts["levels"]]
        codes = [array(code) for code in parts["codes"]]
        columns = [
            [None if place < 0 else level[place] for place in code] for level, code in zip(levels, codes, strict=True)
        ]
        return list(parts["names"]), list(zip(*columns, strict=True))
    if kind.name != "Index":
        raise Refused(f"the pickle holds an index of the kind {kind.name}; expected a plain or a multi-level one")
    return [parts.get("name")], [(label,) for label in array(parts["data"])]
