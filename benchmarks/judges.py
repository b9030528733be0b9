"""How often intervals of corrected scores hold the truth, and how wide they are: PPI++, labels alone, Rogan-Gladen.

First a judge that errs on 14% of the answers, over rates and numbers of labels, ten times as many answers unlabelled.
Then answers of which rules decide a part before the judge, 60% of them right: `certificate` corrects the judged ones by
rates of other judged labels, `all alike` by rates of labels that rules decided too, `PPI++` by labels of the answers
themselves, `strata` with rules and judge apart. Then, with the real label files, recorded GPT-4 on OpenQA-eval: 200
labels drawn with replacement, the unlabelled part redrawn at its full size. Goal: 93 to 97%. A cell passes where the
interval of its own counting error meets that band. `drawn` is the draw of `quadrag label`, stratum by stratum, of as
many labels.

    python benchmarks/judges.py
    python benchmarks/judges.py REAL/real_labels
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quadrag.baselines.certify.draw import share_out
from quadrag.baselines.certify.known import open_labels
from quadrag.baselines.certify.verdicts import known_verdicts
from quadrag.stats import Interval, wilson
from quadrag.stats.ppi import Estimate, Rates, ppi_mean, ppi_stratified, rogan_gladen

ERRS = 0.14
BAND = (0.93, 0.97)
RIGHT = 0.6  # of the answers of which rules decide a part
BY_RULE = ((0.2, 0.0), (0.4, 0.0), (0.4, 0.1), (0.8, 0.3))  # shares of the right ones, and of the wrong
RATES = ((0.6, 0.95), (0.9, 0.9), (0.75, 0.75), (0.95, 0.6))  # sensitivity and specificity
Values = NDArray[np.float64]
Cell = tuple[str, float, list[Interval]]


def normal(found: Estimate) -> Interval:
    half = 1.959963984540054 * found.variance**0.5
    return Interval(found.value - half, found.value + half)


def drawn(draw: np.random.RandomState, truth: Values, said: Values, n: int) -> Interval:
    """Draw n of all items as `quadrag label` does, and estimate."""
    sizes = {str(value): int((said == value).sum()) for value in sorted(set(said))}
    given = share_out(sizes, n)
    chosen = [draw.choice(np.flatnonzero(said == float(name)), count, replace=False) for name, count in given.items()]
    here = np.concatenate(chosen)
    rest = np.setdiff1d(np.arange(len(said)), here)
    found = ppi_stratified(list(truth[here]), list(said[here]), list(said[rest]), list(said[here]), list(said[rest]))
    return found.interval


def simulate(n: int, rate: float, sets: int, seed: int) -> Iterator[Cell]:
    draw = np.random.RandomState(seed)
    found: dict[str, list[Interval]] = {"labels alone": [], "PPI++": [], "PPI++, normal": [], "PPI++, drawn": []}
    for _ in range(sets):
        truth = (draw.rand(11 * n) < rate).astype(float)
        said = np.where(draw.rand(11 * n) < ERRS, 1 - truth, truth)
        estimate = ppi_mean(truth[:n], said[:n], said[n:])
        found["labels alone"].append(wilson(truth[:n].sum(), n))
        found["PPI++"].append(estimate.interval)
        found["PPI++, normal"].append(normal(estimate))
        found["PPI++, drawn"].append(drawn(draw, truth, said, n))
    for name, intervals in found.items():
        yield name, rate, intervals


def ruled(shares: tuple[float, float], rates: tuple[float, float], n: int, sets: int) -> Iterator[Cell]:
    """Let rules decide shares of right and of wrong answers, and a judge of such rates the others."""
    draw = np.random.RandomState(2333)
    found: dict[str, list[Interval]] = {"certificate": [], "all alike": [], "PPI++": [], "strata": []}

    def answers(count: int) -> tuple[Values, NDArray[np.bool_], Values]:
        right = draw.rand(count) < RIGHT
        by_rule = draw.rand(count) < np.where(right, *shares)
        says = draw.rand(count) < np.where(right, rates[0], 1 - rates[1])
        return right.astype(float), by_rule, np.where(by_rule, right, says).astype(float)

    for _ in range(sets):
        labels, settled, said = answers(n)
        truth, by_rule, values = answers(10 * n)
        judged = values[~by_rule]
        for name, here in (("certificate", ~settled), ("all alike", np.ones(n, dtype=bool))):
            right, says = labels[here] == 1, said[here]
            if len({*right}) < 2:
                continue  # no certificate is made of one class
            known = Rates(says[right].mean(), int(right.sum()), 1 - says[~right].mean(), int((~right).sum()))
            corrected = rogan_gladen(judged.mean(), len(judged), known, known=list(values[by_rule]))
            found[name] += [corrected.interval] if corrected else []
        found["PPI++"].append(ppi_mean(truth[:n], values[:n], values[n:]).interval)
        parts = list(by_rule[:n]), list(by_rule[n:])
        if len({*parts[0]}) == 2:
            found["strata"].append(ppi_stratified(truth[:n], values[:n], values[n:], *parts).interval)
    for name, intervals in found.items():
        yield name, RIGHT, intervals


def genuine(folder: Path, sets: int, n: int = 200) -> Iterator[Cell]:
    labels = open_labels("openqa-eval", None, folder)
    given = known_verdicts(labels, "recorded:gpt-4").given
    both = [(item.label, given[item.id]) for item in labels.items if given[item.id] is not None]
    truth, said = (np.array([one == "right" for one in column], dtype=float) for column in zip(*both, strict=True))
    draw, total = np.random.RandomState(2333), len(truth)
    found: dict[str, list[Interval]] = {"labels alone": [], "PPI++": [], "Rogan-Gladen": []}
    for _ in range(sets):
        here, rest = draw.randint(0, total, n), draw.randint(0, total, total)
        right, says = truth[here] == 1, said[here]
        rates = Rates(says[right].mean(), int(right.sum()), 1 - says[~right].mean(), int((~right).sum()))
        certain = rogan_gladen(said[rest].mean(), total, rates)
        assert certain is not None
        found["labels alone"].append(wilson(truth[here].sum(), n))
        found["PPI++"].append(ppi_mean(truth[here], says, said[rest]).interval)
        found["Rogan-Gladen"].append(certain.interval)
    for name, intervals in found.items():
        yield name, float(truth.mean()), intervals


def show(what: str, cells: Iterator[Cell]) -> None:
    for name, rate, intervals in cells:
        held = sum(low <= rate <= high for low, high in intervals)
        low, high = wilson(held, len(intervals))
        width = float(np.mean([high - low for low, high in intervals]))
        passes = "passes" if high >= BAND[0] and low <= BAND[1] else "fails"
        share = f"{held / len(intervals):6.1%} ({low:.1%} to {high:.1%})"
        print(f"{what:24} {name:14} width {width:.4f}  held {share} {passes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="the real label files")
    parser.add_argument("--sets", type=int, default=2000)
    arguments = parser.parse_args()
    started = time.perf_counter()
    if arguments.folder:
        show("OpenQA-eval, 200", genuine(arguments.folder, arguments.sets))
    else:
        for n in (50, 300, 3000):
            for rate in (0.02, 0.2, 0.5):
                show(f"n {n}, rate {rate:.0%}", simulate(n, rate, arguments.sets, seed=n))
        for n, shares, rates in product((50, 100, 300), BY_RULE, RATES):
            cell = "{:.0%}/{:.0%} {:g}/{:g}".format(*shares, *rates)
            show(f"n {n}, {cell}", ruled(shares, rates, n, arguments.sets))
    print(f"{arguments.sets} sets each, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
