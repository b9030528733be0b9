"""What grades come to: how many were accepted, how far two people agree, and the human split, which they passed.

An item passes where everyone who graded it lets it pass: 4 or 5, or 3 with a correction. Of grade 3 twice with two
corrections that differ, nobody knows which one is meant: it waits.
"""

import itertools
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.data.files import OWN_RECORD
from quadrag.errors import QuadragError
from quadrag.hub.card import read_card
from quadrag.reading import parse_json
from quadrag.records import write_text
from quadrag.scratch import scratch
from quadrag.sheet import read_sheet, write_sheet
from quadrag.stats.agreement import agreement, count_pairs
from quadrag.stats.intervals import wilson

from ..account import make_card
from ..recipe import load as load_recipe
from ..steps import Drop
from .items import GRADES, MEND, Grade, Item, Review, as_text, check_annotator, give_grade, list_annotators, read_grades

Grades = Mapping[str, Mapping[str, Grade]]  # by annotator, by item
_DECISIONS = ("discard", "mend", "keep")


class Outcome(NamedTuple):
    """The items that passed, each with its line, how many were graded, and how many wait for one correction of two."""

    passed: Sequence[tuple[Item, Any]]
    graded: int
    waiting: int


def read_all(dataset: Path, items: Mapping[str, Item]) -> tuple[Grades, int]:
    """Return everyone's grades of these items, and how many there are of items that the dataset no longer has."""
    found = {who: read_grades(dataset, who) for who in list_annotators(dataset)}
    known = {who: {name: said[name] for name in items if name in said} for who, said in found.items()}
    lost = sum(len(said) - len(known[who]) for who, said in found.items())
    return {who: said for who, said in known.items() if said}, lost


def decide(review: Review, items: Mapping[str, Item], grades: Grades) -> Outcome:
    """Return what passed; a correction that no longer holds does not."""
    passed, graded, waiting = [], 0, 0
    for name, item in items.items():
        said = [of_one[name] for of_one in grades.values() if name in of_one]
        graded += bool(said)
        if not said or not all(one.passed for one in said):
            continue
        corrections = [one.correction for one in said if one.grade == MEND]
        if any(type(value) is not type(item.fields.get(name)) for one in corrections for name, value in one.items()):
            continue  # no correction that give_grade wrote
        if any(one != corrections[0] for one in corrections):
            waiting += 1
            continue
        try:
            passed.append((item, review.correct(item, corrections[0]) if corrections else item.line))
        except Drop:
            continue
    return Outcome(passed, graded, waiting)


def describe(grades: Grades, outcome: Outcome, lost: int) -> Iterator[str]:
    """Yield what is to be said of the grades, in lines."""
    for who, said in grades.items():
        counts = Counter(one.grade for one in said.values())
        listed = ", ".join(f"{counts[grade]} of grade {grade}" for grade in GRADES)
        accepted = sum(one.passed for one in said.values())
        yield f"{who}: {len(said)} graded ({listed}); accepted {_share(accepted, len(said))}"
        if bare := sum(one.grade == MEND and not one.correction for one in said.values()):
            yield f"{who}: {bare} of grade {MEND} without a correction; they do not pass"
    for one, other in itertools.combinations(grades, 2):
        both = [(grades[one][name], grades[other][name]) for name in grades[one] if name in grades[other]]
        if both:
            first, second = zip(*both, strict=True)
            decided = _agree(list(map(_decision, first)), list(map(_decision, second)), _DECISIONS)
            same = _agree([said.grade for said in first], [said.grade for said in second], GRADES)
            yield f"{one} and {other}: {len(both)} graded by both; same decision {decided}, same grade {same}"
    yield f"passed by all who graded: {_share(len(outcome.passed), outcome.graded)}"
    if outcome.waiting:
        yield f"{outcome.waiting} corrected in two ways; they pass once both corrections are the same"
    if lost:
        yield f"{lost} grades of questions that the dataset no longer has; they count for nothing"


def _decision(grade: Grade) -> str:
    return _DECISIONS[(grade.grade >= MEND) + (grade.grade > MEND)]


def _agree(first: Sequence[Any], second: Sequence[Any], classes: Sequence[Any]) -> str:
    found = agreement(count_pairs(first, second, classes))
    return f"{found.accuracy:.1%} (kappa {'undefined' if found.kappa is None else f'{found.kappa:.2f}'})"


def _share(n: int, total: int) -> str:
    low, high = wilson(n, total)
    return f"{n} of {total}, {n / total:.1%} [{low:.1%}, {high:.1%}]"


def write_human(dataset: Path, review: Review, grades: Grades, outcome: Outcome) -> tuple[Path, dict[str, int]]:
    """Write what passed as the human split, in place of an earlier one; returns its folder and its splits."""
    out = dataset / review.human
    if not outcome.passed:
        raise QuadragError(f"nothing of {dataset} has passed; grade its questions first")
    if out.exists() and not (out / OWN_RECORD).is_file():
        raise QuadragError(f"{out} holds something else; move it away")
    made = dict(parse_json((dataset / OWN_RECORD).read_bytes(), dataset / OWN_RECORD))
    with scratch(out) as part:
        splits = review.write(outcome.passed, dataset, part)
        reviewed = {"annotators": len(grades), "graded": outcome.graded, "passed": len(outcome.passed)}
        record = {**made, "splits": splits, "reviewed": reviewed}
        write_text(part / OWN_RECORD, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        name = record["recipe"]
        languages = read_card(name, str(dataset))[0]["language"]
        write_text(part / "README.md", make_card(record, languages, load_recipe(name).by_rule))
        if out.exists():
            shutil.rmtree(out)
        part.rename(out)
    return out, splits


def write_items(path: Path, items: Mapping[str, Item], asks: Sequence[str]) -> None:
    """Write items as a sheet, with what to ask of each above its last columns."""
    names = list(dict.fromkeys(name for item in items.values() for name in item.fields))
    numbered = [f"{at}. {ask}" for at, ask in enumerate(asks, 1)]
    rows = [["id", "cell", *names, "passages_shown", "source", "grade", "annotator", *numbered]]
    for name, item in items.items():
        fields = [as_text(item.fields.get(field, "")) for field in names]
        rows.append([name, item.cell, *fields, "\n\n".join(item.passages), item.source, "", "", *("" for _ in asks)])
    write_sheet(path, rows)


def take_items(
    path: Path, dataset: Path, review: Review, items: Mapping[str, Item], annotator: str | None
) -> tuple[int, list[str]]:
    """Put the grades of a sheet on record; returns how many, and why others, or corrections, were not taken.

    `annotator`: who graded; by the sheet's own names when None.
    """
    taken, faults = 0, []
    for place, row in read_sheet(path, "id", "grade").lines:
        said, name = row["grade"].strip(), row["id"].strip()
        if not said:
            continue
        named = annotator or re.sub(r"[^\w-]+", "-", row.get("annotator", "")).strip("-")
        if not named:
            raise QuadragError(f"{place} does not say who graded; give --annotator NAME")
        who = check_annotator(named)
        grade = next((grade for grade in GRADES if said in (str(grade), f"{grade}.0")), None)
        if grade is None or name not in items:
            what = f"grade {said!r}; expected 1 to 5" if grade is None else f"no item {name!r} here"
            faults.append(f"{place}: {what}")
            continue
        fault = give_grade(dataset, review, items[name], who, grade, row)
        if fault:
            faults.append(f"{place}: correction not taken: {fault}")
        taken += 1
    return taken, faults
