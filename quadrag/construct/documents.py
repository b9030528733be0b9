"""One's own documents: read from a folder, and copies let go.

Text, Markdown, HTML and JSON Lines are read as they are; PDF and Word by pypdfium2 and mammoth, which come with the
extra ``documents``. A document's id is its path in the folder, with the line of a JSON Lines file that names none.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import NotReady, QuadragError, tell_extra
from quadrag.reading import read_text
from quadrag.records import read_jsonl
from quadrag.retrieval.webpage import text as text_of_html

from .held import bare, language_of
from .steps import Drop, Row

NEAR = 0.8  # Jaccard's likeness of two texts' shingles from which the later one is a copy
_SHINGLE = 5  # characters
_PERMUTATIONS = 128
_TEXTS = ("text", "content", "contents", "body")
_IDS = ("id", "_id", "doc_id", "docid")


def read_documents(folder: Path) -> list[Row]:
    """Read every document of a folder and of those in it, in the order of their paths.

    Rows have ``id``, ``title``, ``text`` and ``language``, two letters. `NotReady` is raised where a file wants the
    extra.
    """
    if not folder.is_dir():
        raise QuadragError(f"no folder {str(folder)!r}; expected one of documents: {', '.join(sorted(_READERS))}")
    files = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in _READERS and path.is_file()]
    rows = [row for path in files for row in _READERS[path.suffix.lower()](path, path.relative_to(folder).as_posix())]
    if not rows:
        raise QuadragError(f"{folder} holds no documents; expected files of {', '.join(sorted(_READERS))}")
    seen: set[str] = set()
    for row in rows:
        if row["id"] in seen:
            raise QuadragError(f"{folder} holds two documents of the id {row['id']!r}; expected each once")
        seen.add(row["id"])
        row["language"] = language_of(row["text"])
    return rows


def without_copies(rows: list[Row]) -> tuple[list[Row], list[tuple[Row, str]]]:
    """Let the later ones of equal and of nearly equal documents go.

    Likeness is Jaccard's of the texts' character 5-grams, white space left out: candidates by MinHash of 128
    permutations (Broder 1997), each then counted exactly.
    """
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=NEAR, num_perm=_PERMUTATIONS)
    texts = [bare(row["text"])[0] for row in rows]
    hashes = MinHash.generator(map(_shingles, texts), num_perm=_PERMUTATIONS, hashfunc=_hash)
    kept: list[Row] = []
    dropped: list[tuple[Row, str]] = []
    exact: set[str] = set()
    for at, (row, text, found) in enumerate(zip(rows, texts, hashes, strict=True)):
        if text in exact:
            dropped.append((row, "equal to another document"))
        elif any(_likeness(text, texts[other]) >= NEAR for other in index.query(found)):
            dropped.append((row, "nearly equal to another document"))
        else:
            kept.append(row)
            exact.add(text)
            index.insert(at, found)
    return kept, dropped


def fitting(least: int, most: int, languages: Sequence[str]) -> Callable[[Row], list[Row]]:
    """Return a step that lets documents go that are too short, too long or of another language."""

    def fit(row: Row) -> list[Row]:
        length = len(row["text"])
        if row["language"] not in languages:
            raise Drop(f"language {row['language'] or 'unknown'}")
        if length < least or length > most:
            raise Drop(f"shorter than {least} characters" if length < least else f"longer than {most} characters")
        return [row]

    return fit


def _shingles(text: str) -> list[bytes]:
    found = {text[at : at + _SHINGLE] for at in range(max(1, len(text) - _SHINGLE + 1))}
    return [one.encode("utf-8", "surrogatepass") for one in found]


def _hash(shingle: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(shingle, digest_size=4).digest(), "big")


def _likeness(one: str, other: str) -> float:
    first, second = set(_shingles(one)), set(_shingles(other))
    return len(first & second) / len(first | second)


def _row(name: str, title: str, text: str) -> Row:
    return {"id": name, "title": title.strip(), "text": text.strip()}


def _read_text(path: Path, name: str) -> list[Row]:
    text = read_text(path)
    first = text.strip().partition("\n")[0]
    heading = first.lstrip("# ").strip() if first.startswith("#") and path.suffix.lower() == ".md" else path.stem
    return [_row(name, heading, text)]


def _read_html(path: Path, name: str) -> list[Row]:
    return [_row(name, path.stem, text_of_html(read_text(path)))]


def _read_lines(path: Path, name: str) -> list[Row]:
    rows = []
    for number, line in read_jsonl(path):
        text = next((line[key] for key in _TEXTS if isinstance(line.get(key), str)), None)
        if text is None:
            raise QuadragError(f"{path}:{number} has no text; expected one of {', '.join(_TEXTS)}")
        own = next((line[key] for key in _IDS if isinstance(line.get(key), (str, int))), None)
        title = line.get("title")
        rows.append(
            _row(f"{name}:{number}" if own is None else str(own), title if isinstance(title, str) else "", text)
        )
    return rows


def _read_pdf(path: Path, name: str) -> list[Row]:
    reader: Any = _need("pypdfium2")
    try:
        pages = reader.PdfDocument(path)
        text = "\n".join(page.get_textpage().get_text_bounded() for page in pages)
    except reader.PdfiumError as error:
        raise QuadragError(f"{path} cannot be read as PDF ({error}); remove it, or mend it") from None
    return [_row(name, path.stem, text.replace("\r\n", "\n"))]


def _read_word(path: Path, name: str) -> list[Row]:
    reader: Any = _need("mammoth")
    with path.open("rb") as file:
        try:
            html = reader.convert_to_html(file).value
        except Exception as error:  # a broken archive, and whatever its XML brings
            raise QuadragError(f"{path} cannot be read as Word ({error}); remove it, or mend it") from None
    return [_row(name, path.stem, text_of_html(html))]


def _need(package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise NotReady(f"PDF and Word need {package}; {tell_extra('documents')}") from None


_READERS: dict[str, Callable[[Path, str], list[Row]]] = {
    ".txt": _read_text,
    ".md": _read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".jsonl": _read_lines,
    ".pdf": _read_pdf,
    ".docx": _read_word,
}
