"""One's own documents: read from a folder, copies and unfit ones let go.

Text, Markdown, HTML and JSON Lines are read as they are; PDF and Word by pypdfium2 and mammoth, which come with the
extra ``documents``. A document's id is its path in the folder, with the line of a JSON Lines file that names none.
"""

import importlib
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from quadrag.errors import NotReady, QuadragError, tell_extra
from quadrag.reading import read_text
from quadrag.records import read_jsonl
from quadrag.retrieval.webpage import text as text_of_html

from .checks import bare, language_of
from .steps import Rejected, Row, reject

NEAR = 0.8  # Jaccard's likeness of two texts' shingles from which the later one is a copy
_SHINGLE = 5  # characters
_PERMUTATIONS = 128


def read_documents(folder: Path) -> list[Row]:
    """Read every document of a folder and of those in it, in the order of their paths.

    Rows have ``id``, ``title``, ``text`` and ``language``, two letters. `NotReady` is raised where a file wants the
    extra.
    """
    rows: dict[str, Row] = {}
    for path in (path for path in sorted(folder.rglob("*")) if path.suffix.lower() in _READERS and path.is_file()):
        name = path.relative_to(folder).as_posix()
        for number, title, text in _READERS[path.suffix.lower()](path):
            own = name if number is None else number if isinstance(number, str) else f"{name}:{number}"
            if own in rows:
                raise QuadragError(f"{folder} holds two documents of the id {own!r}; expected each once")
            text = text.strip()
            rows[own] = {"id": own, "title": title.strip(), "text": text, "language": language_of(text)}
    if not rows:
        raise QuadragError(f"{folder} holds no documents; expected files of {', '.join(sorted(_READERS))}")
    return [*rows.values()]


def reject_copies(rows: list[Row]) -> list[Row]:
    """Let the later ones of equal and of nearly equal documents go.

    Likeness is Jaccard's of the texts' character 5-grams, white space left out: candidates by MinHash of 128
    permutations (Broder 1997), each then counted exactly.
    """
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=NEAR, num_perm=_PERMUTATIONS)
    texts = [bare(row["text"])[0] for row in rows]
    hashes = MinHash.generator(
        map(_shingles, texts),
        num_perm=_PERMUTATIONS,
        hashfunc=lambda shingle: int.from_bytes(blake2b(shingle, digest_size=4).digest(), "big"),
    )
    made: list[Row] = []
    exact: set[str] = set()
    for at, (row, text, minhash) in enumerate(zip(rows, texts, hashes, strict=True)):
        if text in exact:
            made.append(reject(row, "equal to another document"))
        elif any(_likeness(text, texts[other]) >= NEAR for other in index.query(minhash)):
            made.append(reject(row, "nearly equal to another document"))
        else:
            made.append(row)
            exact.add(text)
            index.insert(at, minhash)
    return made


def reject_unfit(row: Row, least: int, most: int, languages: Sequence[str]) -> list[Row]:
    """Let a document go that is too short, too long or of another language."""
    length = len(row["text"])
    if row["language"] not in languages:
        raise Rejected(f"language {row['language'] or 'unknown'}")
    if length < least or length > most:
        raise Rejected(f"shorter than {least} characters" if length < least else f"longer than {most} characters")
    return [row]


def _shingles(text: str) -> list[bytes]:
    shingles = {text[at : at + _SHINGLE] for at in range(max(1, len(text) - _SHINGLE + 1))}
    return [shingle.encode("utf-8", "surrogatepass") for shingle in shingles]


def _likeness(text: str, other: str) -> float:
    first, second = set(_shingles(text)), set(_shingles(other))
    return len(first & second) / len(first | second)


Read = list[tuple[str | int | None, str, str]]  # an id, a line's number or neither; title; text


def _read_lines(path: Path) -> Read:
    rows: Read = []
    for number, line in read_jsonl(path):
        if not isinstance(text := line.get("text"), str):
            raise QuadragError(f"{path}:{number} has no text; expected the keys id, title, text")
        own = number if line.get("id") is None else str(line["id"])
        rows.append((own, str(line.get("title") or ""), text))
    return rows


def _read_pdf(path: Path) -> Read:
    reader: Any = _need("pypdfium2")
    try:
        text = "\n".join(page.get_textpage().get_text_bounded() for page in reader.PdfDocument(path))
    except reader.PdfiumError as error:
        raise QuadragError(f"{path} cannot be read as PDF ({error}); remove it, or mend it") from None
    return [(None, path.stem, text.replace("\r\n", "\n"))]


def _read_word(path: Path) -> Read:
    reader: Any = _need("mammoth")
    try:
        with path.open("rb") as file:
            html = reader.convert_to_html(file).value
    except Exception as error:  # a broken archive, and whatever its XML brings
        raise QuadragError(f"{path} cannot be read as Word ({error}); remove it, or mend it") from None
    return [(None, path.stem, text_of_html(html))]


def _need(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise NotReady(f"PDF and Word need {package}; {tell_extra('documents')}") from None


_READERS: dict[str, Callable[[Path], Read]] = {
    **dict.fromkeys((".txt", ".md"), lambda path: [(None, path.stem, read_text(path))]),
    **dict.fromkeys((".html", ".htm"), lambda path: [(None, path.stem, text_of_html(read_text(path)))]),
    ".jsonl": _read_lines,
    ".pdf": _read_pdf,
    ".docx": _read_word,
}
