"""CRAG's files as bytes: packed, archived and split in every way that is read, broken in every way that is named."""

import bz2
import io
import json
import random
import tarfile
from pathlib import Path
from typing import Any

import pytest
from crag_files import FIVE, PARTS, put, refusal

from quadrag.data.builders import open_builder, rows
from quadrag.errors import QuadragError


def lines(*numbers: int, size: int = 0) -> bytes:
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
    path.write_bytes(content)
    return ids(path.parent, "qa", "private", private_file=str(path))


def refused(root: Path, config: str = "task_3", split: str = "public") -> str:
    return refusal(config, split, root)


MEMBER = "crag_task_3_dev_v5/crag_task_3_dev_v5.jsonl"


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


@pytest.mark.parametrize("left", [-1, -9, 0.8, 0.3])
def test_a_cut_archive_is_named(tmp_path: Path, left: float) -> None:
    content = bz2.compress(tar((MEMBER, lines(*range(4), size=2000))))
    content = content[: int(left) if left < 0 else int(left * len(content))]
    assert refused(split_up(tmp_path, content)).startswith(f"{tmp_path / PARTS['v5'][0]} to part3 is damaged")
    path = tmp_path / "crag_task_3_dev_v5.tar.bz2"
    path.write_bytes(content)
    assert refused(tmp_path).startswith(f"{path} is damaged")


@pytest.mark.parametrize("at", ["end", "header", "content", "first"])
def test_a_cut_between_packed_runs_is_no_end(tmp_path: Path, at: str) -> None:
    whole = tar((MEMBER, lines(*range(4), size=2000)))
    end = tarfile.BLOCKSIZE * (1 + -(-len(lines(*range(4), size=2000)) // tarfile.BLOCKSIZE))
    cut = {"end": end, "header": end + 100, "content": end - 3000, "first": 700}[at]
    runs = [bz2.compress(whole[begin : min(begin + 5000, cut)]) for begin in range(0, cut, 5000)]
    assert "is damaged or cut short" in refused(split_up(tmp_path, b"".join(runs)))


@pytest.mark.parametrize("part", range(4))
def test_a_damaged_lost_or_misplaced_part_is_an_error(tmp_path: Path, part: int) -> None:
    split_up(tmp_path, bz2.compress(tar((MEMBER, lines(*range(4), size=100_000)))))
    path, other = (tmp_path / PARTS["v5"][number] for number in (part, (part + 1) % 4))
    whole, next_one = path.read_bytes(), other.read_bytes()
    middle = len(whole) // 2
    for left in (whole[:middle] + b"\xff" * 64 + whole[middle + 64 :], whole[:middle], b"", next_one):
        path.write_bytes(left)
        assert refused(tmp_path).startswith(str(tmp_path / "data" / "crag_task_3_dev_v5.tar.bz2.part"))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        *((content, " holds no question") for content in (b"", b"\n \n", bz2.compress(b""), tar(("a.jsonl", b"")))),
        (b"BZh", " is damaged"),
        (b"BZh9 no bzip2", " is damaged"),
        (bz2.compress(lines(1)) + bz2.compress(lines(3))[:30], " is damaged"),
        (b"<html>404</html>", ":1 is not whole JSON"),
        (b"PK\3\4", ":1 is not whole JSON"),
        (lines(1) + b"{'a': 1}\n", ":2 is not whole JSON"),
        (lines(1)[:-30], ":1 is not whole JSON"),
        (tar(("a.txt", b""), ("b", None)), " holds no .jsonl and no .jsonl.bz2; found a.txt, b"),
        (tar(("a.jsonl", lines(1) + b"[1]\n")), ": a.jsonl:2 is a list"),
        (tar(("a.jsonl", b"no json")), ": a.jsonl:1 is not whole JSON"),
        (tar(("a.jsonl.bz2", bz2.compress(lines(1))[:-3])), " is damaged"),
        (tar(("a.jsonl", lines(1)), ("b.jsonl", lines(3))).replace(b"b.jsonl", b"\xff" * 7), " is damaged"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, named: str) -> None:
    (tmp_path / "own").write_bytes(content)
    said = refusal("qa", "private", tmp_path, private_file=str(tmp_path / "own"))
    assert said.startswith(f"{tmp_path / 'own'}{named}")
    put(tmp_path, content)
    # The wanted split is not in it, so that all of it is read.
    assert refused(tmp_path, "qa", "validation").startswith(f"{tmp_path / FIVE['v5']}{named}")


@pytest.mark.slow
def test_every_cut_and_every_flipped_byte_is_an_error_or_harmless(tmp_path: Path) -> None:
    rng = random.Random(7)
    for form in (bz2.compress(lines(1, 3)), bz2.compress(tar(("a.jsonl", lines(1, 3))))):
        for left in range(1, len(form)):
            with pytest.raises(QuadragError):
                private(tmp_path / "own", form[:left])
        for at in range(4, len(form)):
            bad = bytearray(form)
            bad[at] ^= 1 << rng.randrange(8)
            try:
                assert private(tmp_path / "own", bytes(bad)) == ["id-1", "id-3"], "a byte that pads the last"
            except QuadragError as error:
                assert str(error).startswith(str(tmp_path / "own"))
