"""How alike three or more runs are ranked under two profiles, by two metrics, and by two judges, in words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from operator import itemgetter

from quadrag.metric_record import metric_record
from quadrag.stats import rank_agreement

from ....core.result import PROFILES, Result
from ....tables.cells import FEW, Row, format_value
from ....tables.grid import Detail
from ....tables.names import keep_names
from ....tables.slices import select_whole
from ...failing import count_wrong
from ..names import Place, name_places
from ..paired.pairs import place_of
from ..paired.shared import doubt_verdicts

_LEAST = 3  # things that have a ranking
_MANY = 4  # runs by which the rankings of two metrics are held against each other
_MOST = 3  # pairs that are told, the least alike first
_SAME = 1 - 1e-9
_WORDS = (
    (0.8, "almost the same"),
    (0.4, "partly the same"),
    (-0.4, "not alike"),
    (-0.999, "nearly reversed"),
    (-1.0, "reversed"),
)

Ranking = dict[str, float]  # scores by what is ranked, more is better
Alike = tuple[str, Ranking, Ranking]


def tell_rankings(
    results: Sequence[Result], profile: str = "official", heads: Iterable[Place] = (), columns: Sequence[str] = ()
) -> list[str]:
    """Say how alike rankings of runs are, where they are not the same; correlations that nobody asked for as a detail.

    Args:
        results: of one benchmark; not ranked by verdicts that do not tell which answers are better, but between judges.
        profile: of the rankings by metrics and by judges.
        heads: metrics by which it is said which runs change places under the other profile, where another one is first.
        columns: what the runs are called.
    """
    runs = [(str(at), result) for at, result in enumerate(results)]
    official, corrected = (_rank(runs, name) for name in PROFILES)
    names = name_places(official)
    unsure = {at for two in combinations(results, 2) for at in names if doubt_verdicts(*two, ".".join(at[2:]))}
    sure = [at for at in names if at not in unsure]
    found, turned = (official, corrected) if profile == PROFILES[0] else (corrected, official)
    stand = _rank(runs, profile, count_wrong)  # as tables have them
    both = {at: (stand[at], turned[at]) for at in heads if at in sure and at in found and at in turned}
    told = _tell_moved({names[at]: _list_moved(at, *two, columns, results) for at, two in both.items()}, profile)
    details = _tell("Official and corrected", [(names[at], official[at], corrected.get(at, {})) for at in sure])
    metrics = [
        (f"{names[one]} and {names[other]}", found[one], found[other])
        for one, other in combinations((at for at in found if at in sure), 2)
        if one[:2] == other[:2] and len(found[one].keys() & found[other].keys()) >= _MANY
    ]
    details += _tell("Metrics", metrics)
    judged: dict[str, list[tuple[str, Result]]] = {}
    for result in results:
        if result.run.inputs.judge is not None:
            judged.setdefault(result.run.inputs.judge, []).append((result.run.inputs.llm, result))
    judges = [
        (f"{keep_names(one)} and {keep_names(other)} by {names[at]}", mine, _rank(judged[other], profile).get(at, {}))
        for one, other in combinations(judged, 2)
        for at, mine in _rank(judged[one], profile).items()
        if at in names and metric_record(at[2]).key(at[3]).needs == "judge"
    ]
    return [*told, *_tell("Judges", judges), *map(Detail, details)]


def _list_moved(place: Place, shown: Ranking, other: Ranking, columns: Sequence[str], results: Sequence[Result]) -> str:
    """List the runs that change places with another one under the other profile, the best there first, with values.

    "" where the same one is first.
    """
    known = [at for at in shown if at in other]
    firsts = [{at for at in known if one[at] == max(one[at] for at in known)} for one in (shown, other)]
    if not known or set.intersection(*firsts):
        return ""
    moved = {
        at
        for one, two in combinations(known, 2)
        if (shown[one] - shown[two]) * (other[one] - other[two]) < 0
        for at in (one, two)
    }
    record = metric_record(place[2]).key(place[3])
    sign = -1 if record.direction == "lower" else 1
    return ", ".join(
        f"{columns[int(at)]} {format_value(sign * other[at], record.unit, len(results[int(at)].items))}"
        for at in sorted(moved, key=lambda at: -other[at])
    )


def _tell_moved(moved: Mapping[str, str], profile: str) -> list[str]:
    (other,) = (name for name in PROFILES if name != profile)
    told = "; ".join(f"{label} {runs}" for label, runs in moved.items() if runs)
    return [f"By the {other} profile runs change places: {told}."] * bool(told)


def _rank(
    runs: Iterable[tuple[str, Result]], profile: str, read: Callable[[Row], float] = itemgetter("value")
) -> dict[Place, Ranking]:
    """Return the scores of named runs by metric; one without a better end, or over few questions, ranks nothing."""
    found: dict[Place, Ranking] = {}
    for name, result in runs:
        for row in select_whole(result.scores):
            direction = metric_record(row["metric"]).key(row["key"]).direction
            if (
                row["profile"] == profile
                and row["value"] is not None
                and row["n_scored"] >= FEW
                and direction != "none"
            ):
                found.setdefault(place_of(row), {})[name] = -read(row) if direction == "lower" else read(row)
    return found


def _tell(who: str, pairs: Iterable[Alike]) -> list[str]:
    """Say of the pairs of rankings that are least alike how alike they are."""
    found = []
    for name, one, other in pairs:
        alike = rank_agreement(one, other)
        if alike.n >= _LEAST and alike.spearman is not None and alike.kendall is not None and alike.spearman < _SAME:
            found.append((alike.spearman, alike.kendall, name, alike.n))
    if not found:
        return []
    found.sort(key=lambda one: one[0])
    told = [f"{name}: {_word(rho)} (Spearman {rho:.2f}, Kendall {tau:.2f})" for rho, tau, name, _ in found[:_MOST]]
    more = f"; {len(found) - _MOST} more that are more alike" if len(found) > _MOST else ""
    return [f"{who} rank {found[0][3]} runs otherwise. {'; '.join(told)}{more}."]


def _word(rho: float) -> str:
    return next(word for least, word in _WORDS if rho >= least - 1e-9)
