"""Three or more runs at a glance: what each has by one metric, which one leads, and what is decided against it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import comb
from typing import NamedTuple

from quadrag.metric_record import metric_record, show_key
from quadrag.stats import Pair

from ....core.result import Result
from ....scoring.validity import is_alike, is_invalid
from ....tables.cells import INVALID, NOTHING, Row, mark_cell, value_cell
from ....tables.folded import fold_lines
from ....tables.grid import Alarm, Cell, Grid, Line, Verdict
from ....tables.notes import name_units, note_directions
from ...failing import count_left_out, count_wrong, tell_failing, tell_order
from ...pooled import pool_rows
from ...summary import headline_cells, pick_headlines
from ..names import Place, name_columns, name_difference, name_lines, name_some
from ..paired.overall import pool_splits
from ..paired.pairs import Compared, compare_each, has_better, pair_cell, place_of
from ..said.errors import tell_errors
from ..said.verdict import BETTER, EQUAL, TOO_FEW, UNDECIDED, WORSE, find_verdict, format_p
from ..said.words import tell_length

# What a verdict on another run says of the one that leads, in the order of the sentence; "" is no verdict.
_SAID = {
    WORSE: "better than {}",
    BETTER: "worse on the questions of both than {}",
    EQUAL: "equal to {} on {}",
    UNDECIDED: "not decided against {}",
    TOO_FEW: "too few questions against {}",
    "": "not compared with {}",
}
_BESIDE = {
    WORSE: "worse than {}",
    BETTER: "better than {} on the questions of both",
    EQUAL: "equal to {} on {}",
    "": "not compared",
}  # at the other run

_ALL = "all questions"
_BOTH = "the answers that both scored"  # of questions in several splits, some may have failed in one of these

Values = Mapping[int, Row]  # of runs, by their ranks


class _Lead(NamedTuple):
    """What runs have by a metric, which of them can be ranked, the best first, and how these differ from that one.

    `where` says for each on which questions it is compared.
    """

    place: Place
    values: Values
    ranked: list[int]
    pairs: Mapping[int, Pair]
    where: Mapping[int, str]


def glance_several(runs: Sequence[tuple[str, Result]], profile: str = "official") -> Grid | None:
    """Make what a page of three or more named runs begins with, by the first headline by which any two are compared.

    Of several splits it is over all of them. Runs are ranked as if what failed were wrong, so that none leads by what
    it failed on. The run that leads is found by looking, so that every p is multiplied by the number of pairs of runs
    (Bonferroni).

    Args:
        runs: name and result of each.
        profile: ``official`` or ``corrected``.

    Returns:
        Value, interval, count and verdict of each run, the best one first; None where no two are compared.
    """
    lead = _find_lead([result for _, result in runs], profile)
    if lead is None:
        return None
    place, values, ranked, pairs, where = lead
    columns, names = (name([one for one, _ in runs]) for name in (name_columns, name_lines))
    first = ranked[0]
    lines = []
    for at in (*ranked, *(at for at in range(len(runs)) if at not in ranked)):
        verdict = Cell("not compared" if at != first else NOTHING if _are_equal(lead) else "leads")
        if at in pairs:
            difference = pair_cell(pairs[at], place)
            told = f"{difference.text} ({difference.sub})" if difference.sub else difference.text
            said = _find_against(lead, at)
            told += f", {format_p(pairs[at].decisive)}, n {pairs[at].n}" * (said in (BETTER, WORSE, UNDECIDED))
            verdict = Cell(_BESIDE.get(said, said).format(columns[first], where[at]), told)
        mine = _cells(values[at]) if at in values else _lack(runs[at][1], place)
        lines.append(Line(names[at], [*mine, verdict]))
    rows = [row for row in runs[first][1].scores if (row["metric"], row["key"]) == place[2:]]
    shown = [values[at] for at in ranked]
    notes: list[str] = [
        _tell(lead, runs, _name_leaders(lead, columns, names)),
        *_tell_doubts(lead, runs, columns, profile),
        *tell_failing({(names if at == first else columns)[at]: values[at] for at in ranked}, names[first]),
        *tell_order(shown),
        f"{name_units(rows)}; {profile} profile.",
        *note_directions([place[2:]]),
        " ".join(["Better or worse: p below 0.05.", *_tell_looking(lead)]),
    ]
    return Grid("", "", ["value", "95% interval", "n", "verdict"], lines, notes, "runs")


class Leading(NamedTuple):
    """By which metric runs are ranked, the first of them with a value, and those that lead, by their ranks."""

    place: Place
    base: int
    best: frozenset[int]


def find_leading(results: Sequence[Result], profile: str) -> Leading | None:
    """Return by what it is said which of three runs or more lead, and which do; None where none does."""
    lead = _find_lead(results, profile) if len(results) > 2 else None
    return lead and Leading(lead.place, min(lead.ranked), _find_best(lead))


def _find_best(lead: _Lead) -> frozenset[int]:
    """Return the runs with the best value."""
    return frozenset({lead.ranked[0], *(at for at in lead.ranked[1:] if _find_against(lead, at) == EQUAL)})


def tell_leader(runs: Sequence[tuple[str, Result]], profile: str = "official") -> list[str]:
    """Say which of three or more named runs leads, as `glance_several` does, and how p was made; [] where none does."""
    lead = _find_lead([result for _, result in runs], profile)
    if lead is None:
        return []
    columns, names = (name([one for one, _ in runs]) for name in (name_columns, name_lines))
    return [
        _tell(lead, runs, _name_leaders(lead, columns, names)),
        *_tell_doubts(lead, runs, columns, profile),
        *_tell_looking(lead),
    ]


def _name_leaders(lead: _Lead, columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Name in full the runs with the best value, and the others as tables do."""
    best = _find_best(lead)
    return [names[at] if at in best else column for at, column in enumerate(columns)]


def _tell_doubts(
    lead: _Lead, runs: Sequence[tuple[str, Result]], columns: Sequence[str], profile: str
) -> Iterator[Alarm]:
    """Say where error texts, or length, make what the run that leads differs by; of the first a table does."""
    first = lead.ranked[0]
    longer: list[tuple[str, str]] = []
    for at, pair in lead.pairs.items():
        if 0 not in (first, at):
            both = runs[first][1], runs[at][1]
            for told in tell_errors(*both, {lead.place: pair}, profile):
                yield Alarm(f"{name_difference((columns[first], columns[at]))}: {told}")
            longer += [
                (columns[at], line) for line in tell_length(*both, {lead.place: Compared(pair, None, pair.n, (0, 0))})
            ]
    for line, of in fold_lines(longer, numbers=True).items():
        yield Alarm(f"{name_difference((', '.join(of), columns[first]))}: {line}")


def _tell_looking(lead: _Lead) -> list[str]:
    pairs = comb(len(lead.ranked), 2)
    told = (
        f"For the run that leads, picked by its value, p is multiplied by {pairs}, the number of pairs of runs: it is "
        "another p than that of a table."
    )
    decided = any(_find_against(lead, at) in (WORSE, UNDECIDED) for at in lead.ranked)
    return [told] if pairs > 1 and decided else []


def _tell(lead: _Lead, runs: Sequence[tuple[str, Result]], names: Sequence[str]) -> Verdict:
    """Say in a sentence which run leads, and what is decided against which others, on which questions."""
    place, values, (first, *others), _, where = lead
    splits = {row["split"] for row in runs[first][1].scores if (row["metric"], row["key"]) == place[2:]}
    pooled = place[1] not in splits
    configs = {row["config"] for _, result in runs for row in result.scores}
    label = (
        f"{place[0]} " * (len(configs) > 1) + f"{place[1]}/" * (not pooled and len(splits) > 1) + show_key(*place[2:])
    )
    what = f"on {label} with {_cells(values[first])[0].text}{f' over {place[1]}' * pooled}"
    if _are_equal(lead):
        if {*where.values()} != {_ALL}:
            return Verdict(f"No run is better on {label}: equal on the questions that both of any two scored.")
        return Verdict(f"No run is better {what}: equal on all questions.")
    tied = [at for at in others if _find_against(lead, at) == EQUAL and where[at] == _ALL]
    leader = " and ".join([", ".join(names[at] for at in (first, *tied[:-1])), *(names[at] for at in tied[-1:])])
    verdicts = {names[at]: (_find_against(lead, at), where.get(at, "")) for at in others if at not in tied}
    groups: dict[str, list[str]] = {}
    for verdict, said in _SAID.items():
        for name, (mine, questions) in sorted(verdicts.items()):
            if mine == verdict:
                groups.setdefault(said.format("{}", questions), []).append(name)
    left = [name for at, name in enumerate(names) if at not in lead.ranked]
    groups |= {_SAID[""]: [*groups.get(_SAID[""], []), *left]} if left else {}
    against = "; ".join(said.format(name_some(of)) + _tell_p(lead, said) for said, of in groups.items())
    found = [verdict for verdict, _ in verdicts.values()]
    found += [""] * bool(left)
    leads, best = ("lead", "are best") if tied else ("leads", "is best")
    if WORSE not in found:
        return Verdict(f"Not decided which run is best: {leader} {leads} {what}; {against}.")
    return Verdict(f"{leader} {best if {*found} == {WORSE} else leads} {what}: {against}.")


def _tell_p(lead: _Lead, said: str) -> str:
    """Say in brackets the largest p of the runs that the one that leads is better than."""
    decided = [pair.decisive for at, pair in lead.pairs.items() if _find_against(lead, at) == WORSE]
    if said != _SAID[WORSE]:
        return ""
    told = format_p(max(decided))
    return f" ({told}{' at most' * (len(decided) > 1 and '<' not in told)})"


def _find_against(lead: _Lead, at: int) -> str:
    """Return the verdict on a run against the one that leads; "" where they are not compared."""
    return find_verdict(lead.place, lead.pairs[at]) if at in lead.pairs else ""


def _find_lead(results: Sequence[Result], profile: str) -> _Lead | None:
    """Find the first metric by which the best run and any other one differ, or else are compared."""
    first = None
    for lead in _list_leads(results, profile):
        if not _are_equal(lead):
            return lead
        first = first or lead
    return first


def _are_equal(lead: _Lead) -> bool:
    """Whether no other run differs on any question from the one that leads."""
    return all(_find_against(lead, at) == EQUAL for at in lead.ranked[1:])


def _list_leads(results: Sequence[Result], profile: str) -> Iterator[_Lead]:
    """Yield the metrics by which the best run and any other one are compared."""
    tables: list[Mapping[Place, Row]] = []
    wholes: dict[Place, None] = {}
    parts: dict[Place, None] = {}
    for result in results:
        rows = pick_headlines(result.scores, profile)
        whole = {place_of(row): row for row in pool_rows(result, rows, profile)}
        single = {place_of(row): row for row in rows}
        tables.append(whole | single)
        wholes |= dict.fromkeys(whole)
        parts |= dict.fromkeys(single)
    for place in filter(has_better, (*wholes, *parts)):
        values = {at: table[place] for at, table in enumerate(tables) if place in table}
        ranked = _rank(values, place)
        if len(ranked) > 1:
            here = [one for one in parts if (one[0], *one[2:]) == (place[0], *place[2:])] if place in wholes else []
            found = _pair_all(results, ranked, place, here, profile)
            if found:
                pairs = {at: one.pair for at, one in found.items()}
                most = max(_count_asked(values[at]) for at in ranked) if here else 0
                left_out = {at: count_left_out(values[at]) + count_left_out(values[ranked[0]]) for at in found}
                where = {
                    at: _BOTH if here and left_out[at] else _tell_where(one.pair.n, max(most, one.asked))
                    for at, one in found.items()
                }
                yield _Lead(place, values, ranked, pairs, where)


def _cells(row: Row) -> list[Cell]:
    return [mark_cell(replace(value_cell(row), sub=""), row), *headline_cells(row)[1:]]


def _lack(result: Result, place: Place) -> list[Cell]:
    """Return the cells of a run without a value, which say where too many items failed for one."""
    invalid = any(is_invalid(row) for row in result.scores if (row["metric"], row["key"]) == place[2:])
    return [Cell(INVALID if invalid else NOTHING), Cell(NOTHING), Cell(NOTHING)]


def _rank(values: Values, place: Place) -> list[int]:
    """Rank the runs that have a value that tells which answers are better, the best first."""
    sign = 1 if metric_record(place[2]).key(place[3]).direction == "lower" else -1
    known = {at: row for at, row in values.items() if row["value"] is not None and not is_alike(row)}
    return sorted(known, key=lambda at: (sign * count_wrong(known[at]), count_left_out(known[at])))


def _count_asked(row: Row) -> int:
    return int(row["n_total"] - row.get("n_not_applicable", 0))


def _tell_where(n: int, asked: int) -> str:
    return _ALL if n >= asked else f"the {n} questions that both scored"


def _pair_all(
    results: Sequence[Result], ranked: Sequence[int], place: Place, splits: Sequence[Place], profile: str
) -> dict[int, Compared]:
    """Pair other runs with the first of those ranked, over several splits where these are given."""
    first, *others = (results[at] for at in ranked)
    compared = compare_each(first, others, splits or [place], profile)
    found: Iterable[Compared | None] = (pairs.get(place) for pairs in compared)
    if splits:
        overall = (
            pool_splits(first, other, splits, pairs, profile) for other, pairs in zip(others, compared, strict=True)
        )
        found = (pairs[place].compared if place in pairs else None for pairs in overall)
    family = comb(len(ranked), 2)
    return {
        at: one._replace(pair=replace(one.pair, p_holm=min(1.0, family * one.pair.p)))
        for at, one in zip(ranked[1:], found, strict=True)
        if one
    }
