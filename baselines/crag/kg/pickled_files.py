"""Upstream's pickled files as plain data: dicts, SqliteDict files, and pandas frames, whose layout is decoded by hand.

It knows the layouts that pandas 2 and 3 write for text and mixed objects, numbers, booleans, and times without a zone.
Times come out as pandas' own JSON writes them, ``2024-01-01T00:00:00.000``; NaN and NaT as None. Of what is damaged
or laid out otherwise it raises whatever comes, `Refused` among it.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .restricted_pickle import Global, Refused, StandIn, read

_BACKED = "__pyx_unpickle_NDArrayBacked"  # pandas' array of times
_MOST_ROWS = 10_000_000  # of what tells only how many it has
_TYPE = re.compile(r"[biuf][1248]|U[0-9]{1,9}|M8", re.ASCII)


class Frame(NamedTuple):
    """A table: `labels` (of the index) and `rows` have a list of plain values per row, in the frame's order."""

    index_names: list[Any]
    labels: list[Any]
    columns: list[Any]
    rows: list[Any]


def read_items(path: Path) -> Iterator[tuple[Any, str]]:
    """Read a pickled dict: each key with its value as JSON text."""
    whole = read(path.read_bytes())
    if type(whole) is not dict:
        raise Refused(f"the pickle holds a {type(whole).__name__}; expected a dict")
    for key, value in whole.items():
        yield key, _json(value)


def read_stored(path: Path) -> Iterator[tuple[str, str]]:
    """Read a SqliteDict file, whose values are pickles; results as of `read_items`."""
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        for key, value in db.execute("SELECT key, value FROM unnamed ORDER BY rowid"):  # SqliteDict's default table
            if type(key) is not str or type(value) is not bytes:
                raise Refused(f"the entry {key!r:.60} is no pickle")
            yield key, _json(read(value))


def read_table(path: Path) -> Frame:
    """Read a pickled pandas DataFrame."""
    manager = _expect(read(path.read_bytes()), "DataFrame").state["_mgr"]
    blocks, (columns_index, rows_index) = manager.args
    _, names = _index(columns_index)
    index_names, labels = _index(rows_index)
    columns: list[list[Any]] = [[] for _ in names]
    for block in blocks:
        values, placement, _ = block.args
        for place, column in zip(_places(placement), _array(values), strict=True):
            columns[place] = column
    rows = list(zip(*columns, strict=True))
    if len(rows) != len(labels):
        raise Refused(f"the pickled frame has {len(labels)} labels for {len(rows)} rows")
    return Frame(*json.loads(_json([index_names, labels, [name for (name,) in names], rows])))


def _json(value: Any) -> str:
    return json.dumps(value, default=_decoded, separators=(",", ":"))


def _decoded(value: Any) -> Any:
    if isinstance(value, StandIn) and value.name == "scalar":
        dtype, data = value.args
        return _values(data, dtype, ())
    return _array(value)


def _expect(value: Any, *names: str) -> StandIn:
    if isinstance(value, StandIn) and value.name in names:
        return value
    kind = value.name if isinstance(value, StandIn | Global) else type(value).__name__
    raise Refused(f"the pickle holds a {kind}; expected {' or '.join(names)}")


def _array(value: Any) -> Any:
    """Decode a pickled NumPy array, or pandas' of times (always rows), into (nested) lists."""
    made = _expect(value, _BACKED, "_frombuffer", "_reconstruct")
    if made.name == _BACKED:
        rows = _array(
            next(
                part
                for part in made.state
                if isinstance(part, StandIn) and part.name in ("_frombuffer", "_reconstruct")
            )
        )
        return rows if not rows or isinstance(rows[0], list) else [rows]
    if made.name == "_frombuffer":
        data, dtype, shape, order = made.args
        return _values(data, dtype, shape, order)
    _, shape, dtype, fortran, data = made.state
    return _values(data, dtype, shape, "F" if fortran else "C")


def _values(data: Any, dtype: Any, shape: tuple[int, ...], order: str = "C") -> Any:
    """Decode what a pickle holds of an array; a scalar for the shape ()."""
    code, state = _expect(dtype, "dtype").args[0], dtype.state
    flat: Any
    if code in ("O8", "O") and type(data) is list:
        flat = np.fromiter((None if value != value else value for value in data), object, len(data))
    elif not _TYPE.fullmatch(code) or type(data) is not bytes:
        raise Refused(f"the pickle holds an array of the type {code!r:.60}; expected text, numbers or times")
    elif code == "M8":
        ((unit, multiple, *_),) = (part for part in state[-1] if type(part) is tuple)
        times = np.frombuffer(data, f"{state[1]}M8[{int(multiple)}{unit.decode('ascii')}]")
        flat = np.datetime_as_string(times.astype("M8[ms]")).astype(object)
        flat[np.isnat(times)] = None
    else:
        flat = np.frombuffer(data, f"{state[1]}{code}".lstrip("|"))
        if code[0] == "f":
            numbers, flat = flat, flat.astype(object)
            flat[np.isnan(numbers)] = None
    if shape and shape[0] > _MOST_ROWS:
        raise Refused(f"the pickle holds an array of {shape[0]} rows; at most {_MOST_ROWS} are read")
    return flat.reshape(shape, order=order).tolist()


def _places(placement: Any) -> Any:
    if placement.name != "slice":
        return _array(placement)
    start, stop, step = placement.args
    return range(start, stop, 1 if step is None else step)


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
        codes = [_array(code) for code in parts["codes"]]
        columns = [
            [None if place < 0 else level[place] for place in code] for level, code in zip(levels, codes, strict=True)
        ]
        return list(parts["names"]), list(zip(*columns, strict=True))
    return [parts.get("name")], [(label,) for label in _array(parts["data"])]
