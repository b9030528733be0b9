"""What the knowledge graph knows for a question: the functions of `facts.yaml`, called, and their results as JSON.

CRAG's tasks 2 and 3 give a model such facts in a window of their own (arXiv:2406.04744, section 5.1); which functions
are called is not told there, so the table is ours. Names are searched for, and taken where at least half of their words
are the same. Of a result that is long, what holds words of the question stands first. Nothing is computed: a sum or a
difference is the model's work. What lies after the question is hidden by the graph that the caller passes.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from quadrag.errors import QuadragError
from quadrag.records import Passage

from .entities import Entities, find_dates
from .kg.build import key
from .kg.clock import parse
from .kg.graph import Graph
from .kg.search import normalise

GRAPH = "kg/"  # what the id of a passage from the graph begins with
_TABLE: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("facts.yaml").read_text(encoding="utf-8"))
_ASKING = frozenset(word[:4] for word in _TABLE["asking"].split())
MOST = 3  # names of a field, and dates
ROWS = 20  # members of a list, games of a date, films of a person
LONGEST = 3_000  # characters of one result
_TEXT = 1_000  # characters of a text in it
_DAYS = 31  # rows of a history that are shown one by one
_LAST = 5  # rows of a history, where no date is asked about
_CLOSING = 13  # the hour in California at which trading closes
# What a function raises where upstream's server answers 500, and where the graph was built without its files.
_NO_RESULT = (QuadragError, LookupError, TypeError)
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_NOISE = frozenset(("id", "gender", "order", "raw_mediawiki", "undated", "movie_list"))
_UNKNOWN_IF_ZERO = frozenset(("budget", "revenue", "length", "rating"))  # so the source of the films writes it
_STAMPED = re.compile(r"Date$|Epoch|FiscalYearEnd|Quarter$")  # fields of a company that hold seconds since 1970
_WORD = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?|[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|[0-9]+")
_SPELLED = {"utd": "united", "fc": "", "cf": "", "afc": ""}  # what a table of games shortens
Row = dict[str, Any]


def find_facts(graph: Graph, entities: Entities, query: str, query_time: str) -> list[Passage]:
    """Return what a graph knows for a question, a result a passage, by the words that it shares with the question."""
    search = _Facts(graph, entities, query, parse(query_time))
    for domain, table in _TABLE["domains"].items():
        for field, entry in table.items():
            search.steps[field](domain, field, entry)
    if not search.results and entities.domain is not None:
        return find_facts(graph, replace(entities, domain=None), query, query_time)
    ranked = sorted(search.results.items(), key=lambda item: -item[1][0])
    return [Passage(f"{GRAPH}{n}", title, text, float(score)) for n, (title, (score, text)) in enumerate(ranked)]


class _Facts:
    """The results for one question: by call, the words shared with the question and the text."""

    def __init__(self, graph: Graph, entities: Entities, query: str, moment: datetime) -> None:
        self._graph, self._entities, self._moment = graph, entities, moment
        self._dates = entities.dates or find_dates(query)
        self._text = " ".join((query, *entities.aspects, *entities.times)).lower()
        self._wanted = _stems(self._text) - _ASKING | {*self._dates}
        self.results: dict[str, tuple[int, str]] = {}
        self.steps: Mapping[str, Callable[[str, str, Any], None]] = {
            **dict.fromkeys(("artists", "songs", "names"), self._add_named),
            **dict.fromkeys(("movies", "people"), self._add_records),
            "years": self._add_years,
            "ranks": self._add_ranks,
            "companies": self._add_companies,
            "teams": self._add_games,
        }

    def _ask(self, function: str, *arguments: Any) -> Any:
        try:
            return getattr(self._graph, function)(*arguments)
        except _NO_RESULT:
            return None

    def _add(self, function: str, subject: str, result: Any) -> None:
        if (shown := self._shape(result)) not in _EMPTY:
            # Names of the graph may hold a half of a surrogate pair, which can be sent to no model.
            text = key(json.dumps({function: {subject: shown}}, ensure_ascii=False, separators=(",", ":")))[:LONGEST]
            self.results[key(f"{function}({subject})")] = (self._overlap(text[:300]), text)

    def _call(self, functions: Mapping[str, str | None], argument: Any, subject: str) -> None:
        for function in self._applicable(functions):
            self._add(function, subject, self._ask(function, argument))

    def _applicable(self, functions: Mapping[str, str | None]) -> Iterator[str]:
        yield from (name for name, words in functions.items() if words is None or re.search(words, self._text))

    def _names(self, domain: str, field: str) -> tuple[str, ...]:
        """Names of a field, and those of unknown kind, which may be of any domain or of the question's."""
        known = getattr(self._entities, field)[:MOST]
        unknown = self._entities.names[: 2 * MOST] if self._entities.domain in (None, domain) else ()
        return tuple(dict.fromkeys((*known, *unknown)))

    # Names

    def _add_named(self, domain: str, field: str, entry: Any) -> None:
        for name in self._names(domain, field):
            titles = [title for title in self._ask(entry["search"], name) or () if "(disambig" not in title]
            # The search cannot find common words, which may be a name all the same.
            for title in _find_nearest(name, titles) or {name} & {*getattr(self._entities, field)}:
                self._call(entry["functions"], title, title)
                self._add_charts(entry.get("charts", {}), title)

    def _add_records(self, domain: str, field: str, entry: Any) -> None:
        for name in self._names(domain, field):
            records = [record for record in self._ask(entry["search"], name) or () if isinstance(record, dict)]
            # Of records with the same title the first.
            titled = {str(record.get(entry["label"])): record for record in reversed(records)}
            for title in _find_nearest(name, reversed(titled)):
                self._add(entry["search"], title, self._with_films(titled[title]))
                for person in self._people_asked_about(titled[title]):
                    self._add("movie_get_person_info_by_id", str(person.get("name")), self._with_films(person))

    def _with_films(self, record: Row) -> Row:
        numbers = (record.get("acted_movies") or ())[:ROWS]
        films = [self._ask("movie_get_movie_info_by_id", number) for number in numbers]
        titles = {film.get("title"): film.get("release_date") for film in films if film}
        return {**record, "acted_movies": titles} if films else record

    def _people_asked_about(self, film: Row) -> Iterator[Row]:
        members = [*(film.get("crew") or ()), *(film.get("cast") or ())]
        overlaps = {part.get("id"): self._overlap(f"{part.get('job')} {part.get('character')}") for part in members}
        for number in sorted(overlaps, key=lambda number: -overlaps[number])[:MOST]:
            if overlaps[number] and (person := self._ask("movie_get_person_info_by_id", number)):
                yield person

    def _add_companies(self, domain: str, field: str, entry: Any) -> None:
        suffixes, other_kinds = re.compile(entry["ends"], re.I), re.compile(entry["others"], re.I)
        tickers = {ticker: ticker for ticker in self._entities.tickers[:MOST]}
        for name in self._names(domain, field):
            found = self._ask(entry["search"], name) or ()
            shares = sorted(found, key=lambda share: other_kinds.search(share) is not None)
            for company in _find_nearest(name, shares, lambda share: suffixes.split(share)[0]):
                if ticker := self._ask(entry["ticker"], company):
                    tickers[ticker] = f"{company} ({ticker})"
            if not shares and re.fullmatch("[A-Z]{1,5}", name):
                tickers.setdefault(name, name)
        for ticker, subject in tickers.items():
            self._call(entry["functions"], ticker, subject)

    # Dates

    def _add_years(self, domain: str, field: str, entry: Any) -> None:
        for year in dict.fromkeys(day[:4] for day in self._dates[:MOST]):
            self._call(entry["functions"], year, year)
        for function in self._applicable(entry.get("undated", {})):
            self._add(function, "all years", self._ask(function))

    def _chart_days(self) -> Iterator[str]:
        """The days whose charts are asked about, and the Saturdays before and after each, by which charts are dated."""
        for day in [day for day in self._dates if len(day) == 10][:MOST] or [str(self._moment.date())]:
            at = date.fromisoformat(day)
            before = at - timedelta((at.weekday() - 5) % 7)
            yield from dict.fromkeys((day, str(before), str(before + timedelta(7))))

    def _add_ranks(self, domain: str, field: str, entry: Any) -> None:
        for rank in self._entities.ranks[:MOST]:
            for day in self._chart_days():
                songs, artists = (names or () for names in self._ask(entry["search"], rank, day) or ((), ()))
                holders = [f"{song} by {artist}" for song, artist in zip(songs, artists, strict=False)]
                self._add(entry["search"], f"{rank}, {day}", holders)
                for song in songs:
                    self._call(_TABLE["domains"][domain]["songs"]["functions"], song, song)

    def _add_charts(self, functions: Mapping[str, str], song: str) -> None:
        for function in self._applicable(functions):
            for day in self._chart_days():
                for attribute in ("rank", "rank_last_week", "weeks_in_chart", "top_position"):
                    self._add(function, f"{song}, {day}, {attribute}", self._ask(function, day, attribute, song))

    def _add_games(self, domain: str, field: str, entry: Any) -> None:
        names = self._names(domain, field)
        month = self._moment.replace(day=1)
        # Days before months before years: what is told of them is exacter.
        dates = sorted(self._dates, key=len, reverse=True)[:MOST] or [f"{month:%Y-%m}", f"{month - timedelta(1):%Y-%m}"]
        for function in entry["functions"]:
            for day in dates:
                if len(day) == 4:  # too many games to look through; the graph knows a team by its very name
                    rows = [row for name in names for row in _rows(self._ask(function, day, name))]
                else:
                    rows = [row for row in _rows(self._ask(function, day)) if not names or _is_of(row, names)]
                games = self._put_nearest_first(rows)[:ROWS]
                if names or (len(day) == 10 and self._entities.domain == domain):
                    self._add(function, day, [self._columns(row, entry) for row in games])
                for plays in self._applicable(entry["plays"]) if games and "game_id" in games[0] else ():
                    rows = _rows(self._ask(plays, [games[0]["game_id"]]))
                    self._add(plays, games[0]["game_id"], [self._columns(row, entry) for row in rows])

    def _put_nearest_first(self, games: list[Row]) -> list[Row]:
        """Put the latest game before the question first, then those before it, then those to come."""
        dated, today = sorted(games, key=_date), str(self._moment.date())
        past = [game for game in dated if _date(game) <= today]
        return [*reversed(past), *dated[len(past) :]]

    def _columns(self, row: Row, entry: Any) -> Row:
        shown = {}
        for name, value in row.items():
            stem, _, side = name.partition("_")
            label = f"{entry['figures'][stem]} {side}" if stem in entry["figures"] else name
            if name in entry["columns"].split() or self._overlap(label):
                shown[label.strip()] = value
        return shown

    # What is shown of a result

    def _overlap(self, text: str) -> int:
        return len(_stems(text) & self._wanted)

    def _shape(self, value: Any, label: str = "") -> Any:
        """Return what a result says: no empty fields, no noise, short texts, what is asked about first."""
        if isinstance(value, dict):
            if value and all(re.match(r"\d{4}-\d\d-\d\d ", str(name)) for name in value):
                return {stamp: self._shape(row) for stamp, row in self._history(value).items()}
            parts = {str(name): self._shape(part, str(name)) for name, part in value.items() if name not in _NOISE}
            kept = {name: part for name, part in parts.items() if part not in _EMPTY}
            return dict(sorted(kept.items(), key=lambda item: -self._overlap(f"{item[0]} {item[1]}")))
        if isinstance(value, list | tuple):
            members = [shaped for part in value if (shaped := self._shape(part)) not in ({}, [])]
            if len(members) > ROWS or any(isinstance(part, dict) for part in members):  # else their order may say much
                members.sort(key=lambda part: -self._overlap(str(part)))
            return members[:ROWS] if any(part not in _EMPTY for part in members) else None
        if isinstance(value, str):
            return " ".join(value.split())[:_TEXT]
        return self._number(value, label) if isinstance(value, int | float) and not isinstance(value, bool) else value

    def _number(self, value: float, label: str) -> Any:
        if value != value or abs(value) == float("inf") or (value == 0 and label in _UNKNOWN_IF_ZERO):
            return None
        if _STAMPED.search(label) and 10**8 < value < 10**10:
            return str(datetime.fromtimestamp(value, UTC).date())
        if isinstance(value, float):
            return int(value) if value.is_integer() else round(value, 4) if abs(value) >= 1 else float(f"{value:.6g}")
        return value

    def _history(self, history: Row) -> Row:
        """Of what is known by day or minute: the dates asked about, else the last before the question."""
        stamps, picked = sorted(history), list[str]()
        for asked in self._dates:
            of_date = [stamp for stamp in stamps if stamp.startswith(asked)]
            timed = [stamp for stamp in of_date if stamp[11:16] in self._entities.times]
            if not of_date and len(asked) == 10:  # no day of trading: the last one before
                of_date = [stamp for stamp in stamps if stamp < asked][-1:]
            picked += timed or (of_date if len(of_date) <= _DAYS else _extremes(history, of_date))
        if not picked:
            last = self._moment.date() - timedelta(self._moment.hour < _CLOSING)
            picked = [stamp for stamp in stamps if stamp[:10] <= str(last)][-_LAST:]
        return {stamp.removesuffix(" 00:00:00 EST"): history[stamp] for stamp in sorted(picked, reverse=True)}


def _extremes(history: Row, stamps: list[str]) -> list[str]:
    rows = {stamp: history[stamp] for stamp in stamps if isinstance(history[stamp], dict)}
    closes = {stamp: close for stamp, row in rows.items() if isinstance(close := row.get("Close"), int | float)}
    extremes = (max(closes, key=closes.__getitem__), min(closes, key=closes.__getitem__)) if closes else ()
    return list(dict.fromkeys((stamps[0], stamps[-1], *extremes)))


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of a text's words; ``camelCase`` is two words, a date counts with its year and month."""
    words = set()
    for word in _WORD.findall(text):
        words |= {word, word[:4], word[:7]} if word[:4].isdecimal() and "-" in word else {word.lower()[:4]}
    return frozenset(words)


def _find_nearest(name: str, candidates: Iterable[str], plain: Callable[[str], str] = str) -> list[str]:
    """Return the first of the names that share the most words with a name; [] where it shares less than half."""
    wanted = {*normalise(plain(name)).split()}

    def share(candidate: str) -> float:
        words = {*normalise(plain(candidate)).split()}
        return len(wanted & words) / len(wanted | words) if words else 0

    best = max(candidates, key=share, default="")
    return [best] if share(best) >= 0.5 else []


def _rows(table: Any) -> list[Row]:
    """Turn a table of columns into rows, each with its label where that says more than a number."""
    labels = next(iter(table.values())) if isinstance(table, dict) and table else ()
    rows = [{name: cells.get(label) for name, cells in table.items()} for label in labels]
    return [row if label.isdecimal() else {"row": label, **row} for label, row in zip(labels, rows, strict=True)]


def _date(row: Row) -> str:
    return str(row.get("game_date") or row.get("date"))[:10]


def _team_words(name: str) -> frozenset[str]:
    return frozenset(filter(None, (_SPELLED.get(word, word) for word in normalise(name).split())))


def _is_of(row: Row, names: Collection[str]) -> bool:
    """Whether a game is of one of the teams, whose words its row holds: ``Bulls`` will do."""
    places = (str(row.get(name)) for name in ("row", "opponent", "team_name_home", "team_name_away"))
    words = _team_words(" ".join(places))
    return any(team <= words for team in map(_team_words, names) if team)
