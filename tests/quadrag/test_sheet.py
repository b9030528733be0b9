"""Sheets that people fill in: what is written comes back, and whatever bytes are read are rows or one clear error."""

import csv
import io
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


# How spreadsheets save a sheet: encoding, what parts cells, the end of a line.
FORMS = [
    *[("utf-8-sig", ",", "\n"), ("utf-8", ",", "\r\n"), ("utf-8-sig", ";", "\r\n"), ("utf-8", "\t", "\n")],
    *[("utf-16", "\t", "\r\n"), ("gb18030", ",", "\r\n"), ("utf-8", ",", "\r")],
]


@pytest.mark.parametrize(("encoding", "sign", "end"), FORMS)
@pytest.mark.parametrize("blank", [[], ["", ""]])
def test_a_sheet_is_read_as_spreadsheets_save_it(encoding, sign, end, blank, tmp_path):
    rows = [[" id ", "answer"], ["1", f'It is "Paris"{sign} 对'], ["2", "=1+1"], ["3", "北京\n或上海"], ["", " "]]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=sign, lineterminator=end, quoting=csv.QUOTE_ALL * (end == "\r"))
    writer.writerows([*row, *blank] for row in rows)
    (tmp_path / "s.csv").write_bytes(text.getvalue().encode(encoding))
    lines = read_sheet(tmp_path / "s.csv", "id").lines
    assert [[line.row["id"], line.row["answer"]] for line in lines] == rows[1:4]


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        ("id,answer\n1,公司２０２３年营收５％。\n", "gb18030", None),
        ("id;answer\n1;Größe über 5 °C\n", "cp1252", "UTF-8"),
        ("id,answer\n1,日本語です\n", "shift-jis", "UTF-8"),
        ("id,answer,,\n1,right\n\n,,,\n", "utf-8", None),
        ("id,answer,\n1,right,a note\n", "utf-8", None),
        ("id,answer,label\n1,Paris, France,right\n", "utf-8", ":2"),
        ("id,name,kind,label\n1,a, b,c,right,\n2,d,e,wrong\n", "utf-8", ":2"),
        ('id,answer\n1,"Paris\n2,Rome\n', "utf-8", "s.csv"),
        ("id,label,label\n1,right,wrong\n", "utf-8", "label"),
    ],
)
def test_a_sheet_is_read_in_what_its_bytes_tell_and_what_shifts_is_told(text, encoding, named, tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(text.encode(encoding))
    if named is None:
        assert read_sheet(path, "id").lines[0].row["id"] == "1"
    else:
        with pytest.raises(QuadragError) as error:
            read_sheet(path, "id")
        assert named in str(error.value)


def test_no_cell_is_carried_out(tmp_path):
    texts = ["=1+1", "'=1+1", "+1 555", "-5", "-x", "@SUM(A1)", "\t=1", "\r=1", "＝1", "-0.25"]
    write_sheet(tmp_path / "s.csv", [["answer"], *([text] for text in texts)])
    with (tmp_path / "s.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [row["answer"] for row in csv.DictReader(file)]
    assert [cell for cell in cells if cell.startswith(tuple("=+-@\t\r＝"))] == ["-5", "-0.25"], "numbers stay numbers"
