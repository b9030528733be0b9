"""What a judge says of the items of a label set: asked as a run asks it, or taken from a file, the set, or a rule."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quadrag.benchmark import known, load
from quadrag.chat.client import Completer
from quadrag.errors import QuadragError, pick
from quadrag.metric_record import metric_record
from quadrag.metrics._shared.scoring import drive
from quadrag.parts import Conditions
from quadrag.printing import Progress
from quadrag.results.certificates import read_signature
from quadrag.results.run import PROFILES
from quadrag.scoring.drive import Judge, Messages, load_scorer
from quadrag.sheet import read_sheet
from quadrag.stats import NOT_APPLICABLE

from .labels import Graded, Item, LabelSet, find_graded, list_lines

PROFILE = PROFILES[-1]  # how replies are read
RECORDED = "recorded:"
_NO_GOLD = "(none is given; go by the passages)"
_CHINESE = re.compile("[\u4e00-\u9fff]")


@dataclass(slots=True)
class Verdicts:
    judge: str
    grades: dict[str, str | None] = field(default_factory=dict)  # by id, the judge's own alone; None: not readable
    reasons: dict[str, str] = field(default_factory=dict)  # why there is none, by id
    by_rule: dict[str, str] = field(default_factory=dict)  # grades of items that rules of the metric decide, by id
    prompts: Sequence[str] = ()  # the digests under which a run's signatures name the prompt; none of what had none
    service: str = ""  # where it was asked, as the ledger calls it
    usage: Mapping[str, Any] = field(default_factory=dict)  # calls, tokens and cost, of a live judge
    unread: str = ""  # the first reply of a live judge in which there is none


def list_judged(labels: LabelSet, verdicts: Verdicts) -> list[Item]:
    judged = [item for item in labels.items if verdicts.grades.get(item.id) is not None]
    if not judged:
        ruled = f"; rules decide {len(verdicts.by_rule)} of {len(labels.items)} items" if verdicts.by_rule else ""
        raise QuadragError(f"{verdicts.judge} has no readable verdict on {labels.name}{ruled}")
    return judged


# Without a model.


def find_verdicts(labels: LabelSet, spec: str) -> Verdicts | None:
    """Find the verdicts of a file, or of a judge recorded with a set; None of a model, which is asked."""
    path = Path(spec)
    if path.is_file() or (path.suffix in (".csv", ".tsv", ".jsonl") and "://" not in spec):
        return read_verdicts(labels, path)
    if not spec.startswith(RECORDED):
        return None
    name = spec.removeprefix(RECORDED)
    return Verdicts(name, pick(f"judge recorded with {labels.name}", name, labels.recorded))


def read_verdicts(labels: LabelSet, path: Path) -> Verdicts:
    """Read a judge's verdicts: a sheet with `id` and `verdict`, a grade or the judge's reply.

    Raises QuadragError for ids without a label, and answers other than people saw.
    """
    shown = {item.id: {"question": item.question, "answer": item.answer} for item in labels.items}
    nonblank = {name: {column: text for column, text in texts.items() if text.strip()} for name, texts in shown.items()}
    lines = list_lines(read_sheet(path, "id", "verdict"), nonblank)
    texts = {name: line.row["verdict"].strip() for name, line in lines.items()}
    read = {text: labels.graded.read(text) for text in texts.values()}
    if labels.graded.metric and not labels.pairs:
        replies = [text for text, grade in read.items() if text and grade is None]
        read |= zip(replies, read_replies(labels.graded, replies), strict=True)
    for name, text in texts.items():
        if text and read[text] is None:
            expected = f"{labels.graded.spelled}, or nothing"
            raise QuadragError(f"{lines[name].place}: verdict {text!r:.80} on {name!r}; expected {expected}")
    reasons = {name: "unreadable" if name in texts else "no verdict" for name in shown}
    return Verdicts(path.stem, {name: read[text] for name, text in texts.items()}, reasons)


# With one.


def check_askable(labels: LabelSet) -> None:
    """Refuse to ask where no prompt asks for what people graded, or the items do not show what a judge must see."""
    cure = "give a file of its verdicts as --judge"
    if not labels.graded.metric:
        raise QuadragError(f"no prompt asks a judge for {labels.graded.name}, as {labels.name} has it; {cure}")
    columns = {"question": "question", "answer": "answer"}
    columns |= {"passages": "passages"} if labels.graded.record.by_passages else {"golds": "gold"}
    for name, column in columns.items():
        if not any(getattr(item, name) for item in labels.items):
            raise QuadragError(f"{labels.name} has no {column} to show a judge; add the column, or {cure}")


def find_benchmark(graded: Graded) -> tuple[str, str]:
    """Return a benchmark, and a config of it, whose runs ask a judge for the value."""
    for name in known():
        for config in load(name).configs:
            for use in load(name).metrics(config, Conditions("", top_k=1)):
                if use.module == graded.metric and graded.key in use.keys:
                    return name, config
    raise QuadragError(f"no benchmark here asks a judge for {graded.name}; give a file of its verdicts as --judge")


def ask_judge(labels: LabelSet, judge: Completer) -> Verdicts:
    """Ask a judge for a verdict on every item that no rule of the metric decides."""
    texts: list[str] = []

    def ask(batch: list[Messages]) -> list[Any]:
        replies = list(judge(batch))
        texts.extend(reply for reply in replies if isinstance(reply, str))
        return replies

    with Progress(f"{labels.name}: verdicts", len(labels.items)) as progress:
        judge.on_progress = progress.update
        verdicts = judge_items(labels, ask, judge.model)
    verdicts.service = str(getattr(judge, "service", ""))
    verdicts.usage = {name: value for name, value in judge.spent.items() if name != "oldest"}
    if "unparsable" in verdicts.reasons.values():
        single = find_graded(f"{labels.graded.metric}.{labels.graded.key}")
        verdicts.unread = next((text for text in texts if read_replies(single, [text]) == [None]), "")
    return verdicts


def read_replies(graded: Graded, replies: Sequence[str]) -> list[str | None]:
    """Return the grade that each reply says of some answer, None of one in which none can be read."""
    ids = [str(n) for n in range(len(replies))]
    items = [Item(name, "", "question", "answer", golds=("gold",), passages=("passage",)) for name in ids]
    verdicts = judge_items(LabelSet("", graded, items, {}), lambda batch: list(replies))
    return [verdicts.grades.get(name) for name in ids]


def judge_items(labels: LabelSet, judge: Judge, model: str = "") -> Verdicts:
    """Return the verdict on each item as the metric makes it of what `judge` replies.

    Both answers of a pair are judged, each by itself.
    """
    graded = labels.graded
    answers = [(item, text) for item in labels.items for text in (item.answer, item.other) if text is not None]
    scorer_class = load_scorer(graded.metric)
    language = "zh" if any(_CHINESE.search(item.question) for item in labels.items) else "en"
    options = {"language": language} if "language" in inspect.signature(scorer_class).parameters else {}
    config = graded.key if graded.key in metric_record(graded.metric).configs else None
    scorer = scorer_class(profiles=(PROFILE,), judges=1, config=config, **options)
    columns = {
        "questions": [item.question for item, _ in answers],
        "contexts": [list(item.passages) for item, _ in answers],
    }
    cases = scorer.items(
        **scorer_class.columns([text for _, text in answers], [_references_of(item, graded) for item, _ in answers]),
        **{name: values for name, values in columns.items() if name in scorer_class.COLUMNS},
    )
    rows = (row[PROFILE] for row in drive(scorer, cases, [judge]))
    verdicts = Verdicts(model, prompts=[read_signature(scorer.sign(PROFILE, [model]))["prompt"]])
    for item in labels.items:
        row = next(rows) if item.other is None else _compare_pair(graded.key, next(rows), next(rows))
        reason = row["reasons"].get(graded.key, "")
        value = None if reason else row[graded.key]
        grade = next((grade for grade, worth in graded.grades.items() if worth == value), None)
        if grade is None or reason not in ("", NOT_APPLICABLE):
            verdicts.reasons[item.id] = reason or "unparsable"
        else:
            (verdicts.by_rule if row.get("ruled") else verdicts.grades)[item.id] = grade
    return verdicts


def _references_of(item: Item, graded: Graded) -> Any:
    golds = list(item.golds)
    if not golds and graded.record.by_passages:
        return [_NO_GOLD]
    return [golds] if metric_record(graded.metric).parts else golds


def _compare_pair(key: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    reasons = {**first["reasons"], **second["reasons"]}
    sign = None if key in reasons else float((second[key] > first[key]) - (second[key] < first[key]))
    return {key: sign, "reasons": reasons}
