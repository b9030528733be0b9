"""Pickles are read as data: malicious ones are refused with nothing executed."""

from __future__ import annotations

import copyreg
import os
import pickle
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from quadrag.errors import QuadragError
from quadrag.kg.pickled import child
from quadrag.kg.pickled.pickles import ADMITTED, Refused, read

PROTOCOLS = range(6)


class Call:
    """Pickled as a call."""

    def __init__(self, callee: Callable[..., Any], *args: Any, state: Any = None) -> None:
        self.parts = (callee, args) if state is None else (callee, args, state)

    def __reduce__(self) -> Any:
        return self.parts


def text(value: str) -> bytes:
    raw = value.encode()
    return b"\x8c" + bytes([len(raw)]) + raw


def stack_global(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


@pytest.fixture
def refused(tmp_path: Path, canary: Path) -> Callable[..., str]:
    """A function that has a pickle refused, in this process and in a child, and returns the message."""

    def check(data: bytes, here: bool = True, **limits: int) -> str:
        if here:
            with pytest.raises(Refused) as caught:
                read(data)
            assert "\n" not in str(caught.value)
        path = tmp_path / "evil.pickle"
        path.write_bytes(data)
        # What is refused as it is read, is before a child knows what it reads.
        for how in (child.read_items,) if here else (child.read_items, child.read_table):
            with pytest.raises(QuadragError) as error:
                list(how(path, **limits))
            assert "\n" not in str(error.value)
            assert "evil.pickle" in str(error.value)
        assert not canary.exists()
        return str(error.value)

    return check


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_of_the_shell_is_refused_and_named(protocol: int, refused: Any, canary: Path) -> None:
    data = pickle.dumps(Call(os.system, f"touch {canary}"), protocol)
    assert f"{os.system.__module__}.system" in refused(data)
    os.system(f"touch {canary}")  # the canary would have been there
    assert canary.exists()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_deep_within_data_is_refused(protocol: int, refused: Any, canary: Path) -> None:
    evil = Call(os.system, f"touch {canary}")
    assert "system" in refused(pickle.dumps({"a": [({"b": {"c": [1, (evil,)]}},)]}, protocol))


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_call_within_a_genuine_frame_is_refused(protocol: int, refused: Any, canary: Path) -> None:
    table = pd.DataFrame({"a": np.array([1, Call(os.system, f"touch {canary}")], dtype=object)})
    assert "system" in refused(pickle.dumps(table, protocol))


def test_a_call_within_the_values_of_a_sqlite_dict_is_refused(upstream: Any, canary: Path) -> None:
    evil = pickle.dumps({"a": Call(os.system, f"touch {canary}")})
    root = upstream({"finance/finance_info.sqlite": {"GOOD": {"forwardPE": 1}, "EVIL": evil}})
    records = child.read_stored(root / "finance/finance_info.sqlite")
    assert next(records) == ("GOOD", '{"forwardPE":1}')
    with pytest.raises(QuadragError, match=r"finance_info.sqlite: .*system, which is not admitted"):
        next(records)
    assert not canary.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"), ("builtins", "exec"), ("builtins", "getattr"), ("builtins", "__import__"),
        ("builtins", "type"), ("builtins", "object"), ("builtins", "bytearray"), ("builtins", "open"),
        ("__builtin__", "eval"), ("builtins", "Dict"), ("Builtins", "dict"), ("builtins ", "dict"),
        ("builtins", "dict "), ("builtins", "dict.__class__"), ("builtins", "list.__subclasses__"),
        ("builtins", "dict\n"),
        ("_codecs", "decode"), ("codecs", "encode"), ("copyreg", "_reconstructor"), ("functools", "partial"),
        ("operator", "attrgetter"), ("subprocess", "Popen"), ("posix", "system"), ("nt", "system"), ("sys", "exit"),
        ("importlib", "import_module"), ("numpy", "load"), ("numpy", "dtype.newbyteorder"), ("numpy", "fromfile"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"), ("numpy.core.multiarray", "fromstring"),
        ("numpy.testing._private.utils", "runstring"), ("pandas", "eval"), ("pandas", "read_pickle"),
        ("pandas", "DataFrame.query"), ("pandas.core.frame", "DataFrame.eval"), ("pandas", "core.frame.DataFrame"),
        ("pandas.io.pickle", "read_pickle"), ("pandas.core.frame", "pd"), ("", "dict"), ("", ""), ("dict", "builtins"),
        ("collections", "namedtuple"), ("datetime", "datetime"), ("ｂuiltins", "dict"),
    ],
)  # fmt: skip
def test_only_exact_pairs_are_admitted(module: str, name: str) -> None:
    assert (module, name) not in ADMITTED
    with pytest.raises(Refused, match="not admitted"):
        read(stack_global(module, name) + b".")
    for opcode in (b"c", b"(i"):  # GLOBAL, INST: what is no ASCII, or empty, cannot be written there
        with pytest.raises(Refused, match=r"not admitted|damaged"):
            read(opcode + f"{module}\n{name}\n".encode() + b".")


def test_a_chain_of_getattr_is_refused(refused: Any) -> None:
    # getattr(getattr(dict, "__class__"), "__subclasses__")
    inner = stack_global("builtins", "getattr") + stack_global("builtins", "dict") + text("__class__") + b"\x86R"
    assert "builtins.getattr" in refused(b"\x80\x04" + inner + b".")


@pytest.mark.parametrize("names", [b"]", b"}", b"N", b"K\x01", b")", b"\x88", stack_global("builtins", "dict")])
def test_a_global_is_named_by_text_alone(names: bytes, refused: Any) -> None:
    refused(text("builtins") + names + b"\x93.")
    refused(names + text("dict") + b"\x93.")


@pytest.mark.parametrize("pair", sorted(ADMITTED))
def test_no_admitted_global_can_be_mutated(pair: tuple[str, str], refused: Any) -> None:
    for state in (
        b"}" + text("__setstate__") + stack_global("builtins", "list") + b"s",
        b"N}" + text("__reduce__") + b"Ns\x86",  # (None, slots), which pickle sets by setattr
    ):
        with pytest.raises(Refused, match="BUILD"):
            read(b"\x80\x04" + stack_global(*pair) + state + b"b.")


def test_mutating_a_class_is_refused_in_a_child_too(refused: Any) -> None:
    data = b"\x80\x04" + stack_global("pandas", "DataFrame") + b"}" + text("__init__") + text("x") + b"sb."
    assert "global DataFrame itself (BUILD)" in refused(data)


@pytest.mark.parametrize("value", [b"}", b"]", b")", text("x"), b"N", b"K\x01"])
def test_the_state_of_plain_data_cannot_be_set(value: bytes, refused: Any) -> None:
    for state in (b"}" + text("a") + b"Ns", b"N}" + text("a") + b"Ns\x86"):  # attributes, and slots
        assert "has no attribute" in refused(value + state + b"b.")


@pytest.mark.parametrize(
    ("data", "opcode"),
    [
        (b"Pevil\n.", "PERSID"), (text("evil") + b"Q.", "BINPERSID"), (b"\x82\x01.", "EXT1"),
        (b"\x83\x01\x00.", "EXT2"),
        (b"\x84\x01\x00\x00\x00.", "EXT4"), (b"\x97.", "NEXT_BUFFER"), (text("a") + b"\x98.", "READONLY_BUFFER"),
        (b"\xff.", "xff"),
    ],
)  # fmt: skip
def test_opcodes_that_reach_outside_are_refused(data: bytes, opcode: str, refused: Any) -> None:
    assert opcode in refused(b"\x80\x04" + data)


def test_a_registered_extension_is_refused() -> None:
    copyreg.add_extension("os", "system", 231)
    try:
        with pytest.raises(Refused, match="EXT1"):
            read(b"\x80\x02\x82\xe7(U\x04trueoR.")
        copyreg._extension_cache[231] = os.system  # type: ignore[attr-defined]  # as after a use of it
        with pytest.raises(Refused, match="EXT1"):
            read(b"\x80\x02\x82\xe7(U\x04trueoR.")
        evil = pickle.dumps(Call(os.system, "true"), 2)
        with pytest.raises(Refused):
            read(evil)
    finally:
        copyreg.remove_extension("os", "system", 231)
        copyreg.clear_extension_cache()


@pytest.mark.parametrize(
    "data",
    [
        text("system") + text("id") + b"\x85R.",  # calls a text
        b"]" + b")R.",  # calls a list
        stack_global("builtins", "dict") + b"]R.",  # arguments that are no tuple
        stack_global("builtins", "dict") + b"NR.",
        stack_global("builtins", "slice") + b")R" + b")R.",  # calls what a call gave
        stack_global("builtins", "slice") + b")R" + b")\x81.",
        stack_global("pandas", "DataFrame") + b")}" + text("data") + b"Ns\x92.",  # keywords
        b"(" + text("x") + b"o.",
        b"(o.",
        stack_global("builtins", "list") + stack_global("builtins", "dict") + b"\x85R.",  # a list of a global
        stack_global("builtins", "set") + text("abc") + b"\x85R.",
        stack_global("collections", "OrderedDict") + b"(" + text("abc") + b"tR.",
    ],
)
def test_calls_of_what_cannot_be_called_are_refused(data: bytes, refused: Any) -> None:
    refused(b"\x80\x04" + data)


MADE = stack_global("pandas", "DataFrame") + b")R"


@pytest.mark.slow
@pytest.mark.parametrize("target", [stack_global("pandas", "DataFrame"), MADE, stack_global("builtins", "list")])
@pytest.mark.parametrize(
    "change",
    [b"Na", b"(Ne", b"(N\x90", text("a") + b"Ns", b"(" + text("args") + b"Nu", b"K\x00Ns"],
    ids=["APPEND", "APPENDS", "ADDITEMS", "SETITEM", "SETITEMS", "SETITEM of a number"],
)
def test_nothing_is_put_into_a_stand_in(target: bytes, change: bytes, refused: Any) -> None:
    refused(b"\x80\x04" + target + change + b".")


@pytest.mark.parametrize("name", ["__class__", "__init__", "__setstate__", "name", "args"])
def test_a_state_is_kept_and_never_set(name: str) -> None:
    for state in (b"}" + text(name) + b"Ns", b"N}" + text(name) + b"Ns\x86"):
        made = read(b"\x80\x04" + MADE + state + b"b.")
        assert type(made).__name__ == made.name == "DataFrame"
        assert (made.args, made.state) in (((), {name: None}), ((), (None, {name: None})))


@pytest.mark.parametrize("encoding", ["bz2", "zlib", "rot13", "idna", "os", "evil", "../x", "utf-8"])
def test_no_codec_is_looked_up(encoding: str, refused: Any) -> None:
    before = set(sys.modules)
    data = stack_global("_codecs", "encode") + text("a") + text(encoding) + b"\x86R."
    with pytest.raises(Refused, match="latin1 alone"):
        read(data)
    assert set(sys.modules) == before


def array(dtype: str, shape: bytes, data: bytes) -> bytes:
    kind = (
        stack_global("numpy", "dtype")
        + text(dtype)
        + b"\x89\x88\x87R"
        + b"(K\x03"
        + text("<")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    made = (
        stack_global("numpy.core.multiarray", "_reconstruct")
        + stack_global("numpy", "ndarray")
        + b"K\x00\x85C\x01b\x87R"
    )
    return made + b"(K\x01" + shape + kind + b"\x89" + data + b"tb"


@pytest.mark.parametrize(
    "data",
    [
        text("a") + b"r\xff\xff\xff\xff.",  # a memo of four thousand million places
        b"\x8e" + struct.pack("<Q", 2**62) + b"abc.",  # bytes of four exbibytes
        b"\x8d" + struct.pack("<Q", 2**63) + b"abc.",
        b"\x96" + struct.pack("<Q", 2**40) + b"abc.",
        b"\x8b\xff\xff\xff\x7f.",  # a number of two gibibytes
        b"L" + b"9" * 100_000 + b"L\n.",  # a decimal that takes quadratic time
        b"T\xff\xff\xff\xff.",
        b"X\xff\xff\xff\xffabc.",
    ],
)  # fmt: skip
def test_streams_that_ask_for_memory_are_refused(data: bytes, refused: Any) -> None:
    started = time.monotonic()
    refused(b"\x80\x04" + data, memory=2**29)
    assert time.monotonic() - started < 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        array("f8", b"\x8a\x06\x00\x00\x00\x00\x00\x10\x85", b"C\x08" + bytes(8)),  # 2 ** 44 numbers
        array("O8", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", b"]"),
        array("f8", b"J\xff\xff\xff\x7fK\x00\x86", b"C\x00"),  # two thousand million empty rows
        array("U999999999", b"K\x01\x85", b"C\x00"),
        array("V8", b"K\x01\x85", b"C\x08" + bytes(8)),
        array("f8", b"K\x02\x85", b"C\x08" + bytes(8)),
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(value: bytes, refused: Any) -> None:
    refused(b"\x80\x04}" + text("a") + value + b"s.", here=False, memory=2**29)


def test_an_index_of_a_million_million_is_refused(tmp_path: Path, objects: Any) -> None:
    data = pickle.dumps(objects(pd.DataFrame({"a": [1, 2, 3]})), 4)
    stop = b"stop\x94K\x03"
    assert data.count(stop) == 1
    swollen = data.replace(stop, b"stop\x94\x8a\x06\x00\x00\x00\x00\x00\x10")
    (tmp_path / "evil.pickle").write_bytes(b"\x80\x04" + swollen[11:])  # without its frame's length
    with pytest.raises(QuadragError, match="labels"):
        child.read_table(tmp_path / "evil.pickle", memory=2**29)


@pytest.mark.slow
def test_lists_that_double_and_double_are_refused(tmp_path: Path) -> None:
    value: list[Any] = []
    for _ in range(12):
        value = [value] * 10
    (tmp_path / "evil.pickle").write_bytes(pickle.dumps({"a": value}))
    started = time.monotonic()
    with pytest.raises(QuadragError, match="256 MiB of memory"):
        list(child.read_items(tmp_path / "evil.pickle", memory=2**28))
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("opens", [b"]", b")"])
def test_deep_nesting_is_refused(opens: bytes, refused: Any) -> None:
    closes = b"a" if opens == b"]" else b"\x85"
    data = opens * 200_000 + closes * 199_999 if opens == b"]" else opens + closes * 200_000
    refused(b"\x80\x04}" + text("a") + data + b"s.", here=False)
    refused(b"\x80\x04}" + data + b"Ns.", here=False)  # as a key, which would be hashed level by level


def test_scalars_within_scalars_are_refused(tmp_path: Path, refused: Any) -> None:
    kind = stack_global("numpy", "dtype") + text("O8") + b"\x85R\x94"  # object 0
    deep = kind + b"0" + (stack_global("numpy.core.multiarray", "scalar") + b"h\x00](") * 50_000
    refused(b"\x80\x04}" + text("a") + deep + b"N" + b"e\x86R" * 50_000 + b"s.", here=False)


@pytest.mark.parametrize(
    "made",
    [
        stack_global("numpy.core.multiarray", "_reconstruct") + b")R",  # an array without a state
        stack_global("numpy.core.multiarray", "_reconstruct") + b")R}b",
        stack_global("numpy.core.multiarray", "scalar") + b")R",
        stack_global("numpy.core.multiarray", "scalar") + stack_global("numpy", "dtype") + b")RN\x86R",
        stack_global("numpy.core.numeric", "_frombuffer") + b"NNNN(tR",
        stack_global("pandas", "DataFrame") + b")R",
    ],
)
def test_half_made_objects_are_refused(made: bytes, refused: Any) -> None:
    message = refused(b"\x80\x04}" + text("a") + made + b"s.", here=False)
    assert "status" not in message


def test_a_list_that_holds_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evil.pickle").write_bytes(b"\x80\x04}" + text("a") + b"]\x94h\x00as.")
    with pytest.raises(QuadragError, match="Circular"):
        list(child.read_items(tmp_path / "evil.pickle"))


def test_reading_is_limited_in_time(tmp_path: Path) -> None:
    (tmp_path / "long.pickle").write_bytes(b"\x80\x04}(" + b"K\x01K\x010" * 8_000_000 + b"0u.")
    with pytest.raises(QuadragError, match="more than 1 s"):
        list(child.read_items(tmp_path / "long.pickle", seconds=1))


@pytest.mark.slow
def test_reading_is_limited_in_memory(tmp_path: Path) -> None:
    (tmp_path / "big.pickle").write_bytes(pickle.dumps({str(n): [float(n)] for n in range(500_000)}))
    with pytest.raises(QuadragError, match="more than 100 MiB of memory"):
        list(child.read_items(tmp_path / "big.pickle", memory=100 * 2**20))


@pytest.mark.parametrize("how", [child.read_items, child.read_table, child.read_stored])
def test_no_file_is_named(how: Any, tmp_path: Path) -> None:
    with pytest.raises(QuadragError, match="no file"):
        list(how(tmp_path / "absent"))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([1], "a list; expected a dict"),
        ({"a": b"x"}, "type bytes"),
        ({"a": slice(1)}, "a slice"),
        ({"a": dict}, "global dict"),
        ({("a", 1): 2}, "a tuple as a key"),
        ({"a": {("b",): 1}}, "keys must be"),
    ],
)
def test_what_is_no_data_is_refused(value: Any, what: str, tmp_path: Path) -> None:
    (tmp_path / "odd.pickle").write_bytes(pickle.dumps(value))
    with pytest.raises(QuadragError, match=what):
        list(child.read_items(tmp_path / "odd.pickle"))
