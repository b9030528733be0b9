"""Upstream's pickles read as data: CPython's own `pickle.Unpickler`, with nothing to call but inert stand-ins.

A global in the stream must be among `ADMITTED`; what the stream makes by calling one becomes a `StandIn`. Nothing of
pandas, NumPy or anything else is ever looked up. A first pass by `pickletools` refuses the opcodes that reach outside
of the stream, numbers that ask for memory alone, and what is cut off.
"""

import io
import pickle
import pickletools
from itertools import chain
from typing import Any

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


class Refused(ValueError):
    """The pickle holds what is not admitted, or is damaged; the message is one line."""


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
        """Keep the arguments."""
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


def _dict(items: Any = ()) -> dict[Any, Any]:
    return dict(items if type(items) is dict else map(_list, _list(items)))


def _encode(text: Any, encoding: Any) -> bytes:
    if encoding not in ("latin1", "latin-1"):  # any other codec would be looked up, and imported
        raise Refused(f"the pickle encodes by {one_line(encoding, 100)}; latin1 alone is admitted")
    return str.encode(text, "latin1")


_CONTAINERS: dict[str, Any] = {
    **dict.fromkeys(("set", "list"), _list),
    **dict.fromkeys(("dict", "OrderedDict"), _dict),
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
    """Read one pickle.

    Args:
        data: the whole stream; what follows its end is not looked at, as in `pickle`.

    Returns:
        Plain data (None, numbers, text, bytes, lists, tuples, dicts; sets as lists in the stream's order), with a
        `StandIn` or `Global` wherever the stream names something else.

    Raises:
        Refused: a global that is not admitted, an opcode that is not, a damaged stream, or a value that swells.
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
