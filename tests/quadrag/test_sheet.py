"""Sheets that people fill in: what is written comes back, and whatever bytes are read are marks or one clear error."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.errors import QuadragError
from quadrag.sheet import Mark, Place, find_mark, read_marks, write_sheet

pytestmark = pytest.mark.pure
CELLS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
WORDS = CELLS.filter(lambda text: text.strip() and not text.startswith(("=", "+", "-", "@", "\t", "\r")))


@given(st.dictionaries(WORDS.map(str.strip).filter(lambda text: not text.startswith(("=", "+", "-", "@"))), CELLS))
def test_what_is_written_comes_back(said: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.csv"
        write_sheet(path, ["id", "sample", "say"], [{"id": i, "sample": "1", "say": say} for i, say in said.items()])
        found = read_marks(path, "say")
    expected = {Place("", i, 1): say for i, say in said.items()}
    assert {place: mark.value.removeprefix("'") for place, mark in found.items()} == {
        place: say.removeprefix("'") for place, say in expected.items()
    }


@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(["id", "say", "split", ",", ";", "\t", '"', "\n", "{", "}", ":", "1", "\0", "é"])).map(
            lambda parts: "".join(parts).encode()
        ),
    )
)
def test_any_bytes_are_marks_or_one_clear_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.csv"
        path.write_bytes(content)
        try:
            assert all(isinstance(mark, Mark) and place.id for place, mark in read_marks(path, "say").items())
        except QuadragError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_sheet_is_read_as_spreadsheets_save_it(tmp_path: Path, delimiter: str, end: str) -> None:
    lines = [["split", "id", "say"], ["a", "1", '"x, y; z"'], ["", "2", "好"], ["", "", ""]]
    path = tmp_path / "sheet.csv"
    path.write_bytes(b"\xef\xbb\xbf" + end.join(delimiter.join(line) for line in lines).encode())
    marks = read_marks(path, "say")
    assert {place: mark.value for place, mark in marks.items()} == {
        Place("a", "1", 0): "x, y; z",
        Place("", "2", 0): "好",
    }
    assert find_mark(marks, Place("b", "2", 0)) == Mark("好", f"{path}:3")
    assert find_mark(marks, Place("b", "1", 0)) is None
