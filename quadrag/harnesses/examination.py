"""One split of a benchmark as a harness examines a model on it: questions, messages and scores of `quadrag run`.

The settings are those in `SETTINGS` and every option of the benchmark. ``retriever`` is the
one whose passages come with the questions, or ``none``; nothing is searched for here, but ``retrieved`` names the
``retrieved.jsonl`` of a run whose passages are shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from quadrag import catalogue
from quadrag.benchmark import NO_JUDGE, Benchmark, MetricUse, load
from quadrag.errors import QuadragError, unknown_name
from quadrag.loading import known_options, load_questions
from quadrag.parts import validate
from quadrag.prompts import load_prompts
from quadrag.records import Key, Passage, Question, dumps
from quadrag.results import PROFILES, read_run, record_of
from quadrag.run.folder import read_retrieved
from quadrag.scoring.drive import Judge, Passages, ScoringInputs, score
from quadrag.spec import RunSpec
from quadrag.stats import NOT_APPLICABLE
from quadrag.systems.system import make_answer

SETTINGS = ("data_dir", "split", "profile", "prompts", "retriever", "retrieved")


def list_configs(benchmark: str) -> list[str]:
    """List the configs that hold questions, in the order of the dataset script."""
    record = load(benchmark)
    return [name for name in catalogue.configs(benchmark) if record.corpus is None or name in record.configs]


def list_splits(benchmark: str, config: str) -> list[str]:
    """List the splits that are tasks: that of the paper's tables, else all; the first is the default."""
    usual = load(benchmark).default_split
    return [usual] if usual else list(catalogue.config(benchmark, config).splits)


def list_settings(benchmark: str, config: str) -> list[str]:
    return [*SETTINGS, *known_options(load(benchmark), config)]


class Examination:
    """The questions of one split, what is sent to the model for each, and what its replies are worth.

    `passages` are those shown with each question, by its key; `metrics` the names of the metrics that rules decide,
    ``MODULE.KEY``, as ``items.jsonl`` has them, `judged` those that need a judge.
    """

    def __init__(self, benchmark: str, config: str, split: str | None, settings: Mapping[str, Any]) -> None:
        for name in settings:
            if name not in (names := list_settings(benchmark, config)):
                raise unknown_name("setting", name, names)
        self.profile = str(settings.get("profile", PROFILES[0]))
        if self.profile not in PROFILES:
            raise unknown_name("profile", self.profile, PROFILES)

        self.benchmark = replace(load(benchmark), keywords=self._keywords)
        options = {name: value for name, value in settings.items() if name not in SETTINGS}
        # A noise ratio replaces the splits by the one that it names.
        meant = None if "noise_ratio" in options else split or list_splits(benchmark, config)[0]
        spec = {
            "benchmark": self.benchmark.name,
            "config": config,
            "split": settings.get("split", meant),
            "data_dir": settings.get("data_dir"),
            "retriever": _find_retriever(self.benchmark, config, settings),
            "options": options,
            "prompts": settings.get("prompts"),
        }
        self.spec = validate(RunSpec, spec, "the settings")
        self._prompts = load_prompts(self.benchmark.name, self.spec.prompts)
        self.questions: list[Question] = list(load_questions(self.spec, self.benchmark)[0])
        self._places = {question.id: place for place, question in enumerate(self.questions)}
        self._read_once: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
        self.passages = self._find_passages(settings.get("retrieved"))

        most = max(map(len, self.passages.values())) if self.spec.searches else 0
        self.spec = self.spec.showing(most)
        uses = [use for use in self.benchmark.metrics(self.spec) if not use.ranks]
        lacking = {f"{use.module}.{key}": use.find_lacking(key, False, False) for use in uses for key in use.keys}
        self.metrics = [name for name, lacks in lacking.items() if lacks is None]
        self.judged = [name for name, lacks in lacking.items() if lacks == NO_JUDGE]

    def messages(self, question: Question) -> list[dict[str, str]]:
        shown = self.passages[question.key]
        return self.benchmark.messages(question, shown, self._prompts, self.spec.retriever)

    def document(self, question: Question) -> dict[str, str]:
        """Return what a harness logs of a question, from which `quadrag score` knows it and how it was asked."""
        place = {"benchmark": question.benchmark, "config": question.config, "split": question.split, "id": question.id}
        conditions = {"retriever": self.spec.retriever, "options": dict(self.spec.options)}
        return {**place, "query": question.query, "conditions": dumps(conditions)}

    def items(
        self,
        replies: Mapping[str, str | None],
        state: str = "api_error",
        judges: Sequence[Judge] = (),
        passages: Passages | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Score replies by id as `quadrag score` does; of one that is None `state` says why. Return lines of items."""
        asked = [self.questions[self._places[ident]] for ident in replies]
        answers = [
            make_answer(question, 0, text, state=state if text is None else "ok")
            for question, text in zip(asked, replies.values(), strict=True)
        ]
        by_key = {question.key: question for question in asked}
        lines, _ = score(ScoringInputs(self.benchmark, by_key, self.spec, judges, passages=passages), answers)
        return {line["id"]: line for line in lines}

    def values(self, item: Mapping[str, Any]) -> dict[str, float | None]:
        """Return an item's values under the profile by metric; None is one that does not count.

        Under ``corrected`` an unscored item counts as the worst, unless the metric does not apply to it.
        """
        values = {name: entry[self.profile] for name, entry in item.items() if isinstance(entry, dict)}
        if self.profile == "corrected":
            for name, reason in self.reasons(item).items():
                if values[name] is None and reason != NOT_APPLICABLE:
                    values[name] = record_of(name).worst
        return values

    def reasons(self, item: Mapping[str, Any]) -> dict[str, str]:
        entries = {name: entry.get("reason", {}) for name, entry in item.items() if isinstance(entry, dict)}
        return {name: reasons[self.profile] for name, reasons in entries.items() if self.profile in reasons}

    def _find_passages(self, retrieved: Any) -> dict[Key, tuple[Passage, ...]]:
        if retrieved is not None:
            path = Path(str(retrieved)).expanduser()
            return read_retrieved(path, self.questions)
        finder = self.benchmark.finder(self.spec)
        if finder is None:
            shown = self.spec.retriever != "none"
            return {question.key: question.passages if shown else () for question in self.questions}
        try:
            return {question.key: passages for question, passages in finder.find(self.questions, None, self._prompts)}
        finally:
            finder.close()

    def _keywords(self, use: MetricUse, asked: Sequence[Question], spec: RunSpec) -> dict[str, Any]:
        """Return a metric's keywords for some of the questions; files that they come from are read once for all."""
        if (use.module, use.keys) not in self._read_once:
            whole = load(self.spec.benchmark).keywords(use, self.questions, spec)
            self._read_once[use.module, use.keys] = whole
        keywords = dict(self._read_once[use.module, use.keys])
        for name, value in keywords.items():
            if isinstance(value, list) and len(value) == len(self.questions) and not use.ranks:
                keywords[name] = [value[self._places[question.id]] for question in asked]
        return keywords


def _find_retriever(benchmark: Benchmark, config: str, settings: Mapping[str, Any]) -> str:
    """Return what the passages come from: as said, as the run says that found them, else the benchmark's own."""
    retriever, retrieved = settings.get("retriever"), settings.get("retrieved")
    if retrieved is None:
        if retriever not in (None, "none", benchmark.default_context):
            expected = " or ".join(filter(None, ("none", benchmark.default_context)))
            raise QuadragError(
                f"retriever {retriever} is not run within a harness; expected {expected}, or as `retrieved` the "
                "retrieved.jsonl of a run with it"
            )
        return str(retriever or benchmark.find_default_context(config) or "none")
    run = Path(str(retrieved)).expanduser().parent
    if retriever is None and (run / "run.json").is_file():
        retriever = read_run(run).retriever
    return str(retriever or benchmark.default_retriever)


# The tasks of lm-eval as it reads them from disk, in YAML: one a config and split, and a group a benchmark.

_CLASS = "class: !function quadrag.harnesses.lm_eval.QuadragTask\n"
_VERSION = {"version": 1.0}


def write_tasks() -> Iterator[tuple[str, str]]:
    for benchmark in catalogue.benchmarks():
        for config in list_configs(benchmark):
            for split in list_splits(benchmark, config):
                task = _describe_task(benchmark, config, split)
                yield f"{task['task']}.yaml", _CLASS + yaml.safe_dump(task, sort_keys=False)
        members = [
            _name_task(benchmark, config, split)
            for config in _list_tabled(benchmark)
            for split in list_splits(benchmark, config)
        ]
        group = {"group": f"quadrag_{benchmark}", "task": members, "metadata": _VERSION}
        yield f"quadrag_{benchmark}.yaml", yaml.safe_dump(group, sort_keys=False)


def _describe_task(benchmark: str, config: str, split: str) -> dict[str, Any]:
    return {
        "task": _name_task(benchmark, config, split),
        "dataset_path": benchmark,
        "dataset_name": config,
        "test_split": split,
        "output_type": "generate_until",
        "generation_kwargs": {
            "until": [],  # a reply ends where the model ends it
            "do_sample": True,
            "temperature": load(benchmark).temperature,
            "max_gen_toks": 1024,  # lm-eval always sends a limit, 256 where a task has none
        },
        "metadata": _VERSION,
    }


def _name_task(benchmark: str, config: str, split: str) -> str:
    end = "" if split == list_splits(benchmark, config)[0] else f"_{split}"
    return f"quadrag_{benchmark}_{config}{end}"


def _list_tabled(benchmark: str) -> list[str]:
    """List the configs of the paper's tables; where no passages come along, a model alone is asked that config."""
    record = load(benchmark)
    alone = [config for config in list_configs(benchmark) if record.find_default_context(config) is None]
    return list(
        dict.fromkeys(
            alone[0] if retriever == "none" and alone and record.find_default_context(config) else config
            for config, retriever in record.paper_runs(False)
        )
    )
