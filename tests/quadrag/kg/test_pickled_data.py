"""Pickled data come back as they went in, frames too; what is damaged is refused, or is data and nothing else."""

from __future__ import annotations

import base64
import json
import pickle
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.errors import QuadragError
from quadrag.kg.pickled import child
from quadrag.kg.pickled.frames import frame
from quadrag.kg.pickled.pickles import Global, Made, Refused, read

PANDAS_2 = json.loads((Path(__file__).parent / "frames_pandas2.json").read_text(encoding="utf-8"))
PROTOCOLS = range(6)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.booleans(), inner, max_size=5)
        | st.tuples(inner, inner)
        | st.lists(inner, max_size=2).map(tuple)
    ),
    max_leaves=30,
)


@given(value=PLAIN, protocol=st.sampled_from([0, 1, 2, 3, 4, 5]))
def test_plain_data_come_back_equal(value: Any, protocol: int) -> None:
    def bare(part: Any) -> bool:
        """Whether there are bytes in it, which protocols below 3 spell by a call of `bytes` where they are empty."""
        if isinstance(part, dict):
            return any(map(bare, part.values()))
        return any(map(bare, part)) if isinstance(part, (list, tuple)) else part == b"" and isinstance(part, bytes)

    data = pickle.dumps(value, protocol)
    if protocol < 3 and bare(value):
        with pytest.raises(Refused, match="bytes"):
            read(data)
    else:
        assert read(data) == value
        assert repr(read(data)) == repr(pickle.loads(data))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_containers_come_back_in_the_order_of_the_stream(protocol: int) -> None:
    assert read(pickle.dumps(OrderedDict(b=1, a=2), protocol)) == {"b": 1, "a": 2}
    numbers = defaultdict(list, {"b": [1], "a": [2]})
    assert list(read(pickle.dumps(numbers, protocol)).items()) == [("b", [1]), ("a", [2])]
    if protocol > 1:
        names = {f"name {number}" for number in range(50)}
        assert read(pickle.dumps(names, protocol)) == list(names)


def test_an_array_of_bytes_comes_back_as_bytes() -> None:
    assert read(pickle.dumps([bytearray(b"ab"), b"ab"], 5)) == [b"ab", b"ab"]
    assert type(read(pickle.dumps(bytearray(b"ab"), 5))) is bytes
    for change in (b"K\x01a", b"(K\x01e", b"K\x00K\x01s"):  # by which CPython's own could be brought out of order
        with pytest.raises(Refused, match="bytes"):
            read(b"\x80\x05\x96\x02" + bytes(7) + b"ab" + change + b".")


@pytest.mark.slow
def test_repeated_strings_and_many_objects_come_back(tmp_path: Path) -> None:
    value = {f"song {n}": {"author": f"author {n % 50}", "date": None, "n": [n, n / 7]} for n in range(20_000)}
    for protocol in PROTOCOLS:
        (tmp_path / "d.pickle").write_bytes(pickle.dumps(value, protocol))
        assert {key: json.loads(text) for key, text in child.read_items(tmp_path / "d.pickle")} == value


def test_numpy_scalars_and_arrays_become_plain(tmp_path: Path) -> None:
    value = {"f": np.float64(1.5), "i": np.int32(-3), "b": np.bool_(True), "u": np.str_("é"), "a": np.arange(3),
             "o": np.array(["x", None], dtype=object), "t": np.array([[1.5, 2], [3, 4]]),
             "n": float("nan")}  # fmt: skip
    for protocol in (2, 3, 4, 5):
        (tmp_path / "d.pickle").write_bytes(pickle.dumps(value, protocol))
        found = {key: text for key, text in child.read_items(tmp_path / "d.pickle")}
        assert found == {"f": "1.5", "i": "-3", "b": "true", "u": '"\\u00e9"', "a": "[0,1,2]", "o": '["x",null]',
                         "t": "[[1.5,2.0],[3.0,4.0]]", "n": "NaN"}  # fmt: skip


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
    plain["zone"] = pd.to_datetime(["2024-01-01", None, "2024-06-30"]).tz_localize("UTC")
    return {
        "mixed": mixed, "plain": plain, "sliced": plain.iloc[::2], "filtered": plain[plain["Poss"] > 4],
        "empty": plain.iloc[:0], "named": plain.set_index("GF"), "wide": pd.DataFrame(np.arange(60.0).reshape(6, 10)),
        "transposed": pd.DataFrame(np.arange(60).reshape(6, 10)).T, "inserted": inserted(plain),
    }  # fmt: skip


def inserted(table: pd.DataFrame) -> pd.DataFrame:
    table = table.copy()
    table.insert(1, "between", [1.5, 2.5, np.nan])
    return table


def as_pandas_says(table: pd.DataFrame) -> tuple[list[str], list[list[Any]]]:
    told = json.loads(table.reset_index(drop=True).to_json(orient="split", date_format="iso", double_precision=15))
    return told["columns"], told["data"]


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("name", sorted(frames()))
def test_genuine_frames_come_back_equal(name: str, protocol: int, tmp_path: Path, objects: Any) -> None:
    table = objects(frames()[name])
    path = tmp_path / "frame.pkl"
    path.write_bytes(pickle.dumps(table, protocol))
    if name == "empty" and protocol == 2:  # which spells its empty bytes by a call
        with pytest.raises(QuadragError, match=r"__builtin__\.bytes"):
            child.read_table(path)
        return
    found = child.read_table(path)
    columns, rows = as_pandas_says(table)
    assert found.columns == (columns if name not in ("wide", "transposed") else list(range(len(columns))))
    assert [list(row) for row in found.rows] == rows
    assert found.index_names == list(table.index.names)
    labels = [label if isinstance(label, tuple) else (label,) for label in table.index]
    assert found.labels == [tuple(None if part != part else part for part in label) for label in labels]


@pytest.mark.parametrize("name", sorted(PANDAS_2["pickles"]))
def test_frames_of_pandas_2_come_back_equal(name: str, tmp_path: Path) -> None:
    path = tmp_path / "frame.pkl"
    path.write_bytes(base64.b64decode(PANDAS_2["pickles"][name]))
    expected = PANDAS_2["frames"][name.split()[0]]
    found = child.read_table(path)
    assert json.loads(json.dumps(found)) == [expected[part] for part in ("index_names", "labels", "columns", "rows")]


def test_times_of_every_unit_come_back(tmp_path: Path, objects: Any) -> None:
    moments = ["1969-12-31 23:59:59", "2024-02-29 12:30:00", None]
    for unit in ("s", "ms", "us", "ns"):
        table = objects(pd.DataFrame({"t": np.array(moments, dtype=f"M8[{unit}]")}))
        (tmp_path / "t.pkl").write_bytes(pickle.dumps(table, 4))
        assert [list(row) for row in child.read_table(tmp_path / "t.pkl").rows] == as_pandas_says(table)[1]


@pytest.mark.parametrize("value", [1, {"a": 1}, pd.Index([1]), np.arange(3)])
def test_what_is_no_frame_is_refused(value: Any, tmp_path: Path) -> None:
    (tmp_path / "odd.pickle").write_bytes(pickle.dumps(value, 4))
    with pytest.raises(QuadragError, match="expected a pandas DataFrame"):
        child.read_table(tmp_path / "odd.pickle")


def test_extension_types_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "odd.pickle").write_bytes(pickle.dumps(pd.DataFrame({"a": pd.Categorical(["x", "y"])}), 4))
    with pytest.raises(QuadragError, match="Categorical"):
        child.read_table(tmp_path / "odd.pickle")


GENUINE = [base64.b64decode(data) for data in PANDAS_2["pickles"].values()]
GENUINE += [pickle.dumps({"a": [1, 2.5, None, {"b": ("c", b"d")}], "e": {"f"}}, protocol) for protocol in PROTOCOLS]


def only_data(value: Any) -> None:
    """Check that there is nothing in a value but data and stand-ins."""
    waiting, met = [value], set()
    while waiting:
        one = waiting.pop()
        if id(one) not in met and not isinstance(one, (str, bytes, int, float, type(None))):
            met.add(id(one))
            if isinstance(one, Made):
                waiting += [one.args, one.state]
            elif not isinstance(one, Global):
                assert type(one) in (list, tuple, dict)
                waiting += [*one.keys(), *one.values()] if isinstance(one, dict) else one


@given(data=st.data())
def test_damaged_pickles_are_refused_or_data_and_nothing_else(data: Any) -> None:
    stream = bytearray(data.draw(st.sampled_from(GENUINE)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(stream) - 1))
        stream[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    try:
        whole = read(bytes(stream))
        only_data(whole)
        if not isinstance(whole, dict):
            frame(whole)
    except (Refused, MemoryError, RecursionError) as error:
        assert "\n" not in str(error)


@given(data=st.binary(max_size=200))
def test_noise_is_refused_or_data_and_nothing_else(data: bytes) -> None:
    try:
        only_data(read(data))
    except (Refused, MemoryError) as error:
        assert "\n" not in str(error)
