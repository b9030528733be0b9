"""A dataset made of documents: read, cleaned, put through a recipe's steps, and written with an account of it all.

The folder has upstream's layout, so that whatever takes upstream's files takes it. Beside them lie ``construct.json``,
which says how they were made, and under ``stages`` a file of every step. Made again with the same documents, model and
seed, from the replies in the ledger, it is the same to the byte; a folder that something else made is refused.
"""

import contextlib
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import quadrag
from quadrag.chat.client import Completer
from quadrag.chat.policy import BudgetReached
from quadrag.chat.reply import Failure, as_verdict
from quadrag.data.files import OWN_RECORD, sha256
from quadrag.errors import QuadragError, parse_json
from quadrag.hub.export import join_card, size_category
from quadrag.printing import Progress
from quadrag.records import dumps, write_text
from quadrag.reporting.table import Cell, Table
from quadrag.reporting.table import Row as TableRow

from .documents import read_documents, reject_copies, reject_personal_data, reject_unfit
from .recipe import Order, Rejected, Request, Row, Step, Work, load, reject

FILES = ("topics", "table", "templates")  # that some recipes take
RULES = "rules"  # in place of a model's name
WAVE = 128  # rows that go through steps of single rows together
BUDGET = "budget reached"
_REASONS = 5  # of a step, the most frequent ones


@dataclass
class Maker:
    completer: Completer | None = None  # None: no model is asked
    stopped: str | None = None  # why no more is asked, once a budget ends

    def make(self, work: Callable[[Any], Any], rows: Sequence[Any]) -> list[Row]:
        """Do the works of rows side by side; each round of their requests is one batch."""
        works = [_as_work(work, row) for row in rows]
        made: list[list[Row]] = [[] for _ in works]
        replies: dict[int, Any] = dict.fromkeys(range(len(works)))  # None begins a work
        while replies:
            asked: dict[int, Request] = {}
            for at, reply in replies.items():
                try:
                    asked[at] = works[at].throw(reply) if isinstance(reply, Rejected) else works[at].send(reply)
                except StopIteration as end:
                    made[at] = end.value
                except Rejected as reason:
                    made[at] = [reject(rows[at], reason)]
            replies = dict(zip(asked, self._ask([*asked.values()]), strict=True))
        return [*itertools.chain.from_iterable(made)]

    def _ask(self, requests: Sequence[Request]) -> list[str | Rejected]:
        if self.stopped or self.completer is None or not requests:
            return [Rejected(BUDGET)] * len(requests)
        chats, samples = zip(*requests, strict=True)
        try:
            replies = self.completer.complete(chats, samples=samples)
        except BudgetReached as stop:
            replies, self.stopped = stop.results, str(stop)
        return [_read(as_verdict(reply)) for reply in replies]


def _read(reply: str | Failure) -> str | Rejected:
    if isinstance(reply, str):
        return reply
    if not reply.asked:
        return Rejected(BUDGET)
    return Rejected("reply cut by length" if reply.reason == "truncated" else "no reply")


def _as_work(work: Callable[[Any], Any], row: Any) -> Work:
    made = work(row)
    rows: list[Row] = (yield from made) if isinstance(made, Generator) else made
    return rows


def construct(order: Order, maker: Maker) -> dict[str, Any]:
    """Make a dataset, and return what its ``construct.json`` says.

    That is how many questions there are by ``CONFIG/SPLIT``, what each step kept, and why it stopped early, if so.
    """
    recipe = load(order.recipe)
    idle = [*(name for name in FILES if name not in recipe.takes), *(["limit"] if recipe.begin else [])]
    if typed := [name for name in idle if getattr(order, name) is not None]:
        raise QuadragError(f"--{typed[0]} does nothing for {order.recipe}; leave it out")
    claim = _describe(order)
    # What a recipe begins with is read before anything is written: a fault in it leaves no folder behind.
    begin = recipe.begin(order) if recipe.begin else None
    documents = read_documents(order.documents)
    # What is let go in these serves no question and no search; what is personal stands in no file.
    cleaning = [
        Step("personal", reject_personal_data),
        Step("copies", reject_copies, together=True),
        Step("fitting", lambda row: reject_unfit(row, recipe.least, recipe.most, recipe.languages)),
    ]
    digest = hashlib.sha256("".join(f"{dumps(row)}\n" for row in documents).encode()).hexdigest()
    claim["documents"] = {"n": len(documents), "sha256": digest}
    _claim(order.out, claim)
    stages = order.out / "stages"
    for old in stages.glob("[0-9][0-9]-*.jsonl"):
        old.unlink()
    corpus, cleaned = run_steps(cleaning, documents, maker, stages)
    order = replace(order, corpus=corpus)
    first = _draw(order) if begin is None else begin
    rows, made = run_steps(recipe.steps(order), first, maker, stages, len(cleaning) + 1)
    splits = recipe.write(rows, order, order.out)
    record = {
        **claim,
        "splits": splits,
        "steps": [*cleaned, *made],
        "stopped": maker.stopped,
        "quadrag": quadrag.__version__,
    }
    write_record(order.out, record)
    if not splits:
        raise QuadragError(f"no question came of {len(documents)} documents; {stages} says why, by step")
    languages = sorted({row["language"] for row in corpus})
    write_text(order.out / "README.md", make_card(record, languages, recipe.by_rule))
    return record


def _draw(order: Order) -> Sequence[Row]:
    if order.limit is None or order.limit >= len(order.corpus):
        return order.corpus
    places = order.draw("documents").sample(range(len(order.corpus)), order.limit)
    return [order.corpus[at] for at in sorted(places)]


def run_steps(
    steps: Sequence[Step], rows: Sequence[Row], maker: Maker, folder: Path, first: int = 1
) -> tuple[list[Row], list[Row]]:
    """Run steps one after the other, the rows of each, with those let go, into a file as ``01-NAME.jsonl``.

    Steps of single rows that follow each other are done for a few rows before the next ones begin: what a budget ends
    early is then a smaller dataset, not half of one.

    It returns the rows of the last step, and of each step `step`, its name, `rows`, how many came in, `kept`, and
    `dropped`, how many were let go by reason. `first` is the number of the first file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stages: list[Row] = [{"step": step.name, "rows": 0, "kept": 0, "dropped": Counter()} for step in steps]
    rows = list(rows)
    with contextlib.ExitStack() as stack:
        paths = [folder / f"{number:02}-{step.name}.jsonl" for number, step in enumerate(steps, first)]
        files = [stack.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in paths]
        for together, group in itertools.groupby(zip(steps, files, stages, strict=True), lambda each: each[0].together):
            chain = list(group)
            kept: list[Row] = []
            for wave in _waves(f"{chain[0][0].name} to {chain[-1][0].name}", rows, len(rows) if together else WAVE):
                for step, file, stage in chain:
                    made = maker.make(step.work, [wave] if together else wave)
                    dropped = [row for row in made if "dropped" in row]
                    stage["rows"] += len(wave)
                    wave = [row for row in made if "dropped" not in row]
                    stage["kept"] += len(wave)
                    stage["dropped"].update(row["dropped"] for row in dropped)
                    file.writelines(f"{dumps(row)}\n" for row in [*wave, *dropped])
                kept += wave
            rows = kept
    return rows, [{**stage, "dropped": dict(stage["dropped"].most_common())} for stage in stages]


def _waves(label: str, rows: Sequence[Row], size: int) -> Iterator[list[Row]]:
    with Progress(label, len(rows)) as progress:
        for begin in range(0, len(rows), max(size, 1)):
            yield list(rows[begin : begin + size])
            progress.update(begin + size)


# The account of it.


def _describe(order: Order) -> dict[str, Any]:
    values = {name: value for name, value in asdict(order).items() if name not in ("documents", "out", "corpus")}
    try:
        files = {name: {"file": values[name].name, "sha256": sha256(values[name])} for name in FILES if values[name]}
    except OSError as error:
        raise QuadragError(f"cannot read {error.filename} ({error.strerror}); give another file") from None
    return {**values, **files}


def _claim(out: Path, claim: Mapping[str, Any]) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        write_record(out, {**claim, "splits": {}, "quadrag": quadrag.__version__})
    else:
        before = read_record(out)
        if other := [name for name in claim if before.get(name) != claim[name]]:
            raise QuadragError(f"{out} holds a dataset made otherwise ({', '.join(other)}); give another --out")


def read_record(dataset: Path) -> dict[str, Any]:
    path = dataset / OWN_RECORD
    if not path.is_file():
        raise QuadragError(f"{dataset} has no {OWN_RECORD}; expected a dataset that quadrag construct made")
    return dict(parse_json(path.read_bytes(), path))


def write_record(dataset: Path, record: Mapping[str, Any]) -> None:
    write_text(dataset / OWN_RECORD, f"{json.dumps(record, ensure_ascii=False, indent=1)}\n")


def make_card(record: Mapping[str, Any], languages: Sequence[str], by_rule: str) -> str:
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


def tabulate_made(record: Mapping[str, Any]) -> list[Table]:
    lines, notes = [], []
    for stage in record["steps"]:
        counts = stage["rows"], stage["kept"], sum(stage["dropped"].values())
        lines.append(TableRow(stage["step"], [Cell(f"{count:,}") for count in counts]))
        reasons = [f"{count:,} {why}" for why, count in stage["dropped"].items()]
        if more := reasons[_REASONS:]:
            reasons[_REASONS:] = [f"{len(more):,} further reasons"]
        notes += [f"{stage['step']} dropped {'; '.join(reasons)}."] if reasons else []
    splits = [TableRow(name, [Cell(f"{n:,}")]) for name, n in record["splits"].items()]
    return [
        Table("What became of the documents", "step", ["rows", "kept", "dropped"], lines, notes),
        Table("What was made", "config/split", ["questions"], splits),
    ]
