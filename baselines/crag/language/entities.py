"""What a question of CRAG is about: names, dates and figures that the knowledge graph can be asked for.

A model names them in JSON, asked by `messages` and read by `read` (CRAG's baseline has Llama 3 8B do it; our prompt has
fields of our own, and those of the one that the paper prints, A.3.1, are read too). It does not look at the graph, so a
name found here may be unknown there.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import json_repair

from quadrag.metrics._shared.slots import fill
from quadrag.prompts import Prompts
from quadrag.records import Question

from .dates import MOST, find_dates, find_times
from .wording import WORDS

DOMAINS = ("finance", "music", "movie", "sports", "open")
PROMPT_SCHEMA: str = WORDS["schema"]
_NAMES = 12  # of one field
_LONGEST = 200  # characters of a name
_MENDED = 4_000  # characters of a reply that is nearly JSON
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_DEEPEST = 5  # lists within each other
_NOTHING = frozenset(("", "none", "null", "n/a", "na", "unknown", "nan", "undefined", "not specified", "-"))


@dataclass(frozen=True, slots=True)
class Entities:
    """What a question is about.

    `domain` is None where it is unknown, so that names are looked for in all; `tickers` are in capitals, `people` those
    of films, `names` whatever else has a name. Of `dates` each is ``YYYY-MM-DD``, ``YYYY-MM`` or ``YYYY``; `relative`
    are those in words that the question's time must resolve, `times` are ``HH:MM`` of New York, `ranks` those of the
    Billboard Hot 100. `aspects` is what is asked about these, in words.
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
    relative: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    aspects: tuple[str, ...] = ()


_SYMBOL = re.compile(r"[A-Z]{1,6}(?:[.-][A-Z]{1,2})?")
_NUMBERS = {word: number for number, word in enumerate(WORDS["numbers"].split()[:10], 1)}
_RANK = re.compile(
    rf"(?:\bnumber|\bno\.?|#|\branked|\brank|\bposition|\bspot)\s*(?P<rank>[0-9]{{1,3}}|{'|'.join(_NUMBERS)})\b"
    r"(?!\s*(?:%|million|dollars))|\b(?P<top>top(?:ped)? (?:song|single|spot|the (?:billboard|hot|chart)))"
)
_FIELDS = frozenset(field.name for field in fields(Entities)) - {"relative"}
_PLAIN = ("companies", "movies", "people", "artists", "songs", "teams", "names", "aspects")  # fields taken as they are
_ALIASES = {alias: name for name, aliases in WORDS["aliases"].items() for alias in aliases.split()}
_DOMAIN_ALIASES = {alias: name for name, aliases in WORDS["domains"].items() for alias in aliases.split()}


def messages(question: Question, prompts: Prompts) -> list[dict[str, str]]:
    """Build the one user message that asks a model for the entities of a question, which ends a text without slots."""
    slots = {**question.slots, "query": question.query, "schema": PROMPT_SCHEMA}
    text = prompts["entities"]["user"]
    if "{query}" not in text:
        text = f"{text.rstrip()}\n\nQuery Time: {{query_time}}\nQuestion: {{query}}"
    return [{"role": "user", "content": fill(text, slots)}]


def read(reply: str) -> Entities | None:
    """Read a model's reply: at most 12 entities of a field and 31 dates; None without an object with any of our fields.

    Of several JSON objects the last with a field of ours counts, since models draft first; it may lie in another. What
    has a wrong type or is no name, date or number is left out.
    """
    found = [given for one in _find_objects(reply) for given in _find_fields(one)]
    if not found:
        return None

    def texts(name: str, keep_na: bool = False) -> Iterator[str]:
        return (text for held in found[-1].get(name, ()) for text in _texts(held, keep_na=keep_na))

    domain = next(texts("domain"), "").lower()
    domain = _DOMAIN_ALIASES.get(domain, domain)
    dates: dict[str, None] = {}
    relative: dict[str, None] = {}
    for text in texts("dates"):
        if named := find_dates(text):
            dates |= dict.fromkeys(named)
        elif len(text) <= 60:  # words that only the question's time resolves
            relative[text] = None
    ranks = dict.fromkeys(rank for text in texts("ranks") for rank in _find_ranks(f"no. {text}"))
    return Entities(
        domain=domain if domain in DOMAINS else None,
        tickers=_unique(_parse_symbol(text) for text in texts("tickers", keep_na=True)),
        dates=tuple(dates)[:MOST],
        relative=tuple(relative)[:_NAMES],
        times=_unique(time for text in texts("times") for time in find_times(text)),
        ranks=tuple(ranks)[:_NAMES],
        **{name: _unique(texts(name)) for name in _PLAIN},
    )


def _find_objects(reply: str) -> list[Mapping[str, Any]]:
    hidden = _APOSTROPHE.sub("\ue000", reply[:_MENDED])  # it would end a text between single quotation marks
    try:
        mended = json.loads(json.dumps(json_repair.loads(hidden)).replace("\\ue000", "'"))
    except (ValueError, RecursionError):
        return []
    return [value for value in (mended if isinstance(mended, list) else [mended]) if isinstance(value, dict)]


def _find_fields(value: Mapping[str, Any]) -> Iterator[dict[str, list[Any]]]:
    """Yield the object by our names of its fields, with what stands under any of a field's names, else those within."""
    labels: dict[str, Any] = {}
    for label, held in value.items():
        plain = label.strip().lower().replace(" ", "_").replace("-", "_")
        if labels.get(plain) is None:
            labels[plain] = held
    named: dict[str, list[Any]] = {}
    for plain, held in labels.items():
        if (name := _ALIASES.get(plain, plain)) in _FIELDS:
            named.setdefault(name, []).append(held)
    if named:
        yield named
        return
    for held in value.values():
        if isinstance(held, dict) and any(_ALIASES.get(label, label) in _FIELDS for label in held):
            yield from _find_fields(held)


def _texts(value: Any, depth: int = 0, keep_na: bool = False) -> Iterator[str]:
    """Yield the names in a value: a text, a number, a list of such, or an object with a name."""
    if isinstance(value, (list, tuple)) and depth < _DEEPEST:
        for one in value[:100]:
            yield from _texts(one, depth + 1, keep_na)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for label in ("name", "title", "value", "date", "symbol"):
            if label in value:
                yield from _texts(value[label], depth + 1, keep_na)
                return
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        yield str(value)
    elif isinstance(value, float) and abs(value) < 10**15:
        yield f"{value:.15g}"
    elif isinstance(value, str):
        # A half of a surrogate pair can neither be looked up nor sent to a model.
        text = " ".join(value[:1000].encode("utf-8", "ignore").decode().replace("\0", " ").split())
        if (text.lower() not in _NOTHING or (keep_na and text == "NA")) and len(text) <= _LONGEST:
            yield text


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for text in texts:
        if text:
            first.setdefault(text.casefold(), text)
    return tuple(first.values())[:_NAMES]


def _parse_symbol(text: str) -> str:
    """Return a ticker symbol in its form, empty where it can be none: ``$tsla``, ``NASDAQ: TSLA``."""
    plain = text.upper().lstrip("$").rpartition(":")[2].strip()
    return plain if _SYMBOL.fullmatch(plain) else ""


def _find_ranks(text: str) -> Iterator[int]:
    for match in _RANK.finditer(text.lower()):
        word = match["rank"] or "1"
        rank = int(word) if word.isdecimal() else _NUMBERS[word]
        if 1 <= rank <= 100:
            yield rank
