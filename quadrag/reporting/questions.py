"""Single questions of a run with all that belongs to them: read, selected by a metric, and written as lines of text.

The page draws them too, and what is selected is the same in both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.audit import gold_parts, locate_golds, match_golds
from quadrag.benchmark import load
from quadrag.errors import QuadragError, one_line, unknown_name
from quadrag.loading import load_questions
from quadrag.metric_record import is_called, metric_record, name_together, show_key
from quadrag.records import Key, Passage, Question, document_id, read_jsonl
from quadrag.results import PROFILES, Note, NoteCode, Run, RunRecord, Status, own_profile, record_of
from quadrag.results.compare import find_doubt, list_gains
from quadrag.results.items import FAILED, is_ruled, pick_headlines, read_items, short_of
from quadrag.run.folder import RETRIEVED, VERDICTS, digest_each, read_retrieved
from quadrag.scoring.served import match_gold, read_gold
from quadrag.spec import RAG
from quadrag.stats import NOT_APPLICABLE
from quadrag.systems.own import as_served

from .messages import ENGLISH, read_messages, say, say_item, translate
from .table import format_value, name_runs


class ItemFilter(NamedTuple):
    ident: str | None = None  # the id of a question
    wrong: bool = False  # whose value of a metric is not the best one, the worst first
    unscored: bool = False  # without a value of some metric that applies to them, what failed first
    metric: str | None = None  # what says that one is wrong; that of `find_metric` when None
    split: str | None = None
    profile: str | None = None  # whose values say so; the run's own when None


@dataclass(slots=True)
class QuestionInfo:
    question: Question  # with its gold
    answer: str | None
    sample: int  # which answer to the question it is, from 0
    passages: Sequence[Passage]  # those that were shown or found
    # Which of the benchmark's documents each is of, None where it is none; None where the search was not measured.
    documents: Sequence[str | None] | None
    missed: Mapping[str, str]  # the texts, as far as they are known, of the gold documents that none of them is of
    scored: str  # what is scored of the answer, "" where that is the whole
    failure: str  # what went wrong where there is no answer or a part of one, "" where nothing is known
    values: Mapping[str, Mapping[str, Any]]  # by metric, as `read_items` has them
    judged: Sequence[tuple[str, str, str]]  # by which metric a judge was asked, what, and what it said
    record: RunRecord

    def explain(self, language: str = ENGLISH) -> dict[str, str]:
        said = {}
        for name, entry in self.values.items():
            reasons = (entry.get("reason") or {}).items()
            answered = self.answer is not None
            texts = {of: say_item(name, why, self.record, answered, language) for of, why in reasons}
            if all(is_ruled(entry, of) for of in PROFILES):
                said[name] = translate("decided by rule, without the judge", language)
            elif texts:
                said[name] = by_profile({of: translate(text, language) for of, text in texts.items()}, language)
        return said


class RunReader:
    def __init__(self, folder: Path, result: Run, data_dir: str | None = None) -> None:
        """Load questions and passages; `data_dir` says where the data are now, None: where they were.

        Raises QuadragError where they are not there any more, or are other ones.
        """
        self.folder, self.result, self.record = folder, result, result.record
        self.items = read_items(result)
        self.benchmark = load(self.record.benchmark)
        if self.record.retriever == RAG:
            self.benchmark = as_served(self.benchmark)
        known = self.benchmark.options
        self.task = self.record.spec.changed(
            split=self.record.splits[0] if len(self.record.splits) == 1 else None,
            data_dir=data_dir or self.record.spec.data_dir,
            options={  # less those of files, which `run.json` names by their content
                name: value
                for name, value in self.record.spec.options.items()
                if not isinstance(value, Mapping) and (name not in known or known[name].check is None)
            },
        )
        keys, asked = {_key(row) for row in result.items}, result.asked
        there = [question for question in load_questions(self.task, self.benchmark)[0] if question.key in keys]
        changed = any(key in asked and asked[key].sha256 != digest for key, digest in digest_each(there).items())
        if changed or len(there) < len(keys):
            raise QuadragError(f"the data of {self.record.benchmark} are not those that {folder} was made on")
        self.questions = {question.key: question for question in there}
        self.passages: dict[Key, Sequence[Passage]] = {question.key: question.passages for question in there}
        if (folder / RETRIEVED).exists():
            self.passages |= read_retrieved(folder / RETRIEVED, there)

    @cached_property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.items for name in _values(row)))

    @cached_property
    def headlines(self) -> list[str]:
        rows = pick_headlines(self.result.scores, PROFILES[0])
        names = dict.fromkeys(score.key.name for score in rows)
        return [name for name in names if name in self.metrics]

    @cached_property
    def invalid(self) -> set[str]:
        invalid = [score for score in self.result.scores if score.status is Status.INVALID]
        return {score.key.name for score in invalid if score.profile == self.record.profile}

    @cached_property
    def judged(self) -> dict[tuple[Key, int], list[tuple[str, str, str]]]:
        """What judges were asked of each answer and said, by metric, and by judge or gold where there are several."""
        path = self.folder / VERDICTS
        found: dict[tuple[Key, int], list[tuple[str, str, str]]] = {}
        for _, row in read_jsonl(path) if VERDICTS in self.record.files and path.exists() else ():
            told = ", ".join(row[part] for part in ("judge", "about") if part in row)
            name = row["metric"].rpartition(".")[2]
            asked = "\n".join(str(message["content"]) for message in row["request"])
            said = row["reply"] or row.get("detail") or row.get("reason", "")
            found.setdefault((_key(row), row["sample"]), []).append((f"{name} ({told})" if told else name, asked, said))
        return found

    @cached_property
    def documents(self) -> Mapping[Key, Sequence[str | None]]:
        """Which documents passages are of, as the scores knew them, by ids or texts; {} where no search is measured."""
        if not any("ranks" in metric_record(name.partition(".")[0]).needs for name in self.metrics):
            return {}
        if (self.record.service or {}).get("by") == "text":
            return match_gold(self.benchmark, self.task, [*self.questions.values()], self.passages)
        return {key: [document_id(passage) for passage in passages] for key, passages in self.passages.items()}

    @cached_property
    def _golds(self) -> dict[Key, dict[str, str]]:
        read = read_gold(self.benchmark, self.task, [*self.questions.values()])
        return {key: dict(texts) for key, texts in read.items()}

    def select(self, wanted: ItemFilter | None = None) -> list[QuestionInfo]:
        """Select items, all of them by default; raises QuadragError where none has the id, the split or the metric."""
        wanted = wanted or ItemFilter()
        if wanted.split not in (None, *self.record.splits):
            raise unknown_name("split of this run", str(wanted.split), self.record.splits)
        rows = [row for row in self.items if wanted.split in (None, row["split"]) and wanted.ident in (None, row["id"])]
        if wanted.ident is not None and not rows:
            raise QuadragError(f"no item of this run has the id {wanted.ident!r}")
        if wanted.unscored:
            rows = [row for row in rows if _reasons(row) - {NOT_APPLICABLE}]
            rows.sort(key=lambda row: not _reasons(row) & {*FAILED})
        if wanted.wrong:
            name, sign, best = find_metric([[self]], wanted.metric)
            profile = wanted.profile or self.record.profile
            values = [(row.get(name) or {}).get(profile) for row in rows]
            scored = [(sign * value, at) for at, value in enumerate(values) if value not in (None, best)]
            rows = [rows[at] for _, at in sorted(scored)]
        return [self._gather(row) for row in rows]

    def _gather(self, row: Mapping[str, Any]) -> QuestionInfo:
        key, sample = _key(row), row["sample"]
        documents = self.documents.get(key)
        missed = [name for name in self.questions[key].relevant if documents is not None and name not in documents]
        text = self.result.texts.get((key, sample))
        scored = "" if text is None else str(self.benchmark.parse(key[0], text))
        failed = sorted(_reasons(row) & {*FAILED}) if text is None else []
        failure = self.record.failures.get("/".join((*key, str(sample))), "") or short_of(row, self.record)
        return QuestionInfo(
            self.questions[key],
            text,
            sample,
            self.passages[key],
            documents,
            {name: self._golds.get(key, {}).get(name, "") for name in missed},
            scored if scored.strip() != (text or "").strip() else "",
            ": ".join(filter(None, (*failed, failure))),
            _values(row),
            self.judged.get((key, sample), ()),
            self.record,
        )


def select_changed(
    before: RunReader, after: RunReader, wanted: ItemFilter, better: bool = False
) -> tuple[str, int, list[tuple[QuestionInfo, QuestionInfo]]]:
    """Select the questions that a second run answered worse than a first one, or `better`, under their own profile.

    Return the metric that says so; how many questions both scored; and the answers of both, the greatest difference
    first. Raises QuadragError where no metric has the name, or no split.
    """
    metric = find_metric([[before], [after]], wanted.metric)[0]
    profile = wanted.profile or own_profile([before.result, after.result]) or PROFILES[0]
    every = ItemFilter(split=wanted.split)
    before_items, after_items = (
        {(info.question.key, info.sample): info for info in reader.select(every)} for reader in (before, after)
    )
    gains: dict[Key, float] = {}
    module, _, name = metric.partition(".")
    for config, split in dict.fromkeys(key[:2] for key, _ in after_items):
        gains |= list_gains(before.result, after.result, (config, split, module, name), profile)
    sign = 1 if better else -1
    changed = [key for key in after_items if key in before_items and sign * gains.get(key[0], 0) > 0]
    changed.sort(key=lambda key: -abs(gains[key[0]]))
    return metric, len(gains), [(before_items[key], after_items[key]) for key in changed]


def order_metrics(runs: Sequence[Sequence[RunReader]]) -> list[str]:
    """Order the metrics of runs, each one reader or one a config; by the first of all it is decided what is wrong.

    That is the first headline with a better end that every run scored and that tells which answers are better, of
    several runs one by which some answers differ.
    """
    readers = [reader for run in runs for reader in run]
    headlines = [name for reader in readers for name in reader.headlines]
    names = dict.fromkeys([*headlines, *(name for reader in readers for name in reader.metrics)])
    unfit = find_unfit(runs)

    def lacks(name: str) -> tuple[bool, ...]:
        base, *others = ([*_list_values(run, name)] for run in runs)
        unscored = any(all(pair == (None, None) for _, pair in pairs) for pairs in (base, *others))
        known = dict(base)
        alike = all(pair == known.get(place, pair) for pairs in others for place, pair in pairs)
        alike = alike and name in headlines and bool(others)
        return name in unfit, unscored, record_of(name).direction == "none", name not in headlines, alike

    return sorted(names, key=lacks)


def _list_values(run: Sequence[RunReader], name: str) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    for row in (row for reader in run for row in reader.items if row.get(name)):
        yield (*_key(row), row["sample"]), tuple(row[name].get(profile) for profile in PROFILES)


def find_unfit(runs: Sequence[Sequence[RunReader]]) -> set[str]:
    """Find the metrics that do not tell which answers are better: invalid in a run, or judged otherwise than before."""
    readers = [reader for run in runs for reader in run]
    pairs = [(base.result, other.result) for run in runs[1:] for base in runs[0] for other in run]
    alike = [(base, other) for base, other in pairs if base.record.config == other.record.config]
    doubted = {name for reader in readers for name in reader.metrics if any(find_doubt(*pair, name) for pair in alike)}
    return doubted.union(*(reader.invalid for reader in readers))


def find_metric(runs: Sequence[Sequence[RunReader]], wanted: str | None) -> tuple[str, int, float | None]:
    """Return a metric's name in items, whether more is better (1) or worse (-1), and its best value.

    `wanted` is its key or name, or what it is called where it is shown; None: the first of `order_metrics`.
    """
    called = name_together(order_metrics(runs))
    for name, label in called.items():
        if wanted in (None, label) or is_called(str(wanted), *name.split(".", 1)):
            higher, ends = record_of(name).direction != "lower", record_of(name).range
            return name, 1 if higher else -1, ends[1 if higher else 0]
    raise unknown_name("metric", str(wanted), dict.fromkeys(called.values()))


def show_value(name: str, value: float | None) -> str:
    return format_value(value, record_of(name).unit, None)


def by_profile(texts: Mapping[str, str], language: str = ENGLISH) -> str:
    """Join what is said under each profile; what both say is said once."""
    if len(texts) == len(PROFILES) and len({*texts.values()}) == 1:
        return texts[PROFILES[0]]
    return ", ".join(f"{translate(profile, language)} {text}" for profile, text in texts.items())


def note_gold(question: Question, passages: Sequence[Passage], documents: Sequence[str | None] | None) -> Note | None:
    """Note in which passages the gold stood, which tells a fault of the search from one of the answer.

    Where a question has no gold documents, its accepted answers are looked for as whole words. `documents` are those
    that the passages are of, None where that is not known. There is no note where no gold is known, or nothing tells.
    """
    relevant, parts = {*question.relevant}, _list_parts(question)
    if not (relevant or parts) or (passages and relevant and not documents):
        return None
    if not passages:
        return Note(NoteCode.GOLD, {"kind": "none"})
    gold_by_passage: list[set[Any]]
    if relevant:
        gold_by_passage, total, kind = [{name} & relevant for name in documents or ()], len(relevant), "documents"
    else:
        texts = (f"{passage.title} {passage.text}" for passage in passages)
        rows = [match_golds(text, parts, question.language) for text in texts]
        gold_by_passage, total, kind = (
            [{at for at, part in enumerate(row) if part} for row in rows],
            len(parts),
            "words",
        )
    places = [str(place) for place, gold in enumerate(gold_by_passage, 1) if gold]
    if not places:
        return Note(NoteCode.GOLD, {"kind": f"nowhere_{kind}", "count": len(passages)})
    lacking = total - len(set[Any]().union(*gold_by_passage))
    missed = Note(NoteCode.GOLD, {"kind": f"missed_{kind}", "count": lacking, "total": total})
    return Note(NoteCode.GOLD, {"kind": f"found_{kind}", "places": places, "missed": missed if lacking else ""})


def place_gold(question: Question, text: str) -> list[tuple[int, int]]:
    """Return where in a text the gold stands, where `note_gold` looks for it by words: begins and ends, in order."""
    return locate_golds(text, _list_parts(question), question.language)


def _list_parts(question: Question) -> list[list[str]]:
    """Return the parts that are looked for by words, each with the ways to say it; [] where there are documents."""
    return gold_parts([] if question.relevant else load(question.benchmark).matchable_answers(question.references))


def find_phrase(metrics: Iterable[str], language: str) -> tuple[str, bool] | None:
    """Find the phrase that an answer is to hold by a metric of which more is better, and whether others want gold."""
    better = [record for name in metrics if (record := record_of(name)).direction == "higher"]
    gold = any(not key.phrase and not key.words for key in better)  # `words`: a judge in place of the phrase
    return next(((key.phrase[language], gold) for key in better if language in key.phrase), None)


def spell_gold(references: Any) -> list[str]:
    """Return a line for each part that an answer is to have, with the ways to say it; a flat list is of one part."""
    if references is None:
        return []
    if isinstance(references, Mapping):
        return [f"{name}: {' / '.join(spell_gold(value))}" for name, value in references.items()]
    if isinstance(references, str) or not isinstance(references, Sequence):
        return [str(references)]
    if any(isinstance(part, Sequence) and not isinstance(part, str) for part in references):
        return [line for part in references for line in spell_gold(part)]
    return [" / ".join(dict.fromkeys(map(str, references)))] if references else []


def _key(row: Mapping[str, Any]) -> Key:
    return (row["config"], row["split"], row["id"])


def _values(row: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: entry for name, entry in row.items() if isinstance(entry, Mapping)}


def _reasons(row: Mapping[str, Any]) -> set[str]:
    return {why for entry in _values(row).values() for why in (entry.get("reason") or {}).values()}


# As lines of text.

_LONGEST_ID = 24  # characters of a passage's id where texts are cut
Sides = Sequence[tuple[str, QuestionInfo]]  # a question as each run has it, by the run's name; "" where there is one


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    limit: int | None = 10  # the first ones alone; all when None
    longest: int | None = None  # characters of a text; all when None
    verbose: bool = False  # all metrics, and what the judge was asked; else the headlines, and what has no value
    language: str = ENGLISH

    def word(self, text: str) -> str:
        return translate(text, self.language)

    def line(self, run: str, label: str, text: str) -> str:
        name = f"  {run} {label}" if run else f"  {label}"
        return read_messages(self.language)["signs"]["of"].format(runs=name, said=one_line(text, self.longest))


def write_items(reader: RunReader, wanted: ItemFilter, options: DisplayOptions) -> Iterator[str]:
    metric = find_metric([[reader]], wanted.metric)[0]
    kind = "unscored" if wanted.unscored else ""
    if wanted.wrong:
        kind = "invalid" if metric in reader.invalid else "wrong"
    metrics = [*[metric] * bool(wanted.metric), *reader.headlines]
    yield from _write([[("", info)] for info in reader.select(wanted)], metrics, options, kind=kind, metric=metric)


def write_changed(
    runs: Sequence[tuple[str, RunReader]], wanted: ItemFilter, options: DisplayOptions, better: bool = False
) -> Iterator[str]:
    names = name_runs([name for name, _ in runs])
    (_, before), (_, after) = runs
    metric, scored, pairs = select_changed(before, after, wanted, better)
    items = [list(zip(names, pair, strict=True)) for pair in pairs]
    metrics, kind = [metric, *before.headlines, *after.headlines], "better" if better else "worse"
    yield from _write(items, metrics, options, kind=kind, metric=metric, run=names[1], scored=scored)


def _write(
    items: Sequence[Sides], metrics: Sequence[str], options: DisplayOptions, metric: str, **params: Any
) -> Iterator[str]:
    shown = items[: options.limit]
    lines = [line for sides in shown for line in (*_write_question(sides, metrics, options), "")]
    yield from lines
    count = {"shown": len(shown), "total": len(items), "metric": show_key(*metric.split(".", 1)), **params}
    yield say(Note(NoteCode.SHOWN, count), options.language)
    if options.longest and any(line.endswith("…") for line in lines):
        cut = Note(NoteCode.SHOWN, {"kind": "cut", "longest": options.longest})
        yield say(cut, options.language)


def _write_question(sides: Sides, metrics: Sequence[str], options: DisplayOptions) -> Iterator[str]:
    word, line = options.word, options.line
    first = sides[0][1]
    question = first.question
    yield f"{question.config} {question.split} {question.id}"
    for asked, answered in question.history:
        yield line("", word("before"), f"{asked} / {answered or ''}")
    yield line("", word("question"), question.query)
    for name, info in sides:
        empty = word("(empty)" if info.answer is not None else info.failure)
        yield line(name, word("answer"), (info.answer or "").strip() or empty)
        if info.scored:
            yield line(name, word("scored"), info.scored)
    yield line("", word("gold"), "; ".join(spell_gold(question.references)))
    alike = all((info.passages, info.documents) == (first.passages, first.documents) for _, info in sides)
    searches = [("", first)] if alike else sides
    for name, info in searches:
        if found := note_gold(question, info.passages, info.documents):
            yield line(name, word("found"), say(found, options.language))
    for name, info in sides:
        yield from (line(name, *value) for value in _list_shown(info, metrics, options))
    for name, info in searches:
        yield from _write_passages(name, info, options)


def _write_passages(name: str, info: QuestionInfo, options: DisplayOptions) -> Iterator[str]:
    passage_word, gold = options.word("passage"), options.word("(gold)")
    documents = info.documents or [None] * len(info.passages)
    for rank, (passage, document) in enumerate(zip(info.passages, documents, strict=True), 1):
        ident = one_line(passage.id, options.longest and _LONGEST_ID)
        label = f"{passage_word} {rank} " + f"{gold} " * (document in info.question.relevant)
        yield options.line(name, f"{label}[{ident}]", f"{passage.title} {passage.text}")
    for ident, text in info.missed.items():
        yield options.line(name, f"{options.word('missed')} {gold} [{ident}]", text)


def _list_shown(info: QuestionInfo, metrics: Sequence[str], options: DisplayOptions) -> Iterator[tuple[str, str]]:
    labels, reasons = name_together(info.values), info.explain(options.language)
    lacking = [name for name in reasons if {*(info.values[name].get("reason") or {}).values()} - {NOT_APPLICABLE}]
    names = [*metrics, *(info.values if options.verbose else lacking)]
    for name in dict.fromkeys(name for name in names if name in info.values):
        values = {profile: show_value(name, info.values[name].get(profile)) for profile in PROFILES}
        text = by_profile(values, options.language)
        if name in reasons:
            why = Note(NoteCode.SHOWN, {"kind": "value", "value": text, "why": reasons[name]})
            text = say(why, options.language)
        yield labels[name], text
    for metric, asked, reply in info.judged:
        if options.verbose:
            yield f"{metric}, {options.word('asked')}", asked
        yield f"{metric}, {options.word('the judge')}", reply
