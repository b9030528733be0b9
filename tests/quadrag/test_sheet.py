"""Sheets that people fill in: what is written comes back, and whatever bytes are read are rows or one clear error."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quadrag.errors import QuadragError
from quadrag.sheet import read_sheet, write_sheet

pytestmark = pytest.mark.pure
CELLS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(st.lists(CELLS.filter(str.strip), min_size=1))
@example(["=1", "'=1", "''=1", "-5", "'-5", "-5x", "\r=", "'", "''", "＝", "a\r\nb", 'a"b', "a;b\tc,d"])
def test_what_is_written_comes_back(cells: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.csv"
        write_sheet(path, [["id", "say"], *([str(at), cell] for at, cell in enumerate(cells))])
        with pytest.raises(QuadragError, match="name another file"):
            write_sheet(path, [])
        assert [line.row for line in read_sheet(path, "id").lines] == [
            {"id": str(at), "say": cell} for at, cell in enumerate(cells)
        ]


@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(["id", "say", "split", ",", ";", "\t", '"', "\n", "{", "}", ":", "1", "\0", "é"])).map(
            lambda parts: "".join(parts).encode()
        ),
    )
)
def test_any_bytes_are_rows_or_one_clear_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.csv"
        path.write_bytes(content)
        try:
            assert all({"id", "say"} <= {*line.row} for line in read_sheet(path, "id", "say").lines)
        except QuadragError as error:
            assert str(path) in str(error)
