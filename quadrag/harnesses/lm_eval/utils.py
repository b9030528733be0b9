"""Our benchmarks as tasks of lm-eval 0.4.13: questions, messages and rule metrics are those of `quadrag run`.

`lm_eval` loads this file by its path, from the YAML files beside it; `dataset_path` is a benchmark, `dataset_name` a
config, `test_split` the split that is meant where none is given. What varies comes with ``--metadata``, a JSON object:

- ``data_dir``: folder of upstream files, or ``sample``; without it what `quadrag prepare` built, else a download;
- ``split``, ``profile`` (``official``, ``corrected``), ``prompts`` (a file), ``retriever`` (RGB: own, none; CRAG:
  snippets, none) and every option of the benchmark, as RGB's ``noise_ratio`` and ``passage_num``;
- ``retrieved``: a ``retrieved.jsonl`` whose passages are shown, of any benchmark. Nothing is searched for here.

Judged metrics are not computed here: `quadrag score` does that on what ``--log_samples`` wrote. lm-eval ends the whole
run at a call that fails in spite of its retries, so there is no answer to leave unscored but that of a reply without
content (`quadrag.harnesses.lm_eval_samples.answered`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
from lm_eval.api.task import ConfigurableTask  # type: ignore[import-not-found]  # the types are checked without it

from quadrag import catalogue
from quadrag.baselines import retrieve
from quadrag.baselines.benchmark import Benchmark, load, load_prompts
from quadrag.baselines.folder import read_run
from quadrag.baselines.score import PROFILES, score
from quadrag.baselines.task import Task, load_questions
from quadrag.data import options_of
from quadrag.errors import QuadragError, unknown_name
from quadrag.harnesses.lm_eval_samples import answered
from quadrag.records import Answer, Key, Passage, Question

_SETTINGS = ("data_dir", "split", "profile", "prompts", "retriever", "retrieved")
_SHOWN = {"rgb": "own", "crag": "snippets"}  # what comes with the questions; of the others there is none
_LOWER_IS_BETTER = ("missing", "unsupported_correct")
_NOT_APPLICABLE = "not_applicable"


def average(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values there are, summed as the evaluate modules do; None where there is none."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


class QuadragTask(ConfigurableTask):  # type: ignore[misc]  # so it is Any
    """One config of a benchmark.

    Not functions named in the YAML: those can neither give a document its own system message and earlier turns, nor see
    all answers at once, as `score` does.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        """Take what the YAML file says, with the metadata of the command line laid over its own."""
        super().__init__(config={name: value for name, value in config.items() if name != "class"})

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Load the questions with their messages, through `quadrag.data`; no Hub is asked for a dataset.

        Raises:
            QuadragError: a setting is unknown or cannot be had, or data are lacking.
        """
        given = self.config.metadata or {}
        self._benchmark: Benchmark = load(self.config.dataset_path)
        self._profile = given.get("profile", "official")
        if self._profile not in PROFILES:
            raise unknown_name("profile", str(self._profile), PROFILES)
        self._task = _task(self._benchmark, self.config.dataset_name, self.config.test_split, given)
        prompts = load_prompts(self._benchmark.NAME, self._task.prompts)
        questions, _ = load_questions(self._task, self._benchmark)
        self._questions = {question.id: question for question in questions}
        passages = _passages(self._benchmark, self._task, questions, given.get("retrieved"), prompts)
        documents = [
            _document(q, self._benchmark.messages(q, passages[q.key], prompts, self._task.retriever)) for q in questions
        ]
        self.config.test_split = questions[0].split
        self.dataset = {questions[0].split: datasets.Dataset.from_list(documents)}

    def fewshot_docs(self) -> None:
        """Return none: the protocols show no examples."""

    def doc_to_text(self, doc: Mapping[str, Any], doc_to_text: Any = None) -> str:
        """Return all messages as one text, as a model without a chat template is shown them."""
        return "\n\n".join(message["content"] for message in doc["messages"])

    def doc_to_target(self, doc: Mapping[str, Any], doc_to_target: Any = None) -> str:
        """Return the references as JSON."""
        return str(doc["references"])

    def fewshot_context(
        self,
        doc: Mapping[str, Any],
        num_fewshot: int = 0,
        system_instruction: str | None = None,
        apply_chat_template: bool = False,
        fewshot_as_multiturn: bool = False,
        chat_template: Callable[[list[dict[str, str]]], Any] | None = None,
        gen_prefix: str | None = None,
    ) -> Any:
        """Return the messages through the chat template, or as one text where there is none.

        Raises:
            QuadragError: examples are asked for.
        """
        if num_fewshot:
            raise QuadragError(f"num_fewshot is {num_fewshot}, and the protocol shows no examples; leave it out")
        messages = [dict(message) for message in doc["messages"]]
        if system_instruction:
            first = messages.pop(0)["content"] if messages[0]["role"] == "system" else ""
            both = "\n\n".join(filter(None, (system_instruction, first)))
            messages.insert(0, {"role": "system", "content": both})
        if apply_chat_template and chat_template is not None:
            return chat_template(messages)
        return self.doc_to_text({"messages": messages})

    def apply_filters(self) -> None:
        """Score all answers once they are there: `process_results` is given them one by one."""
        super().apply_filters()
        questions = [self._questions[instance.doc["id"]] for instance in self._instances]
        texts = [answered(next(iter(instance.filtered_resps.values()))) for instance in self._instances]
        answers = [
            Answer(q.benchmark, q.config, q.split, q.id, 0, text, "api_error" if text is None else "ok")
            for q, text in zip(questions, texts, strict=True)
        ]
        by_key = {question.key: question for question in questions}
        items, _ = score(self._benchmark, by_key, answers, self._task.conditions)
        self._items = {item["id"]: item for item in items}

    def process_results(self, doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | None]:
        """Return an item's values; None is one that does not count.

        Under ``corrected`` an unscored item counts 0, and one that a metric does not apply to not at all; under
        ``official`` neither counts.
        """
        item = self._items[doc["id"]]
        return {name: self._value(item[name]) for name in self._names if name in item}

    def aggregation(self) -> dict[str, Callable[[Sequence[float | None]], float | None]]:
        """Return the mean over the items that count, for every metric."""
        return dict.fromkeys(self._names, average)

    def higher_is_better(self) -> dict[str, bool]:
        """Say it of every metric for which it can be said."""
        keys = {name: name.partition(".")[2] for name in self._names}
        return {name: key not in _LOWER_IS_BETTER for name, key in keys.items() if key != "length"}

    @property
    def _names(self) -> list[str]:
        """The rule metrics, as ``items.jsonl`` names them."""
        metrics = self._benchmark.metrics(self._task.config, self._task.conditions)
        return [f"{m.module}.{key}" for m in metrics for key in m.keys if m.lacks(key, False, False) is None]

    def _value(self, entry: Mapping[str, Any]) -> float | None:
        value = entry[self._profile]
        reason = entry.get("reason", {}).get(self._profile)
        unscored = value is None and reason != _NOT_APPLICABLE
        return 0.0 if unscored and self._profile == "corrected" else value


def _document(question: Question, messages: list[dict[str, str]]) -> dict[str, Any]:
    """Make what lm-eval shows, hashes and logs; the shapes of references differ, and Arrow knows one of a column."""
    place = {"benchmark": question.benchmark, "config": question.config, "split": question.split, "id": question.id}
    references = json.dumps(question.references, ensure_ascii=False)
    return {**place, "query": question.query, "references": references, "messages": messages}


def _task(benchmark: Benchmark, config: str, split: str, given: Mapping[str, Any]) -> Task:
    """Read the settings; lm-eval lays the model's arguments among them, so a name is refused only where it is near."""
    known = [*options_of(catalogue.config(benchmark.NAME, config)), *benchmark.OPTIONS]
    for name in given:
        near = difflib.get_close_matches(name, [*_SETTINGS, *known], n=1, cutoff=0.8)
        if near and near[0] != name and name not in (*_SETTINGS, *known):
            raise unknown_name("setting in --metadata", name, [*_SETTINGS, *known])
    options = {name: given[name] for name in known if name in given}
    # A noise ratio replaces the splits by the one that it names.
    named = given.get("split") or (None if given.get("noise_ratio") is not None else split)
    retriever = _retriever(benchmark, given)
    return Task(
        benchmark.NAME,
        config,
        named,
        data_dir=given.get("data_dir"),
        retriever=retriever,
        options=options,
        prompts=given.get("prompts"),
    )


def _retriever(benchmark: Benchmark, given: Mapping[str, Any]) -> str:
    """Return what the passages come from: as said, as the run says that found them, else as the benchmark has it."""
    retrieved, named = given.get("retrieved"), given.get("retriever")
    if named is not None and named not in benchmark.RETRIEVERS:
        raise unknown_name(f"retriever of {benchmark.NAME}", str(named), benchmark.RETRIEVERS)
    if retrieved is None:
        named = named or _SHOWN.get(benchmark.NAME, "none")
        if named not in ("none", _SHOWN.get(benchmark.NAME)):
            raise QuadragError(f"retriever {named} is not run within lm-eval; give its retrieved.jsonl as `retrieved`")
        return str(named)
    if named is None and (run := Path(retrieved).expanduser().parent / "run.json").is_file():
        named = read_run(run.parent)["inputs"].get("retriever")
    if named == "none":
        raise QuadragError(f"retriever none shows no passages, and {retrieved} holds some; leave one of them out")
    return str(named or benchmark.RETRIEVERS[0])


def _passages(
    benchmark: Benchmark, task: Task, questions: Sequence[Question], retrieved: str | None, prompts: Any
) -> dict[Key, tuple[Passage, ...]]:
    """Return the passages of every question: a file's, a finder's, or those that came with it."""
    if retrieved is not None:
        found: dict[Key, tuple[Passage, ...]] = retrieve.read(Path(retrieved).expanduser(), questions)
        return found
    finder = benchmark.finder(task)
    if finder is None:
        shown = task.retriever == "own"
        return {question.key: question.passages if shown else () for question in questions}
    try:
        return {question.key: passages for question, passages in finder.find(questions, None, prompts)}
    finally:
        finder.close()
