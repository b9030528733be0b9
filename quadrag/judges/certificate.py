"""A judge held against people: what it says of the items of a label set, the certificate made of it, and its tables.

Verdicts are asked for as a run asks, or taken from a file, the set, or a rule of the metric. The tables are like those
that papers print of judges: a row a judge, and a row a class.
"""

import inspect
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from quadrag import __version__, catalogue
from quadrag.benchmark import load
from quadrag.catalogue import load_scorer
from quadrag.chat.client import Completer
from quadrag.errors import QuadragError, pick
from quadrag.metric_record import metric_record
from quadrag.metrics._shared.scoring import drive
from quadrag.metrics._shared.slots import PLAIN
from quadrag.printing import Progress
from quadrag.records import write_text
from quadrag.reporting.table import ALIKE, FEW, NOTHING, Cell, Row, Table, format_value
from quadrag.results import PROFILES, Note
from quadrag.results.certificates import FORM, Certificate, find_use, read_signature, round_two
from quadrag.scoring.drive import Judge, Messages
from quadrag.sheet import read_sheet
from quadrag.spec import RunSpec
from quadrag.stats import NOT_APPLICABLE, wilson
from quadrag.stats.agreement import Agreement, agreement, agreement_intervals, class_figures, count_pairs

from .labels import Graded, Item, LabelSet, find_graded, list_lines

PROFILE = PROFILES[-1]  # how replies are read
RECORDED = "recorded:"
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


def find_verdicts(labels: LabelSet, spec: str, prompt: str | None = None) -> Verdicts | None:
    """Find the verdicts of a file, or of a judge recorded with a set; None of a model, which is asked."""
    path = Path(spec)
    if path.is_file() or (path.suffix in (".csv", ".tsv", ".jsonl") and "://" not in spec):
        return read_verdicts(labels, path, prompt)
    if not spec.startswith(RECORDED):
        return None
    name = spec.removeprefix(RECORDED)
    return Verdicts(name, pick(f"judge recorded with {labels.name}", name, labels.recorded))


def read_verdicts(labels: LabelSet, path: Path, prompt: str | None = None) -> Verdicts:
    """Read a judge's verdicts: a sheet with `id` and `verdict`, a grade or the judge's reply to the `prompt`.

    Raises QuadragError for ids without a label, and answers other than people saw.
    """
    lines = list_lines(read_sheet(path, "id", "verdict"), labels.items)
    texts = {name: line.row["verdict"].strip() for name, line in lines.items()}
    read = {text: labels.graded.read(text) for text in texts.values()}
    if labels.graded.metric and not labels.pairs:
        replies = [text for text, grade in read.items() if text and grade is None]
        read |= zip(replies, read_replies(labels.graded, replies, prompt), strict=True)
    for name, text in texts.items():
        if text and read[text] is None:
            expected = f"{labels.graded.spelled}, or nothing"
            raise QuadragError(f"{lines[name].place}: verdict {text!r:.80} on {name!r}; expected {expected}")
    reasons = {item.id: "unreadable" if item.id in texts else "no verdict" for item in labels.items}
    return Verdicts(path.stem, {name: read[text] for name, text in texts.items()}, reasons)


# With one.


def check_askable(labels: LabelSet) -> None:
    cure = "give a file of its verdicts as --judge"
    if not labels.graded.metric:
        raise QuadragError(f"no prompt asks a judge for {labels.graded.name}, as {labels.name} has it; {cure}")
    columns = {"question": "question", "answer": "answer"}
    columns |= {"passages": "passages"} if labels.graded.record.by_passages else {"golds": "gold"}
    for name, column in columns.items():
        if not any(getattr(item, name) for item in labels.items):
            raise QuadragError(f"{labels.name} has no {column} to show a judge; add the column, or {cure}")


def find_benchmark(graded: Graded) -> tuple[str, str]:
    for name in catalogue.benchmarks():
        for config in load(name).configs:
            for use in load(name).metrics(RunSpec(benchmark=name, config=config)):
                if use.module == graded.metric and graded.key in use.keys:
                    return name, config
    raise QuadragError(f"no benchmark here asks a judge for {graded.name}; give a file of its verdicts as --judge")


def ask_judge(labels: LabelSet, judge: Completer, prompt: str | None = None) -> Verdicts:
    texts: list[str] = []

    def ask(batch: list[Messages]) -> list[Any]:
        replies = list(judge(batch))
        texts.extend(reply if isinstance(reply, str) else getattr(reply, "text", "") for reply in replies)
        return replies

    with Progress(f"{labels.name}: verdicts", len(labels.items)) as progress:
        judge.on_progress = progress.update
        verdicts = judge_items(labels, ask, judge.model, prompt)
    verdicts.service = str(getattr(judge, "service", ""))
    verdicts.usage = {name: value for name, value in judge.spent.items() if name != "oldest"}
    if {"unparsable", "truncated"} & {*verdicts.reasons.values()}:
        single = find_graded(f"{labels.graded.metric}.{labels.graded.key}")
        verdicts.unread = next(
            (text for text in filter(None, texts) if read_replies(single, [text], prompt) == [None]), ""
        )
    return verdicts


def read_replies(graded: Graded, replies: Sequence[str], prompt: str | None = None) -> list[str | None]:
    """Return the grade that each reply says of some answer, None of one in which none can be read."""
    ids = [str(n) for n in range(len(replies))]
    items = [Item(name, "", "question", "answer", golds=("gold",), passages=("passage",)) for name in ids]
    verdicts = judge_items(LabelSet("", graded, items, {}), lambda batch: list(replies), prompt=prompt)
    return [verdicts.grades.get(name) for name in ids]


def judge_items(labels: LabelSet, judge: Judge, model: str = "", prompt: str | None = None) -> Verdicts:
    """Return the verdict on each item as the metric makes it of what `judge` replies to its `prompt` of that name.

    Both answers of a pair are judged, each by itself.
    """
    graded = labels.graded
    answers = [(item, text) for item in labels.items for text in (item.answer, item.other) if text is not None]
    scorer_class = load_scorer(graded.metric)
    language = "zh" if any(_CHINESE.search(item.question) for item in labels.items) else "en"
    options = {"language": language} if "language" in inspect.signature(scorer_class).parameters else {}
    if prompt == PLAIN:
        options["prompt"] = prompt
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
        return ["(none is given; go by the passages)"]
    return [golds] if metric_record(graded.metric).parts else golds


def _compare_pair(key: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    reasons = {**first["reasons"], **second["reasons"]}
    sign = None if key in reasons else float((second[key] > first[key]) - (second[key] < first[key]))
    return {key: sign, "reasons": reasons}


def certify(labels: LabelSet, verdicts: Verdicts) -> Certificate:
    graded, classes = labels.graded, list(labels.graded.grades)
    judged = list_judged(labels, verdicts)
    ruled = [item for item in labels.items if item.id in verdicts.by_rule]
    lacking = {item.id for item in labels.items} - {item.id for item in (*judged, *ruled)}
    grades = [str(verdicts.grades[item.id]) for item in judged]
    table = count_pairs([item.label for item in judged], grades, classes)
    ceiling = measure_ceiling(labels)
    figures: dict[str, Any] = {
        **_agree(judged, grades, classes),
        "groups": len({item.group for item in judged}),
        "unreadable": Counter(verdicts.reasons.get(name, "unreadable") for name in lacking),
        "classes": classes,
        "confusion": table.tolist(),
        "by_class": dict(zip(classes, class_figures(table), strict=True)),
        "ceiling": ceiling._asdict() if ceiling else None,
        "usage": dict(verdicts.usage),
    }
    figures["use"], figures["apart"] = find_use(figures)
    if ruled:
        all_grades = [*grades, *(verdicts.by_rule[item.id] for item in ruled)]
        figures["pipeline"] = {**_agree([*judged, *ruled], all_grades, classes), "by_rule": len(ruled)}
    known_set: dict[str, Any] = {
        "name": labels.name,
        "graded": graded.name,
        "source": labels.source,
        "sha256": labels.files,
        "n": len(labels.items),
        "notes": labels.notes,
    }
    known_set, figures = json.loads(json.dumps([known_set, figures]))  # as the file has them
    judge, prompts = verdicts.judge, list(verdicts.prompts)
    return Certificate(
        FORM, __version__, known_set, graded.metric, graded.key, judge, verdicts.service, prompts, PROFILE, figures
    )


def find_few(items: Sequence[Item]) -> str:
    """Return that labels of so few questions, or groups, tell nothing of a judge; "" of enough."""
    groups = len({item.group for item in items})
    if groups >= FEW:
        return ""
    return f"labels of {groups} question{'s' * (groups != 1)} tell nothing of a judge: label {FEW} questions or more"


def _agree(items: Sequence[Item], grades: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
    labels = [item.label for item in items]
    table = count_pairs(labels, grades, classes)
    n, accuracy, kappa, ac1 = agreement(table)
    intervals: Sequence[Any] = (None, None, None)
    if not find_few(items):
        groups = [item.group for item in items]
        intervals = agreement_intervals(labels, grades, groups, classes)
        if len({*groups}) == n:
            intervals = (wilson(int(np.trace(table)), n), *intervals[1:])
    values = {"n": n, "agreement": accuracy, "kappa": kappa, "ac1": ac1}
    return values | dict(zip(("agreement_interval", "kappa_interval", "ac1_interval"), intervals, strict=True))


def measure_ceiling(labels: LabelSet) -> Agreement | None:
    """Return how people agree with each other: of several, the pairs of the items that both labelled, together."""
    votes = [*(item.votes for item in labels.items), *labels.split]
    pairs = [pair for each in votes for pair in combinations(each, 2) if None not in pair]
    if not pairs:
        return None
    first, second = zip(*pairs, strict=True)
    return agreement(count_pairs(first, second, list(labels.graded.grades)))


def write_certificate(certificate: Certificate, path: Path) -> None:
    write_text(path, json.dumps(certificate.row, ensure_ascii=False, indent=1) + "\n")


# Tables of certificates.


def describe_labels(labels: LabelSet) -> str:
    counts = (f"{name} {sum(item.label == name for item in labels.items)}" for name in labels.graded.grades)
    return f"{labels.name}: {len(labels.items)} labels ({', '.join(counts)})"


def tabulate(judges: Sequence[Certificate]) -> list[Table]:
    return [_compare(judges), *(_classes(judge) for judge in judges if len(judges) == 1)]


def _compare(judges: Sequence[Certificate]) -> Table:
    labels, ceiling = judges[0].labels, judges[0].figures["ceiling"]
    notes: list[Note | str] = [f"Labels: {labels['source']}."] if labels["source"] else []
    notes += [
        *labels["notes"],
        "Agreement in percent; kappa and AC1: 1 is the best, 0 as by chance.",
        "95% intervals of questions drawn with replacement, Wilson's of items that share none; none under five.",
    ]
    lines = []
    for judge in judges:
        name, figures = judge.judge, judge.figures
        mark = ALIKE if judge.is_chance else ""
        lines.append(Row(name, _cells(figures, mark)))
        if pipeline := figures.get("pipeline"):
            lines.append(Row(f"rules and {name}", _cells(pipeline, mark)))
        if figures["agreement_interval"] is None:
            notes += [f"Labels of fewer than {FEW} questions tell nothing of a judge."] * (len(judges) == 1)
        elif judge.is_chance or len(judges) == 1:
            notes.append(judge.note([labels["graded"]]))
        if unreadable := figures["unreadable"]:
            counts = ", ".join(f"{why} {count}" for why, count in sorted(unreadable.items()))
            notes.append(f"{name}: {sum(unreadable.values())} items without a verdict ({counts}), left out.")
    if ceiling:
        lines.append(Row("people (ceiling)", _cells(ceiling | {"agreement": ceiling["accuracy"]}), rule=True))
    title = f"Agreement with people, {labels['name']}, {labels['graded']}"
    return Table(title, "judge", ["agreement", "kappa", "AC1", "n"], lines, notes)


def _cells(figures: Mapping[str, Any], mark: str = "") -> list[Cell]:
    cells = []
    for name, write in (("agreement", format_value), ("kappa", round_two), ("ac1", round_two)):
        value, between = figures[name], figures.get(f"{name}_interval")
        low, high = between or (0, 0)
        # An interval without width would look like certainty.
        sub = "" if not between else NOTHING if low == high else f"{write(low)} to {write(high)}"
        cells.append(Cell((NOTHING if value is None else write(value)) + mark, sub))
    return [*cells, Cell(str(figures["n"]))]


def _classes(judge: Certificate) -> Table:
    figures = judge.figures
    lines = []
    for (label, figure), counts in zip(figures["by_class"].items(), figures["confusion"], strict=True):
        shares = [format_value(figure[kind]) for kind in ("precision", "recall", "f1")]
        lines.append(Row(label, [*map(Cell, [*shares, *map(str, counts), str(figure["labels"])])]))
    columns = ["precision", "recall", "F1", *(f"judge {label}" for label in figures["classes"]), "n"]
    return Table(f"By class, {judge.judge}", "people say", columns, lines, ["Percent, and counts."])
