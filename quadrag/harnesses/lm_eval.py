"""The benchmarks as tasks of lm-eval 0.4.13: questions, messages and rule metrics are those of `quadrag run`.

The files of tasks name this class; ``dataset_path`` is a benchmark, ``dataset_name`` a config, ``test_split`` the split
meant where ``--metadata``, a JSON object of the settings of `quadrag.harnesses.examination`, names none.

Judged metrics are not computed here: `quadrag score` does that on what ``--log_samples`` wrote. lm-eval ends the whole
run at a call that fails in spite of its retries, so the only answer left unscored is that of a reply without content.
"""

import argparse
import json
import logging
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import datasets
from lm_eval._cli.utils import MergeDictAction  # type: ignore[import-not-found]  # the types are checked without it
from lm_eval.api.metrics import mean  # type: ignore[import-not-found]
from lm_eval.api.task import ConfigurableTask  # type: ignore[import-not-found]

from quadrag.errors import QuadragError
from quadrag.printing import write
from quadrag.results import record_of
from quadrag.run.answers import lm_eval_answer

from .examination import Examination, list_settings

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
        benchmark, config, split = self.config.dataset_path, self.config.dataset_name, self.config.test_split
        metadata = self.config.metadata or {}
        with _one_line():
            # lm-eval lays the model's arguments among the metadata.
            meant = {*list_settings(benchmark, config), *_typed()}
            settings = {name: value for name, value in metadata.items() if name in meant and value is not None}
            self._examination = examination = Examination(benchmark, config, split, settings)
        asked = examination.questions[0].split
        if asked != split:
            self.config.task_alias = f"{self.config.task}_{asked}"
            self.config.test_split = asked
        documents = [
            {
                **examination.document(question),
                "references": json.dumps(question.references, ensure_ascii=False),  # Arrow knows one shape of a column
                "messages": examination.messages(question),
            }
            for question in examination.questions
        ]
        self.dataset = {asked: datasets.Dataset.from_list(documents)}

    def fewshot_docs(self) -> None:
        """Return none: the protocols show no examples."""

    def doc_to_text(self, doc: Mapping[str, Any], doc_to_text: Any = None) -> str:
        """Return all messages as one text, as a model without a chat template is shown them."""
        return "\n\n".join(message["content"] for message in doc["messages"])

    def doc_to_target(self, doc: Mapping[str, Any], doc_to_target: Any = None) -> str:
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
        if num_fewshot or system_instruction:
            with _one_line():
                raise QuadragError(
                    "num_fewshot or system_instruction was given, and the protocol has messages of its own; leave them "
                    "out, or name a file of prompts in --metadata"
                )
        if apply_chat_template and chat_template is not None:
            return chat_template([dict(message) for message in doc["messages"]])
        return self.doc_to_text(doc)

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
        with _one_line():
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
        counting = {name: value for name, value in values.items() if value is not None}
        return counting if self._alone else {**dict.fromkeys(values, math.nan), **counting}

    def aggregation(self) -> dict[str, Callable[[Sequence[float]], float]]:
        """Return lm-eval's own mean for every metric: it knows the standard error of no function but its own.

        With NaN among the values there is none.
        """
        return dict.fromkeys(self._examination.metrics, mean if self._alone else _mean)

    def higher_is_better(self) -> dict[str, bool]:
        directions = {name: record_of(name).direction for name in self._examination.metrics}
        return {name: direction == "higher" for name, direction in directions.items() if direction != "none"}


def _typed() -> Mapping[str, Any]:
    """Return the metadata of the command, of which every name is refused that is no setting."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--metadata", default={}, nargs="+", action=MergeDictAction)
    try:
        return dict(parser.parse_known_args()[0].metadata)
    except argparse.ArgumentError:  # of another program
        return {}


def _mean(values: Sequence[float]) -> float:
    counting = [value for value in values if not math.isnan(value)]
    return sum(counting) / len(counting) if counting else math.nan


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn an error that the user can mend into one line and exit code 2: lm-eval would print a traceback."""
    try:
        yield
    except (QuadragError, OSError) as error:  # of a cache folder that may not be written, a full disk
        write(f"quadrag: {error}", file=sys.stderr)
        raise SystemExit(2) from None
