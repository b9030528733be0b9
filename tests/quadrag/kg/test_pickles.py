"""Pickles are read as data: malicious ones are refused with nothing executed."""

from __future__ import annotations

import copyreg
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pickle_parts import stack_global, text

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
