"""What a question is about, as a model says it in JSON: names, dates and figures that the knowledge graph is asked for.

CRAG's baseline has Llama 3 8B do it; our prompt has fields of our own, and those of the one that the paper prints
(A.3.1) are read too. Nothing here looks at the graph, so a name may be unknown there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import json_repair
import yaml

from quadrag.metrics._shared.slots import fill
from quadrag.prompts import Prompts
from quadrag.records import Question

from .dates import MOST, find_dates

_WORDS = yaml.safe_load(Path(__file__).with_name("entities.yaml").read_text(encoding="utf-8"))
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
    """Build the one user message that asks a model for the entities of a question, which ends a text without slots."""
    text = prompts["entities"]["user"]
    if "{query}" not in text:
        text = f"{text.rstrip()}\n\nQuery Time: {{query_time}}\nQuestion: {{query}}"
    return [
        {"role": "user", "content": fill(text, {**question.slots, "query": question.query, "schema": PROMPT_SCHEMA})}
    ]


def read(reply: str) -> Entities | None:
    """Read a model's reply: at most 12 entities of a field and 31 dates; None without an object with any of our fields.

    Of several JSON objects the last with a field of ours counts, since models draft first; it may lie in another. What
    has a wrong type or is no name, date or number is left out.
    """
    try:
        mended = json_repair.loads(_APOSTROPHE.sub("\ue000", reply[:_MENDED]))
        objects = [fields for value in (mended if isinstance(mended, list) else [mended]) for fields in _fields(value)]
        texts = {name: list(_texts(value)) for name, value in objects[-1].items()} if objects else None
    except (ValueError, RecursionError):
        return None
    if texts is None:
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
        dates=tuple(dict.fromkeys(date for text in texts.get("dates", ()) for date in find_dates(text)))[:MOST],
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
