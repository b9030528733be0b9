"""CRAG's files as bytes: packed, archived and split in every way that is read, broken in every way that is named."""

from __future__ import annotations

import bz2
import io
import json
import random
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from quadrag.data.builders import open_builder, rows
from quadrag.errors import QuadragError

FIVE = "data/crag_task_1_and_2_dev_v5.jsonl.bz2"
PARTS = {
    "v5": [f"data/crag_task_3_dev_v5.tar.bz2.part{number}" for number in range(4)],
    "v4": [f"data/crag_task_3_dev_v4.tar.bz2.part{number}" for number in range(1, 5)],
}


def lines(*numbers: int, size: int = 0) -> bytes:
    """Questions of upstream's form; `size` random bytes in each page make them hard to pack."""
    found = []
    for number in numbers:
        page = {"page_name": "n", "page_result": random.Random(number).randbytes(size).hex()}
        row = {"interaction_id": f"id-{number}", "query": "who?", "answer": "she", "split": number % 2}
        found.append(json.dumps(row | {"search_results": [page]}) + "\n")
    return "".join(found).encode()


def tar(*members: tuple[str, bytes | None], form: int = tarfile.PAX_FORMAT, headers: Any = None) -> bytes:
    """An archive of files; a member without content is a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.pax_headers = headers or {}
            if content is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content or b""))
    return out.getvalue()


def split_up(root: Path, content: bytes, release: str = "v5", cuts: tuple[float, ...] = (0.25, 0.5, 0.75)) -> Path:
    """Write an archive as upstream does, in four parts; returns the root."""
    ends = [0, *(int(len(content) * cut) for cut in cuts), len(content)]
    (root / "data").mkdir(exist_ok=True)
    for name, begin, end in zip(PARTS[release], ends[:-1], ends[1:], strict=True):
        (root / name).write_bytes(content[begin:end])
    return root


def ids(root: Path, config: str = "task_3", split: str = "public", **options: Any) -> list[str]:
    builder, _ = open_builder("crag", config, str(root), options, split)
    return [row["id"] for row in rows(builder, split)]


def private(path: Path, content: bytes) -> list[str]:
    """The ids of a private file, which may be of any kind."""
    path.write_bytes(content)
    return ids(path.parent, "qa", "private", private_file=str(path))


def fault(root: Path, **options: Any) -> str:
    with pytest.raises(QuadragError) as caught:
        ids(root, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


MEMBER = "crag_task_3_dev_v5/crag_task_3_dev_v5.jsonl"


# --- every way that is read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["v5", "v4"])
def test_parts_are_one_stream_in_their_order(tmp_path: Path, release: str) -> None:
    content = bz2.compress(tar((MEMBER, lines(*range(20), size=400))))
    for cuts in ((0.25, 0.5, 0.75), (0.0, 0.0, 0.01), (0.9, 1.0, 1.0)):
        split_up(tmp_path, content, release, cuts)
        assert ids(tmp_path, release=release) == [f"id-{number}" for number in range(1, 20, 2)]
    for name in PARTS[release]:
        assert (tmp_path / name).is_file()
    assert len(list(tmp_path.rglob("*"))) == 5, "nothing is unpacked to disk"


def test_members_are_whatever_they_hold_in_the_archive_s_order(tmp_path: Path) -> None:
    long = "/".join(["a folder whose name is long"] * 12)
    members = (
        ("crag_task_3_dev_v5", None),
        ("crag_task_3_dev_v5/README.md", b"not a question\n"),
        ("crag_task_3_dev_v5/b.jsonl.bz2", bz2.compress(lines(5)) + bz2.compress(lines(7))),
        ("crag_task_3_dev_v5/._b.jsonl.bz2", b"a shadow of macOS"),
        (f"{long}/a.jsonl", lines(1, 0)),
        ("named as if packed.jsonl.bz2", lines(9)),
        ("named as if not.jsonl", bz2.compress(lines(11))),
        ("empty.jsonl", b""),
    )
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        split_up(tmp_path, bz2.compress(tar(*members, form=form)))
        assert ids(tmp_path) == ["id-5", "id-7", "id-1", "id-9", "id-11"]
    # A size too large for the header's digits stands in a record of its own.
    sized = tar((MEMBER, lines(1)), headers={"size": str(len(lines(1)))})
    assert ids(split_up(tmp_path, bz2.compress(sized))) == ["id-1"]


@pytest.mark.parametrize("suffix", ["jsonl", "txt", "bz2"])
def test_the_first_bytes_decide_not_the_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"own.{suffix}"
    forms = [lines(1, 2), bz2.compress(lines(1, 2)), tar(("a.jsonl", lines(1, 2)))]
    forms += [bz2.compress(forms[2]), bz2.compress(lines(1)) + bz2.compress(b"") + bz2.compress(lines(2))]
    forms += [b"\n \n" + lines(1, 2), tar(("a.jsonl.bz2", bz2.compress(lines(1, 2))), form=tarfile.USTAR_FORMAT)]
    for content in forms:
        assert private(path, content) == ["id-1", "id-2"]


@pytest.mark.slow
def test_long_lines_and_large_files_stream(tmp_path: Path) -> None:
    """More than a megabyte a line, past every buffer; the first rows come before the fault at the end is met."""
    content = bz2.compress(tar((MEMBER, lines(*range(6), size=700_000))))
    split_up(tmp_path, content)
    assert ids(tmp_path) == ["id-1", "id-3", "id-5"]
    (tmp_path / PARTS["v5"][3]).write_bytes((tmp_path / PARTS["v5"][3]).read_bytes()[:-1])
    builder, _ = open_builder("crag", "task_3", str(tmp_path))
    found = rows(builder, "public")
    assert next(found)["id"] == "id-1"
    found.close()
    stream = iter(builder.as_streaming_dataset(split="public"))
    assert next(stream)["id"] == "id-1"
    with pytest.raises(ValueError, match=r"part3 is cut short, its bzip2 data do not end; fetch it again$"):
        list(stream)


# --- every way that is named -----------------------------------------------------------------------------------------


def test_a_cut_archive_is_named(tmp_path: Path) -> None:
    content = bz2.compress(tar((MEMBER, lines(*range(4), size=2000))))
    before, last = (tmp_path / PARTS["v5"][number] for number in (2, 3))
    for left in (len(content) - 1, len(content) - 9, len(content) * 4 // 5):
        split_up(tmp_path, content[:left])
        # So small a part may as well lack the beginning of its only packed block.
        why = f" or {before.name} or {last.name} is cut short, its bzip2 data do not end; fetch it again"
        assert fault(tmp_path).endswith(why)
    (tmp_path / "joined").mkdir()
    path = tmp_path / "joined" / "crag_task_3_dev_v5.tar.bz2"
    path.write_bytes(content[:-1])
    assert fault(path.parent) == f"{path} is cut short, its bzip2 data do not end; fetch it again"
    # Of an archive in several packed runs a cut between two leaves sound bzip2 data, and no end of the archive.
    whole = tar((MEMBER, lines(*range(4), size=2000)))
    label = f"{tmp_path / PARTS['v5'][0]} to part3"
    end = tarfile.BLOCKSIZE * (1 + -(-len(lines(*range(4), size=2000)) // tarfile.BLOCKSIZE))
    for at, why in (
        (end, f"empty header at byte {end}"),
        (end + 100, f"truncated header at byte {end}"),
        (end - 3000, "unexpected end of data"),
        (700, "unexpected end of data"),
    ):
        runs = [bz2.compress(whole[begin : min(begin + 5000, at)]) for begin in range(0, at, 5000)]
        split_up(tmp_path, b"".join(runs))
        assert fault(tmp_path) == f"{label} is no whole tar ({why}); fetch it again"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_damaged_part_is_named(tmp_path: Path, part: int) -> None:
    content = bz2.compress(tar((MEMBER, lines(*range(4), size=700_000))))
    split_up(tmp_path, content)
    path = tmp_path / PARTS["v5"][part]
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + b"\xff" * 64 + whole[middle + 64 :])
    message = fault(tmp_path)
    # Packed blocks are up to 900 kB, so the fault may show in the next part, which then is said.
    assert path.name in message
    assert re.search(r"(is damaged, it is no bzip2 data there|is cut short, its bzip2 data do not end); fetch", message)
    # A part cut in its middle, and a part that is empty: the next does not go on where it ends.
    for left in (whole[:middle], b""):
        path.write_bytes(left)
        message = fault(tmp_path)
        assert path.name in message or "part0 to part3 begins with " in message
        assert message.startswith(str(tmp_path / "data" / "crag_task_3_dev_v5.tar.bz2.part"))


def test_parts_in_a_wrong_order_are_no_archive(tmp_path: Path) -> None:
    split_up(tmp_path, bz2.compress(tar((MEMBER, lines(*range(4), size=200_000)))))
    one, two = (tmp_path / PARTS["v5"][number] for number in (1, 2))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert re.search(rf"{one.name} or {two.name}( or \S+part3)? is damaged, it is no bzip2 data", fault(tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", " holds no question; expected JSON Lines, one question a line"),
        (b"\n \n", " holds no question; expected JSON Lines, one question a line"),
        (bz2.compress(b""), " holds no question; expected JSON Lines, one question a line"),
        (b"BZh", " is cut short, its bzip2 data do not end; fetch it again"),
        (b"BZh9 no bzip2", " is damaged, it is no bzip2 data there; fetch it again"),
        (bz2.compress(lines(1)) + b"rubbish", " is damaged, it is no bzip2 data there; fetch it again"),
        (bz2.compress(lines(1)) + bz2.compress(lines(3))[:30], " is cut short, its bzip2 data do not end; fetch it"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:", " is a Git LFS pointer, not the file; run `git"),
        (b"<html>404</html>", " begins with b'<html>404</html>'; expected JSON Lines, packed with bzip2 or in a tar"),
        (b"PK\3\4", r" begins with b'PK\x03\x04'; expected JSON Lines, packed"),
        (
            lines(1) + b"{'a': 1}\n",
            ":2 is not JSON (Expecting property name enclosed in double quotes at column 2); ex",
        ),
        (lines(1) + b'{"a": "\xff"}\n', ":2 is not UTF-8; expected one JSON object a line"),
        (b'{"a":' * 100_000, ":1 is nested too deeply; expected one question"),
        (lines(1)[:-30], ":1 is not JSON ("),
        (tar(("a.txt", b""), ("b", None)), " holds no .jsonl and no .jsonl.bz2; found a.txt, b"),
        (tar(("a.jsonl", b"")), " holds no question; expected JSON Lines, one question a line"),
        (tar(("a.jsonl", lines(1) + b"[1]\n")), ": a.jsonl:2 is a list; expected an object"),
        (tar(("a.jsonl", b"no json")), ": a.jsonl begins with b'no json'; expected JSON Lines"),
        (tar(("a.jsonl.bz2", bz2.compress(lines(1))[:-3])), ": a.jsonl.bz2 is cut short, its bzip2 data do not end;"),
        (tar(("a.jsonl.bz2", bz2.compress(lines(1)) + b"x")), ": a.jsonl.bz2 is damaged, it is no bzip2 data there;"),
    ],
)
@pytest.mark.parametrize("as_private", [False, True], ids=["folder", "private"])
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, message: str, as_private: bool) -> None:
    path = tmp_path / "own" if as_private else tmp_path / FIVE
    with pytest.raises(QuadragError) as caught:
        if as_private:
            private(path, content)
        else:
            path.parent.mkdir()
            path.write_bytes(content)
            # The wanted split is not in it, so that all of it is read.
            ids(tmp_path, "qa", "validation")
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_broken_header_within_the_archive_is_not_its_end(tmp_path: Path) -> None:
    """Python's own reader stops there without a word."""
    content = bytearray(tar(("a.jsonl", lines(1)), ("b.jsonl", lines(3))))
    at = content.index(b"b.jsonl")
    content[at : at + 20] = b"\xff" * 20
    with pytest.raises(QuadragError, match=rf"own is no whole tar \(bad checksum at byte {at}\); fetch it again$"):
        private(tmp_path / "own", bytes(content))


@pytest.mark.slow
def test_every_cut_and_every_flipped_byte_is_an_error_or_harmless(tmp_path: Path) -> None:
    """No damage to a small archive goes by in silence, but in what an archive does not vouch for."""
    rng = random.Random(7)
    expected = ["id-1", "id-3"]
    for form in (bz2.compress(lines(1, 3)), bz2.compress(tar(("a.jsonl", lines(1, 3))))):
        for left in range(1, len(form)):
            with pytest.raises(QuadragError):
                private(tmp_path / "own", form[:left])
        for at in range(4, len(form)):
            bad = bytearray(form)
            bad[at] ^= 1 << rng.randrange(8)
            try:
                assert private(tmp_path / "own", bytes(bad)) == expected, "a byte that pads the last"
            except QuadragError as error:
                assert str(error).startswith(str(tmp_path / "own"))
