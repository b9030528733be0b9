"""People grade what was made from 1 to 5, each in a sheet; what the grades come to, and the human split.

A sheet is labelled on a page or in a spreadsheet. An item passes where everyone who graded it lets it pass: 4 or 5, or
3 with a correction that holds. Of grade 3 twice with two corrections that differ, nobody knows which one is meant: it
waits.
"""

import itertools
import random
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.data.files import OWN_RECORD
from quadrag.errors import QuadragError
from quadrag.hub.export import read_card
from quadrag.records import scratch, write_text
from quadrag.reporting.page.labelling import Labelling, Shown, change_row
from quadrag.reporting.page.page import read_words
from quadrag.sheet import read_sheet, write_sheet
from quadrag.stats import wilson
from quadrag.stats.agreement import agreement, count_pairs

from .construct import make_card, read_record, write_record
from .recipe import Item, Recipe, Rejected, Value
from .recipe import load as load_recipe

REVIEWS = "reviews"  # the folder of the sheets, each named by who grades
MEND = 3  # of 1 to 5: below it is discarded, above it is kept, and it is kept as corrected
GRADES = range(1, 6)
_NAME = re.compile(r"\w[\w-]{0,39}")


class Grade(NamedTuple):
    grade: int
    correction: Mapping[str, Value]  # the fields that it changes
    fault: str = ""  # why it does not hold

    @property
    def passed(self) -> bool:
        return self.grade > MEND or (self.grade == MEND and bool(self.correction) and not self.fault)

    @property
    def decision(self) -> int:
        """Whether it is discarded, -1, mended or kept, 1."""
        return (self.grade > MEND) - (self.grade < MEND)


Grades = Mapping[str, Mapping[str, Grade]]  # by annotator, by item


class Outcome(NamedTuple):
    passed: Sequence[tuple[Item, Any]]  # each item with its line
    graded: int
    waiting: int  # for one correction of two


def load(dataset: Path) -> tuple[Recipe, dict[str, Item]]:
    recipe = load_recipe(str(read_record(dataset).get("recipe")))
    try:
        items = {item.id: item for item in recipe.items(dataset)}
    except (KeyError, TypeError, IndexError) as error:
        raise QuadragError(f"a line of {dataset} lacks {error}; make the dataset again") from None
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


# Sheets, and the page.


def sheet_of(dataset: Path, annotator: str) -> Path:
    if not _NAME.fullmatch(annotator.strip()):
        raise QuadragError(f"--annotator {annotator[:60]!r}; expected a name of at most 40 letters, digits, _ and -")
    return dataset / REVIEWS / f"{annotator.strip().lower()}.csv"


def write_items(path: Path, items: Mapping[str, Item], asks: Sequence[str]) -> None:
    """Write those items into a sheet that it has not, with what to ask of each above its last columns."""
    names = list(dict.fromkeys(name for item in items.values() for name in item.fields))
    numbered = [f"{at}. {ask}" for at, ask in enumerate(asks, 1)]
    columns = ["id", "cell", *names, "passages_shown", "source", "grade", *numbered]
    rows = {line.row["id"]: line.row for line in read_sheet(path, "id", "grade").lines} if path.exists() else {}
    for name, item in items.items():
        fields = {field: _as_text(value) for field, value in item.fields.items()}
        about = {"cell": item.cell, "passages_shown": "\n\n".join(item.passages), "source": item.source}
        rows.setdefault(name, {"id": name, **fields, **about})
    write_sheet(path, [columns, *([row.get(name, "") for name in columns] for row in rows.values())], again=True)


def review_page(
    dataset: Path, recipe: Recipe, items: Mapping[str, Item], annotator: str, labels: str = "en"
) -> Labelling:
    path, words = sheet_of(dataset, annotator), read_words(labels)
    write_items(path, items, recipe.asks[labels])

    def read() -> dict[str, Shown]:
        rows = {line.row["id"]: line.row for line in read_sheet(path, "id", "grade").lines}
        return {
            name: Shown(
                {field: rows[name][field] for field in item.fields},
                item.passages,
                item.marks,
                note=" · ".join(filter(None, (item.cell, item.source))),
                choice=rows[name]["grade"],
                lists=[field for field, value in item.fields.items() if not isinstance(value, str)],
            )
            for name, item in items.items()
        }

    def save(name: str, choice: str, texts: Mapping[str, str]) -> str:
        fault = _grade(recipe, items[name], int(choice), texts).fault
        as_made = {field: _as_text(value) for field, value in items[name].fields.items()}
        fields = as_made if int(choice) != MEND else {} if fault else texts
        change_row(path, name, {"grade": choice, **{field: fields[field] for field in as_made if field in fields}})
        return fault

    kinds = ["discard", "discard", "correct", "keep", "keep"]
    choices = {str(grade): words[kind] for grade, kind in zip(GRADES, kinds, strict=True)}
    return Labelling(f"{dataset.name}, {path.stem}", recipe.asks[labels], choices, read, save, str(MEND), labels)


def read_grades(path: Path, recipe: Recipe, items: Mapping[str, Item]) -> dict[str, Grade]:
    grades = {}
    for place, row in read_sheet(path, "id", "grade").lines:
        grade = row["grade"].strip().removesuffix(".0")
        if grade and grade not in map(str, GRADES):
            raise QuadragError(f"{place}: grade {grade!r}; expected 1 to 5, or nothing")
        if grade and row["id"] in items:
            grades[row["id"]] = _grade(recipe, items[row["id"]], int(grade), row)
    return grades


def _grade(recipe: Recipe, item: Item, grade: int, texts: Mapping[str, str]) -> Grade:
    changed = _find_changes(item, texts) if grade == MEND else {}
    try:
        if changed:
            recipe.correct(item, changed)
    except Rejected as why:
        return Grade(grade, changed, str(why))
    return Grade(grade, changed)


def _as_text(value: Value) -> str:
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


# What grades come to.


def read_all(dataset: Path, recipe: Recipe, items: Mapping[str, Item]) -> Grades:
    sheets = sorted((dataset / REVIEWS).glob("*.csv"))
    grades = {path.stem: grades for path in sheets if (grades := read_grades(path, recipe, items))}
    if not grades:
        raise QuadragError(f"nobody has graded {dataset} yet; open it with --annotator NAME")
    return grades


def decide(recipe: Recipe, items: Mapping[str, Item], grades: Grades) -> Outcome:
    passed, graded, waiting = [], 0, 0
    for name, item in items.items():
        said = [of_one[name] for of_one in grades.values() if name in of_one]
        graded += bool(said)
        if not said or not all(grade.passed for grade in said):
            continue
        first, *others = [grade.correction for grade in said if grade.grade == MEND] or [{}]
        if any(correction != first for correction in others):
            waiting += 1
        else:
            passed.append((item, recipe.correct(item, first) if first else item.line))
    return Outcome(passed, graded, waiting)


def describe(grades: Grades, outcome: Outcome) -> Iterator[str]:
    for who, said in grades.items():
        counts = Counter(grade.grade for grade in said.values())
        listed = ", ".join(f"{counts[grade]} of grade {grade}" for grade in GRADES)
        accepted = sum(grade.passed for grade in said.values())
        yield f"{who}: {len(said)} graded ({listed}); accepted {_share(accepted, len(said))}"
        for name, grade in said.items():
            if grade.grade == MEND and not grade.passed:
                yield f"{who}: {name} does not pass: {grade.fault or 'grade 3 without a correction'}"
    for who, other in itertools.combinations(grades, 2):
        both = [(grades[who][name], grades[other][name]) for name in grades[who] if name in grades[other]]
        if both:
            decided = _agree([(one.decision, two.decision) for one, two in both], (-1, 0, 1))
            same = _agree([(one.grade, two.grade) for one, two in both], GRADES)
            yield f"{who} and {other}: {len(both)} graded by both; same decision {decided}, same grade {same}"
    yield f"passed by all who graded: {_share(len(outcome.passed), outcome.graded)}"
    if outcome.waiting:
        yield f"{outcome.waiting} corrected in two ways; they pass once both corrections are the same"


def _agree(pairs: Sequence[tuple[Any, Any]], classes: Sequence[Any]) -> str:
    first, second = zip(*pairs, strict=True)
    found = agreement(count_pairs(first, second, classes))
    return f"{found.accuracy:.1%} (kappa {'undefined' if found.kappa is None else f'{found.kappa:.2f}'})"


def _share(n: int, total: int) -> str:
    low, high = wilson(n, total)
    return f"{n} of {total}, {n / total:.1%} [{low:.1%}, {high:.1%}]"


def write_human(dataset: Path, recipe: Recipe, grades: Grades, outcome: Outcome) -> tuple[Path, dict[str, int]]:
    out = dataset / recipe.human
    if not outcome.passed:
        raise QuadragError(f"nothing of {dataset} has passed; grade its questions first")
    if out.exists() and not (out / OWN_RECORD).is_file():
        raise QuadragError(f"{out} holds something else; move it away")
    with scratch(out) as part:
        splits = recipe.write_passed(outcome.passed, dataset, part)
        record = {
            **read_record(dataset),
            "splits": splits,
            "reviewed": {"annotators": len(grades), "graded": outcome.graded, "passed": len(outcome.passed)},
        }
        write_record(part, record)
        languages = read_card(record["recipe"], str(dataset))[0]["language"]
        write_text(part / "README.md", make_card(record, languages, recipe.by_rule))
        shutil.rmtree(out, ignore_errors=True)
        part.rename(out)
    return out, splits
