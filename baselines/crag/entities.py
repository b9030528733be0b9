"""What a question is about, as a model says it in JSON: names, dates and figures that the knowledge graph is asked for.

CRAG's baseline has Llama 3 8B do it; our prompt has fields of our own, and those of the one that the paper prints
(A.3.1) are read too. Nothing here looks at the graph, so a name may be unknown there. Of dates, numbers and English
names of months are read; what hangs on another day, such as "yesterday", is left to others.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

import json_repair
import yaml

from quadrag.chat.reply import Failure, Reply
from quadrag.metrics._shared.slots import fill
from quadrag.prompts import Prompts
from quadrag.records import Question

_HERE = Path(__file__).parent
_WORDS = yaml.safe_load((_HERE / "entities.yaml").read_text(encoding="utf-8"))
_ALIASES = {alias: name for name, aliases in _WORDS["aliases"].items() for alias in aliases.split()}
_DOMAIN_ALIASES = {alias: name for name, aliases in _WORDS["domains"].items() for alias in aliases.split()}
DOMAINS = ("finance", "music", "movie", "sports", "open")
PROMPT_SCHEMA: str = _WORDS["schema"]
_NAMES = 12  # of one field
_LONGEST = 200  # characters of a name
_MENDED = 4_000  # characters of a reply that is nearly JSON
_NOTHING = frozenset(("", "none", "null", "n/a", "unknown", "nan", "inf", "-"))
_SYMBOL = re.compile(r"[A-Z]{1,6}(?:[.-][A-Z]{1,2})?")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")  # it would end a text between single quotation marks
_TIME = re.compile(r"\b([01]?[0-9]|2[0-3]):([0-5][0-9])\s*([ap]?)", re.ASCII | re.I)
_DATES = 31  # of one text
_READ = 2_000  # characters of a text whose dates are read
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH = rf"\b(?P<name>{'|'.join(f'{name}|{name[:3]}' for name in _MONTHS)}|sept)\.?(?![a-z])"
_DAY = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12][0-9]{3})(?![0-9])"
# The first in the text counts; of those that begin at one place, the first of these.
_FORMS = [
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"(?<![0-9.]){_YEAR}[-/](?P<month>[01]?[0-9])(?:[-/](?P<day>[0-3]?[0-9]))?(?![0-9])",
        rf"(?<![0-9.])(?P<month>[01]?[0-9])/(?P<day>[0-3]?[0-9])/{_YEAR}",
        rf"{_MONTH}\s+{_DAY}(?![0-9:])\s*,?\s*(?:of\s+)?{_YEAR}",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}\s*,?\s*{_YEAR}",
        rf"{_MONTH}\s*,?\s*(?:of\s+)?{_YEAR}",
        r"(?<![0-9$#.,:/-])(?P<year>1[5-9][0-9]{2}|20[0-9]{2}|21[0-9]{2})(?![0-9a-z%:]|,[0-9]{3}|\.[0-9])",
    )
]
_QUESTION = re.compile(r"^Question: (.+)$", re.MULTILINE)  # of the prompt


@dataclass(frozen=True, slots=True)
class Entities:
    """What a question is about.

    `domain` is None where it is unknown, so that names are looked for in all; `tickers` are in capitals, `people` those
    of films, `names` whatever else has a name. Of `dates` each is ``YYYY-MM-DD``, ``YYYY-MM`` or ``YYYY``; `times` are
    ``HH:MM`` of New York, `ranks` those of the Billboard Hot 100. `aspects` is what is asked about these, in words.
    """

    domain: str | None = None
    companies: tuple[str, ...] = ()
    tickers: tuple[str, ...] = ()
    movies: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    artists: tuple[str, ...] = ()
    songs: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    aspects: tuple[str, ...] = ()


_FIELDS = frozenset(field.name for field in fields(Entities))
_PLAIN = ("companies", "movies", "people", "artists", "songs", "teams", "names", "aspects")  # fields taken as they are


def messages(question: Question, prompts: Prompts) -> list[dict[str, str]]:
    """Build the one user message that asks for a question's entities; a text without slots ends in the question."""
    text = prompts["entities"]["user"]
    if "{query}" not in text:
        text = f"{text.rstrip()}\n\nQuery Time: {{query_time}}\nQuestion: {{query}}"
    slots = {**question.slots, "query": question.query, "schema": PROMPT_SCHEMA}
    return [{"role": "user", "content": fill(text, slots)}]


def read(reply: str) -> Entities | None:
    """Read a model's reply: at most 12 entities of a field and 31 dates; None without an object with any of our fields.

    Of several JSON objects the last with a field of ours counts, since models draft first; it may lie in another.
    """
    try:
        mended = json_repair.loads(_APOSTROPHE.sub("\ue000", reply[:_MENDED]))
        objects = [fields for value in (mended if isinstance(mended, list) else [mended]) for fields in _fields(value)]
        if not objects:
            return None
        texts = {name: list(_texts(value)) for name, value in objects[-1].items()}
    except (ValueError, RecursionError):
        return None
    domain = next(iter(texts.get("domain", ())), "").lower()
    domain = _DOMAIN_ALIASES.get(domain, domain)
    ranks = [
        int(number)
        for text in texts.get("ranks", ())
        for number in re.findall(r"(?<![-.0-9])[0-9]{1,3}(?![.0-9])", text)
    ]
    return Entities(
        domain=domain if domain in DOMAINS else None,
        tickers=_unique(symbol for text in texts.get("tickers", ()) if (symbol := _symbol(text))),
        dates=tuple(dict.fromkeys(day for text in texts.get("dates", ()) for day in find_dates(text)))[:_DATES],
        times=_unique(time for text in texts.get("times", ()) for time in _times(text)),
        ranks=tuple(dict.fromkeys(rank for rank in ranks if 1 <= rank <= 100))[:_NAMES],
        **{name: _unique(texts.get(name, ())) for name in _PLAIN},
    )


def _fields(value: Any) -> Iterator[Mapping[str, list[Any]]]:
    """Yield an object by our names of its fields, with what stands under any of a field's names, else those within."""
    if not isinstance(value, dict):
        return
    named: dict[str, list[Any]] = {}
    for label, part in value.items():
        plain = re.sub(r"[\s-]", "_", str(label).strip().lower())
        if (name := _ALIASES.get(plain, plain)) in _FIELDS:
            named.setdefault(name, []).append(part)
    if named:
        yield named
    else:
        for part in value.values():
            yield from _fields(part)


def _texts(value: Any) -> Iterator[str]:
    """Yield the names in a value: a text, a number, a list of such, or an object with a name."""
    if isinstance(value, dict):
        value = next((value[label] for label in ("name", "title", "value", "date", "symbol") if label in value), None)
    if isinstance(value, list):
        for part in value[:100]:
            yield from _texts(part)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        # A half of a surrogate pair can neither be looked up nor sent to a model.
        text = " ".join(str(value)[:1000].encode("utf-8", "ignore").decode().replace("\0", " ").split())
        text = text.replace("\ue000", "'")
        if text.lower() not in _NOTHING and len(text) <= _LONGEST:
            yield text


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(text.casefold(), text)
    return tuple(first.values())[:_NAMES]


def _symbol(text: str) -> str:
    """Return a ticker symbol in its form, empty where it can be none: ``$tsla``, ``NASDAQ: TSLA``."""
    plain = text.upper().lstrip("$").rpartition(":")[2].strip()
    return plain if _SYMBOL.fullmatch(plain) else ""


def _times(text: str) -> Iterator[str]:
    for hour, minute, half in _TIME.findall(text):
        if not half:
            yield f"{int(hour):02}:{minute}"
        elif 1 <= int(hour) <= 12:
            yield f"{int(hour) % 12 + 12 * (half.lower() == 'p'):02}:{minute}"


def find_dates(text: str) -> tuple[str, ...]:
    """Return at most 31 dates that a text names in full, as ``YYYY-MM-DD``, ``YYYY-MM`` or ``YYYY``, in their order.

    Of the text 2,000 characters are read.
    """
    text = text[:_READ].lower()
    dates: dict[str, None] = {}
    place = 0
    while matches := [match for form in _FORMS if (match := form.search(text, place))]:
        match = min(matches, key=lambda match: match.start())
        try:
            dates[_write_date(match.groupdict())] = None
            place = match.end()
        except ValueError:  # a day that no month has
            place = match.start() + 1
    return tuple(dates)[:_DATES]


def _write_date(parts: dict[str, str | None]) -> str:
    name, year = parts.get("name"), int(parts["year"] or 0)
    month = int(parts.get("month") or 0)
    if name:
        month = next(number for number, full in enumerate(_MONTHS, 1) if full.startswith(name[:3]))
    if not month:
        return f"{year}"
    first = date(year, month, int(parts.get("day") or 1))
    return str(first) if parts.get("day") else f"{first:%Y-%m}"


class SampleEntities:
    """Answers as a `Completer`, without a network, for the demo: it knows the bundled sample's questions alone."""

    model = "scripted"

    def __init__(self) -> None:
        self._entities: dict[str, Any] = yaml.safe_load((_HERE / "sample_entities.yaml").read_text(encoding="utf-8"))
        self.parameters: dict[str, Any] = {}
        self.spent: dict[str, Any] = {"calls": 0, "cached": 0}

    def complete(
        self, batch: Sequence[list[dict[str, str]]], *, samples: Sequence[int] | None = None
    ) -> list[Reply | Failure]:
        questions = (_QUESTION.findall(chat[-1]["content"])[-1:] for chat in batch)
        replies = (self._entities.get(question[0], {}) if question else {} for question in questions)
        return [Reply(json.dumps(reply), "stop", None, None, 0.0) for reply in replies]
