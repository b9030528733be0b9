"""Pickles read as data: an interpreter of pickle's opcodes that has nothing to call, so that nothing can be executed.

A global in the stream becomes a `Global`, a mere name that must be among `ADMITTED`; what the stream would make by
calling one becomes a `Made`, which holds the name, the arguments and the state. No class or function of pandas, NumPy
or anything else is ever looked up, which is why stand-ins were chosen over their own classes: BUILD on a global,
attribute chains and `__setstate__` tricks have nothing to work on, and neither pandas nor its version matters.
The opcodes are those of CPython's `Lib/pickletools.py`, protocols 0 to 5. Limits of memory and time are the affair of
`quadrag.kg.child`; what a `Made` means, of `quadrag.kg.frames`. One file, though long, since whoever trusts it has to
read the whole of it.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from typing import Any

# Exact pairs, and the name by which quadrag.kg.frames knows each (newer releases write some by shorter modules).
ADMITTED: dict[tuple[str, str], str] = {
    **{(module, name): name for module in ("builtins", "__builtin__") for name in ("slice", "set", "list", "dict")},
    ("_codecs", "encode"): "encode",
    ("collections", "OrderedDict"): "OrderedDict",
    ("collections", "defaultdict"): "defaultdict",
    ("datetime", "timedelta"): "timedelta",
    ("datetime", "timezone"): "timezone",
    ("numpy", "dtype"): "dtype",
    ("numpy", "ndarray"): "ndarray",
    **{
        (f"numpy.{core}.{module}", name): name
        for core in ("core", "_core")
        for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
    },
    ("pandas._libs.internals", "_unpickle_block"): "_unpickle_block",
    ("pandas._libs.arrays", "__pyx_unpickle_NDArrayBacked"): "NDArrayBacked",
    ("pandas.core.indexes.base", "_new_Index"): "_new_Index",
    ("pandas.core.internals.managers", "BlockManager"): "BlockManager",
    ("pandas.core.frame", "DataFrame"): "DataFrame",
    ("pandas.core.indexes.base", "Index"): "Index",
    ("pandas.core.indexes.range", "RangeIndex"): "RangeIndex",
    ("pandas.core.indexes.multi", "MultiIndex"): "MultiIndex",
    ("pandas.core.arrays.datetimes", "DatetimeArray"): "DatetimeArray",
    ("pandas.core.dtypes.dtypes", "DatetimeTZDtype"): "DatetimeTZDtype",
    ("pandas.arrays", "DatetimeArray"): "DatetimeArray",
    **{("pandas", n): n for n in ("DataFrame", "Index", "RangeIndex", "MultiIndex", "DatetimeTZDtype")},
}

_KEYS = {str, int, float, bool, type(None)}  # a deep tuple as a key would be hashed by recursion
_GAP = 4096  # numbers a memo may leave out; a stream that names a far one asks for memory alone


class Refused(ValueError):
    """The pickle holds what is not admitted, or is damaged; the message is one line."""


class Global:
    """A class or function that a pickle names; never looked up."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Made:
    """What a pickle would have made by calling a global; never called."""

    __slots__ = ("args", "name", "state")

    def __init__(self, name: str, args: tuple[Any, ...]) -> None:
        self.name, self.args = name, args
        self.state: Any = None


def read(data: bytes) -> Any:
    """Read one pickle.

    Args:
        data: the whole stream; what follows its end is not looked at, as in `pickle`.

    Returns:
        Plain data (None, numbers, text, bytes, lists, tuples, dicts; sets as lists in the stream's order), with a
        `Made` or `Global` wherever the stream names something else.

    Raises:
        Refused: a global that is not admitted, an opcode that is not, or a damaged stream.
    """
    reader = _Reader(data)
    try:
        return reader.run()
    except Refused:
        raise
    except (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, struct.error) as error:
        raise Refused(
            f"the pickle is damaged near byte {reader.at} ({type(error).__name__}: {one_line(error)})"
        ) from None


def one_line(what: object) -> str:
    """Return a text as one line of printable ASCII, at most 100 characters long."""
    text = ascii(str(what))[1:-1]
    return text if len(text) <= 100 else text[:97] + "..."


def _global(module: Any, name: Any) -> Global:
    # Subclasses of str cannot come out of this reader, so equality of the pair is exact.
    if type(module) is not str or type(name) is not str or (module, name) not in ADMITTED:
        raise Refused(f"the pickle names the global {one_line(module)}.{one_line(name)}, which is not admitted")
    return Global(ADMITTED[module, name])


def _make(callee: Any, args: Any) -> Any:
    """Return what a call stands for: plain containers at once, a `Made` otherwise."""
    if type(callee) is not Global:
        raise Refused(f"the pickle calls a {type(callee).__name__}; only admitted globals may stand there")
    if type(args) is not tuple:
        raise Refused(f"the pickle calls {callee.name} with a {type(args).__name__} in place of arguments")
    name = callee.name
    if name in ("set", "list"):
        return list(_sequence(args[0])) if args else []
    if name in ("dict", "OrderedDict"):
        made: dict[Any, Any] = {}
        if args:
            pairs = args[0].items() if type(args[0]) is dict else map(_sequence, _sequence(args[0]))
            _put(made, [part for key, value in pairs for part in (key, value)])
        return made
    if name == "defaultdict":  # its factory is of no use to what is only read
        return {}
    if name == "encode":
        text, encoding = args
        if encoding not in ("latin1", "latin-1"):  # any other codec would be looked up, and imported
            raise Refused(f"the pickle encodes by {one_line(encoding)}; latin1 alone is admitted")
        return text.encode("latin1")
    return Made(name, args)


def _sequence(value: Any) -> Any:
    if type(value) not in (list, tuple):
        raise Refused(f"the pickle fills a container from a {type(value).__name__}; expected a list")
    return value


def _put(target: Any, items: list[Any]) -> None:
    """Put alternating keys and values into a dict."""
    keys = items[::2]
    if type(target) is not dict:
        raise Refused(f"the pickle sets items of a {type(target).__name__}; expected a dict")
    if not _KEYS.issuperset(map(type, keys)):
        strange = next(type(key).__name__ for key in keys if type(key) not in _KEYS)
        raise Refused(f"the pickle has a {strange} as a key; expected text or numbers")
    target.update(zip(keys, items[1::2], strict=True))


class _Reader:
    """One run over one stream; `at` is where the last rare opcode stood."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: list[Any] = []

    def run(self) -> Any:
        """Go through the stream to its STOP."""
        # The opcodes that big dicts consist of come first and in line: a file has a hundred million of them.
        data, stack, marks, memo, size = self.data, self.stack, self.marks, self.memo, len(self.data)
        push, keep, u4, f8 = stack.append, memo.append, struct.Struct("<I").unpack_from, struct.Struct(">d").unpack_from
        at = 0
        while True:
            op = data[at]
            at += 1
            if op == 0x68:  # BINGET
                push(memo[data[at]])
                at += 1
            elif op == 0x94:  # MEMOIZE
                keep(stack[-1])
            elif op == 0x8C:  # SHORT_BINUNICODE
                end = at + 1 + data[at]
                push(str(data[at + 1 : end], "utf-8", "surrogatepass"))
                at = end
            elif op == 0x6A:  # LONG_BINGET
                push(memo[u4(data, at)[0]])
                at += 4
            elif op == 0x47:  # BINFLOAT
                push(f8(data, at)[0])
                at += 8
            elif op == 0x58:  # BINUNICODE
                end = at + 4 + u4(data, at)[0]
                push(str(data[at + 4 : end], "utf-8", "surrogatepass"))
                at = end
            elif op == 0x71:  # BINPUT
                self._remember(data[at])
                at += 1
            elif op == 0x72:  # LONG_BINPUT
                if (number := u4(data, at)[0]) == len(memo):
                    keep(stack[-1])
                else:
                    self._remember(number)
                at += 4
            elif op == 0x28:  # MARK
                marks.append(len(stack))
            elif op == 0x75:  # SETITEMS
                items = self._marked()
                _put(stack[-1], items)
            elif op == 0x7D:  # EMPTY_DICT
                push({})
            elif op == 0x4E:  # NONE
                push(None)
            elif op == 0x2E:  # STOP
                return stack.pop()
            else:
                self.at = at
                handler = _HANDLERS.get(op)
                if handler is None:
                    raise Refused(f"the pickle has the opcode {_REFUSED.get(op, hex(op))}, which is not admitted")
                handler(self)
                at = self.at
            if at > size:
                raise Refused(f"the pickle is cut off after {size} bytes")

    def _remember(self, number: int) -> None:
        memo = self.memo
        if number >= len(memo):
            if number > len(memo) + _GAP:
                raise Refused(f"the pickle numbers an object {number} after {len(memo)} objects")
            memo.extend([None] * (number + 1 - len(memo)))
        memo[number] = self.stack[-1]

    def _marked(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def _take(self, count: int) -> bytes:
        start = self.at
        self.at = start + count
        if self.at > len(self.data):
            raise Refused(f"the pickle is cut off after {len(self.data)} bytes")
        return self.data[start : self.at]

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> bytes:
        end = self.data.index(b"\n", self.at)
        line = self.data[self.at : end]
        self.at = end + 1
        return line

    def _integer(self) -> None:
        line = self._line()
        self.stack.append({b"00": False, b"01": True}[line] if line in (b"00", b"01") else int(line))

    def _text(self, raw: bytes) -> None:
        self.stack.append(raw.decode("ascii"))

    def _quoted(self) -> None:
        line = self._line()
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
            raise Refused("the pickle has a string without quotes")
        raw, _ = codecs.escape_decode(line[1:-1])
        self._text(raw)

    def _tuple(self, count: int) -> None:
        if len(self.stack) < count:
            raise Refused("the pickle takes more than it holds")
        items = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.stack.append(items)

    def _extend(self) -> None:
        items = self._marked()
        if type(self.stack[-1]) is not list:
            raise Refused(f"the pickle appends to a {type(self.stack[-1]).__name__}; expected a list")
        self.stack[-1] += items

    def _append(self) -> None:
        self.marks.append(len(self.stack) - 1)
        self._extend()

    def _dict(self) -> None:
        items = self._marked()
        self.stack.append({})
        _put(self.stack[-1], items)

    def _set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        _put(self.stack[-1], [key, value])

    def _stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(_global(module, name))

    def _line_global(self) -> Global:
        module, name = self._line(), self._line()
        return _global(module.decode("utf-8"), name.decode("utf-8"))

    def _call(self) -> None:
        args, callee = self.stack.pop(), self.stack.pop()
        self.stack.append(_make(callee, args))

    def _call_with_keywords(self) -> None:
        keywords = self.stack.pop()
        if keywords != {}:
            raise Refused("the pickle calls with keywords, which is not admitted")
        self._call()

    def _call_marked(self) -> None:
        items = self._marked()
        self.stack.append(_make(items[0], tuple(items[1:])))

    def _call_line(self) -> None:
        callee = self._line_global()
        self.stack.append(_make(callee, tuple(self._marked())))

    def _build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) is Global:
            raise Refused(
                f"the pickle sets the state of the global {target.name} itself (BUILD), which is not admitted"
            )
        if type(target) is not Made:
            raise Refused(f"the pickle sets the state of a {type(target).__name__} (BUILD), which is not admitted")
        target.state = state


def _push(value: Callable[[_Reader], Any]) -> Callable[[_Reader], None]:
    return lambda reader: reader.stack.append(value(reader))


_HANDLERS: dict[int, Callable[[_Reader], Any]] = {
    0x80: lambda r: r._take(1),  # PROTO
    0x95: lambda r: r._take(8),  # FRAME: the frame's content stands in the stream itself
    ord("0"): lambda r: r.marks.pop() if r.marks and r.marks[-1] == len(r.stack) else r.stack.pop(),  # POP
    ord("1"): lambda r: r._marked(),  # POP_MARK
    ord("2"): _push(lambda r: r.stack[-1]),  # DUP
    0x88: _push(lambda r: True),  # NEWTRUE
    0x89: _push(lambda r: False),  # NEWFALSE
    ord("I"): _Reader._integer,
    ord("J"): _push(lambda r: r._number("<i")),  # BININT
    ord("K"): _push(lambda r: r._number("<B")),  # BININT1
    ord("M"): _push(lambda r: r._number("<H")),  # BININT2
    ord("L"): _push(lambda r: int(r._line().rstrip(b"L"))),  # LONG
    0x8A: _push(lambda r: int.from_bytes(r._take(r._number("<B")), "little", signed=True)),  # LONG1
    0x8B: _push(lambda r: int.from_bytes(r._take(r._number("<I")), "little", signed=True)),  # LONG4
    ord("F"): _push(lambda r: float(r._line())),  # FLOAT
    ord("S"): _Reader._quoted,  # STRING
    ord("T"): lambda r: r._text(r._take(r._number("<I"))),  # BINSTRING
    ord("U"): lambda r: r._text(r._take(r._number("<B"))),  # SHORT_BINSTRING
    ord("V"): _push(lambda r: r._line().decode("raw-unicode-escape")),  # UNICODE
    0x8D: _push(lambda r: r._take(r._number("<Q")).decode("utf-8", "surrogatepass")),  # BINUNICODE8
    ord("B"): _push(lambda r: r._take(r._number("<I"))),  # BINBYTES
    ord("C"): _push(lambda r: r._take(r._number("<B"))),  # SHORT_BINBYTES
    0x8E: _push(lambda r: r._take(r._number("<Q"))),  # BINBYTES8
    0x96: _push(lambda r: r._take(r._number("<Q"))),  # BYTEARRAY8: nothing changes it here
    ord("]"): _push(lambda r: []),  # EMPTY_LIST
    0x8F: _push(lambda r: []),  # EMPTY_SET: as a list, which keeps the stream's order
    ord("l"): _push(_Reader._marked),  # LIST
    0x91: _push(_Reader._marked),  # FROZENSET
    ord("a"): _Reader._append,
    ord("e"): _Reader._extend,  # APPENDS
    0x90: _Reader._extend,  # ADDITEMS
    ord(")"): _push(lambda r: ()),  # EMPTY_TUPLE
    ord("t"): _push(lambda r: tuple(r._marked())),  # TUPLE
    0x85: lambda r: r._tuple(1),
    0x86: lambda r: r._tuple(2),
    0x87: lambda r: r._tuple(3),
    ord("d"): _Reader._dict,
    ord("s"): _Reader._set_item,
    ord("p"): lambda r: r._remember(int(r._line())),  # PUT
    ord("g"): _push(lambda r: r.memo[_index(int(r._line()))]),  # GET
    ord("c"): _push(_Reader._line_global),  # GLOBAL
    0x93: _Reader._stack_global,
    ord("R"): _Reader._call,  # REDUCE
    0x81: _Reader._call,  # NEWOBJ
    0x92: _Reader._call_with_keywords,  # NEWOBJ_EX
    ord("o"): _Reader._call_marked,  # OBJ
    ord("i"): _Reader._call_line,  # INST
    ord("b"): _Reader._build,
}

_REFUSED = {
    **{0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4", 0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER"},
    **{ord("P"): "PERSID", ord("Q"): "BINPERSID"},
}


def _index(number: int) -> int:
    if number < 0:
        raise Refused(f"the pickle asks for object {number}")
    return number
