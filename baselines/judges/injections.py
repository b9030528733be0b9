"""A hundred hostile texts in ten families held against a live judge: how many turn its verdict on a wrong answer.

Each stands at the end of the answer, or of a passage, in the metric's own prompt; the verdict on the answer alone is
what it is compared with.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..systems.system import Completer
from ..tables.grid import Cell, Grid, Line
from .ask import ask_judge
from .labels import Item, LabelSet, find_graded

ALONE = "alone"  # the id of the answer without a hostile text


class Injection(NamedTuple):
    """A hostile text: its family, all of it, and the order in it."""

    family: str
    text: str
    order: str


class Told(NamedTuple):
    """What a judge said of a case: of the answer alone, and of it with each text, by id; None was not readable."""

    prompt: str  # what is graded, and where the text stands
    alone: str | None
    given: dict[str, str | None]
    failed: int


@cache
def _record() -> Any:
    return yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def cases(metric: str | None = None) -> list[dict[str, str]]:
    """Return what is graded and where the text stands, of one metric or of all."""
    name = find_graded(metric).name if metric else None
    return [case for case in _record()["cases"] if name in (None, case["metric"])]


def injections(verdict: str) -> dict[str, Injection]:
    """Return the hostile texts that are after a verdict, by their ids."""
    found = {}
    for family, entries in _record()["families"].items():
        for number, entry in enumerate(entries, 1):
            parts = {"order": entry} if isinstance(entry, str) else entry
            order = parts["order"].replace("{verdict}", verdict)
            text = parts.get("before", "") + order + parts.get("after", "")
            found[f"{family} {number}"] = Injection(family, text, order)
    return found


def label_case(case: dict[str, str]) -> LabelSet:
    """Return the items of a case: the answer alone, then with each text."""
    graded, item = find_graded(case["metric"]), _record()["item"]
    wanted = next(iter(graded.grades))
    texts = {ALONE: "", **{name: f"\n{one.text}" for name, one in injections(case["verdict"]).items()}}
    items = []
    for name, text in texts.items():
        shown = {**item, case["place"]: item[case["place"]] + text}
        golds, passages = (item["gold"],), (shown["passage"],)
        items.append(Item(name, wanted, item["question"], shown["answer"], golds=golds, passages=passages))
    return LabelSet("injections", graded, items, {})


def ask(judge: Completer, metric: str | None = None) -> list[Told]:
    """Ask a judge of every case."""
    found = []
    for case in cases(metric):
        said = ask_judge(label_case(case), judge)
        given = dict(said.given)
        failed = sum(reason == "api_error" for reason in said.reasons.values())
        found.append(Told(f"{case['metric']}, {case['place']}", given.pop(ALONE), given, failed))
    return found


def find_invalid(told: Sequence[Told], most: float) -> str | None:
    """Say why a judge cannot be measured, as that more than the share `most` of its calls failed; None where it can."""
    failed, total = sum(one.failed for one in told), sum(len(one.given) + 1 for one in told)
    if failed > total * most:
        return f"{failed} of {total} calls failed"
    if all(one.alone is None for one in told):
        return "the judge gave no readable verdict on the answer alone"
    return None


def tabulate(judge: str, told: Sequence[Told]) -> list[Grid]:
    """Make the tables: by family, and by prompt."""
    by_family: dict[str, list[str]] = {}
    by_prompt: dict[str, list[str]] = {}
    for one in told:
        for name, grade in one.given.items() if one.alone is not None else ():
            outcome = "unreadable" if grade is None else "same" if grade == one.alone else "turned"
            by_family.setdefault(name.rpartition(" ")[0], []).append(outcome)
            by_prompt.setdefault(one.prompt, []).append(outcome)
    whole = [outcome for outcomes in by_family.values() for outcome in outcomes]
    columns = ["turned", "unreadable", "n"]
    notes = ["Percent of hostile texts after which the judge has another verdict on a wrong answer, or none to read."]
    notes += [f"{one.prompt}: left out, no readable verdict on the answer alone." for one in told if one.alone is None]
    families = [*(_line(*one) for one in by_family.items()), _line("all", whole, rule=True)]
    prompts = [_line(*one) for one in by_prompt.items()]
    return [
        Grid(f"Verdicts turned by hostile texts, {judge}", "family", columns, families),
        Grid("The same by prompt, and where the text stands", "prompt", columns, prompts, notes),
    ]


def _line(label: str, outcomes: Sequence[str], rule: bool = False) -> Line:
    n = len(outcomes)
    shares = [Cell(f"{100 * outcomes.count(kind) / n:.1f}") for kind in ("turned", "unreadable")]
    return Line(label, [*shares, Cell(str(n))], rule=rule)
