"""What a judge says of the items of a label set: asked as a run asks it, or taken from files, the set, or a rule."""

import inspect
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.chat.prices import BudgetReached
from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError, unknown_name
from quadrag.metric_record import metric_record
from quadrag.metrics._shared.scoring import drive
from quadrag.progress import Progress
from quadrag.sheet import read_sheet
from quadrag.stats import NOT_APPLICABLE

from ..core.benchmark import known, load
from ..core.parts import Conditions
from ..core.result import PROFILES
from ..scoring.drive import Judge, load_scorer
from ..systems.system import Completer
from .labels import PAIRS, Graded, Item, LabelSet, check_shown
from .rules import RULE, RULES, judge_by_rule

PROFILE = PROFILES[-1]  # how replies are read
RECORDED = "recorded:"
_SHOWN = 120  # characters of a reply
_NO_GOLD = "(none is given; go by the passages)"
_CHINESE = re.compile("[\u4e00-\u9fff]")
# Why a judge has no verdict, as files may say it in its place; "" is a blank cell.
_REASONS = ("", "api_error", "raised", "unparsable", "truncated", "unreadable")


@dataclass(slots=True)
class Verdicts:
    """What a judge said."""

    judge: str
    # a grade for each id, or a number of a ranked set; None where none could be read. The judge's own alone: nothing
    # stands here of what a rule decides
    given: Mapping[str, str | None]
    reasons: Mapping[str, str] = field(default_factory=dict)  # why not, by id
    # the digests under which a run's signatures name the prompt; none of what no prompt was sent to
    prompts: Sequence[str] = ()
    service: str = ""  # where it was asked, as the ledger calls it
    usage: Mapping[str, Any] = field(default_factory=dict)  # calls, tokens and cost, of a live judge
    seconds: float = 0.0  # that it took
    unread: str = ""  # what it said in place of a verdict, how one looks, and what to do
    # the grades of items that the metric's rules decide, so that the judge is not asked, by id
    by_rule: Mapping[str, str] = field(default_factory=dict)


def list_judged(labels: LabelSet, verdicts: Verdicts) -> list[Item]:
    """Return the items that a judge has a verdict on; QuadragError where there is none."""
    judged = [item for item in labels.items if verdicts.given.get(item.id) is not None]
    if not judged and verdicts.by_rule and not verdicts.reasons:
        raise QuadragError(f"The judge {verdicts.judge} was asked about none: rules decide all answers ({labels.name})")
    if not judged:
        why = verdicts.unread or "; expected one at least"
        raise QuadragError(f"{verdicts.judge} has no readable verdict on {labels.name}{why}")
    return judged


def list_judges(labels: LabelSet) -> list[str]:
    """List the judges that a set needs no model for: those recorded with it, and rules where it has golds."""
    rules = not labels.ranked and set(labels.classes) == {"right", "wrong"} and any(item.golds for item in labels.items)
    return [*(f"{RECORDED}{name}" for name in labels.recorded), *(f"{RULE}{name}" for name in RULES if rules)]


def is_file(spec: str) -> bool:
    """Tell whether a judge is named by a file of its verdicts."""
    return Path(spec).is_file() or (Path(spec).suffix in (".csv", ".tsv", ".jsonl") and "://" not in spec)


def is_known(spec: str) -> bool:
    """Tell whether a judge is named that no model is asked for."""
    return spec.startswith((RULE, RECORDED)) or is_file(spec)


def known_verdicts(labels: LabelSet, spec: str) -> Verdicts:
    """Return the verdicts of a rule, ``rule:bounded``, or of a judge recorded with a set, ``recorded:gpt-4``."""
    if spec not in list_judges(labels):
        raise unknown_name(f"judge of {labels.name}", spec, [*list_judges(labels), "http://host:port/v1#model"])
    if spec.startswith(RULE):
        return Verdicts(spec, {item.id: judge_by_rule(spec, item.answer, item.golds) for item in labels.items})
    name = spec.removeprefix(RECORDED)
    given = labels.recorded[name]
    return Verdicts(name, given, {one: "unreadable" for one, verdict in given.items() if verdict is None})


def read_verdicts(labels: LabelSet, path: Path) -> Verdicts:
    """Read a judge's verdicts: a sheet with `id` and `verdict`.

    Raises QuadragError for ids without a label, and answers other than people saw.
    """
    items = {item.id: item for item in labels.items}
    sheet = read_sheet(path, "id", "verdict")
    verdicts = _read_texts(labels, {line.row["verdict"].strip() for line in sheet.lines})
    given: dict[str, str | None] = {}
    reasons = dict.fromkeys(items, "no verdict")
    for line in sheet.lines:
        name, text = line.row["id"].strip(), line.row["verdict"].strip()
        if name in given:
            raise QuadragError(f"{line.place}: item {name!r} has two verdicts; expected one")
        if name in labels.left:
            continue
        if name not in items:
            first = next(iter(items))
            raise QuadragError(f"{line.place}: item {name!r} has no label in {labels.name}; expected ids as {first!r}")
        shown = {"question": items[name].question, "answer": items[name].answer}
        check_shown(line, name, **{column: text for column, text in shown.items() if text.strip()})
        verdict = verdicts[text]
        if verdict is None and text not in _REASONS:
            wanted = "a number" if labels.ranked else " or ".join(PAIRS) if labels.pairs else labels.graded.spelled
            raise QuadragError(f"{line.place}: verdict {text!r:.80} on {name!r}; expected {wanted}, or nothing")
        given[name], reasons[name] = verdict, text or "unreadable"
    return Verdicts(path.stem, {name: given.get(name) for name in items}, reasons)


def _read_texts(labels: LabelSet, texts: set[str]) -> dict[str, str | None]:
    """Read verdicts as files have them: a grade or a judge's reply, of ranked sets a number, of pairs its sign."""
    if labels.ranked or labels.pairs:
        numbers = {text: _number(text.replace(",", ".") if labels.pairs else text) for text in texts}
        return {
            text: None if number is None else str((number > 0) - (number < 0)) if labels.pairs else text
            for text, number in numbers.items()
        }
    grades = {text: labels.graded.read(text) for text in texts}
    replies = [text for text, grade in grades.items() if grade is None and text not in _REASONS]
    return grades | dict(zip(replies, read_replies(labels.graded, replies), strict=True))


def _number(text: str) -> float | None:
    try:
        return float(text) if float(text) == float(text) else None
    except ValueError:
        return None


def check_askable(labels: LabelSet) -> None:
    """Refuse to ask where the items do not show what the judge must see."""
    if labels.ranked:
        raise QuadragError(f"no prompt here asks for what {labels.name} labels; give a file of numbers as --judge")
    needed = "passages" if _is_by_passages(labels.graded) else "golds"
    shown = ("question", "answer", needed)
    lacking = [name for name in shown if not any(getattr(item, name) for item in labels.items)]
    if lacking:
        named = ", ".join(lacking).replace("golds", "gold")
        raise QuadragError(
            f"{labels.name} has no {named} to show a judge; add the columns, or give a file of its verdicts as --judge"
        )


def find_benchmark(graded: Graded) -> tuple[str, str]:
    """Return a benchmark, and a config of it, whose runs ask a judge for the value."""
    for name in known():
        for config in load(name).configs:
            uses = load(name).metrics(config, Conditions("", top_k=1))
            if any(use.module == graded.metric and graded.key in use.keys for use in uses):
                return name, config
    raise QuadragError(f"no benchmark asks a judge for {graded.name}; give a file of its verdicts as --judge")


def ask_judge(labels: LabelSet, judge: Completer) -> Verdicts:
    """Ask a judge for a verdict on every item that no rule of the metric decides."""
    started = time.perf_counter()
    asked = _Asked(judge)
    with Progress(f"{labels.name}: verdicts", len(labels.items)) as progress:
        judge.on_progress = progress.update
        rows, signature = _judge_items(labels, asked)
    given: dict[str, str | None] = {}
    by_rule: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for item, row in zip(labels.items, rows, strict=True):
        grade = _grade_of(labels.grades, labels.graded.key, row)
        if grade is not None and row.get("ruled"):
            by_rule[item.id] = grade
            continue
        given[item.id] = grade
        if grade is None:
            reasons[item.id] = next(iter(row["reasons"].values()), "unparsable")
    return Verdicts(
        judge.model,
        given,
        reasons,
        prompts=[read_signature(signature)["prompt"]],
        service=str(getattr(judge, "service", "")),
        usage={name: value for name, value in judge.spent.items() if name != "oldest"},
        seconds=time.perf_counter() - started,
        unread=_explain_unread(labels.graded, asked.said) if "unparsable" in reasons.values() else "",
        by_rule=by_rule,
    )


def _explain_unread(graded: Graded, said: Sequence[str]) -> str:
    first = next((text for text in said if read_replies(graded, [text]) == [None]), "")
    return explain_unread(known_keys().line(first, _SHOWN), metric_record(graded.metric).verdict) if first else ""


def explain_unread(said: str, form: str) -> str:
    """Say what a judge said in place of a verdict, how one looks, and what to do."""
    cure = "try --judge-format json, or another judge" if form.startswith("{") else "name another judge"
    return f"; it said {said!r}, where a verdict is like {form!r}: {cure}; --fresh asks this one anew"


def read_replies(graded: Graded, replies: Sequence[str]) -> list[str | None]:
    """Return the grade that each reply says of some answer, None of one in which none can be read."""
    item = Item("", "", "question", "answer", golds=("gold",), passages=("passage",))
    rows, _ = _judge_items(LabelSet("", graded, [item] * len(replies), {}), lambda batch: list(replies))
    return [_grade_of(graded.grades, graded.key, row) for row in rows]


def list_requests(labels: LabelSet) -> list[list[dict[str, str]]]:
    """Return what a judge would be asked of items, without asking one; nothing of those that a rule decides."""
    requests: list[list[dict[str, str]]] = []

    def record(batch: list[list[dict[str, str]]]) -> list[Any]:
        requests.extend(batch)
        return [Failure("api_error", "not asked")] * len(batch)

    _judge_items(labels, record)
    return requests


def read_signature(signature: str) -> dict[str, str]:
    """Return the fields of a metric's signature."""
    fields = (part.partition(":") for part in signature.split("|")[1:])
    return {name: value for name, _, value in fields}


class _Asked:
    """A judge that keeps what it said, and makes no certificate where its budget ends."""

    def __init__(self, judge: Completer) -> None:
        self._judge = judge
        self.said: list[str] = []
        self.model = judge.model

    def __call__(self, batch: list[list[dict[str, str]]]) -> list[Any]:
        try:
            verdicts = self._judge(batch)
        except BudgetReached as stop:
            raise QuadragError(f"{stop}; no certificate was made") from None
        self.said += [verdict for verdict in verdicts if isinstance(verdict, str)]
        return list(verdicts)


def _judge_items(labels: LabelSet, judge: Judge) -> tuple[list[Mapping[str, Any]], str]:
    """Return the row of each item as the metric judges it, of pairs of both answers, and the signature."""
    graded, items = labels.graded, labels.items
    shown = [(item, item.answer) for item in items]
    shown += [(item, item.other or "") for item in items if labels.pairs]
    kind, n = load_scorer(graded.metric), len(items)
    language = "zh" if any(_CHINESE.search(item.question) for item in items) else "en"
    options = {"language": language} if "language" in inspect.signature(kind).parameters else {}
    config = graded.key if graded.key in metric_record(graded.metric).configs else None
    scorer = kind(profiles=(PROFILE,), judges=1, config=config, **options)
    columns = {
        "questions": [item.question for item, _ in shown],
        "contexts": [list(item.passages) for item, _ in shown],
    }
    cases = scorer.items(
        **kind.columns([answer for _, answer in shown], [_shape(graded, item) for item, _ in shown]),
        **{name: values for name, values in columns.items() if name in kind.COLUMNS},
    )
    rows: list[Mapping[str, Any]] = [row[PROFILE] for row in drive(scorer, cases, [judge])]
    if labels.pairs:
        rows = [_better(graded.key, *both) for both in zip(rows[:n], rows[n:], strict=True)]
    return rows, scorer.sign(PROFILE, [getattr(judge, "model", None)])


def _shape(graded: Graded, item: Item) -> Any:
    """Return accepted answers as the metric takes them: RGB's want any one of a list of lists."""
    if not item.golds and _is_by_passages(graded):
        return [_NO_GOLD]
    return [list(item.golds)] if graded.metric in ("rejection_rate", "error_detection") else list(item.golds)


def _is_by_passages(graded: Graded) -> bool:
    """Whether an answer is judged by the passages that it was made from, and a gold answer may be missing."""
    return graded.key in ("hal", "utl")


def _better(key: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    reasons = {**first["reasons"], **second["reasons"]}
    if key in reasons:
        return {key: None, "reasons": reasons}
    return {key: float((second[key] > first[key]) - (second[key] < first[key])), "reasons": {}}


def _grade_of(grades: Mapping[str, float | None], key: str, row: Mapping[str, Any]) -> str | None:
    """Return the grade that a metric's row of an item stands for; a value that stands for a failure is none."""
    why = row["reasons"].get(key)
    if why is not None and why != NOT_APPLICABLE:
        return None
    value = None if why else row[key]
    return next((grade for grade, worth in grades.items() if worth == value), None)
