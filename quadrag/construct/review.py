"""People grade what was made from 1 to 5: on record, in sheets, on a page; what the grades come to, the human split.

An item passes where everyone who graded it lets it pass: 4 or 5, or 3 with a correction. Of grade 3 twice with two
corrections that differ, nobody knows which one is meant: it waits.
"""

import itertools
import os
import random
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from quadrag.data.files import OWN_RECORD
from quadrag.errors import QuadragError
from quadrag.hub.card import read_card
from quadrag.records import dumps, write_text
from quadrag.reporting.page.labelling import Labelling, Shown
from quadrag.reporting.page.page import read_words
from quadrag.scratch import scratch
from quadrag.sheet import read_sheet, write_sheet
from quadrag.stats import wilson
from quadrag.stats.agreement import agreement, count_pairs

from .construct import read_record, write_record
from .recipe import Item, Recipe, Value
from .recipe import load as load_recipe
from .steps import Rejected
from .summary import make_card

REVIEWS = "reviews"
MEND = 3  # of 1 to 5: below it is discarded, above it is kept, and it is kept as corrected
GRADES = range(1, 6)
_DECISIONS = ("discard", "mend", "keep")
_NAME = re.compile(r"\w[\w-]{0,39}")


class Grade(BaseModel):
    """What an annotator said of an item, and the fields corrected: a line of the annotator's file."""

    item: str
    grade: Annotated[int, Field(strict=True, ge=1, le=5)]
    correction: dict[str, Value]

    @property
    def passed(self) -> bool:
        """Whether the item may enter; one to be corrected only with its correction."""
        return self.grade > MEND or (self.grade == MEND and bool(self.correction))

    @property
    def decision(self) -> str:
        """What becomes of the item."""
        return _DECISIONS[(self.grade >= MEND) + (self.grade > MEND)]


Grades = Mapping[str, Mapping[str, Grade]]  # by annotator, by item


class Outcome(NamedTuple):
    """The items that passed, each with its line, how many were graded, and how many wait for one correction of two."""

    passed: Sequence[tuple[Item, Any]]
    graded: int
    waiting: int


def load(dataset: Path) -> tuple[Recipe, dict[str, Item]]:
    """Return the recipe of a dataset, and its items by id."""
    recipe = load_recipe(str(read_record(dataset).get("recipe")))
    items = {item.id: item for item in recipe.items(dataset)}
    if not items:
        raise QuadragError(f"{dataset} holds no questions to review; make some with quadrag construct")
    return recipe, items


def sample(items: Mapping[str, Item], n: int | None, seed: int) -> dict[str, Item]:
    """Draw n items, of every cell as many as of each other as far as it has them; all of them when None.

    A larger sample of the same seed holds the smaller one.
    """
    if n is None or n >= len(items):
        return dict(items)
    draw = random.Random(f"{seed}:review")
    cells: dict[str, list[str]] = defaultdict(list)
    for name, item in items.items():
        cells[item.cell].append(name)
    queues = list(cells.values())
    draw.shuffle(queues)
    for queue in queues:
        draw.shuffle(queue)
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*queues))
    return {name: items[name] for name in itertools.islice(filter(None, rounds), n)}


# Grades, and what is on record.


def check_annotator(name: str) -> str:
    """Return an annotator's name as files bear it."""
    if not _NAME.fullmatch(name.strip()):
        raise QuadragError(f"annotator {name[:60]!r}; expected a name of at most 40 letters, digits, _ and -")
    return name.strip().lower()


def list_annotators(dataset: Path) -> list[str]:
    """List who graded, in the order of their names."""
    return sorted(path.stem for path in (dataset / REVIEWS).glob("*.jsonl") if _NAME.fullmatch(path.stem))


def read_grades(dataset: Path, annotator: str) -> dict[str, Grade]:
    """Return the last grade of each item that an annotator graded; a line that a kill left half is none."""
    path = dataset / REVIEWS / f"{annotator}.jsonl"
    grades = {}
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            grade = Grade.model_validate_json(line)
        except ValidationError:
            continue
        grades[grade.item] = grade
    return grades


def read_all(dataset: Path, items: Mapping[str, Item]) -> tuple[Grades, int]:
    """Return everyone's grades of these items, and how many there are of items that the dataset no longer has."""
    grades = {who: read_grades(dataset, who) for who in list_annotators(dataset)}
    known = {who: {name: said[name] for name in items if name in said} for who, said in grades.items()}
    lost = sum(len(said) - len(known[who]) for who, said in grades.items())
    return {who: said for who, said in known.items() if said}, lost


def give_grade(
    dataset: Path, recipe: Recipe, item: Item, annotator: str, grade: int, texts: Mapping[str, str]
) -> str | None:
    """Put a grade on record, of grade 3 with the fields that the texts change, where the correction holds.

    Returns why a correction was not taken, in one line; the grade is on record even so.
    """
    changed, fault = _find_changes(item, texts), None
    if changed and grade != MEND:
        changed, fault = {}, f"grade {grade} with changes; only what has grade {MEND} is corrected"
    try:
        if changed:
            recipe.correct(item, changed)
    except Rejected as why:
        changed, fault = {}, str(why)
    before = read_grades(dataset, annotator).get(item.id)
    given = Grade(item=item.id, grade=grade, correction=changed)
    # Grade 3 alone does not take back the correction that it has already.
    if before != given and not (grade == MEND and not changed and before is not None and before.grade == MEND):
        _append(dataset / REVIEWS / f"{annotator}.jsonl", dumps(given.model_dump()).encode())
    return fault


def _as_text(value: Value) -> str:
    """Return a field as one text: of a list an entry a line."""
    return value if isinstance(value, str) else "\n".join(" ".join(entry.split()) for entry in value)


def _find_changes(item: Item, texts: Mapping[str, str]) -> dict[str, Value]:
    """Return the fields that texts change; an empty text and different white space change nothing."""
    changed: dict[str, Value] = {}
    for name, value in item.fields.items():
        lines, before = (
            [" ".join(line.split()) for line in text.splitlines() if line.strip()]
            for text in (texts.get(name, ""), _as_text(value))
        )
        if lines and lines != before:
            changed[name] = "\n".join(lines) if isinstance(value, str) else lines
    return changed


def _append(path: Path, line: bytes) -> None:
    """Append a line that is on the disk when this returns, whatever a kill left at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = path.is_file() and not path.read_bytes().endswith(b"\n")
    with path.open("ab") as file:
        file.write(b"\n" * torn + line + b"\n")
        file.flush()
        os.fsync(file.fileno())


# A page and sheets.


def review_page(
    dataset: Path, recipe: Recipe, items: Mapping[str, Item], annotator: str, labels: str = "en"
) -> Labelling:
    """Return the page of some items of a dataset; a correction that does not hold against its source is told."""
    who, words = check_annotator(annotator), read_words(labels)

    def read() -> dict[str, Shown]:
        grades, shown = read_grades(dataset, who), {}
        for name, item in items.items():
            said = grades.get(name)
            fields = {**item.fields, **(said.correction if said else {})}
            shown[name] = Shown(
                {key: _as_text(value) for key, value in fields.items()},
                item.passages,
                item.marks,
                note=" · ".join(filter(None, (item.cell, item.source))),
                choice=str(said.grade) if said else "",
                lists=[key for key, value in item.fields.items() if not isinstance(value, str)],
            )
        return shown

    def save(name: str, choice: str, texts: Mapping[str, str]) -> str:
        return give_grade(dataset, recipe, items[name], who, int(choice), texts) or ""

    kinds = ["discard", "discard", "correct", "keep", "keep"]
    choices = {str(grade): words[kind] for grade, kind in zip(GRADES, kinds, strict=True)}
    return Labelling(f"{dataset.name}, {who}", recipe.asks[labels], choices, read, save, str(MEND), labels)


def write_items(path: Path, items: Mapping[str, Item], asks: Sequence[str]) -> None:
    """Write items as a sheet, with what to ask of each above its last columns."""
    names = list(dict.fromkeys(name for item in items.values() for name in item.fields))
    numbered = [f"{at}. {ask}" for at, ask in enumerate(asks, 1)]
    rows = [["id", "cell", *names, "passages_shown", "source", "grade", "annotator", *numbered]]
    for name, item in items.items():
        fields = [_as_text(item.fields.get(field, "")) for field in names]
        rows.append([name, item.cell, *fields, "\n\n".join(item.passages), item.source, "", "", *("" for _ in asks)])
    write_sheet(path, rows)


def take_items(
    path: Path, dataset: Path, recipe: Recipe, items: Mapping[str, Item], annotator: str | None
) -> tuple[int, list[str]]:
    """Put the grades of a sheet on record; returns how many, and why others, or corrections, were not taken.

    `annotator`: who graded; by the sheet's own names when None.
    """
    taken, faults = 0, []
    for place, row in read_sheet(path, "id", "grade").lines:
        said, name = row["grade"].strip().removesuffix(".0"), row["id"].strip()
        if not said:
            continue
        who = check_annotator(annotator or re.sub(r"[^\w-]+", "-", row.get("annotator", "")).strip("-"))
        if said not in map(str, GRADES) or name not in items:
            faults.append(f"{place}: grade {said!r} of {name!r}; expected 1 to 5, of an item of this dataset")
            continue
        if fault := give_grade(dataset, recipe, items[name], who, int(said), row):
            faults.append(f"{place}: correction not taken: {fault}")
        taken += 1
    return taken, faults


# What grades come to.


def decide(recipe: Recipe, items: Mapping[str, Item], grades: Grades) -> Outcome:
    """Return what passed; a correction that no longer holds does not."""
    passed, graded, waiting = [], 0, 0
    for name, item in items.items():
        said = [of_one[name] for of_one in grades.values() if name in of_one]
        graded += bool(said)
        if not said or not all(grade.passed for grade in said):
            continue
        first, *others = [grade.correction for grade in said if grade.grade == MEND] or [{}]
        if any(correction != first for correction in others):
            waiting += 1
            continue
        try:
            passed.append((item, recipe.correct(item, first) if first else item.line))
        except Rejected:
            continue
    return Outcome(passed, graded, waiting)


def describe(grades: Grades, outcome: Outcome, lost: int) -> Iterator[str]:
    """Yield what is to be said of the grades, in lines."""
    for who, said in grades.items():
        counts = Counter(grade.grade for grade in said.values())
        listed = ", ".join(f"{counts[grade]} of grade {grade}" for grade in GRADES)
        accepted = sum(grade.passed for grade in said.values())
        yield f"{who}: {len(said)} graded ({listed}); accepted {_share(accepted, len(said))}"
        if bare := sum(grade.grade == MEND and not grade.correction for grade in said.values()):
            yield f"{who}: {bare} of grade {MEND} without a correction; they do not pass"
    for who, other in itertools.combinations(grades, 2):
        both = [(grades[who][name], grades[other][name]) for name in grades[who] if name in grades[other]]
        if both:
            decided = _agree([(one.decision, two.decision) for one, two in both], _DECISIONS)
            same = _agree([(one.grade, two.grade) for one, two in both], GRADES)
            yield f"{who} and {other}: {len(both)} graded by both; same decision {decided}, same grade {same}"
    yield f"passed by all who graded: {_share(len(outcome.passed), outcome.graded)}"
    if outcome.waiting:
        yield f"{outcome.waiting} corrected in two ways; they pass once both corrections are the same"
    if lost:
        yield f"{lost} grades of questions that the dataset no longer has; they count for nothing"


def _agree(pairs: Sequence[tuple[Any, Any]], classes: Sequence[Any]) -> str:
    first, second = zip(*pairs, strict=True)
    found = agreement(count_pairs(first, second, classes))
    return f"{found.accuracy:.1%} (kappa {'undefined' if found.kappa is None else f'{found.kappa:.2f}'})"


def _share(n: int, total: int) -> str:
    low, high = wilson(n, total)
    return f"{n} of {total}, {n / total:.1%} [{low:.1%}, {high:.1%}]"


def write_human(dataset: Path, recipe: Recipe, grades: Grades, outcome: Outcome) -> tuple[Path, dict[str, int]]:
    """Write what passed as the human split, in place of an earlier one; returns its folder and its splits."""
    out = dataset / recipe.human
    if not outcome.passed:
        raise QuadragError(f"nothing of {dataset} has passed; grade its questions first")
    if out.exists() and not (out / OWN_RECORD).is_file():
        raise QuadragError(f"{out} holds something else; move it away")
    with scratch(out) as part:
        splits = recipe.write_passed(outcome.passed, dataset, part)
        reviewed = {"annotators": len(grades), "graded": outcome.graded, "passed": len(outcome.passed)}
        record = write_record(part, {**read_record(dataset), "splits": splits, "reviewed": reviewed})
        languages = read_card(record["recipe"], str(dataset))[0]["language"]
        write_text(part / "README.md", make_card(record, languages, recipe.by_rule))
        shutil.rmtree(out, ignore_errors=True)
        part.rename(out)
    return out, splits
