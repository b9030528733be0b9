"""Facts of the sports domain: soccer and NBA games of the dates asked about, of the teams asked about.

The graph searches no teams, so the games of a day or month are read whole and those of the teams kept; of a year only
the games of teams whose exact names such a month gave. Without a date the month of the question and the one before are
read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .fact_asked import Asked
from .fact_calls import Calls, core, shown, within

_DATES = 3
_GAMES = 20
_SOCCER, _NBA = "sports_soccer_get_games_on_date", "sports_nba_get_games_on_date"
_PLAYS = "sports_nba_get_play_by_play_data_by_game_ids"
_ONLY = (
    (_NBA, re.compile(r"\bnba\b|basketball|rebound|assists|three[- ]pointer|quarter\b")),
    (_SOCCER, re.compile(r"soccer|premier league|la liga|serie a\b|bundesliga|ligue 1|\bgoals?\b|\bfc\b|football")),
)
# What a table of games shortens.
_SHORT = {"utd": "united", "fc": "", "cf": "", "afc": ""}
_STATS = {
    **{"pts": "points", "reb": "rebounds", "ast": "assists", "stl": "steals", "blk": "blocks", "tov": "turnovers"},
    **{"pf": "fouls", "fgm": "field goals made", "fga": "field goals attempted", "fg3m": "three-pointers made"},
    **{"fg3a": "three-pointers attempted", "ftm": "free throws made", "fta": "free throws attempted"},
    **{"oreb": "offensive rebounds", "dreb": "defensive rebounds", "plus_minus": "plus/minus"},
    **{"fg_pct": "field goal share", "fg3_pct": "three-pointer share", "ft_pct": "free throw share"},
}
Row = dict[str, Any]


def find(calls: Calls, asked: Asked) -> None:
    """Add the games of a question; the plays of the first of them where its words ask for plays."""
    only = {function for function, sign in _ONLY if sign.search(asked.query)}
    for function in (_SOCCER, _NBA):
        if len(only) == 1 and function not in only:
            continue
        for date in _dates(asked):
            rows, arguments = _games(calls, asked, function, date)
            kept = [row for row in rows if any(_same(asked, team) for team in _teams(row))]
            if not kept and asked.entities.domain == "sports" and len(date) == 10 and not _named(asked):
                kept = rows
            if len(date) < 10:  # the nearest to the question first
                kept.sort(key=lambda row: _date(row) <= str(asked.day), reverse=True)
                past = [row for row in kept if _date(row) <= str(asked.day)]
                kept = [*sorted(past, key=_date, reverse=True), *kept[len(past) :]]
            kept = kept[:_GAMES]
            told = _soccer if function == _SOCCER else _nba
            games: set[Any] = set()  # of soccer there are two rows
            lines: list[str] = []
            for row in kept:
                first, *others = told(row)
                lines += others if _game(row) in games else [first, *others]
                games.add(_game(row))
            calls.add(lines, function, *arguments)
            numbers = list(dict.fromkeys(shown(row.get("game_id")) for row in kept))[:1]
            if function == _NBA and numbers:
                plays = _rows(calls.ask(_PLAYS, numbers))
                calls.add([*map(_play, plays)], _PLAYS, numbers)


def _dates(asked: Asked) -> list[str]:
    if asked.dates:
        # Days before months before years: what is told of them is exacter.
        return sorted(asked.dates, key=len, reverse=True)[:_DATES]
    months = asked.day.year * 12 + asked.day.month - 1
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in (months, months - 1)]


def _named(asked: Asked) -> list[str]:
    names = asked.entities.names if asked.entities.domain in (None, "sports") else ()
    return [*asked.entities.teams, *names]


def _games(calls: Calls, asked: Asked, function: str, date: str) -> tuple[list[Row], tuple[str, ...]]:
    """The games of a date, and the arguments that gave them; of a year those of one team asked about."""
    if len(date) > 4:
        return _rows(calls.ask(function, date)), (date,)
    month = f"{min(asked.day.year, int(date))}-{'02' if function == _NBA else '03'}"
    known = dict.fromkeys(team for row in _rows(calls.ask(function, month)) for team in _teams(row))
    exact = [team for team in known if _same(asked, team)] or [name.title() for name in _named(asked)]
    for team in exact[:1]:
        return _rows(calls.ask(function, date, team)), (date, team)
    return [], (date,)


def _rows(table: Any) -> list[Row]:
    """Turn columns of rows into rows, each with its label under the empty name."""
    if not isinstance(table, dict) or not table:
        return []
    labels = next(iter(table.values()))
    return [{"": label} | {name: cells.get(label) for name, cells in table.items()} for label in labels]


def _teams(row: Mapping[str, Any]) -> list[str]:
    if "game_date" in row:
        return [shown(row.get("team_name_home")), shown(row.get("team_name_away"))]
    return [_team(row), shown(row.get("opponent"))]


def _team(row: Mapping[str, Any]) -> str:
    """The team whose row of a soccer game it is: the third part of its label, a printed tuple."""
    parts = re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", str(row[""]))
    return "".join(parts[2]) if len(parts) > 2 else ""


def _same(asked: Asked, team: str) -> bool:
    """Whether a team is asked about: by its name, by its begin or end (`Bulls`), or by what stands in the question."""
    words = tuple(filter(None, (_SHORT.get(word, word) for word in core(team))))
    for name in (*_named(asked), asked.query):
        said = tuple(filter(None, (_SHORT.get(word, word) for word in core(name))))
        if within(words, said):
            return True
        if said and name != asked.query and said in (words[: len(said)], words[-len(said) :]):
            return True
    return False


def _game(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (_date(row), *sorted(_teams(row)))


def _date(row: Mapping[str, Any]) -> str:
    return shown(row.get("game_date") or row.get("date"))[:10]


def _soccer(row: Row) -> list[str]:
    team, other = _teams(row)
    home = row.get("venue") != "Away"
    subject = f"{team} - {other}" if home else f"{other} - {team}"
    league = (re.findall(r"'([^']*)'", str(row[""])) or [""])[0]
    goals, against = shown(row.get("GF")), shown(row.get("GA"))
    score = f"final score: {team} {goals}, {other} {against}" if goals and against else "score: not known"
    result = {"W": f"{team} won", "L": f"{other} won", "D": "a draw"}.get(shown(row.get("result")), "")
    when = " ".join(filter(None, (_date(row), shown(row.get("day")), shown(row.get("time"))[:5])))
    lines = [f"{subject} | {when} | {league}, {shown(row.get('round'))} | {score}{f' ({result})' if result else ''}"]
    told = {"", "date", "day", "time", "round", "result", "GF", "GA", "opponent", "match_report"}
    for name, value in row.items():
        if name not in told and (text := shown(value)):
            label = {"Poss": "possession in percent", "xG": "expected goals", "xGA": "expected goals against"}.get(
                name, name
            )
            lines.append(f"{subject} | {_date(row)} | {label} of {team}: {text}")
    return lines


def _nba(row: Row) -> list[str]:
    home, away = _teams(row)
    points = [shown(row.get(f"pts_{side}")) for side in ("home", "away")]
    subject = f"{home} - {away}"
    kind = shown(row.get("season_type"))
    score = f"final score: {home} {points[0]} points, {away} {points[1]} points" if all(points) else "score: not known"
    won = {"W": f" ({home} won)", "L": f" ({away} won)"}.get(shown(row.get("wl_home")), "")
    lines = [f"{subject} | {_date(row)} | NBA{f', {kind}' if kind else ''} | {score}{won}"]
    for side, team in (("home", home), ("away", away)):
        stats = [f"{name}: {text}" for label, name in _STATS.items() if (text := shown(row.get(f"{label}_{side}")))]
        if stats:
            lines.append(f"{subject} | {_date(row)} | {team} ({side}) | {', '.join(stats)}")
    return lines


def _play(row: Row) -> str | None:
    what = [shown(row.get(f"{side}description")) for side in ("home", "neutral", "visitor")]
    if not any(what):
        return None
    score = f" | score: {text}" if (text := shown(row.get("score"))) else ""
    when = f"period {shown(row.get('period'))}, {shown(row.get('pctimestring'))} left"
    return f"game {shown(row.get('game_id'))} | {when} | {' / '.join(filter(None, what))}{score}"
