"""A pickle that asks for too much, or that holds no data, is refused: memory, time, depth, half-made objects."""

from __future__ import annotations

import pickle
import struct
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pickle_parts import stack_global, text

from quadrag.errors import QuadragError
from quadrag.kg.pickled import child


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
