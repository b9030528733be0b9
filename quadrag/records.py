"""The records that pass between stages, and how they are written: one JSON object a line, always in the same bytes.

A file is written beside its place and then moved there, so a reader never sees half of one.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from quadrag.errors import QuadragError, Unreadable, clean, not_utf8, parse_json
from quadrag.printing import remark

_Read = TypeVar("_Read")
Key = tuple[str, str, str]  # config, split, id: unique within a benchmark


class Passage(NamedTuple):
    """A piece of text shown with a question; `score` is the retriever's, None where nothing ranked it."""

    id: str
    title: str
    text: str
    score: float | None = None


def document_id(passage: Passage) -> str:
    """Return the id of the document that a passage is cut from: what stands before ``#`` in its own."""
    return passage.id.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Question:
    benchmark: str
    config: str
    split: str
    id: str
    query: str
    references: Any  # in the shape that the benchmark's metrics take
    language: str
    passages: tuple[Passage, ...] = ()  # those that the benchmark itself supplies
    relevant: tuple[str, ...] = ()  # the ids of the documents that hold the answer
    slots: Mapping[str, str] = field(default_factory=dict)  # further texts that its prompt shows
    slices: Mapping[str, str] = field(default_factory=dict)  # its groups, by the name of the grouping
    history: tuple[tuple[str, str | None], ...] = ()  # the turns before it, each a question with its answer
    talk: str = ""  # the conversation that it is a round of

    @property
    def key(self) -> Key:
        return (self.config, self.split, self.id)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, or the reason there is none.

    `state` is ``ok``, or ``api_error``, ``raised``, ``unparsable``, ``truncated`` or ``null`` (of a file), and `answer`
    None. `sample` counts from 0. `reasoning` is what the model thought before it answered.
    """

    benchmark: str
    config: str
    split: str
    id: str
    sample: int
    answer: str | None
    reasoning: str | None = None
    state: str = "ok"
    finish_reason: str | None = None
    usage: Mapping[str, int] | None = None

    @property
    def key(self) -> Key:
        return (self.config, self.split, self.id)


def dumps(value: Any) -> str:
    """Serialise to one line of JSON: UTF-8 text kept, keys in their order, no NaN.

    Half of a surrogate pair, which a reply cut inside an emoji can hold and UTF-8 cannot, is written as its escape.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace").decode("utf-8")


def digest(value: Any) -> str:
    """Return 16 hexadecimal digits of the sha256 of a value of JSON."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:16]


def write_text(path: Path, text: str) -> None:
    """Write a whole file at once: complete under its name, or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.write_text(clean(text), encoding="utf-8", newline="\n")
        partial.replace(path)
    except OSError as error:
        # A full disk is reported without the file that it hit.
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def jsonl_text(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{dumps(row)}\n" for row in rows)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    write_text(path, jsonl_text(rows))


def append_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows behind those of a file; a kill may leave a part of the last one."""
    with path.open("a", encoding="utf-8") as lines:
        lines.write(jsonl_text(rows))


def read_whole_rows(path: Path, read: Callable[[dict[str, Any]], _Read]) -> list[_Read]:
    """Return what `read` makes of the rows that `append_rows` wrote; the file is cut off behind the last of them.

    That is before the first that was cut by a kill, or is damaged, or of another form: what follows is made again.
    """
    rows: list[_Read] = []
    if not path.is_file():
        return rows
    content, whole = path.read_bytes(), 0
    for line in content.splitlines(keepends=True):
        try:
            row = read(parse_json(line, path)) if line.endswith(b"\n") else None
        except (KeyError, TypeError, ValueError, QuadragError, Unreadable):
            remark(f"{path} is damaged behind line {len(rows)}; what stood there is made again")
            row = None
        if row is None:
            os.truncate(path, whole)
            break
        rows.append(row)
        whole += len(line)
    return rows


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number (from 1) and object of every non-empty line; QuadragError, with its place, for bad content."""
    expected = "JSON Lines, one object a line"
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    cut = "" if line.endswith("\n") else "; the file ends within this line: copy it again"
                    row = parse_json(line.rstrip("\n"), f"{path}:{number}", f"{expected}{cut}")
                    if not isinstance(row, dict):
                        raise QuadragError(f"{path}:{number} holds a {type(row).__name__}; expected {expected}")
                    yield number, row
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected a JSON Lines file") from None
    except UnicodeDecodeError:
        raise not_utf8(path, "JSON Lines") from None


_LOCK = "lock"  # held as long as the process lives


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """Yield a path for a file or folder that is to be moved to `place`; nothing stands there yet.

    What killed processes left for the same place is removed, and at the end what was not moved.
    """
    from filelock import FileLock

    place.parent.mkdir(parents=True, exist_ok=True)
    sweep(place)
    beside = TemporaryDirectory(prefix=f".{place.name}.", suffix=".part", dir=place.parent, ignore_cleanup_errors=True)
    with beside as folder, FileLock(Path(folder, _LOCK)):
        yield Path(folder, place.name)


def sweep(place: Path) -> None:
    """Remove what killed processes left beside a place."""
    from filelock import FileLock, Timeout

    for part in place.parent.glob(f".{escape(place.name)}.*.part"):
        with suppress(Timeout, OSError), FileLock(part / _LOCK, timeout=0):
            shutil.rmtree(part, ignore_errors=True)
