"""One split of a benchmark as a harness examines a model on it: questions, messages, rule scores.

Questions, messages and scores are those of `quadrag run`; what asks the model, and how a harness names its tasks,
stands in that harness's own folder. What varies is given by settings:

- ``data_dir``: folder of upstream files, or ``sample``; without it what `quadrag prepare` built, else a download;
- ``split``, ``profile`` (``official``, ``corrected``), ``prompts`` (a file), ``retriever`` (what comes with the
  questions, as RGB's own and CRAG's snippets, or none) and every option of the benchmark, as RGB's ``noise_ratio``,
  for which ``noise`` is short;
- ``retrieved``: a ``retrieved.jsonl`` whose passages are shown, of any benchmark. Nothing is searched for here.

Judged metrics are not computed: `quadrag score` does that on what a harness logged.
"""

import difflib
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.baselines.core.benchmark import NO_JUDGE, load
from quadrag.baselines.core.prompts import load_prompts
from quadrag.baselines.core.run_record import read_run
from quadrag.baselines.core.spec import RunSpec
from quadrag.baselines.core.task import load_questions
from quadrag.baselines.results.run import PROFILES
from quadrag.baselines.runs import retrieve
from quadrag.baselines.scoring.drive import score
from quadrag.baselines.systems.system import make_answer
from quadrag.data.builders import options_of
from quadrag.errors import QuadragError, unknown_name
from quadrag.harnesses.task_list import default_split
from quadrag.metric_record import metric_record, show_key
from quadrag.printing import write
from quadrag.records import Key, Passage, Question, dumps
from quadrag.stats import NOT_APPLICABLE

SETTINGS = ("data_dir", "split", "profile", "prompts", "retriever", "retrieved")
_SHORT = {"noise": "noise_ratio"}


class Examination:
    """The questions of one split, what is sent to the model for each, and what its replies are worth.

    Attributes:
        passages: those shown with each question, by its key.
        metrics: names of the rule metrics, ``MODULE.KEY``, as ``items.jsonl`` has them.
        judged: what those are called that a judge decides, which are not computed here.
    """

    def __init__(
        self,
        benchmark: str,
        config: str,
        split: str | None,
        given: Mapping[str, Any],
        where: str = "the settings",
        typed: Collection[str] | None = None,
    ) -> None:
        """Load the questions and find their passages.

        Args:
            benchmark: its name.
            config: one of its configs.
            split: the split that is meant where the settings name none; None for the config's default.
            given: settings, see above; a None is as if left out.
            where: what the user calls the settings, for errors.
            typed: the settings that are known to be the user's; of the others an unknown one is refused only where it
                is nearly a known one. None: all are.
        """
        given = {name: value for name, value in given.items() if value is not None}
        self.benchmark = load(benchmark)
        known = [*options_of(catalogue.config(benchmark, config)), *self.benchmark.options]
        for short, long in _SHORT.items():
            if long in known and short in given:
                if long in given:
                    raise QuadragError(f"{where} has both {short} and {long}, which are one setting; leave one out")
                given[long] = given.pop(short)
        _check(given, [*SETTINGS, *known], where, typed)
        self.profile = str(given.get("profile", "official"))
        if self.profile not in PROFILES:
            raise unknown_name("profile", self.profile, PROFILES)
        self.task = RunSpec(
            benchmark=self.benchmark.name,
            config=config,
            # A noise ratio replaces the splits by the one that it names.
            split=given.get("split")
            or (None if "noise_ratio" in given else split or default_split(self.benchmark, config)),
            data_dir=given.get("data_dir"),
            retriever=self._retriever(config, given),
            options={name: given[name] for name in known if name in given},
            prompts=given.get("prompts"),
        )
        self._prompts = load_prompts(self.benchmark.name, self.task.prompts)
        self.questions: list[Question] = list(load_questions(self.task, self.benchmark)[0])
        self.passages = self._passages(given.get("retrieved"))
        asked = self.benchmark.metrics(config, self.task.conditions)
        keys = [(m, key, m.find_lacking(key, False, False)) for m in asked if not m.ranks for key in m.keys]
        self.metrics = [f"{m.module}.{key}" for m, key, lacking in keys if lacking is None]
        self.judged = [show_key(m.module, key) for m, key, lacking in keys if lacking == NO_JUDGE]

    @property
    def conditions(self) -> str:
        """What scores depend on beside the answers, as JSON for a log: `quadrag score` wants the same said again."""
        return dumps({"retriever": self.task.retriever, "options": dict(self.task.options)})

    def messages(self, question: Question) -> list[dict[str, str]]:
        """Return the chat messages of a question, as `quadrag run` sends them."""
        shown = self.passages[question.key]
        found: list[dict[str, str]] = self.benchmark.messages(question, shown, self._prompts, self.task.retriever)
        return found

    def document(self, question: Question) -> dict[str, Any]:
        """Return what a harness logs of a question; references as JSON, for Arrow knows one shape of a column."""
        place = {"benchmark": question.benchmark, "config": question.config, "split": question.split, "id": question.id}
        references = json.dumps(question.references, ensure_ascii=False)
        shown = {"conditions": self.conditions, "messages": self.messages(question)}
        return {**place, "query": question.query, "references": references, **shown}

    def items(self, replies: Mapping[str, str | None]) -> dict[str, dict[str, Any]]:
        """Score replies by id, None a call that failed, as `quadrag score` does; return the ``items.jsonl`` by id."""
        asked = {question.id: question for question in self.questions}
        states = {ident: "api_error" if text is None else "ok" for ident, text in replies.items()}
        answers = [make_answer(asked[ident], 0, text, state=states[ident]) for ident, text in replies.items()]
        by_key = {question.key: question for question in self.questions}
        items, _ = score(self.benchmark, by_key, answers, self.task.conditions)
        return {item["id"]: item for item in items}

    def values(self, item: Mapping[str, Any]) -> dict[str, float | None]:
        """Return an item's values under the profile; None is one that does not count.

        Under ``corrected`` an unscored item counts 0, unless the metric does not apply to it.
        """
        found = {}
        for name in (name for name in self.metrics if name in item):
            value: float | None = item[name][self.profile]
            reason = item[name].get("reason", {}).get(self.profile)
            counts = value is None and reason != NOT_APPLICABLE and self.profile == "corrected"
            found[name] = 0.0 if counts else value
        return found

    def _retriever(self, config: str, given: Mapping[str, Any]) -> str:
        """Return what the passages come from: as said, as the run says that found them, else the benchmark's own."""
        retrieved, named, benchmark = given.get("retrieved"), given.get("retriever"), self.benchmark
        if named is not None and named not in benchmark.retrievers:
            raise unknown_name(f"retriever of {benchmark.name}", str(named), benchmark.retrievers)
        if retrieved is None:
            if named not in (None, "none", benchmark.supplied):
                raise QuadragError(
                    f"retriever {named} is not run within a harness; give its retrieved.jsonl as `retrieved`"
                )
            return str(named or benchmark.find_supplied(config) or "none")
        if named is None and (run := Path(retrieved).expanduser().parent / "run.json").is_file():
            named = read_run(run.parent).retriever
        if named == "none":
            raise QuadragError(f"retriever none shows no passages, and {retrieved} holds some; leave one of them out")
        return str(named or benchmark.default_retriever)

    def _passages(self, retrieved: str | None) -> dict[Key, tuple[Passage, ...]]:
        """Return the passages of every question: a file's, a finder's, or those that came with it."""
        if retrieved is not None:
            path = Path(retrieved).expanduser()
            try:
                found: dict[Key, tuple[Passage, ...]] = retrieve.read(path, self.questions)
            except QuadragError as error:
                # A run would retrieve again; here the file is the user's, of another run.
                said = str(error).removesuffix("; remove it to retrieve again")
                if said == str(error):
                    raise
                place = f"{self.questions[0].config} {self.questions[0].split}"
                raise QuadragError(f"{said}; expected passages for every question of {place}") from None
            return found
        finder = self.benchmark.finder(self.task)
        if finder is None:
            shown = self.task.retriever != "none"
            return {question.key: question.passages if shown else () for question in self.questions}
        try:
            return {q.key: passages for q, passages in finder.find(self.questions, None, self._prompts)}
        finally:
            finder.close()


def average(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values there are, summed as the evaluate modules do; None where there is none."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def higher_is_better(metric: str) -> bool | None:
    """Say of a metric's name, ``MODULE.KEY``, whether more is better; None where neither is."""
    module, _, key = metric.partition(".")
    direction = metric_record(module).key(key).direction
    return None if direction == "none" else direction == "higher"


@contextmanager
def one_line(data_dir: str = "--data-dir") -> Iterator[None]:
    """Turn an error that the user can mend into one line and exit code 2: a harness would print a traceback."""
    try:
        yield
    except QuadragError as error:
        said = str(error).replace("--data-dir", data_dir)
    except OSError as error:  # a cache folder that may not be written, a full disk
        said = f"{error.filename or 'the system'}: {error.strerror or error}"
    else:
        return
    write(f"quadrag: {said}", file=sys.stderr)
    raise SystemExit(2)


def _check(given: Mapping[str, Any], known: Collection[str], where: str, typed: Collection[str] | None) -> None:
    for name, value in given.items():
        if name not in known and (
            typed is None or name in typed or difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        ):
            raise unknown_name(f"setting in {where}", name, known)
        if name in SETTINGS and (not isinstance(value, str) or not value.strip()):
            # YAML and JSON read a folder called 2024 as a number.
            raise QuadragError(f"{name} in {where} is {value!r}; expected words or a path, of digits as ./2024")
