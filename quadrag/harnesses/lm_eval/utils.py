"""Our benchmarks as tasks of lm-eval 0.4.13: questions, messages and rule metrics are those of `quadrag run`.

`lm_eval` loads this file by its path, from the YAML files beside it; `dataset_path` is a benchmark, `dataset_name` a
config, `test_split` the split that is meant where none is given. What varies comes with ``--metadata``, a JSON object
of the settings of `quadrag.harnesses.examination`.

Judged metrics are not computed here: `quadrag score` does that on what ``--log_samples`` wrote. lm-eval ends the whole
run at a call that fails in spite of its retries, so there is no answer to leave unscored but that of a reply without
content (`quadrag.baselines.runs.files.logs.lm_eval_answer`).
"""

import argparse
import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import datasets
from lm_eval._cli.utils import MergeDictAction  # type: ignore[import-not-found]
from lm_eval.api.metrics import mean  # type: ignore[import-not-found]  # the types are checked without it
from lm_eval.api.task import ConfigurableTask  # type: ignore[import-not-found]

from quadrag.baselines.runs.files.logs import lm_eval_answer
from quadrag.errors import QuadragError
from quadrag.harnesses.examination import Examination, average, higher_is_better, one_line

_LOGGER = logging.getLogger("lm_eval.quadrag")  # below lm-eval's own, so that it is shown


class QuadragTask(ConfigurableTask):  # type: ignore[misc]  # so it is Any
    """One config of a benchmark.

    Not functions named in the YAML: those can neither give a document its own system message and earlier turns, nor see
    all answers at once, as `score` does.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config={name: value for name, value in config.items() if name != "class"})

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Load the questions with their messages, through `quadrag.data.builders`; no Hub is asked for a dataset."""
        with one_line("""--metadata '{"data_dir": "FOLDER"}'"""):
            self._load()

    def _load(self) -> None:
        # lm-eval lays the model's arguments among the metadata; which are the user's is known of a command alone.
        given = self.config.metadata or {}
        place = (self.config.dataset_path, self.config.dataset_name, self.config.test_split)
        self._examination = Examination(*place, given, where="--metadata", typed=_typed())
        questions = self._examination.questions
        name, meant, asked = self.config.task, self.config.test_split, questions[0].split
        if asked != meant and name.endswith(f"_{meant}"):
            free = name.removesuffix(f"_{meant}")
            raise QuadragError(f"{name} asks {meant}, and --metadata names {asked}; for that take the task {free}")
        if asked != meant:
            self.config.task_alias = f"{name}_{asked}"
        documents = [self._examination.document(question) for question in questions]
        self.config.test_split = asked
        self.dataset = {asked: datasets.Dataset.from_list(documents)}

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
        """Return the messages through the chat template, or as one text where there is none."""
        if num_fewshot:
            with one_line():
                raise QuadragError(f"num_fewshot is {num_fewshot}, and the protocol shows no examples; leave it out")
        messages = [dict(message) for message in doc["messages"]]
        if system_instruction:
            first = messages.pop(0)["content"] if messages[0]["role"] == "system" else ""
            both = "\n\n".join(filter(None, (system_instruction, first)))
            messages.insert(0, {"role": "system", "content": both})
        if apply_chat_template and chat_template is not None:
            return chat_template(messages)
        return self.doc_to_text({"messages": messages})

    def build_all_requests(self, **kwargs: Any) -> None:
        """Build the requests anew, whatever ``--cache_requests`` says.

        lm-eval keeps them under the task's name alone: those of another noise ratio, data or prompts would be sent.
        """
        self._alone = kwargs.get("world_size", 1) == 1
        super().build_all_requests(**{**kwargs, "cache_requests": False, "rewrite_requests_cache": False})

    def apply_filters(self) -> None:
        """Score all answers once they are there: `process_results` is given them one by one."""
        super().apply_filters()
        replies = {i.doc["id"]: lm_eval_answer(next(iter(i.filtered_resps.values()))) for i in self._instances}
        with one_line():
            self._items = self._examination.items(replies)
        if judged := self._examination.judged:
            way = "`quadrag score FOLDER --judge URL` computes them of what --log_samples writes there"
            _LOGGER.info(f"{self.config.task}: not in the table, for want of a judge: {', '.join(judged)}; {way}")

    def process_results(self, doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
        """Return those values of an item that count; a metric of which none counts has no row.

        Where several processes share the items, as on several GPUs, lm-eval wants every metric of each: what does not
        count is NaN there.
        """
        values = self._examination.values(self._items[doc["id"]])
        there = {name: value for name, value in values.items() if value is not None}
        return there if self._alone else {**dict.fromkeys(values, math.nan), **there}

    def aggregation(self) -> dict[str, Callable[[Sequence[float]], float]]:
        """Return lm-eval's own mean for every metric: it knows the standard error of no function but its own.

        With NaN among the values there is none.
        """
        return dict.fromkeys(self._examination.metrics, mean if self._alone else _mean)

    def higher_is_better(self) -> dict[str, bool]:
        """Say it of every metric for which it can be said."""
        better = {name: higher_is_better(name) for name in self._examination.metrics}
        return {name: more for name, more in better.items() if more is not None}


def _typed() -> Collection[str]:
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--metadata", default={}, nargs="+", action=MergeDictAction)
    try:
        return dict(parser.parse_known_args()[0].metadata)
    except argparse.ArgumentError:  # of another program
        return ()


def _mean(values: Sequence[float]) -> float:
    found = average([None if math.isnan(value) else value for value in values])
    return math.nan if found is None else found
