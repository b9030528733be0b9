"""A dataset made of documents: read, cleaned, put through a recipe's steps, and written with an account of it all.

The folder has upstream's layout, so that whatever takes upstream's files takes it. Beside them lie ``construct.json``,
which says how they were made, and under ``stages`` a file of every step. Made again with the same documents, model and
seed, it is the same to the byte; a folder that something else made is refused.
"""

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import quadrag
from quadrag.data.files import OWN_RECORD, sha256
from quadrag.errors import QuadragError, parse_json
from quadrag.hub.export import join_card, size_category
from quadrag.records import dumps, write_text
from quadrag.reporting.table import Cell, Table
from quadrag.reporting.table import Row as TableRow

from . import recipe as recipes
from .documents import read_documents, reject_copies, reject_personal_data, reject_unfit
from .recipe import Order, Recipe
from .steps import Generator, Row, Step, run_steps

RULES = "rules"  # in place of a model's name
_REASONS = 5  # of a step, the most frequent ones


def tabulate_steps(stages: Sequence[Mapping[str, Any]]) -> Table:
    """Make the table of what came into each step, what was kept, and what was dropped for which reasons."""
    lines, notes = [], []
    for stage in stages:
        counts = stage["rows"], stage["kept"], sum(stage["dropped"].values())
        lines.append(TableRow(stage["step"], [Cell(f"{count:,}") for count in counts]))
        reasons = [f"{count:,} {why}" for why, count in stage["dropped"].items()]
        if more := reasons[_REASONS:]:
            reasons[_REASONS:] = [f"{len(more):,} further reasons"]
        notes += [f"{stage['step']} dropped {'; '.join(reasons)}."] if reasons else []
    return Table("What became of the documents", "step", ["rows", "kept", "dropped"], lines, notes)


def tabulate_counts(title: str, what: str, column: str, counts: Mapping[str, int]) -> Table:
    """Make the table of how many questions each split has, or how many requests each step takes."""
    return Table(title, what, [column], [TableRow(name, [Cell(f"{count:,}")]) for name, count in counts.items()])


def make_card(record: Mapping[str, Any], languages: Sequence[str], by_rule: str) -> str:
    """Return a dataset's README from ``construct.json``; `by_rule` is what its questions are without a model."""
    from jinja2 import Template

    title, licence = f"Documents of one's own, in the form of {record['recipe']}", record["licence"]
    header: dict[str, Any] = {
        "pretty_name": title,
        "language": list(languages),
        "license": "other" if licence else "unknown",
        **({"license_name": licence} if licence else {}),
        "size_categories": [size_category(max(record["splits"].values()))],
        "tags": ["rag", "quadrag", "synthetic"],
    }
    text = Path(__file__).with_name("card.md.jinja").read_text(encoding="utf-8")
    template = Template(text, trim_blocks=True, keep_trailing_newline=True)
    body = template.render(record, title=title, ruled=record["model"] == RULES, by_rule=by_rule)
    return join_card(header, body)


STAGES = "stages"
FILES = ("topics", "table", "templates")  # that some recipes take


@dataclass
class Made:
    """What was made: how many questions by ``CONFIG/SPLIT``, what each step kept, and why it stopped early, if so."""

    splits: dict[str, int]
    stages: list[Row]
    stopped: str | None


def construct(order: Order, generator: Generator) -> Made:
    """Make a dataset."""
    recipe = recipes.load(order.recipe)
    idle = [*(name for name in FILES if name not in recipe.takes), *(["limit"] if recipe.begin else [])]
    if typed := [name for name in idle if getattr(order, name) is not None]:
        raise QuadragError(f"--{typed[0]} does nothing for {order.recipe}; leave it out")
    # What a recipe begins with is read before anything is written: a fault in it leaves no folder behind.
    begin = recipe.begin(order) if recipe.begin else None
    documents = read_documents(order.documents)
    cleaning = clean(recipe)
    digest = hashlib.sha256("".join(f"{dumps(row)}\n" for row in documents).encode()).hexdigest()
    claim = {**_describe(order), "documents": {"n": len(documents), "sha256": digest}}
    _claim(order.out, claim)
    stages = order.out / STAGES
    for old in stages.glob("[0-9][0-9]-*.jsonl"):
        old.unlink()
    corpus, cleaned = run_steps(cleaning, documents, generator, stages)
    order = replace(order, corpus=corpus)
    first = _draw(order) if begin is None else begin
    rows, made = run_steps(recipe.steps(order), first, generator, stages, len(cleaning) + 1)
    result = Made(recipe.write(rows, order, order.out), [*cleaned, *made], generator.stopped)
    record = {**claim, "splits": result.splits, "steps": result.stages, "stopped": result.stopped}
    record = write_record(order.out, {**record, "quadrag": quadrag.__version__})
    if not result.splits:
        raise QuadragError(f"no question came of {len(documents)} documents; {stages} says why, by step")
    languages = sorted({row["language"] for row in corpus})
    write_text(order.out / "README.md", make_card(record, languages, recipe.by_rule))
    return result


def estimate(order: Order) -> tuple[list[Row], int, dict[str, int]]:
    """Return what making a dataset would take, from the documents alone; nothing is asked or written.

    That is what became of the documents before any question is made, how many rows questions are made from, and how
    often each step asks a model at most: once for each row.
    """
    recipe = recipes.load(order.recipe)
    with tempfile.TemporaryDirectory(prefix="quadrag-construct-") as aside:
        corpus, stages = run_steps(clean(recipe), read_documents(order.documents), Generator(), Path(aside))
    order = replace(order, corpus=corpus)
    begin = recipe.begin(order) if recipe.begin else _draw(order)
    rows, requests = len(begin), {}
    for step in recipe.steps(order):
        if step.requests:
            requests[step.name] = step.requests * (1 if step.once else rows)
        rows *= step.makes
    return stages, len(begin), requests


def clean(recipe: Recipe) -> list[Step]:
    """Return the steps that every recipe begins with: what is let go in them serves no question and no search."""
    return [
        Step("personal", reject_personal_data),  # first: what is let go here stands in no file
        Step("copies", reject_copies, together=True),
        Step("fitting", lambda row: reject_unfit(row, recipe.least, recipe.most, recipe.languages)),
    ]


def _draw(order: Order) -> Sequence[Row]:
    if order.limit is None or order.limit >= len(order.corpus):
        return order.corpus
    places = order.draw("documents").sample(range(len(order.corpus)), order.limit)
    return [order.corpus[at] for at in sorted(places)]


def _describe(order: Order) -> dict[str, Any]:
    values = {name: value for name, value in asdict(order).items() if name not in ("documents", "out", "corpus")}
    try:
        files = {name: {"file": values[name].name, "sha256": sha256(values[name])} for name in FILES if values[name]}
    except OSError as error:
        raise QuadragError(f"cannot read {error.filename} ({error.strerror}); give another file") from None
    return {**values, **files}


def _claim(out: Path, claim: Mapping[str, Any]) -> None:
    """Take a folder for a dataset; QuadragError where it holds another one, or something else."""
    record = out / OWN_RECORD
    if record.is_file():
        before = read_record(out)
        if other := [name for name in claim if before.get(name) != claim[name]]:
            raise QuadragError(f"{out} holds a dataset made otherwise ({', '.join(other)}); give another --out")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise QuadragError(f"{out} holds something else; give a new folder with --out")
    else:
        write_record(out, {**claim, "splits": {}, "quadrag": quadrag.__version__})


def read_record(dataset: Path) -> dict[str, Any]:
    """Read what a dataset says of how it was made."""
    path = dataset / OWN_RECORD
    if not path.is_file():
        raise QuadragError(f"{dataset} has no {OWN_RECORD}; expected a dataset that quadrag construct made")
    return dict(parse_json(path.read_bytes(), path))


def write_record(dataset: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write what `read_record` reads, and return it."""
    write_text(dataset / OWN_RECORD, f"{json.dumps(record, ensure_ascii=False, indent=1)}\n")
    return record
