"""Chunks: a document cut into spans of at most so many characters or tokens, at the ends of sentences where it can be.

Sentences are packed into a chunk while they fit; a sentence longer than a chunk is cut into windows. An overlap is
taken from the end of the chunk before: from the earliest start of a sentence within its reach, else from the very
character or token. It gives way where the next sentence would not fit beside it. A chunk is a span of one document:
nothing is stripped, so that the spans cover it all, and no chunk runs into the next document.

It knows no paragraphs, and no language but by the marks in `_SENTENCE_END`.

Tokens are those of a tokenizer.json, or of tiktoken's cl100k_base, as OpenAI's models count. It downloads its file
when it is first used. The wheel of llama-index-core holds the same file: where that package is installed, with or
without what it needs, nothing is downloaded. tiktoken checks the file's sha256.
"""

import hashlib
import os
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import distributions, version
from itertools import accumulate
from pathlib import Path
from typing import Any

from quadrag.benchmark import Document, SourceFile
from quadrag.errors import NotReady, QuadragError, clean, one_line, tell_extra

VERSION = 1  # goes up when the spans of a text change, so that indexes are built again
FILES_VERSION = 1  # as that, of the chunks of a file
# With the marks that close a quotation or a bracket. A full stop counts before a blank alone: 3.5 holds together.
_SENTENCE_END = re.compile(r"""(?:[。！？!?；;]+|\.(?=\s))[”’」』）】》)\]"']*|\n+""")
CL100K = "cl100k_base"
_FILE, _CACHE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "TIKTOKEN_CACHE_DIR"  # as tiktoken calls it in a cache

Span = tuple[int, int]


def head(text: str, size: int, tokenizer: str | None = None) -> tuple[str, int]:
    """Return a text's first `size` characters, or tokens of a tokenizer as in `Chunking`, and their number.

    A character of more tokens than are left is left out.
    """
    if tokenizer is None:
        return text[:size], min(len(text), size)
    cuts, counts = token_cuts(tokenizer, text)
    at = max(bisect_right(counts, size) - 1, 0)
    return text[: cuts[at]], counts[at]


def token_cuts(name: str, text: str) -> tuple[list[int], list[int]]:
    """Return the places where tokens start, each once, the text's end too, and the number of tokens before each."""
    starts = _starts(name, text)
    cuts, counts = [0], [0]
    for number, start in enumerate(starts):
        if start > cuts[-1] and number:
            cuts.append(start)
            counts.append(number)
    if len(text) > cuts[-1]:
        cuts.append(len(text))
        counts.append(len(starts))
    return cuts, counts


def count_tokens(name: str | None) -> Callable[[str], int]:
    """Return what counts the tokens of a text; the characters where no tokenizer is named."""
    if name is None:
        return len
    return (lambda text: len(_encode(text))) if name == CL100K else lambda text: len(_starts(name, text))


def _starts(name: str, text: str) -> list[int]:
    text = clean(text)
    if name != CL100K:
        return [start for start, _ in load_tokenizer(name).encode(text, add_special_tokens=False).offsets]
    starts: list[int] = _load_cl100k().decode_with_offsets(_encode(text))[1]
    return starts


def _encode(text: str) -> list[int]:
    tokens: list[int] = _load_cl100k().encode(text, allowed_special="all")
    return tokens


@lru_cache(maxsize=1)
def _load_cl100k() -> Any:
    try:
        import tiktoken
    except ImportError:
        raise NotReady(f"tokens of {CL100K} need tiktoken; {tell_extra('tokens')}") from None
    if _CACHE not in os.environ and (installed := list(distributions(name="llama-index-core"))):
        os.environ[_CACHE] = str(installed[0].locate_file("llama_index/core/_static/tiktoken_cache"))
    try:
        return tiktoken.get_encoding(CL100K)
    except Exception as error:  # requests has many kinds, and a damaged file raises ValueError
        raise QuadragError(
            f"tiktoken has no file of {CL100K} ({type(error).__name__}); pip install --no-deps llama-index-core, which "
            f"holds it, or name with {_CACHE} a folder that holds it as {_FILE}"
        ) from None


@lru_cache(maxsize=4)
def load_tokenizer(name: str) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise NotReady(f"sizes in tokens need the package tokenizers; {tell_extra('dense')}") from None
    path = Path(name).expanduser()
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        tokenizer = Tokenizer.from_file(str(path)) if path.is_file() else Tokenizer.from_pretrained(name)
    except Exception as error:  # tokenizers raises Exception itself; the Hub's client has many kinds
        raise QuadragError(
            f"no tokenizer from {name!r} ({one_line(error, 120)}); expected a tokenizer.json, "
            "a folder that holds one, or a name on the Hub"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@dataclass(frozen=True)
class Chunking:
    """How documents are cut.

    `size` is in characters, or in tokens of `tokenizer`: ``cl100k_base``, the path of a ``tokenizer.json``, a folder
    that holds one, or a name on the Hub. `overlap` is in percent of `size`, up to 90.
    """

    size: int = 128
    overlap: int = 0
    tokenizer: str | None = None
    headed = False  # whether a passage is encoded behind its title

    def cut(self, document: Document) -> Iterator[tuple[str, str]]:
        return ((document.id, document.text[start:end]) for start, end in self.spans(document.text))

    def spans(self, text: str) -> list[Span]:
        """Return start and end of each chunk of a text in characters.

        They cover the text, start and end later each time, hold `size` units at most and share `overlap` percent of
        `size` at most with the one before. Tokens are those of the whole text, special ones left out; blanks between
        two go with the first. One character of more tokens than `size` makes a chunk of its own. "" has no spans.
        """
        if self.tokenizer is None and 0 < len(text) <= self.size:
            return [(0, len(text))]  # one chunk, wherever its sentences end
        ends = [match.end() for match in _SENTENCE_END.finditer(text)]
        if not ends or ends[-1] < len(text):
            ends.append(len(text))
        if self.tokenizer is None:
            return self._pack(range(len(text) + 1), ends)
        cuts, counts = token_cuts(self.tokenizer, text)
        # A sentence's end inside a token is where the next token starts.
        inner = dict.fromkeys(bisect_left(cuts, end) for end in ends)
        return [(cuts[start], cuts[end]) for start, end in self._pack(counts, list(inner))]

    def _pack(self, counts: Sequence[int], ends: Sequence[int]) -> list[Span]:
        """Return spans of places; `counts` are the units before each, `ends` the ends of sentences."""
        reach, last = self.size * self.overlap // 100, ends[-1]
        spans: list[Span] = []
        start = done = sentence = 0  # `sentence` is the number of the first one that ends after `done`
        while done < last:
            if done:
                low = bisect_left(counts, counts[done] - reach, start + 1, done)
                # What must fit beside the overlap: the next sentence where it can, else the next place.
                fits = counts[ends[sentence]] - counts[done] <= self.size
                low = bisect_left(counts, counts[ends[sentence] if fits else done + 1] - self.size, low, done)
                at = bisect_left(ends, low)
                start = ends[at] if ends[at] < done else low
            if counts[ends[sentence]] - counts[start] <= self.size:
                sentence = bisect_right(ends, counts[start] + self.size, sentence, key=counts.__getitem__)
                done = ends[sentence - 1]
            else:
                done = max(bisect_right(counts, counts[start] + self.size, done) - 1, done + 1)
                sentence = bisect_right(ends, done, sentence)
            spans.append((start, done))
        return spans

    def describe(self) -> dict[str, Any]:
        """Return what decides the spans, for the key of an index; a tokenizer stands there by its content."""
        digest = self.tokenizer
        if digest not in (None, CL100K):
            digest = hashlib.sha256(load_tokenizer(str(digest)).to_str().encode()).hexdigest()
        return {"size": self.size, "overlap": self.overlap, "tokenizer": digest, "version": VERSION}


@dataclass(frozen=True)
class FileChunking:
    """How whole files are cut, as CRUD-RAG's authors cut theirs: a file of many articles is one text.

    The rules are those of llama_index 0.9.32, whose sentence splitter they used; `tests` hold the chunks against its
    own. A text of more tokens than fit is taken apart: at three line breaks, else by an untrained Punkt into sentences,
    else behind the marks ``,.;。？！``, else before blanks, else by characters; and so each part again. A mark that
    follows another one is lost. Parts are then packed while they fit, and white space around a chunk is taken away.

    The file's path stands before each chunk when it is encoded, and its tokens are counted off the chunk's size. What
    an overlap repeats are the last parts of the chunk before, as many as have `overlap` percent of the size together;
    with it a chunk may be too long.

    A chunk can run from one article into the next. It is known as a part of the article that most of its characters are
    from, the first of two with as many. So an article of some length has chunks of its own; only a short one in long
    chunks may fill most of none, and is then never found. The gold documents that option ``gold`` adds are files of
    their own, so their chunks hold nothing else.
    """

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
        return {**plain, "files": FILES_VERSION, "nltk": version("nltk")}

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


@lru_cache(maxsize=1)
def _punkt() -> Any:
    try:
        from nltk.tokenize import PunktSentenceTokenizer
    except ImportError:
        raise NotReady(f"chunks of whole files need nltk and tiktoken; {tell_extra('tokens')}") from None
    return PunktSentenceTokenizer()


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
