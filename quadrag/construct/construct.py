"""A dataset made of documents: read, cleaned, put through a recipe's steps, and written with an account of it all.

The folder has upstream's layout, so that whatever takes upstream's files takes it. Beside them lie ``construct.json``,
which says how they were made, and under ``stages`` a file of every step. Made again with the same documents, model and
seed, it is the same to the byte; a folder that something else made is refused.
"""

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import quadrag
from quadrag.data.download import sha256
from quadrag.data.files import OWN_RECORD
from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import dumps, write_text

from . import recipe as recipes
from .account import make_card
from .documents import fitting, read_documents, without_copies
from .personal import without_personal_data
from .recipe import Given, Recipe
from .steps import Each, Maker, Row, Stage, Step, Whole, run_steps

STAGES = "stages"


@dataclass(frozen=True)
class Request:
    """What is to be made of what."""

    recipe: str  # a benchmark's name
    documents: Path  # folder of one's own documents
    out: Path  # folder of the dataset
    model: str  # what makes it, as the card names it
    limit: int | None = None  # how many documents questions are made from, drawn by the seed; all of them when None
    seed: int = 2333
    topics: Path | None = None
    table: Path | None = None
    templates: Path | None = None
    licence: str | None = None  # of the documents, for the card


@dataclass
class Made:
    """What was made: how many questions by ``CONFIG/SPLIT``, what each step kept, and why it stopped early, if so."""

    splits: dict[str, int] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    stopped: str | None = None


def construct(request: Request, maker: Maker) -> Made:
    """Make a dataset."""
    recipe = recipes.load(request.recipe)
    for name in ("topics", "table", "templates"):
        if getattr(request, name) is not None and name not in recipe.takes:
            raise QuadragError(f"--{name} does nothing for {request.recipe}; leave it out")
    given = Given([], request.seed, request.topics, request.table, request.templates)
    # What a recipe begins with is read before anything is written: a fault in it leaves no folder behind.
    own = recipe.begin(given) if recipe.begin else None
    if own is not None and request.limit is not None:
        raise QuadragError(f"--limit does nothing for {request.recipe}; leave it out")
    documents = read_documents(request.documents)
    cleaning = clean(recipe)
    claim = {**_describe(request), "documents": {"n": len(documents), "sha256": _sum(documents)}}
    _claim(request.out, claim)
    stages = request.out / STAGES
    for old in stages.glob("[0-9][0-9]-*.jsonl"):
        old.unlink()
    corpus, cleaned = run_steps(cleaning, documents, maker, stages)
    given = replace(given, corpus=corpus)
    begin = _draw(given, request.limit) if own is None else own
    rows, made = run_steps(recipe.steps(given), begin, maker, stages, first=len(cleaning) + 1)
    result = Made(recipe.write(rows, given, request.out), [*cleaned, *made], maker.stopped)
    steps = [stage.as_row() for stage in result.stages]
    record = _write(request.out, {**claim, "splits": result.splits, "steps": steps, "stopped": result.stopped})
    if not result.splits:
        raise QuadragError(f"no question came of {len(documents)} documents; {request.out / STAGES} says why, by step")
    languages = sorted({row["language"] for row in corpus})
    write_text(request.out / "README.md", make_card(record, languages, recipe.by_rule))
    return result


def estimate(request: Request) -> tuple[list[Stage], int, dict[str, int]]:
    """Say what making a dataset would take, from the documents alone; nothing is asked or written.

    Returns what became of the documents before any question is made, how many rows questions are made from, and how
    often each step asks a model at most.
    """
    recipe = recipes.load(request.recipe)
    with tempfile.TemporaryDirectory(prefix="quadrag-construct-") as aside:
        corpus, stages = run_steps(clean(recipe), read_documents(request.documents), Maker(), Path(aside))
    given = Given(corpus, request.seed, request.topics, request.table, request.templates)
    begin = list(recipe.begin(given)) if recipe.begin else _draw(given, request.limit)
    rows, requests = len(begin), {}
    for step in recipe.steps(given):
        if isinstance(step, Each):
            if step.asks:
                requests[step.name] = step.asks * (1 if step.once else rows)
            rows *= step.makes
    return stages, len(begin), requests


def clean(recipe: Recipe) -> list[Step]:
    """Return the steps that every recipe begins with: what is let go in them serves no question and no search."""
    return [
        Each("personal", without_personal_data),  # first: what is let go here stands in no file
        Whole("copies", without_copies),
        Each("fitting", fitting(recipe.least, recipe.most, recipe.languages)),
    ]


def _draw(given: Given, limit: int | None) -> list[Row]:
    if limit is None or limit >= len(given.corpus):
        return list(given.corpus)
    return [given.corpus[at] for at in sorted(given.draw("documents").sample(range(len(given.corpus)), limit))]


def _describe(request: Request) -> dict[str, Any]:
    plain = {name: value for name, value in asdict(request).items() if name not in ("documents", "out")}
    return {name: _name(value) if isinstance(value, Path) else value for name, value in plain.items()}


def _name(path: Path) -> dict[str, str]:
    try:
        return {"file": path.name, "sha256": sha256(path)}
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); give another file") from None


def _sum(documents: Sequence[Row]) -> str:
    found = hashlib.sha256()
    for row in documents:
        found.update(f"{dumps(row)}\n".encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _claim(out: Path, claim: Mapping[str, Any]) -> None:
    record = out / OWN_RECORD
    if record.is_file():
        before = parse_json(record.read_bytes(), record)
        other = [name for name in claim if not isinstance(before, dict) or before.get(name) != claim[name]]
        if other:
            raise QuadragError(f"{out} holds a dataset made otherwise ({', '.join(other)}); give another --out")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise QuadragError(f"{out} holds something else; give a new folder with --out")
    else:
        _write(out, {**claim, "splits": {}})


def _write(out: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    whole = {**record, "quadrag": quadrag.__version__}
    write_text(out / OWN_RECORD, f"{json.dumps(whole, ensure_ascii=False, indent=1)}\n")
    return whole
