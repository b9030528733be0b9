"""Facts of the sports domain: soccer and NBA games of the dates asked about, of the teams asked about.

The graph searches no teams, so the games of a day or month are read whole and those of the teams kept; of a year only
the games of teams whose exact names such a month gave. Without a date the month of the question and the one before are
read.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..language.wording import WORDS
from .calls import Calls, field_text, format_value
from .question import FactQuestion, Words, occurs_in, split_name

_DATES = 3
_GAMES = 20
_SOCCER, _NBA = "sports_soccer_get_games_on_date", "sports_nba_get_games_on_date"
_PLAYS = "sports_nba_get_play_by_play_data_by_game_ids"
_SIGNS = {
    _SOCCER: re.compile(r"soccer|premier league|la liga|serie a\b|bundesliga|ligue 1|\bgoals?\b|\bfc\b|football"),
    _NBA: re.compile(r"\bnba\b|basketball|rebound|assists|three[- ]pointer|quarter\b"),
}
_SHORT = {"utd": "united", "fc": "", "cf": "", "afc": ""}  # what a table of games shortens
_TOLD = frozenset(("", "date", "day", "time", "round", "result", "GF", "GA", "opponent", "match_report"))
_LABELS = {"Poss": "possession in percent", "xG": "expected goals", "xGA": "expected goals against"}
Row = dict[str, Any]


def add_facts(calls: Calls, question: FactQuestion) -> None:
    """Add the games of a question; the plays of the first of them where its words ask for plays."""
    kinds = [function for function, sign in _SIGNS.items() if sign.search(question.query)]
    for function in kinds if len(kinds) == 1 else _SIGNS:
        for date in _dates(question):
            rows, arguments = _games(calls, question, function, date)
            kept = [row for row in rows if any(_is_asked_about(question, team) for team in _teams(row))]
            if not kept and question.entities.domain == "sports" and len(date) == 10 and not _named(question):
                kept = rows
            if len(date) < 10:  # the nearest to the question first
                past = [row for row in kept if _date(row) <= str(question.day)]
                later = [row for row in kept if _date(row) > str(question.day)]
                kept = [*sorted(past, key=_date, reverse=True), *later]
            kept = kept[:_GAMES]
            games: set[Words] = set()  # of soccer there are two rows
            lines: list[str] = []
            for row in kept:
                game = (_date(row), *sorted(_teams(row)))
                result, *others = _soccer(row) if function == _SOCCER else _nba(row)
                lines += others if game in games else [result, *others]
                games.add(game)
            calls.add(lines, function, *arguments)
            if function == _NBA and kept:
                number = field_text(kept[0], "game_id")
                calls.add(map(_play, _rows(calls.ask(_PLAYS, [number]))), _PLAYS, [number])


def _dates(question: FactQuestion) -> list[str]:
    if question.dates:
        # Days before months before years: what is told of them is exacter.
        return sorted(question.dates, key=len, reverse=True)[:_DATES]
    months = question.day.year * 12 + question.day.month - 1
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in (months, months - 1)]


def _named(question: FactQuestion) -> list[str]:
    entities = question.entities
    return [*entities.teams, *(entities.names if entities.domain in (None, "sports") else ())]


def _games(calls: Calls, question: FactQuestion, function: str, date: str) -> tuple[list[Row], Words]:
    """The games of a date, and the arguments that gave them; of a year those of one team asked about."""
    if len(date) > 4:
        return _rows(calls.ask(function, date)), (date,)
    month = f"{min(question.day.year, int(date))}-{'02' if function == _NBA else '03'}"
    known = dict.fromkeys(team for row in _rows(calls.ask(function, month)) for team in _teams(row))
    exact = [team for team in known if _is_asked_about(question, team)]
    for team in exact or [name.title() for name in _named(question)]:
        return _rows(calls.ask(function, date, team)), (date, team)
    return [], (date,)


def _rows(table: Any) -> list[Row]:
    if not isinstance(table, dict) or not table:
        return []
    labels = next(iter(table.values()))
    return [{"": label} | {name: cells.get(label) for name, cells in table.items()} for label in labels]


def _teams(row: Mapping[str, Any]) -> list[str]:
    if "game_date" in row:
        return [field_text(row, "team_name_home"), field_text(row, "team_name_away")]
    # The team whose row of a soccer game it is: the third part of its label, a printed tuple.
    parts = re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", str(row[""]))
    return ["".join(parts[2]) if len(parts) > 2 else "", field_text(row, "opponent")]


def _is_asked_about(question: FactQuestion, team: str) -> bool:
    """Whether a team is asked about: by its name, by its begin or end (`Bulls`), or by what stands in the question."""
    words = _split_team(team)
    if occurs_in(words, _split_team(question.query)):
        return True
    for name in map(_split_team, _named(question)):
        if occurs_in(words, name) or (name and name in (words[: len(name)], words[-len(name) :])):
            return True
    return False


def _split_team(name: str) -> Words:
    return tuple(filter(None, (_SHORT.get(word, word) for word in split_name(name))))


def _date(row: Mapping[str, Any]) -> str:
    return format_value(row.get("game_date") or row.get("date"))[:10]


def _soccer(row: Row) -> list[str]:
    team, other = _teams(row)
    subject = f"{team} - {other}" if row.get("venue") != "Away" else f"{other} - {team}"
    league = (re.findall(r"'([^']*)'", str(row[""])) or [""])[0]
    goals, against = field_text(row, "GF"), field_text(row, "GA")
    score = f"final score: {team} {goals}, {other} {against}" if goals and against else "score: not known"
    result = {"W": f" ({team} won)", "L": f" ({other} won)", "D": " (a draw)"}.get(field_text(row, "result"), "")
    when = " ".join(filter(None, (_date(row), field_text(row, "day"), field_text(row, "time")[:5])))
    lines = [f"{subject} | {when} | {league}, {field_text(row, 'round')} | {score}{result}"]
    for name, value in row.items():
        if name not in _TOLD and (text := format_value(value)):
            lines.append(f"{subject} | {_date(row)} | {_LABELS.get(name, name)} of {team}: {text}")
    return lines


def _nba(row: Row) -> list[str]:
    home, away = _teams(row)
    scored, against = field_text(row, "pts_home"), field_text(row, "pts_away")
    score = (
        f"final score: {home} {scored} points, {away} {against} points" if scored and against else "score: not known"
    )
    result = {"W": f" ({home} won)", "L": f" ({away} won)"}.get(field_text(row, "wl_home"), "")
    game = f"{home} - {away} | {_date(row)}"
    lines = [f"{game} | {', '.join(filter(None, ('NBA', field_text(row, 'season_type'))))} | {score}{result}"]
    for side, team in (("home", home), ("away", away)):
        figures = ((name, field_text(row, f"{label}_{side}")) for label, name in WORDS["nba_figures"].items())
        if stats := [f"{name}: {text}" for name, text in figures if text]:
            lines.append(f"{game} | {team} ({side}) | {', '.join(stats)}")
    return lines


def _play(row: Row) -> str | None:
    what = list(filter(None, (field_text(row, f"{side}description") for side in ("home", "neutral", "visitor"))))
    score = f" | score: {text}" if (text := field_text(row, "score")) else ""
    when = f"period {field_text(row, 'period')}, {field_text(row, 'pctimestring')} left"
    return f"game {field_text(row, 'game_id')} | {when} | {' / '.join(what)}{score}" if what else None
