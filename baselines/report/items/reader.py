"""Single questions of a run as a person reads them: question, passages, answer, gold, values."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError, unknown_name
from quadrag.metric_record import metric_record, show_key
from quadrag.records import Answer, Key, Passage, Question, document_id
from quadrag.stats import NOT_APPLICABLE

from ...core.benchmark import Benchmark, load
from ...core.run_record import RunRecord
from ...core.spec import RAG
from ...core.task import load_questions
from ...reporting.messages import say_item
from ...results.items import FAILED, short_of
from ...results.run import PROFILES, Result
from ...runs import retrieve
from ...runs.folder import read_answers
from ...runs.questions import digest_each
from ...scoring.served import match_gold, read_gold
from ...systems.own import as_served
from .chosen import find_metric
from .scored import ScoredItems, values_of
from .spelled import find_id, shorten_ids


@dataclass(slots=True)
class ShownItem:
    """One question of a run with all that belongs to it.

    Attributes:
        question: with its gold.
        answer: None where the run's folder holds no answers.
        passages: those that were shown or found.
        documents: which of the benchmark's documents each passage is of, None where it is none; None where the run did
            not measure its search.
        missed: the gold documents that none of them is of, each with its text, "" where that is not known.
        scored: what is scored of the answer, "" where that is the whole.
        values: of every metric, what it counts as under official and corrected, and the reason where it has none.
        failure: what went wrong where there is no answer or a part of one, "" where nothing is known.
        headlines: the metrics that a summary shows.
        verdicts: what the judge said, by metric.
        sample: which answer of the model it is, from 0.
        called: the id as it is shown, which `Which` takes too.
        profile: whose values say how it was answered.
    """

    question: Question
    answer: Answer | None
    passages: Sequence[Passage]
    values: dict[str, Mapping[str, Any]]
    documents: Sequence[str | None] | None = None
    missed: Mapping[str, str] = field(default_factory=dict)
    scored: str = ""
    failure: str = ""
    headlines: Sequence[str] = ()
    verdicts: dict[str, list[str]] = field(default_factory=dict)
    sample: int = 0
    called: str = ""
    profile: str = PROFILES[0]


class Which(NamedTuple):
    """Which items of a run are meant: those to which all that is given applies.

    Attributes:
        ident: the id of one, or its shown beginning.
        wrong: those whose value of a metric is not the best one.
        unscored: those without a value of some metric that applies to them, what failed first.
        metric: the one that says what is wrong, as ``rouge_l``, shown among the headlines; the first valid one with a
            better end when None.
        split: of this one alone.
        worse: those on which a second run is worse than a first one (`changes.py`).
        better: those on which it is better.
        profile: whose values say so; the run's own when None.
    """

    ident: str | None = None
    wrong: bool = False
    unscored: bool = False
    metric: str | None = None
    split: str | None = None
    worse: bool = False
    better: bool = False
    profile: str | None = None


class RunReader(ScoredItems):
    """A run's folder read together with its benchmark's data."""

    def __init__(self, folder: Path, result: Result, data_dir: str | None = None) -> None:
        """Load questions, passages and answers.

        Args:
            folder: of the run.
            result: of the run.
            data_dir: where the data are now; where they were when None.

        Raises:
            QuadragError: the data are not there any more, or are other ones.
        """
        super().__init__(result)
        self.folder = folder
        self.run: RunRecord = result.run
        inputs = self.run
        self.benchmark: Benchmark = load(inputs.benchmark)
        if inputs.retriever == RAG:
            self.benchmark = as_served(self.benchmark)
        self.task = self.run.spec.changed(
            split=inputs.splits[0] if len(inputs.splits) == 1 else None,
            data_dir=data_dir or self.run.spec.data_dir,
            options={name: value for name, value in inputs.spec.options.items() if not self._is_of_a_file(name, value)},
        )
        found, _ = load_questions(self.task, self.benchmark)
        self.questions = {question.key: question for question in found}
        keys = set(map(_key, result.items))
        there = [question for key, question in self.questions.items() if key in keys]
        asked = result.asked
        changed = any(key in asked and asked[key].sha256 != one for key, one in digest_each(there).items())
        if changed or len(there) < len(keys):
            raise QuadragError(f"the data of {inputs.benchmark} are not those that {folder} was made on")
        self.passages: dict[Key, tuple[Passage, ...]] = {}
        if (folder / "retrieved.jsonl").exists():
            self.passages = retrieve.read(folder / "retrieved.jsonl", there)
        self.answers: dict[tuple[Key, int], Answer] = {}  # by sample too
        if (folder / "answers.jsonl").exists():
            read = read_answers(folder / "answers.jsonl")
            self.answers = {(answer.key, answer.sample): answer for answer in read}

    def _is_of_a_file(self, name: str, value: Any) -> bool:
        """Whether an option is that of a file, which `run.json` names by its content: it says nothing of questions."""
        known = self.benchmark.options.get(name)
        return isinstance(value, Mapping) or (known is not None and known.check is not None)

    def select(self, which: Which | None = None) -> list[ShownItem]:
        """Select items, the worst first where they are wrong; all of them by default.

        Raises:
            QuadragError: no item has the id, no metric the name, or no split.
        """
        which = which or Which()
        rows = self._items_in(which.split)
        called = shorten_ids(row["id"] for row in self.items)
        if which.ident is not None:
            ident = find_id(which.ident, called)
            rows = [row for row in rows if row["id"] == ident]
        if which.unscored:
            rows = [row for row in rows if _reasons(row) - {NOT_APPLICABLE}]
            rows.sort(key=lambda row: not _reasons(row) & {*FAILED})
        if which.wrong:
            name, sign, best = self.find_metric(which.metric)
            scored = [
                (sign * value, place)
                for place, row in enumerate(rows)
                if (value := self._value(row, name, which)) is not None
            ]
            rows = [rows[place] for value, place in sorted(scored) if best is None or value != sign * best]
        asked = [self.find_metric(which.metric)[0]] if which.metric else []
        headlines = list(dict.fromkeys([*asked, *self.headlines]))
        documents = self.find_documents({_key(row) for row in rows})
        missed = self._find_missed(documents)
        return [
            ShownItem(
                self.questions[key],
                answer := self.answers.get((key, row["sample"])),
                self._passages_of(key),
                self._spell_reasons(row),
                documents.get(key),
                missed.get(key, {}),
                self._find_scored(answer),
                self.run.failures.get("/".join((*key, str(row["sample"]))), "") or short_of(row, self.run),
                headlines=headlines,
                sample=row["sample"],
                called=called[row["id"]],
                profile=which.profile or self.run.profile,
            )
            for row in rows
            if (key := _key(row)) in self.questions
        ]

    def _passages_of(self, key: Key) -> Sequence[Passage]:
        return self.passages.get(key, self.questions[key].passages)

    def find_documents(self, keys: Collection[Key]) -> dict[Key, Sequence[str | None]]:
        """Find which documents passages are of, as the run's scores knew them: by their ids, or by their texts."""
        if not any("ranks" in metric_record(name.partition(".")[0]).needs for name in self.metrics):
            return {}
        shown = {key: self._passages_of(key) for key in keys if key in self.questions}
        if (self.run.service or {}).get("by") == "text":
            known = match_gold(self.benchmark, self.task, [self.questions[key] for key in shown], shown)
            return {**known}
        return {key: [document_id(one) for one in found] for key, found in shown.items()}

    def _find_missed(self, documents: Mapping[Key, Sequence[str | None]]) -> dict[Key, dict[str, str]]:
        """Return the gold documents of questions that none of their passages is of, with their texts."""
        lacking = {
            key: [one for one in self.questions[key].relevant if one not in found] for key, found in documents.items()
        }
        asked = [self.questions[key] for key, missed in lacking.items() if missed]
        golds = read_gold(self.benchmark, self.task, asked) if asked else {}
        texts = {key: dict(pairs) for key, pairs in golds.items()}
        return {key: {one: texts.get(key, {}).get(one, "") for one in missed} for key, missed in lacking.items()}

    def _find_scored(self, answer: Answer | None) -> str:
        """Return what is scored of an answer, "" where that is all of it but blanks around."""
        if answer is None or answer.answer is None:
            return ""
        part = str(self.benchmark.parse(answer.config, answer.answer))
        return part if part.strip() != answer.answer.strip() else ""

    def _spell_reasons(self, row: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Return a row's values with reasons as people read them."""
        answer = self.answers.get((_key(row), row["sample"]))
        answered = answer is not None and answer.answer is not None
        return {
            name: {
                **entry,
                "reason": {of: say_item(name, why, self.run, answered) for of, why in entry["reason"].items()},
            }
            if entry.get("reason")
            else entry
            for name, entry in values_of(row).items()
        }

    def say_none(self, which: Which) -> str:
        """Say in a line why `select` found none."""
        if not which.wrong:
            return f"Every item has a value of every metric{' that applies to it' * bool(self.count_idle(which))}"
        name = self.find_metric(which.metric)[0]
        rows = self._items_in(which.split)
        scored = sum(self._value(row, name, which) is not None for row in rows)
        lacking = f"{len(rows) - scored} items have no value, see --unscored" if scored < len(rows) else ""
        right = f"No item is wrong: all {scored} have the best {show_key(*name.split('.', 1))}" if scored else ""
        return "; ".join(filter(None, (right, lacking)))

    def tell_order(self, which: Which) -> str:
        """Say by which metric the worst of several items are, and whether it tells right from wrong, as overlap cannot.

        `{shown}` and `{found}` stand where the numbers of items do.
        """
        name, _, best = self.find_metric(which.metric)
        module, _, key = name.partition(".")
        values = {self._value(row, name, which) for row in self._items_in(which.split)}
        if best is not None and values - {None, *metric_record(module).key(key).range}:
            return f"below full marks by {show_key(module, key)}: the lowest {{shown}} of {{found}}"
        return f"{{shown}} of {{found}} items, the worst by {show_key(module, key)} first"

    def count_idle(self, which: Which) -> int:
        """Count the items that lack no values but those of metrics that do not apply to them."""
        return sum(_reasons(row) == {NOT_APPLICABLE} for row in self._items_in(which.split))

    def _items_in(self, split: str | None) -> list[dict[str, Any]]:
        if split is not None and split not in self.run.splits:
            raise unknown_name("split of this run", split, self.run.splits)
        return [row for row in self.items if split in (None, row["split"])]

    def _value(self, row: Mapping[str, Any], name: str, which: Which) -> float | None:
        value = (row.get(name) or {}).get(which.profile or self.run.profile)
        return float(value) if value is not None else None

    def find_metric(self, wanted: str | None) -> tuple[str, int, float | None]:
        """Return the metric that says which answers are wrong, as `chosen.find_metric` does."""
        return find_metric([[self]], wanted)


def _key(row: Mapping[str, Any]) -> Key:
    return (row["config"], row["split"], row["id"])


def _reasons(row: Mapping[str, Any]) -> set[str]:
    """Return why an item has no value of some metrics."""
    return {why for entry in values_of(row).values() for why in entry.get("reason", {}).values()}
