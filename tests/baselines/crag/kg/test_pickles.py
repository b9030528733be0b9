"""Pickles are read as data: what is plain and frames come back equal, all else is refused with nothing executed."""

import base64
import json
import os
import pickle
import struct
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.baselines.crag.kg.build import build
from quadrag.baselines.crag.kg.graph import Graph
from quadrag.baselines.crag.kg.restricted_pickle import (
    ADMITTED,
    Frame,
    Global,
    Refused,
    StandIn,
    read,
    read_items,
    read_table,
)
from quadrag.errors import QuadragError

PANDAS_2 = json.loads((Path(__file__).parent / "frames_pandas2.json").read_text(encoding="utf-8"))
PROTOCOLS = range(6)
STORED = "finance/finance_info.sqlite"  # a SqliteDict


def text(value: str) -> bytes:
    raw = value.encode()
    return b"\x8c" + bytes([len(raw)]) + raw


def stack_global(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


class Call:
    """Pickled as a call."""

    def __init__(self, callee: Callable[..., Any], *args: Any) -> None:
        self.parts = (callee, args)

    def __reduce__(self) -> Any:
        return self.parts


@pytest.mark.parametrize("file", ["music/artist_dict_simplified.pickle", "music/grammy_df.pickle", STORED])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_is_refused_wherever_it_stands(protocol: int, file: str, upstream: Any, target: Path) -> None:
    canary = target.parent / "canary"
    evil = Call(os.system, f"touch {canary}")
    values = [evil, {"a": [({"b": {"c": [1, (evil,)]}},)]}]
    values += [pd.DataFrame({"a": np.array([1, evil], dtype=object)})] * (protocol > 1)
    for value in values:
        content = pickle.dumps(value, protocol)
        with pytest.raises(QuadragError, match=rf"{file}.*{os.system.__module__}.system"):
            build(upstream({file: {"GOOD": 1, "EVIL": content} if file == STORED else content}), target)
        (target.parent / "src" / file).unlink()
    assert not canary.exists() and not target.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"), ("builtins", "getattr"), ("builtins", "type"), ("builtins", "bytearray"),
        ("__builtin__", "eval"), ("builtins", "Dict"), ("Builtins", "dict"), ("builtins ", "dict"),
        ("builtins", "dict "), ("builtins", "dict.__class__"), ("builtins", "list.__subclasses__"),
        ("builtins", "dict\n"), ("_codecs", "decode"), ("codecs", "encode"), ("copyreg", "_reconstructor"),
        ("functools", "partial"), ("operator", "attrgetter"), ("posix", "system"), ("importlib", "import_module"),
        ("numpy", "load"), ("numpy", "dtype.newbyteorder"), ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("pandas", "read_pickle"), ("pandas", "DataFrame.query"), ("pandas", "core.frame.DataFrame"),
        ("pandas.core.frame", "pd"), ("", "dict"), ("", ""), ("dict", "builtins"), ("ｂuiltins", "dict"),
    ],
)  # fmt: skip
def test_only_exact_pairs_are_admitted(module: str, name: str) -> None:
    assert (module, name) not in ADMITTED
    for data in (stack_global(module, name), *(code + f"{module}\n{name}\n".encode() for code in (b"c", b"(i"))):
        with pytest.raises(Refused):
            read(data + b".")


def test_no_admitted_global_can_be_mutated() -> None:
    for pair in ADMITTED:
        for state in (
            b"}" + text("__setstate__") + stack_global("builtins", "list") + b"s",
            b"N}" + text("__reduce__") + b"Ns\x86",  # (None, slots), which pickle sets by setattr
        ):
            with pytest.raises(Refused, match="BUILD"):
                read(b"\x80\x04" + stack_global(*pair) + state + b"b.")


MADE = stack_global("pandas", "DataFrame") + b")R"
DICT, SLICE, DTYPE = stack_global("builtins", "dict"), stack_global("builtins", "slice"), stack_global("numpy", "dtype")


@pytest.mark.parametrize(
    "data",
    [
        *(text("builtins") + names + b"\x93" for names in (b"]", b"}", b"N", b"K\x01", b")", DICT)),  # no names
        *(value + b"}" + text("a") + b"Nsb" for value in (b"}", b"]", b")", text("x"), b"N")),  # a state of plain data
        *(b"Pevil\n", text("evil") + b"Q", b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\x00\x00\x00"),  # reach outside
        *(b"\x97", text("a") + b"\x98", b"\xff"),
        *(text("system") + text("id") + b"\x85R", b"])R", DICT + b"]R", DICT + b"NR"),  # calls of what cannot be called
        *(SLICE + b")R)R", SLICE + b")R)\x81", MADE[:-2] + b")}" + text("data") + b"Ns\x92", b"(" + text("x") + b"o"),
        *(b"(o", *(stack_global("builtins", name) + DICT + b"\x85R" for name in ("list", "set"))),
        *(target + change for target in (MADE[:-2], MADE) for change in (b"Na", b"(Ne", b"(N\x90", b"K\x00Ns")),
        *(stack_global("_codecs", "encode") + text("a") + text(name) + b"\x86R" for name in ("bz2", "rot13", "../x")),
        text("a") + b"r\xff\xff\xff\xff",  # a memo of four thousand million places
        b"\x8e" + struct.pack("<Q", 2**62) + b"abc",  # bytes of four exbibytes
        b"\x96" + struct.pack("<Q", 2**40) + b"abc",
        b"\x8b\xff\xff\xff\x7f",  # a number of two gibibytes
        b"L" + b"9" * 100_000 + b"L\n",  # a decimal that takes quadratic time
        b"X\xff\xff\xff\xffabc",
        b"]" * 200_000 + b"a" * 199_999,
    ],
    ids=lambda data: repr(data[:40]),
)  # fmt: skip
def test_streams_that_are_no_data_are_refused(data: bytes) -> None:
    with pytest.raises(Refused) as caught:
        read(b"\x80\x05" + data + b".")
    assert "\n" not in str(caught.value)


def test_a_state_is_kept_and_never_set() -> None:
    for name in ("__class__", "__init__", "__setstate__", "name", "args"):
        made = read(b"\x80\x04" + MADE + b"}" + text(name) + b"Nsb.")
        assert type(made).__name__ == made.name == "DataFrame"
        assert (made.args, made.state) == ((), {name: None})


def array(dtype: str, shape: bytes, data: bytes) -> bytes:
    more = text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    kind = DTYPE + text(dtype) + b"\x89\x88\x87R(K\x03" + more
    made = stack_global("numpy.core.multiarray", "_reconstruct") + stack_global("numpy", "ndarray")
    return made + b"K\x00\x85C\x01b\x87R(K\x01" + shape + kind + b"\x89" + data + b"tb"


@pytest.mark.parametrize(
    "value",
    [
        array("f8", b"\x8a\x06\x00\x00\x00\x00\x00\x10\x85", b"C\x08" + bytes(8)),  # 2 ** 44 numbers
        array("O8", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", b"]"),
        array("f8", b"J\xff\xff\xff\x7fK\x00\x86", b"C\x00"),  # two thousand million empty rows
        array("U999999999", b"K\x01\x85", b"C\x00"),
        *(array(code, b"K\x01\x85", b"C\x08" + bytes(8)) for code in ("V8", "c8", "M8", "O8,O8")),
        array("f8", b"K\x02\x85", b"C\x08" + bytes(8)),
        *(stack_global("numpy.core.multiarray", "_reconstruct") + b for b in (b")R", b")R}b")),  # without a state
        *(stack_global("numpy.core.multiarray", "scalar") + b for b in (b")R", DTYPE + b")RN\x86R")),
        stack_global("numpy.core.numeric", "_frombuffer") + b"NNNN(tR",
        *(MADE, SLICE + b"K\x01\x85R", DICT, b"C\x01x"),
        b"}K\x01\x85Ns",  # a tuple as a key
        b"]\x94h\x00a",  # holds itself
        b"]" + b"\x94(" + b"h\x00" * 10 + b"e",
        pickle.dumps([[[[[[["x" * 1000] * 100] * 100] * 100] * 100] * 100] * 100], 4)[11:-1],  # swells
    ],
    ids=lambda data: repr(data[:60]),
)  # fmt: skip
def test_files_that_hold_no_data_are_refused(value: bytes, upstream: Any, target: Path) -> None:
    with pytest.raises(QuadragError, match=r"^[^\n]*artist_work_dict.pickle[^\n]*$"):
        build(upstream({"music/artist_work_dict.pickle": b"\x80\x04}" + text("a") + value + b"s."}), target)


def test_an_index_of_a_million_million_is_refused(tmp_path: Path, objects: Any) -> None:
    data = pickle.dumps(objects(pd.DataFrame({"a": [1, 2, 3]})), 4)
    stop = b"stop\x94K\x03"
    assert data.count(stop) == 1
    swollen = data.replace(stop, b"stop\x94\x8a\x06\x00\x00\x00\x00\x00\x10")
    (tmp_path / "evil.pickle").write_bytes(b"\x80\x04" + swollen[11:])  # without its frame's length
    with pytest.raises(Refused):
        read_table(tmp_path / "evil.pickle")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("music/artist_work_dict.pickle", value) for value in ([1], {"a": {("b",): 1}}, {"a": object})),
        *(("music/grammy_df.pickle", value) for value in (1, {"a": 1}, pd.Index([1]), np.arange(3))),
        ("music/grammy_df.pickle", pickle.dumps(pd.DataFrame({"year": pd.Categorical(["x", "y"])}))),
        ("finance/finance_info.sqlite", pickle.dumps({"a": 1})),
    ],
)  # fmt: skip
def test_what_is_another_kind_of_file_is_refused(name: str, value: Any, upstream: Any, target: Path) -> None:
    with pytest.raises(QuadragError, match=name):
        build(upstream({name: value}), target)


# --- what comes back -------------------------------------------------------------------------------------------------

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.booleans(), inner, max_size=5)
        | st.lists(inner, max_size=2).map(tuple)
    ),
    max_leaves=30,
)


@given(value=PLAIN, protocol=st.sampled_from([3, 4, 5]))
def test_plain_data_come_back_equal(value: Any, protocol: int) -> None:
    assert repr(read(pickle.dumps(value, protocol))) == repr(value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_containers_come_back_in_the_order_of_the_stream(protocol: int, tmp_path: Path) -> None:
    for made in (OrderedDict(b=1, a=2), defaultdict(list, {"b": [1], "a": [2]})):
        assert list(read(pickle.dumps(made, protocol)).items()) == list(made.items())
    if protocol > 1:
        names = {f"name {number}" for number in range(50)}
        assert read(pickle.dumps(names, protocol)) == list(names)
    value = {f"song {n}": {"author": f"author {n % 50}", "date": None, "n": [n, n / 7]} for n in range(200)}
    (tmp_path / "d.pickle").write_bytes(pickle.dumps(value, protocol))
    assert [(key, json.loads(said)) for key, said in read_items(tmp_path / "d.pickle")] == list(value.items())
    if protocol == 5:
        assert read(pickle.dumps([bytearray(b"ab"), b"ab"], 5)) == [b"ab", b"ab"]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_numpy_scalars_and_arrays_become_plain(protocol: int, tmp_path: Path) -> None:
    value = {"f": np.float64(1.5), "i": np.int32(-3), "b": np.bool_(True), "u": np.str_("é"), "a": np.arange(3),
             "o": np.array(["x", None], dtype=object), "t": np.array([[1.5, 2], [3, 4]]),
             "z": np.asfortranarray([[1, 2], [3, 4]]), "n": float("nan")}  # fmt: skip
    (tmp_path / "d.pickle").write_bytes(pickle.dumps(value, protocol))
    assert dict(read_items(tmp_path / "d.pickle")) == {
        "f": "1.5", "i": "-3", "b": "true", "u": '"\\u00e9"', "a": "[0,1,2]", "o": '["x",null]',
        "t": "[[1.5,2.0],[3.0,4.0]]", "z": "[[1,2],[3,4]]", "n": "NaN",
    }  # fmt: skip


def frames() -> dict[str, pd.DataFrame]:
    labels = [("ENG", "2324", "Arsenal", "a-b"), (np.nan, "2324", "X", "g"), ("ESP", "2223", "Almería", "h")]
    index = pd.MultiIndex.from_tuples(labels, names=["league", "season", "team", "game"])
    mixed = pd.DataFrame(
        {"date": pd.to_datetime(["2024-01-01", None, "2023-12-31 23:59:59.999"], format="ISO8601"),
         "GF": ["0", "1", "2 (3)"], "xG": [1.6, np.nan, -0.0], "Poss": [4, 5, 6], "Notes": [None, "x", np.nan],
         "home": [True, False, True], "small": np.array([1, 2, 3], dtype="int8"), "Cap": [1, "two", 3.5]},
        index=index,
    )  # fmt: skip
    plain = mixed.reset_index(drop=True)
    inserted = plain.copy()
    inserted.insert(1, "between", [1.5, 2.5, np.nan])
    moments = ["1969-12-31 23:59:59", "2024-02-29 12:30:00", None]
    return {
        "mixed": mixed, "plain": plain, "sliced": plain.iloc[::2], "filtered": plain[plain["Poss"] > 4],
        "empty": plain.iloc[:0], "named": plain.set_index("GF"), "wide": pd.DataFrame(np.arange(60.0).reshape(6, 10)),
        "transposed": pd.DataFrame(np.arange(60).reshape(6, 10)).T, "inserted": inserted,
        **{unit: pd.DataFrame({"t": np.array(moments, dtype=f"M8[{unit}]")}) for unit in ("s", "ms", "us", "ns")},
    }  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("name", sorted(frames()))
def test_genuine_frames_come_back_equal(name: str, protocol: int, tmp_path: Path, objects: Any) -> None:
    if name == "empty" and protocol == 2:
        pytest.skip("empty bytes are spelled by a call")
    table = objects(frames()[name])
    (tmp_path / "frame.pkl").write_bytes(pickle.dumps(table, protocol))
    told = json.loads(table.reset_index(drop=True).to_json(orient="split", date_format="iso", double_precision=15))
    columns = told["columns"] if name not in ("wide", "transposed") else list(range(len(told["columns"])))
    labels = [list(label) if isinstance(label, tuple) else [label] for label in table.index]
    labels = [[None if part != part else part for part in label] for label in labels]
    assert read_table(tmp_path / "frame.pkl") == Frame(list(table.index.names), labels, columns, told["data"])


@pytest.mark.parametrize("name", sorted(PANDAS_2["pickles"]))
def test_frames_of_pandas_2_come_back_equal(name: str, tmp_path: Path) -> None:
    (tmp_path / "frame.pkl").write_bytes(base64.b64decode(PANDAS_2["pickles"][name]))
    expected = PANDAS_2["frames"][name.split()[0]]
    assert list(read_table(tmp_path / "frame.pkl")) == [expected[p] for p in Frame._fields]


GENUINE = [base64.b64decode(data) for data in PANDAS_2["pickles"].values()]
GENUINE += [pickle.dumps({"a": [1, 2.5, None, {"b": ("c", b"d")}], "e": {"f"}}, protocol) for protocol in PROTOCOLS]


def only_data(value: Any) -> None:
    """Check that there is nothing in a value but data and stand-ins."""
    waiting, met = [value], set()
    while waiting:
        part = waiting.pop()
        if id(part) not in met and not isinstance(part, (str, bytes, int, float, type(None))):
            met.add(id(part))
            if isinstance(part, StandIn):
                waiting += [part.args, part.state]
            elif not isinstance(part, Global):
                assert type(part) in (list, tuple, dict)
                waiting += [*part.keys(), *part.values()] if isinstance(part, dict) else part


@given(data=st.data())
def test_damaged_pickles_are_refused_or_data_and_nothing_else(upstream_folder: Path, data: Any) -> None:
    stream = bytearray(data.draw(st.sampled_from(GENUINE)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(stream) - 1))
        stream[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    try:
        only_data(read(bytes(stream)))
    except Refused as error:
        assert "\n" not in str(error)
    (upstream_folder / "music/grammy_df.pickle").write_bytes(bytes(stream))
    try:
        build(upstream_folder, upstream_folder / "kg.sqlite")
        Graph(upstream_folder / "kg.sqlite").close()
    except QuadragError as error:
        assert "\n" not in str(error)


@pytest.fixture(scope="module")
def upstream_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "music").mkdir()
    return folder
