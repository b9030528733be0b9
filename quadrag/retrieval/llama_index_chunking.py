"""Chunks of whole files, as CRUD-RAG's authors cut theirs: a file of many articles is one text.

The rules are those of llama_index 0.9.32, whose sentence splitter they used; `tests` hold the chunks against its own.
A text of more tokens than fit is taken apart: at three line breaks, else by an untrained Punkt into sentences, else
behind the marks ``,.;。？！``, else before blanks, else by characters; and so each part again. A mark that follows
another one is lost. Parts are then packed while they fit, and white space around a chunk is taken away.

The file's path stands before each chunk when it is encoded, and its tokens are counted off the chunk's size. What an
overlap repeats are the last parts of the chunk before, as many as have `overlap` percent of the size together; with it
a chunk may be too long.

A chunk can run from one article into the next. It is known as a part of the article that most of its characters are
from, the first of two with as many. So an article of some length has chunks of its own; only a short one in long chunks
may fill most of none, and is then never found. The gold documents that option ``gold`` adds are files of their own, so
their chunks hold nothing else.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from itertools import accumulate
from typing import Any

from quadrag.benchmark import SourceFile
from quadrag.errors import NotReady, QuadragError, tell_extra

from .chunk import Chunking, Span, count_tokens

VERSION = 1  # goes up when the chunks of a file change, so that indexes are built again


@dataclass(frozen=True)
class FileChunking:
    """How files are cut: `size` in tokens of `tokenizer`, or in characters; `overlap` in percent of `size`."""

    size: int = 128
    overlap: int = 0
    tokenizer: str | None = None
    headed = True

    def cut(self, file: SourceFile) -> Iterator[tuple[str, str]]:
        count = count_tokens(self.tokenizer)
        room = self.size - count(file.title)
        if room < 1:
            raise QuadragError(
                f"a chunk of {self.size} has no room for text beside the path {file.id}; expected at least "
                f"{self.size - room + 1}"
            )
        starts = list(accumulate((len(line) + 1 for line in file.text.split("\n")), initial=0))
        for spans in self._pack(list(_fit(file.text, 0, len(file.text), room, count)), room):
            if text := "".join(file.text[start:end] for start, end in spans).strip():
                yield file.articles[_find_line(spans, starts)] or file.id, text

    def describe(self) -> dict[str, Any]:
        _punkt()
        count_tokens(self.tokenizer)("")
        plain = Chunking(self.size, self.overlap, self.tokenizer).describe()
        return {**plain, "files": VERSION, "nltk": version("nltk")}

    def _pack(self, parts: list[tuple[int, int, int]], room: int) -> Iterator[list[Span]]:
        reach = self.size * self.overlap // 100
        packed: list[tuple[int, int, int]] = []
        total, fresh = 0, True  # fresh: nothing but an overlap is in the chunk
        for part in parts:
            if total + part[2] > room and not fresh:
                yield [(start, end) for start, end, _ in packed]
                total, kept = 0, len(packed)
                while kept and total + packed[kept - 1][2] <= reach:
                    kept -= 1
                    total += packed[kept][2]
                packed = packed[kept:]
            packed.append(part)
            total += part[2]
            fresh = False
        yield [(start, end) for start, end, _ in packed]


def _fit(text: str, start: int, end: int, room: int, count: Callable[[str], int]) -> Iterator[tuple[int, int, int]]:
    part = text[start:end]
    tokens = count(part)
    if tokens <= room or len(part) == 1:
        yield start, end, tokens
        return
    spans = next((spans for split in _SPLITS if len(spans := split(part)) > 1), None)
    for low, high in spans or [(at, at + 1) for at in range(len(part))]:
        yield from _fit(text, start + low, start + high, room, count)


def _split_before(mark: str, text: str) -> list[Span]:
    return _between(list(dict.fromkeys([0, *(match.start() for match in re.finditer(mark, text))])), text)


def _between(starts: list[int], text: str) -> list[Span]:
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


_SPLITS: tuple[Callable[[str], list[Span]], ...] = (
    partial(_split_before, "\n\n\n"),
    # Where Punkt sees a sentence start: blanks before the first go, others stay with the sentence before.
    lambda text: _between([start for start, _ in _punkt().span_tokenize(text)], text),
    lambda text: [match.span() for match in re.finditer("[^,.;。？！]+[,.;。？！]?", text)],
    partial(_split_before, " "),
)


def _find_line(spans: list[Span], starts: list[int]) -> int:
    shares = Counter[int]()
    for start, end in spans:
        line = bisect_right(starts, start) - 1
        while starts[line] < end:
            shares[line] += min(end, starts[line + 1]) - max(start, starts[line])
            line += 1
    return max(shares, key=shares.__getitem__)


@lru_cache(maxsize=1)
def _punkt() -> Any:
    try:
        from nltk.tokenize import PunktSentenceTokenizer
    except ImportError:
        raise NotReady(f"chunks of whole files need nltk and tiktoken; {tell_extra('tokens')}") from None
    return PunktSentenceTokenizer()
