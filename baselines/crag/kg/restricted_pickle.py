"""Upstream's pickles read as data: CPython's own `pickle.Unpickler`, with nothing to call but inert stand-ins.

A global in the stream must be among `ADMITTED`; what the stream makes by calling one becomes a `StandIn`. Nothing of
pandas, NumPy or anything else is ever looked up. A first pass by `pickletools` refuses the opcodes that reach outside
of the stream, numbers that ask for memory alone, and what is cut off.

pandas' frames are decoded by hand, of the layouts that pandas 2 and 3 write for text and mixed objects, numbers,
booleans, and times without a zone. Times come out as pandas' own JSON writes them, ``2024-01-01T00:00:00.000``; NaN and
NaT as None. Of what is damaged or laid out otherwise the readers raise whatever comes, `Refused` among it.
"""

import io
import json
import pickle
import pickletools
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quadrag.errors import one_line

# Exact pairs of module and name; newer releases write some by shorter modules.
_NAMES = {
    **dict.fromkeys(("builtins", "__builtin__"), "slice set list dict"),
    "_codecs": "encode",
    "collections": "OrderedDict defaultdict",
    "numpy": "dtype ndarray",
    **dict.fromkeys(("numpy.core.multiarray", "numpy._core.multiarray"), "_reconstruct scalar"),
    **dict.fromkeys(("numpy.core.numeric", "numpy._core.numeric"), "_frombuffer"),
    "pandas": "DataFrame Index RangeIndex MultiIndex",
    "pandas._libs.arrays": "__pyx_unpickle_NDArrayBacked",
    "pandas._libs.internals": "_unpickle_block",
    "pandas.arrays": "DatetimeArray",
    "pandas.core.arrays.datetimes": "DatetimeArray",
    "pandas.core.frame": "DataFrame",
    "pandas.core.indexes.base": "_new_Index Index",
    "pandas.core.indexes.multi": "MultiIndex",
    "pandas.core.indexes.range": "RangeIndex",
    "pandas.core.internals.managers": "BlockManager",
}
ADMITTED = frozenset((module, name) for module, names in _NAMES.items() for name in names.split())

_PROTOCOL = 5  # the newest whose opcodes are known here
_REFUSED = {"EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "READONLY_BUFFER", "PERSID", "BINPERSID"}
_PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}
# Opcodes read as others of the same form: sets as lists, which keep the stream's order, and arrays of bytes as bytes,
# which nothing in the stream can change.
_READ_AS = {"EMPTY_SET": ord("]"), "ADDITEMS": ord("e"), "FROZENSET": ord("l"), "BYTEARRAY8": 0x8E}
# Characters and members that a value may have once what it refers to twice is written twice.
_LARGEST, _LARGEST_PER_BYTE = 2**28, 24
_BACKED = "__pyx_unpickle_NDArrayBacked"  # pandas' array of times
_MOST_ROWS = 10_000_000  # of what tells only how many it has
_TYPE = re.compile(r"[biuf][1248]|U[0-9]{1,9}|M8", re.ASCII)


class Refused(ValueError):
    """The pickle holds what is not admitted, or is damaged; the message is one line."""


# --- a stream as plain data and stand-ins -----------------------------------------------------------------------------


class Global(type):
    """A class or function that a pickle names; never looked up, and nothing can be set on it."""

    name: str

    # Of a class pickle would take this from its instances' attributes, and without it set what the stream says.
    @property
    def __setstate__(cls) -> Any:
        raise Refused(f"the pickle sets the state of the global {cls.name} itself (BUILD), which is not admitted")


class StandIn(metaclass=Global):
    """What a pickle would have made by calling a global; never called. Plain containers are made at once."""

    __slots__ = ("args", "state")
    name = ""
    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> Any:
        if cls.name in _CONTAINERS:
            return _CONTAINERS[cls.name](*args)
        made = super().__new__(cls)
        made.args, made.state = args, None
        return made

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _list(items: Any = ()) -> list[Any]:
    if type(items) not in (list, tuple):
        raise Refused(f"the pickle fills a container from a {type(items).__name__}; expected a list")
    return list(items)


def _encode(text: Any, encoding: Any) -> bytes:
    if encoding not in ("latin1", "latin-1"):  # any other codec would be looked up, and imported
        raise Refused(f"the pickle encodes by {one_line(encoding, 100)}; latin1 alone is admitted")
    return str.encode(text, "latin1")


_CONTAINERS: dict[str, Any] = {
    **dict.fromkeys(("set", "list"), _list),
    **dict.fromkeys(("dict", "OrderedDict"), dict),
    "defaultdict": lambda factory=None: {},  # its factory is of no use to what is only read
    "encode": _encode,
}
_STAND_INS = {name: Global(name, (StandIn,), {"__slots__": (), "name": name}) for _, name in ADMITTED}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Global:
        # Subclasses of str cannot come out of a stream, so equality of the pair is exact.
        if (module, name) not in ADMITTED:
            raise Refused(f"the pickle names the global {one_line(f'{module}.{name}', 200)}, which is not admitted")
        return _STAND_INS[name]


def read(data: bytes) -> Any:
    """Return what one pickle holds; what follows its end is not looked at, as in `pickle`.

    Plain data (None, numbers, text, bytes, lists, tuples, dicts; sets as lists in the stream's order), with a `StandIn`
    or `Global` wherever the stream names something else. Raises Refused: a global or an opcode that is not admitted, a
    damaged stream, or a value that swells.
    """
    try:
        whole = _Unpickler(io.BytesIO(_check(data))).load()
        if _size(whole, {}) > _LARGEST + _LARGEST_PER_BYTE * len(data):
            raise Refused("the pickle holds little that swells when it is written out")
        return whole
    except Refused:
        raise
    except Exception as error:  # there is no list of what a damaged stream makes `pickle` raise
        raise Refused(f"the pickle is damaged ({type(error).__name__}: {one_line(error, 100)})") from None


def _check(data: bytes) -> bytearray:
    """Go through the opcodes; return the stream with those of `_READ_AS` replaced."""
    changed = bytearray(data)
    for opcode, value, place in pickletools.genops(data):
        at = place or 0
        if opcode.name in _REFUSED or opcode.proto > _PROTOCOL:
            raise Refused(f"the pickle has the opcode {opcode.name}, which is not admitted")
        # The memo is as long as the largest number in it.
        if opcode.name in _PUTS and value is not None and value > at:
            raise Refused(f"the pickle numbers an object {value} within {at} bytes")
        if opcode.name in _READ_AS:
            changed[at] = _READ_AS[opcode.name]
    return changed


def _size(value: Any, known: dict[int, int]) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, StandIn):
        parts: Any = (value.args, value.state)
    elif isinstance(value, dict):
        parts = chain(value, value.values())
    elif isinstance(value, list | tuple):
        parts = value
    else:
        return 1
    if id(value) not in known:
        known[id(value)] = 0  # what holds itself is refused elsewhere
        known[id(value)] = 1 + sum(_size(part, known) for part in parts)
    return known[id(value)]


# --- files of such streams --------------------------------------------------------------------------------------------


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
        arrays = ("_frombuffer", "_reconstruct")
        rows = _array(next(part for part in made.state if isinstance(part, StandIn) and part.name in arrays))
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
    """Return names and labels of an index; a simple one has one name and labels of one part."""
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
