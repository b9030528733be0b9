"""Facts of the movie domain: films, people, and the Oscars of a year."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..language.wording import stems
from .calls import Calls, field_text, flatten, format_fact
from .question import FactQuestion

_FILMS = 20  # of a person
_PEOPLE = 3  # of a film
_YEARS = 2
_TOLD_APART = frozenset(("id", "title", "name", "cast", "crew", "genres", "oscar_awards", "acted_movies"))
_UNKNOWN_IF_ZERO = frozenset(("budget", "revenue", "length", "rating"))  # so the source of the films writes it
_UNITS = {"length": "length in minutes", "budget": "budget in dollars", "revenue": "revenue in dollars (box office)"}
Record = Mapping[str, Any]


def add_facts(calls: Calls, question: FactQuestion) -> None:
    """Add the films and people of a question, and the years it names where it is about films in general."""
    # Who is found, by the field that names them: the name that was searched for, and the record.
    found: dict[str, dict[str, tuple[str, Record]]] = {"title": {}, "name": {}}

    def search(function: str, label: str) -> Callable[[str], list[str]]:
        def names(asked: str) -> list[str]:
            records = [one for one in calls.ask(function, asked) or () if isinstance(one, dict)]
            known = [(name, one) for one in records if (name := field_text(one, label))]
            for name, one in known:
                found[label].setdefault(name, (asked, one))
            return [name for name, _ in known]

        return names

    searches = {"movies": search("movie_get_movie_info", "title"), "people": search("movie_get_person_info", "name")}
    chosen = question.resolve("movie", searches)
    person: Record
    for title in chosen["movies"]:
        asked, film = found["title"][title]
        calls.add(_film(title, film), "movie_get_movie_info", asked)
        for number in _people_asked_about(calls, title, film):
            person = calls.ask_record("movie_get_person_info_by_id", number)
            if field_text(person, "name"):
                calls.add(_person(person), "movie_get_person_info_by_id", number)
    for name in chosen["people"]:
        asked, person = found["name"][name]
        calls.add([*_person(person), *_films_of(calls, person)], "movie_get_person_info", asked)
    for year in [year for year in question.years if 1990 <= year <= 2021][:_YEARS]:
        _add_year(calls, str(year), films=not any(chosen.values()))


def _film(title: str, film: Record) -> Iterator[str | None]:
    fields = {label: value for label, value in film.items() if label not in _TOLD_APART}
    if fields.get("original_title") == title:
        del fields["original_title"]
    for label in dict.fromkeys(("release_date", "length", *fields)):
        value = fields.get(label)
        if not (label in _UNKNOWN_IF_ZERO and value == 0):
            yield from (format_fact(title, _UNITS.get(one, one), each) for one, each in flatten(value, label))
    yield format_fact(title, "genres", ", ".join(field_text(one, "name") for one in _records(film, "genres")))
    jobs: dict[str, list[str]] = {}
    for one in _records(film, "crew"):
        jobs.setdefault(field_text(one, "job"), []).append(field_text(one, "name"))
    for job in sorted(jobs, key=lambda job: job != "Director"):
        yield format_fact(title, job or "crew", ", ".join(filter(None, jobs[job])))
    for one in _records(film, "cast"):
        part = field_text(one, "character")
        yield format_fact(title, "cast", field_text(one, "name") + (f" as {part}" if part else ""))
    yield from _oscars(film, title, "name")


def _person(person: Record) -> Iterator[str | None]:
    name = field_text(person, "name")
    for label, value in person.items():
        if label not in _TOLD_APART:
            yield from (format_fact(name, one, each) for one, each in flatten(value, label))
    yield from _oscars(person, name, "film")


def _films_of(calls: Calls, person: Record) -> Iterator[str | None]:
    for film in _films_by_id(calls, person.get("acted_movies")):
        if title := field_text(film, "title"):
            date = field_text(film, "release_date")
            yield format_fact(field_text(person, "name"), "acted in", title + (f" (released {date})" if date else ""))


def _films_by_id(calls: Calls, ids: Any) -> Iterator[Record]:
    for number in [one for one in ids if type(one) is int][:_FILMS] if isinstance(ids, list) else ():
        yield calls.ask_record("movie_get_movie_info_by_id", number)


def _people_asked_about(calls: Calls, title: str, film: Record) -> list[int]:
    overlaps: dict[int, int] = {}
    for one in (*_records(film, "crew"), *_records(film, "cast")):
        overlap = calls.overlap(f"{field_text(one, 'job')} {field_text(one, 'character')}", stems(title))
        if overlap and type(one.get("id")) is int:
            overlaps[one["id"]] = max(overlap, overlaps.get(one["id"], 0))
    return sorted(overlaps, key=lambda number: -overlaps[number])[:_PEOPLE]


def _oscars(record: Record, subject: str, other: str) -> Iterator[str | None]:
    for one in _records(record, "oscar_awards"):
        of = field_text(one, other)
        label = f"Oscar of {field_text(one, 'year_ceremony')}, {field_text(one, 'category')}"
        yield format_fact(subject, label, _result(one) + (f" ({of})" if of else ""))


def _add_year(calls: Calls, year: str, films: bool) -> None:
    info = calls.ask_record("movie_get_year_info", year)
    lines = []
    for one in _records(info, "oscar_awards"):
        who = " for ".join(filter(None, (field_text(one, "name"), field_text(one, "film"))))
        lines.append(format_fact(f"Oscars of {year}", f"{field_text(one, 'category')}, {_result(one)}", who))
    if films and not lines:
        found = _films_by_id(calls, info.get("movie_list"))
        lines = [format_fact(year, "film released", field_text(film, "title")) for film in found]
    told = [line for line in lines if line]
    told.sort(key=lambda line: "winner:" not in line)
    calls.add(told, "movie_get_year_info", year)


def _result(award: Record) -> str:
    return "winner" if award.get("winner") is True else "nominated"


def _records(record: Record, label: str) -> list[dict[str, Any]]:
    held = record.get(label)
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []
