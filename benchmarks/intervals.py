"""How often 95% intervals hold the truth, and tests see what is not there: by simulation, as tables in Markdown.

Run: python benchmarks/intervals.py [PART ...] [--sets 2000] [--seed 1]. A part is a kind of interval (plain, clustered,
macro, weighted, graded, difference: of shares, by the share of items that differ), tests or power; all by default,
which takes some minutes of one core.

A cell is the share, in percent, of simulated sets whose interval holds the truth. A set has n items, of which the rate
says how many are right. A cell passes when its own interval, Wilson's over the sets, meets 93 to 97%; one that does not
is marked with !. Another kind of interval is one more function in `KINDS`.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from measuring import options_of
from numpy.typing import NDArray

from quadrag.stats import SHARE, Group, detectable, mcnemar, mean_groups, share_difference, sign_flips, wilson

SIZES = (50, 300, 3000)
RATES = (0.02, 0.2, 0.5)
BAND = (0.93, 0.97)
TOGETHER = 100  # sets that share their draws
FLIPS = 999
# Items to a cluster, and groups of items.
SWAPPED = {"swaps, graded": (1, 1), "swaps, clusters of five": (5, 1), "swaps, macro of two": (1, 2)}
HEAD = " | ".join(f"n = {n:,}" for n in SIZES) + " |\n|---|---|" + "---|" * len(SIZES)
Set = tuple[list[Group], float]  # the groups of a set, and the mean that they were drawn from


def clustered(rng: np.random.RandomState, n: int, rate: float) -> Set:
    """Clusters of five, whose own rates have a correlation of 0.3 within a cluster."""
    own = rng.beta(rate * 7 / 3, (1 - rate) * 7 / 3, n // 5)
    right = rng.binomial(5, own).astype(float)
    return [Group(1.0, np.array([right, np.full(n // 5, 5.0)]), True)], rate


def graded(rng: np.random.RandomState, n: int, rate: float) -> Set:
    """Values of 1, 0 and -1, half as many of the last as of the first."""
    values = rng.choice([1.0, 0.0, -1.0], n, p=[rate, 1 - 1.5 * rate, rate / 2])
    return [_group(values, shares=False)], rate / 2


KINDS: dict[str, Callable[[np.random.RandomState, int, float], Set]] = {
    "plain": lambda rng, n, rate: ([_group(rng.binomial(1, rate, n))], rate),  # right or wrong, each by itself
    "clustered": clustered,
    "macro": lambda rng, n, rate: _strata(rng, n, rate, np.ones(5)),  # five groups that count alike
    # Twelve strata, of which the smallest weighs five times the largest.
    "weighted": lambda rng, n, rate: _strata(rng, n, rate, np.linspace(3, 1, 12) ** 1.5),
    "graded": graded,
}
COVERED = [*KINDS, "difference"]
ENDS = {"graded": (-1.0, 1.0)}  # where not 0 and 1


def _group(values: NDArray, weight: float = 1.0, shares: bool = True) -> Group:
    return Group(weight, np.array([values, np.ones(len(values))], dtype=float), shares)


def _strata(rng: np.random.RandomState, n: int, rate: float, weights: NDArray) -> Set:
    """Items in groups, the largest three times the smallest, whose rates go from half to one and a half."""
    k = len(weights)
    sizes = np.round(n * np.linspace(1, 3, k) / np.linspace(1, 3, k).sum()).astype(int)
    rates = rate * np.linspace(0.5, 1.5, k)
    groups = [_group(rng.binomial(1, r, m), w) for r, m, w in zip(rates, sizes, weights, strict=True)]
    return groups, float(rates @ weights / weights.sum())


def cover(kind: str, n: int, rate: float, sets: int, seed: int) -> int:
    """Count the sets whose interval holds the truth."""
    if kind == "difference":
        return cover_difference(n, rate, sets, seed)
    rng = np.random.RandomState(seed)
    held = 0
    for start in range(0, sets, TOGETHER):
        drawn = [KINDS[kind](rng, n, rate) for _ in range(min(TOGETHER, sets - start))]
        for mean, (_, truth) in zip(
            mean_groups([groups for groups, _ in drawn], ends=ENDS.get(kind, SHARE)), drawn, strict=True
        ):
            low, high = mean.interval
            held += low - 1e-12 <= truth <= high + 1e-12
    return held


def cover_difference(n: int, rate: float, sets: int, seed: int) -> int:
    """Count the sets in which the interval of a difference of shares holds it; `rate` of the items differ, 3 to 1."""
    rng = np.random.RandomState(seed)
    counts = rng.multinomial(n, [rate / 4, 3 * rate / 4, 1 - rate], sets)
    found = (share_difference(first, second, n) for first, second, _ in counts)
    return sum(low <= rate / 2 <= high for low, high in found)


def false_positives(n: int, rate: float, sets: int, seed: int) -> dict[str, int]:
    """Count the tests below 5% where there is no difference; `rate` of the items differ."""
    rng = np.random.RandomState(seed)
    counts = rng.multinomial(n, [rate / 2, rate / 2, 1 - rate], sets)
    tested = [mcnemar(int(first), int(second)) for first, second, _ in counts]
    found = {"McNemar, mid-p": sum(p < 0.05 for p in tested)}
    for name, (size, groups) in SWAPPED.items():
        found[name] = sum(_flip(rng, n, rate, size, groups) < 0.05 for _ in range(sets))
    return found


def _flip(rng: np.random.RandomState, n: int, rate: float, size: int, groups: int) -> float:
    """The p value of swaps of one set without a difference: of graded items in clusters, as many in each group."""
    units = n // size // groups
    counts = np.full(units, float(size))
    gains = [rng.binomial(1, rate, units) * rng.normal(0, size, units) for _ in range(groups)]
    first = [np.array([np.zeros(units), counts])] * groups
    second = [np.array([gain, counts]) for gain in gains]
    return sign_flips(first, second, [1.0] * groups, flips=FLIPS)


def powers(n: int, rate: float, sets: int, seed: int) -> Iterator[tuple[float, float, float, float]]:
    """Yield a difference, the power that the formula says it has, and how often McNemar's mid-p and swaps found it."""
    rng = np.random.RandomState(seed)
    for wanted in (0.5, 0.8, 0.95):
        spread = rate**0.5
        for _ in range(20):  # the spread depends on the difference
            difference = detectable(spread, n, power=wanted)
            spread = (rate - difference**2) ** 0.5
        chances = [(rate - difference) / 2, (rate + difference) / 2, 1 - rate]
        counts = rng.multinomial(n, chances, sets)
        seen = sum(mcnemar(int(first), int(second)) < 0.05 for first, second, _ in counts) / sets
        ones = np.ones(n)
        swapped = 0
        for first, second, rest in counts:
            gains = np.repeat([-1.0, 1.0, 0.0], [first, second, rest])
            p = sign_flips([np.array([0 * gains, ones])], [np.array([gains, ones])], [1.0], flips=FLIPS)
            swapped += p < 0.05
        yield difference, wanted, seen, swapped / sets


def _cell(hits: int, sets: int, band: tuple[float, float] = BAND) -> str:
    low, high = wilson(hits, sets)
    return f"{100 * hits / sets:.1f}{'' if high >= band[0] and low <= band[1] else ' !'}"


def show_coverage(kinds: list[str], sets: int, seed: int) -> None:
    if not kinds:
        return
    print(f"Coverage of 95% intervals, percent of {sets:,} sets:\n\n| kind | rate | {HEAD}")
    for kind, rate in product(kinds, RATES):
        cells = [_cell(cover(kind, n, rate, sets, seed), sets) for n in SIZES]
        print(f"| {kind} | {rate:.0%} | {' | '.join(cells)} |", flush=True)


def show_tests(sets: int, seed: int) -> None:
    print(f"False positives at 5%, percent of {sets:,} sets; a cell without ! meets 4 to 6:\n")
    print(f"| test | items that differ | {HEAD}")
    for rate in RATES:
        found = [false_positives(n, rate, sets, seed) for n in SIZES]
        for name in found[0]:
            cells = [_cell(one[name], sets, (0.04, 0.06)) for one in found]
            print(f"| {name} | {rate:.0%} | {' | '.join(cells)} |", flush=True)


def show_power(sets: int, seed: int) -> None:
    print("Power beside its formula, of 300 items of which 20% differ:\n")
    print("| difference | formula | McNemar, mid-p | swaps |\n|---|---|---|---|")
    for difference, formula, seen, swapped in powers(300, 0.2, sets, seed):
        print(f"| {difference:.3f} | {100 * formula:.1f} | {100 * seen:.1f} | {100 * swapped:.1f} |")


OTHERS = {"tests": show_tests, "power": show_power}


def main() -> None:
    parser = options_of(__doc__, sets=2000, seed=1)
    parser.add_argument("parts", nargs="*", choices=[*COVERED, *OTHERS, []], metavar="PART", help="all by default")
    arguments = parser.parse_args()
    parts = arguments.parts or [*COVERED, *OTHERS]
    show_coverage([part for part in parts if part in COVERED], arguments.sets, arguments.seed)
    for part in [part for part in parts if part in OTHERS]:
        print()
        OTHERS[part](arguments.sets, arguments.seed)


if __name__ == "__main__":
    main()
