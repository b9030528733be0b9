"""The upstream files that are no pickles, read piece by piece: JSON objects, bz2 JSON Lines, CSV, and their digests.

Nothing is held whole: memory is that of the largest entity and a buffer. Pickles are `quadrag.kg.pickled_files`'.
"""

import bz2
import codecs
import csv
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError

_BUFFER = 2**20  # characters
_LONGEST = 256 * 2**20  # of one entity, far above the real ones; damage must not fill the memory
_BLANK = " \t\n\r"
_AFTER = _BLANK + ",:}"


def digest(path: Path) -> str:
    """Return the sha256 of a file, as 64 hexadecimal digits."""
    total = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BUFFER):
            total.update(block)
    return total.hexdigest()


def check(path: Path) -> None:
    """Refuse a file that Git LFS left a pointer for.

    Raises:
        QuadragError: it is one.
    """
    with path.open("rb") as stream:
        if stream.read(40).startswith(b"version https://git-lfs.github.com/spec"):
            raise QuadragError(
                f"{path} is a Git LFS pointer, not the file; run `git lfs pull` in the upstream checkout"
            )


def members(path: Path) -> Iterator[tuple[str, Any]]:
    """Read a JSON file that is one object, member by member.

    Yields:
        Key and value, in file order; a repeated key comes as often as it stands there.

    Raises:
        QuadragError: the file is something else, or damaged.
    """
    decoder = json.JSONDecoder()
    with path.open("rb") as stream:
        text = _Text(path, stream)
        text.expect("{")
        if text.peek() == "}":
            return
        while True:
            key = text.value(decoder)
            text.expect(":")
            text.peek()
            value = text.value(decoder)
            if type(key) is not str:
                raise text.damaged("a key that is no text")
            yield key, value
            if text.peek() == "}":
                return
            text.expect(",")
            text.peek()


class _Text:
    """A window over a UTF-8 stream."""

    def __init__(self, path: Path, stream: Any) -> None:
        self._path, self._stream, self._decode = path, stream, codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._gone = "", 0, 0

    def damaged(self, what: str) -> QuadragError:
        """Build the error that names the place."""
        place = self._gone + self._at
        return QuadragError(f"{self._path} is damaged at character {place}: {what}; get it again from upstream")

    def _more(self, count: int) -> bool:
        block = self._stream.read(count)
        try:
            new = self._decode.decode(block, not block)
        except UnicodeDecodeError:
            raise self.damaged("no UTF-8") from None
        self._gone += self._at
        self._text, self._at = self._text[self._at :] + new, 0
        return bool(block)

    def peek(self) -> str:
        """Return the next character that is no blank, and stay before it."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANK:
                    return self._text[self._at]
                self._at += 1
            if not self._more(_BUFFER):
                raise self.damaged("the file ends too early")

    def expect(self, mark: str) -> None:
        """Pass over a character."""
        if (found := self.peek()) != mark:
            raise self.damaged(f"{found!r} in place of {mark!r}")
        self._at += 1

    def value(self, decoder: json.JSONDecoder) -> Any:
        """Read one JSON value that begins here."""
        step = _BUFFER
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                failure = str(error)
            else:
                # At the window's edge "1" may be the start of "1.5e3".
                if end < len(self._text) and self._text[end] in _AFTER:
                    self._at = end
                    return value
                failure = "the file ends too early"
            # Each attempt starts anew, so each takes twice as much.
            if len(self._text) - self._at > _LONGEST or not self._more(step):
                raise self.damaged(failure)
            step *= 2


def entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Read a bz2 file of JSON Lines, each ``[title, entity]``.

    Yields:
        Title and entity, in file order.

    Raises:
        QuadragError: a line is something else, or the file is damaged or cut off.
    """
    number = 0
    try:
        with bz2.open(path, "rb") as stream:
            while line := stream.readline(_LONGEST):
                number += 1
                if line.isspace():
                    continue
                title, entity = json.loads(line)
                if type(title) is not str:
                    raise ValueError("the title is no text")
                yield title, entity
    except (OSError, EOFError, ValueError, TypeError, RecursionError) as error:
        where = f"line {number + 1 if isinstance(error, (OSError, EOFError)) else number}"
        raise QuadragError(
            f"{path}, {where}: {' '.join(str(error).split())}; expected bz2 with lines of [title, entity]: "
            "get it again from upstream"
        ) from None


def companies(path: Path) -> Iterator[tuple[str, str | None]]:
    """Read the CSV of company names.

    Yields:
        Name and ticker, both as the text that stands there (``NA`` is a ticker); an empty ticker is None.

    Raises:
        QuadragError: the file is something else.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.DictReader(stream)
            if not {"Name", "Symbol"} <= set(rows.fieldnames or ()):
                raise ValueError(f"the columns are {rows.fieldnames}")
            for row in rows:
                if row["Name"] is not None:
                    yield row["Name"], row["Symbol"] or None
    except (ValueError, csv.Error) as error:
        raise QuadragError(
            f"{path}: {' '.join(str(error).split())}; expected CSV with the columns Name and Symbol"
        ) from None
