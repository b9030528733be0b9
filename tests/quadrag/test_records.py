"""Records on disk: the same bytes always, a whole file or none, and every bad line named."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.errors import QuadragError
from quadrag.records import dumps, read_jsonl, write_jsonl, write_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
ROWS = st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=6)


@given(ROWS)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_jsonl(path, rows)
    assert list(read_jsonl(path)) == list(enumerate(rows, 1))
    assert [list(row) for _, row in read_jsonl(path)] == [list(row) for row in rows], "keys keep their order"
    before = path.read_bytes()
    write_jsonl(path, (row for _, row in read_jsonl(path)))
    assert path.read_bytes() == before


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": -float("inf")}])
def test_what_json_lacks_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(value)


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    write_jsonl(path, [{"a": 1}])

    def rows() -> Iterator[dict[str, Any]]:
        yield {"a": 2}
        raise RuntimeError("the stage failed")

    with pytest.raises(RuntimeError, match="the stage failed"):
        write_jsonl(path, rows())
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_jsonl(path, [{"a": 2}, {"a": float("nan")}])
    assert path.read_text(encoding="utf-8") == '{"a": 1}\n'
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path / "folder", "text")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "new", "rows.jsonl"], "no partial file"


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    versions = [[{"version": version, "row": row, "pad": "文" * 500} for row in range(300)] for version in range(2)]
    write_jsonl(path, versions[0])
    over = Event()

    def write() -> None:
        turn = 0
        while not over.is_set():
            turn += 1
            write_jsonl(path, versions[turn % 2])

    writer = Thread(target=write)
    writer.start()
    seen = set()
    try:
        for _ in range(150):
            rows = [row for _, row in read_jsonl(path)]
            assert rows in versions
            seen.add(rows[0]["version"])
    finally:
        over.set()
        writer.join()
    assert seen == {0, 1}


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n   \n{"a": 2}')
    assert list(read_jsonl(path)) == [(1, {"a": 1}), (4, {"a": 2})]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1\n{"a": 1}', r":1 is not JSON \(Expecting ',' delimiter\); expected JSON Lines, one object a line"),
        (b'{"a": 1}\n{"a": 1', r":2 is not JSON \(.*\); .*; the file ends within this line: copy it again"),
        (b'{"a": 1}\n\n[1]\n', ":3 holds a list; expected JSON Lines, one object a line"),
        (b"null\n", ":1 holds a NoneType; expected JSON Lines, one object a line"),
        (
            "答案".encode("gb18030"),
            " is not UTF-8; expected JSON Lines in UTF-8: .*",
        ),
    ],
)
def test_bad_content_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(QuadragError, match=rf"^{path}{message}$"):
        list(read_jsonl(path))
