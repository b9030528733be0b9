"""What a reader of a judged score is told of its judge: how far it agrees with people, or that nobody knows."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.metric_record import metric_record, show_key

from ..core.result import PROFILES, Result
from ..scoring.validity import is_alike, is_invalid
from ..scoring.verdicts import TO_CHECK, count_held
from ..tables.cells import ALIKE, NOTHING, join_bounds
from ..tables.grid import Alarm, Cell, Figure, Grid, Line
from ..tables.names import keep_name, keep_names, name_apart
from ..tables.slices import select_whole
from .asking import read_signature
from .certificate import Certificate, find_certificate, round_two, unique, write_percent

IN_PERCENT = "Agreement in percent; kappa and AC1: 1 is the best, 0 as by chance."
_NONE = "none"


def note_judges(results: Sequence[Result], profile: str = PROFILES[0]) -> list[str]:
    """Say of each judge of some runs how far it agrees with people, by the runs' certificates, or that nobody knows."""
    lines = [
        line for name, one in zip(name_apart(results), results, strict=True) for line in _note_run(one, profile, name)
    ]
    return list(dict.fromkeys([*lines, *_note_uncertified(results, profile), *_note_unused(results)]))


def tabulate_judges(results: Sequence[Result]) -> list[Grid]:
    """Tabulate how far the judges of some runs agree with people, by the runs' certificates; [] without any."""
    rows = [row for result in results for row in select_whole(result.scores) if _is_judged(row)]
    given = _list_given(results)
    used = [one for row in rows if (one := find_certificate(given, row["signature"]))]
    certified = [one for one in given if one in used and "agreement" in one.figures]
    lines = [line for one in certified for line in _judge_lines(one)]
    columns = ["agreement", "kappa", "AC1", "n"]
    notes = ["By the judge's certificate, with 95% intervals.", IN_PERCENT]
    return [Grid("Agreement of the judge with people", "judge", columns, lines, notes, "points")] if lines else []


def _list_given(results: Sequence[Result]) -> list[Certificate]:
    return unique(one for result in results for one in result.certificates)


def _judge_lines(one: Certificate) -> Iterator[Line]:
    name = f"{keep_name(one.judge)}, {one.labels['name']}"
    yield Line(name, _judge_cells(one.figures))
    if pipeline := one.figures.get("pipeline"):
        yield Line(f"rules and {name}", _judge_cells(pipeline))


def _judge_cells(figures: Mapping[str, Any]) -> list[Cell]:
    cells = []
    for name in ("agreement", "kappa", "ac1"):
        value, between = figures[name], figures[f"{name}_interval"]
        bounds = tuple(between[:2]) if between else None
        write, scale = (write_percent, 100) if name == "agreement" else (round_two, 1)
        alike = bounds and bounds[0] == bounds[1]  # without a width it would look like certainty
        text = NOTHING if alike else join_bounds([*map(write, bounds or ())])
        figure = None if value is None else Figure(value * scale, bounds and (bounds[0] * scale, bounds[1] * scale))
        cells.append(Cell("–") if value is None else Cell(write(value), text, figure))
    return [*cells, Cell(str(figures["n"]))]


def _note_run(result: Result, profile: str, name: str) -> Iterator[str]:
    known: dict[tuple[str, str, bool, bool], list[Mapping[str, Any]]] = {}
    certificates: Sequence[Certificate] = result.certificates
    for row in _find_judged(result, profile):
        judge = read_signature(row["signature"])["judge"]
        if certificate := find_certificate(certificates, row["signature"]):
            said = judge, certificate.sentence, certificate.is_chance, certificate.is_worse
            known.setdefault(said, []).append(row)
    for (judge, sentence, chance, worse), found in known.items():
        keys = dict.fromkeys(show_key(one["metric"], one["key"]) for one in found)
        line = f"Judge {keep_names(judge)} {sentence} ({', '.join(keys)})"
        line += f"; {ALIKE} marks what rests on them." if chance else "."
        yield Alarm(line) if chance or worse else line


def _note_uncertified(results: Sequence[Result], profile: str) -> Iterator[str]:
    found: dict[str, tuple[dict[str, None], list[Result]]] = {}
    for result in results:
        for row in _find_judged(result, profile):
            if find_certificate(result.certificates, row["signature"]) is None and not is_alike(row):  # that says more
                keys, runs = found.setdefault(read_signature(row["signature"])["judge"], ({}, []))
                keys[show_key(row["metric"], row["key"])] = None
                if not runs or runs[-1] is not result:
                    runs.append(result)
    for judge, (keys, runs) in found.items():
        label = f"`quadrag label {shlex.quote(str(runs[0].folder or 'RUN'))} --out sheet.csv`"
        others = len(runs) - 1
        label += f", and so of {others} other run{'s' * (others > 1)}" if others else ""
        told = f"judge not certified: {keep_names(judge)} ({', '.join(keys)}){_tell_unchecked(runs, profile)}"
        yield f"{told}; to begin with, label what it judged: {label}."


def _find_judged(result: Result, profile: str) -> list[dict[str, Any]]:
    """Find the rows that rest on a judge: there is a value, and rules do not decide all answers."""
    rows = (row for row in select_whole(result.scores) if row["profile"] == profile and _is_judged(row))
    return [row for row in rows if not is_invalid(row) and not row["n_scored"] == row.get("n_ruled", 0) > 0]


def _tell_unchecked(results: Sequence[Result], profile: str) -> str:
    counts = []
    for result in results:
        named = dict.fromkeys(f"{row['metric']}.{row['key']}" for row in _find_judged(result, profile))
        few = (count_held(result.items, name) for name in named)
        counts += [found for found in few if found[1] and found[0] < TO_CHECK][:1]
    held, judged = map(sum, zip(*counts, strict=True)) if counts else (0, 0)
    where = f" in {len(counts)} of {len(results)} runs" if len(counts) < len(results) else ""
    return f", nor checked by words, which find {held} of {judged} answers right{where}" if counts else ""


def _note_unused(results: Sequence[Result]) -> Iterator[str]:
    signatures = [row["signature"] for result in results for row in result.scores if _is_judged(row)]
    judges = dict.fromkeys(read_signature(one)["judge"] for one in signatures)
    for one in _list_given(results):
        if not any(map(one.fits, signatures)):
            why = f"the judge here is {', '.join(map(keep_names, judges))}" if judges else "nothing here is judged"
            why = "it is of another metric or prompt" if one.judge in judges else why
            yield f"The certificate of {keep_name(one.judge)} ({show_key(one.metric, one.key)}) is not used: {why}."


def _is_judged(row: Mapping[str, Any]) -> bool:
    given = read_signature(row.get("signature", ""))
    asked = given.get("judge", _NONE) != _NONE and given.get("prompt", _NONE) != _NONE
    return asked and "not_run" not in row and metric_record(row["metric"]).key(row["key"]).needs == "judge"
