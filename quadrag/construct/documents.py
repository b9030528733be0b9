"""One's own documents: read from a folder, copies, unfit ones and those with personal data let go, and searched.

Text, Markdown, HTML and JSON Lines are read as they are; PDF and Word by pypdfium2 and mammoth, which come with the
extra ``documents``. A document's id is its path in the folder, with the line of a JSON Lines file that names none.
"""

import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from hashlib import blake2b
from pathlib import Path

from quadrag.benchmark import Document
from quadrag.errors import NotReady, QuadragError, read_text, tell_extra
from quadrag.records import Passage, read_jsonl
from quadrag.retrieval.bm25 import build_index, open_index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore
from quadrag.retrieval.webpage import text as text_of_html

from .recipe import Rejected, Row, Step, bare, language_of, reject

_PERMUTATIONS = 128
_MARGIN = 0.2  # below the least likeness: what MinHash takes for so alike is counted


def read_documents(folder: Path) -> list[Row]:
    """Read every document of a folder and of those in it, in the order of their paths.

    Rows have ``id``, ``title``, ``text`` and ``language``, two letters.
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
    return reject_alike(rows, lambda row: str(row["text"]), 5, 0.8, "copy of another document")


def reject_alike(rows: list[Row], text_of: Callable[[Row], str], n: int, least: float, why: str) -> list[Row]:
    """Let each row go whose text is equal or nearly equal to an earlier one's.

    Likeness is Jaccard's of the texts' character n-grams, white space and case left out: candidates by MinHash of 128
    permutations (Broder 1997), each then counted exactly.
    """
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=least - _MARGIN, num_perm=_PERMUTATIONS)
    texts = [bare(text_of(row))[0].lower() for row in rows]
    hashes = MinHash.generator(
        (_shingles(text, n) for text in texts),
        num_perm=_PERMUTATIONS,
        hashfunc=lambda shingle: int.from_bytes(blake2b(shingle, digest_size=4).digest(), "big"),
    )
    made: list[Row] = []
    for at, (row, text, minhash) in enumerate(zip(rows, texts, hashes, strict=True)):
        shingles = _shingles(text, n)
        others = (_shingles(texts[other], n) for other in index.query(minhash))
        if any(len(shingles & other) / len(shingles | other) >= least for other in others):
            made.append(reject(row, why))
        else:
            made.append(row)
            index.insert(at, minhash)
    return made


def reject_unfit(row: Row, least: int, most: int, languages: Sequence[str]) -> list[Row]:
    length = len(row["text"])
    if row["language"] not in languages:
        raise Rejected(f"language {row['language'] or 'unknown'}")
    if length < least or length > most:
        raise Rejected(f"shorter than {least} characters" if length < least else f"longer than {most} characters")
    return [row]


def _shingles(text: str, n: int) -> set[bytes]:
    return {text[at : at + n].encode("utf-8", "surrogatepass") for at in range(max(1, len(text) - n + 1))}


Read = Iterable[tuple[str | int | None, str, str]]  # an id, a line's number or neither; title; text


def _read_lines(path: Path) -> Read:
    for number, line in read_jsonl(path):
        if not isinstance(text := line.get("text"), str):
            raise QuadragError(f"{path}:{number} has no text; expected the keys id, title, text")
        yield number if line.get("id") is None else str(line["id"]), str(line.get("title") or ""), text


def _read_office(path: Path) -> Read:
    try:
        text = _pdf_text(path) if path.suffix.lower() == ".pdf" else _word_text(path)
    except ImportError as error:
        raise NotReady(f"PDF and Word need {error.name}; {tell_extra('documents')}") from None
    except Exception as error:  # a broken archive, and whatever its XML brings
        raise QuadragError(f"{path} cannot be read ({error}); remove it, or mend it") from None
    return [(None, path.stem, text)]


def _pdf_text(path: Path) -> str:
    import pypdfium2

    text = "\n".join(page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(path))
    return text.replace("\r\n", "\n")


def _word_text(path: Path) -> str:
    import mammoth

    with path.open("rb") as file:
        return text_of_html(mammoth.convert_to_html(file).value)


_READERS: dict[str, Callable[[Path], Read]] = {
    **dict.fromkeys((".txt", ".md"), lambda path: [(None, path.stem, read_text(path))]),
    **dict.fromkeys((".html", ".htm"), lambda path: [(None, path.stem, text_of_html(read_text(path)))]),
    ".jsonl": _read_lines,
    **dict.fromkeys((".pdf", ".docx"), _read_office),
}


class Corpus:
    """Documents that can be searched, in chunks of `size` characters or, when None, each as one chunk.

    What is written for it lies in a folder that goes with it.
    """

    def __init__(self, documents: Iterable[Row], size: int | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="quadrag-construct-")
        folder = Path(self._folder.name)
        # An id with a # could not be told from that of a chunk: documents go by their places.
        self._documents = list(documents)
        numbered = (Document(str(at), row["title"], row["text"]) for at, row in enumerate(self._documents))
        longest = max((len(row["text"]) for row in self._documents), default=1)
        self._store = PassageStore.build(numbered, folder, Chunking(size=size or longest + 1, overlap=0))
        build_index(self._store, folder, "unigram")
        self._rank = open_index(folder, "unigram")

    def find(self, query: str, k: int) -> list[tuple[Row, Passage]]:
        (hits,) = self._rank([query], k)
        passages = [self._store[row]._replace(score=score) for row, score in hits]
        return [(self._documents[int(passage.id.partition("#")[0])], passage) for passage in passages]


def reject_repeats(question_of: Callable[[Row], str], why: str = "question asked before") -> Step:
    return Step("duplicates", lambda rows: reject_alike(rows, question_of, 3, 0.7, why), together=True)


# Personal data, found by rule: numbers of identity cards and bank cards are known by their check digits, telephones by
# the numbering plans (phonenumbers), mail and postal addresses by their form. A postal address counts with a flat or in
# English with its town: the street and number alone are mostly an office's. Numbers that whole services answer (400,
# 800) do not count. Names of private persons no rule can tell; the prompts tell the model to leave them out.

_NARROW = {0xFF01 + at: 0x21 + at for at in range(94)}  # full width to half
_ALONE = r"(?<![0-9A-Za-z/=_.-])", r"(?![0-9A-Za-z/_-])"  # neither part of a longer number nor of a web address
_IDENTITY = re.compile(rf"{_ALONE[0]}[1-9]\d{{16}}[\dXx]{_ALONE[1]}")
_WEIGHTS = [2 ** (17 - at) % 11 for at in range(17)]
# Of UnionPay, Visa, Mastercard, American Express, JCB and Discover; in groups of four, or in none.
_CARD = re.compile(rf"{_ALONE[0]}(?:\d{{4}}([ -]?)(?:\d{{4}}\1){{2}}\d{{4}}(?:\1\d{{1,3}})?|3[47]\d{{13}}){_ALONE[1]}")
_ISSUERS = re.compile(r"62\d{14,17}|4\d{15}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|35\d{14}|6(?:011|5\d\d)\d{12}")
_MAIL = re.compile(r"[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}")
_CHINESE_ADDRESS = re.compile(
    r"[\u4e00-\u9fff]{2,12}(?:\d{1,5}(?:号院?|弄)[\u4e00-\u9fff]{0,8})?\d{1,4}(?:号楼|栋|幢|座|单元)(?:\d{1,2}单元)?\d{1,5}(?:室|号)"
    r"|[\u4e00-\u9fff]{1,12}(?:路|街|巷|道|村|胡同)\d{1,5}(?:号|弄)[\u4e00-\u9fff\d-]{0,12}?\d{1,5}室"
)
_STREETS = "Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Terrace|Close"
_ENGLISH_ADDRESS = re.compile(
    rf"\b\d{{1,5}}[A-Z]? (?:[A-Z][a-z]+\.? ){{1,3}}(?:{_STREETS})\b\.?(?:,? (?:Apt|Flat|Unit|Suite|#)\.? ?\w+)?,? "
    r"(?:[A-Z][a-z]+ ?){1,3},? (?:[A-Z]{2}(?:,? \d{5}(?:-\d{4})?)?|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})\b"
)
_AMOUNT = re.compile(r"\s*(?:[万亿千百]|元|美元|人|%|％)")


def find_personal(text: str, language: str) -> list[str]:
    plain = text.translate(_NARROW)
    has = {
        "bank card": any(_is_card(match.group()) for match in _CARD.finditer(plain)),
        "identity number": any(_is_identity(match.group()) for match in _IDENTITY.finditer(plain)),
        "mail address": _MAIL.search(plain),
        "postal address": _CHINESE_ADDRESS.search(plain) or _ENGLISH_ADDRESS.search(plain),
        "telephone": _has_telephone(plain, language),
    }
    return [kind for kind, is_there in has.items() if is_there]


def reject_personal_data(row: Row) -> list[Row]:
    if kinds := find_personal(f"{row['title']}\n{row['text']}", row["language"]):
        raise Rejected(" and ".join(kinds))
    return [row]


def _is_identity(number: str) -> bool:
    try:
        born = date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    check = sum(int(digit) * weight for digit, weight in zip(number[:17], _WEIGHTS, strict=True)) % 11
    return born.year > 1880 and "10X98765432"[check] == number[17].upper()


def _is_card(written: str) -> bool:
    digits = [int(digit) for digit in written if digit.isdigit()]
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0 and _ISSUERS.fullmatch("".join(map(str, digits))) is not None


def _has_telephone(text: str, language: str) -> bool:
    import phonenumbers

    chinese = language == "zh"
    types = phonenumbers.PhoneNumberType
    kinds = (types.MOBILE, types.FIXED_LINE, types.FIXED_LINE_OR_MOBILE)
    leniency = phonenumbers.Leniency.VALID if chinese else phonenumbers.Leniency.STRICT_GROUPING
    for match in phonenumbers.PhoneNumberMatcher(text, "CN" if chinese else "US", leniency):
        kind = phonenumbers.number_type(match.number)
        digits = "".join(filter(str.isdigit, match.raw_string))
        # Dialled with 0 or a country's code before it, mobiles in China as they are; else it is an amount or a code.
        if chinese:
            dialled = kind == types.MOBILE or digits.startswith(("0", "86")) or "+" in match.raw_string
        else:
            dialled = not match.raw_string.isdigit()
        if kind in kinds and dialled and not _AMOUNT.match(text, match.end):
            return True
    return False
