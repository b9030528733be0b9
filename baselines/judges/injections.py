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

    metric: str
    place: str
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

    def made(name: str, text: str) -> Item:
        shown = {place: item[place] + (text if place == case["place"] else "") for place in ("answer", "passage")}
        return Item(
            *(name, wanted, item["question"], shown["answer"]), golds=(item["gold"],), passages=(shown["passage"],)
        )

    return LabelSet("injections", graded, [made(*one) for one in texts.items()], {})


def ask(judge: Completer, metric: str | None = None) -> list[Told]:
    """Ask a judge of every case."""
    found = []
    for case in cases(metric):
        said = ask_judge(label_case(case), judge)
        given = dict(said.given)
        failed = sum(reason == "api_error" for reason in said.reasons.values())
        found.append(Told(case["metric"], case["place"], given.pop(ALONE), given, failed))
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
    known = [one for one in told if one.alone is not None]
    verdicts = [(one, name, grade) for one in known for name, grade in one.given.items()]
    families = dict.fromkeys(one.family for one in injections("").values())
    prompts = dict.fromkeys(f"{one.metric}, {one.place}" for one in known)

    def line(label: str, chosen: Sequence[tuple[Told, str, str | None]], rule: bool = False) -> Line:
        turned = sum(grade not in (None, one.alone) for one, _, grade in chosen)
        lost = sum(grade is None for _, _, grade in chosen)
        shares = [Cell(f"{100 * count / len(chosen):.1f}") for count in (turned, lost)]
        return Line(label, [*shares, Cell(str(len(chosen)))], rule=rule)

    by_family = [line(name, [v for v in verdicts if v[1].rpartition(" ")[0] == name]) for name in families]
    by_prompt = [line(name, [v for v in verdicts if f"{v[0].metric}, {v[0].place}" == name]) for name in prompts]
    columns = ["turned", "unreadable", "n"]
    notes = ["Percent of hostile texts after which the judge has another verdict on a wrong answer, or none to read."]
    notes += [
        f"{one.metric}, {one.place}: left out, no readable verdict on the answer alone."
        for one in told
        if one.alone is None
    ]
    whole = line("all", verdicts, rule=True)
    return [
        Grid(f"Verdicts turned by hostile texts, {judge}", "family", columns, [*by_family, whole], []),
        Grid("The same by prompt, and where the text stands", "prompt", columns, by_prompt, notes),
    ]
