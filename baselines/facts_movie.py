"""Facts of the movie domain: films, people, and the Oscars of a year.

Ids are resolved to names: the films a person acted in, and the people whose part or job in a film is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .fact_asked import Asked
from .fact_calls import Calls, fact, flat, shown
from .wording import stems

_FILMS = 20  # of a person
_PEOPLE = 3  # of a film
_YEARS = 2
_KNOWN = frozenset(("id", "title", "name", "cast", "crew", "genres", "oscar_awards", "acted_movies"))
_UNKNOWN_IF_ZERO = frozenset(("budget", "revenue", "length", "rating"))  # so the source of the films writes it
_UNITS = {"length": "length in minutes", "budget": "budget in dollars", "revenue": "revenue in dollars (box office)"}


def find(calls: Calls, asked: Asked) -> None:
    """Add the films and people of a question, and the years it names where it is about films in general."""
    records: dict[str, tuple[str, dict[str, Any]]] = {}

    def search(function: str, label: str) -> Any:
        def found(name: str) -> list[str]:
            known = [one for one in calls.ask(function, name) or () if isinstance(one, dict) and shown(one.get(label))]
            for one in known:
                records.setdefault(f"{label} {shown(one[label])}", (name, one))
            return [shown(one[label]) for one in known]

        return found

    searches = {"movies": search("movie_get_movie_info", "title"), "people": search("movie_get_person_info", "name")}
    chosen = asked.resolve("movie", searches)
    for title in chosen["movies"]:
        name, film = records[f"title {title}"]
        calls.add(_film(title, film), "movie_get_movie_info", name)
        for number in _hops(calls, title, film):
            person = calls.ask("movie_get_person_info_by_id", number)
            if isinstance(person, dict) and shown(person.get("name")):
                calls.add(_person(person), "movie_get_person_info_by_id", number)
    for person_name in chosen["people"]:
        name, person = records[f"name {person_name}"]
        calls.add([*_person(person), *_acted(calls, person)], "movie_get_person_info", name)
    for year in [year for year in asked.years if 1990 <= year <= 2021][:_YEARS]:
        _year(calls, str(year), films=not any(chosen.values()))


def _film(title: str, film: Mapping[str, Any]) -> Iterator[str | None]:
    fields = {label: value for label, value in film.items() if label not in _KNOWN}
    if fields.get("original_title") == title:
        del fields["original_title"]
    for label in ("release_date", "length", *fields):
        value = fields.pop(label, None)
        if not (label in _UNKNOWN_IF_ZERO and value == 0):
            yield from (fact(title, _UNITS.get(one, one), each) for one, each in flat(value, label))
    yield fact(title, "genres", ", ".join(shown(one.get("name")) for one in _records(film, "genres")))
    jobs: dict[str, list[str]] = {}
    for one in _records(film, "crew"):
        jobs.setdefault(shown(one.get("job")), []).append(shown(one.get("name")))
    for job in sorted(jobs, key=lambda job: job != "Director"):
        yield fact(title, job or "crew", ", ".join(filter(None, jobs[job])))
    for one in _records(film, "cast"):
        part = shown(one.get("character"))
        yield fact(title, "cast", shown(one.get("name")) + (f" as {part}" if part else ""))
    yield from _oscars(film, title, "name")


def _person(person: Mapping[str, Any]) -> Iterator[str | None]:
    name = shown(person.get("name"))
    for label, value in person.items():
        if label not in _KNOWN:
            yield from (fact(name, one, each) for one, each in flat(value, label))
    yield from _oscars(person, name, "film")


def _acted(calls: Calls, person: Mapping[str, Any]) -> Iterator[str | None]:
    """The films that a person acted in, by their names; the same film by the same id is asked for once."""
    ids = person.get("acted_movies")
    for number in [one for one in ids if type(one) is int][:_FILMS] if isinstance(ids, list) else ():
        film = calls.ask("movie_get_movie_info_by_id", number)
        if isinstance(film, dict) and (title := shown(film.get("title"))):
            date = shown(film.get("release_date"))
            yield fact(shown(person.get("name")), "acted in", title + (f" (released {date})" if date else ""))


def _hops(calls: Calls, title: str, film: Mapping[str, Any]) -> list[int]:
    """The ids of the people whose part or job is asked about, those of most overlap first."""
    overlaps: dict[int, int] = {}
    for one in (*_records(film, "crew"), *_records(film, "cast")):
        text = f"{shown(one.get('job'))} {shown(one.get('character'))}"
        overlap = calls.overlap(text, stems(title))
        if overlap and type(one.get("id")) is int:
            overlaps[one["id"]] = max(overlap, overlaps.get(one["id"], 0))
    return sorted(overlaps, key=lambda number: -overlaps[number])[:_PEOPLE]


def _oscars(record: Mapping[str, Any], subject: str, other: str) -> Iterator[str | None]:
    for one in _records(record, "oscar_awards"):
        of = shown(one.get(other))
        won = "winner" if one.get("winner") is True else "nominated"
        label = f"Oscar of {shown(one.get('year_ceremony'))}, {shown(one.get('category'))}"
        yield fact(subject, label, won + (f" ({of})" if of else ""))


def _year(calls: Calls, year: str, films: bool) -> None:
    info = calls.ask("movie_get_year_info", year)
    if not isinstance(info, dict):
        return
    lines: list[str | None] = []
    for one in _records(info, "oscar_awards"):
        won = "winner" if one.get("winner") is True else "nominated"
        who = " for ".join(filter(None, (shown(one.get("name")), shown(one.get("film")))))
        lines.append(fact(f"Oscars of {year}", f"{shown(one.get('category'))}, {won}", who))
    ids = info.get("movie_list")
    if films and not lines and isinstance(ids, list):
        found = [calls.ask("movie_get_movie_info_by_id", one) for one in ids[:_FILMS] if type(one) is int]
        lines += [fact(year, "film released", shown(one.get("title"))) for one in found if isinstance(one, dict)]
    told: list[str] = [line for line in lines if line]
    told.sort(key=lambda line: "winner:" not in line)
    calls.add(told, "movie_get_year_info", year)


def _records(record: Mapping[str, Any], label: str) -> list[dict[str, Any]]:
    held = record.get(label)
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []
