# SPDX-License-Identifier: Apache-2.0
"""OmniEval's five judged metrics: accuracy, hallucination, completeness, utilization and numerical accuracy."""

from collections.abc import Callable
from typing import Any

import datasets
import evaluate

from .items import (
    accepted,
    passages,
    turns,
)
from .lenient import (
    official,
)
from .prompts import (
    fields,
    messages,
    templates,
)
from .scales import (
    RETRIEVAL,
    at_worst,
    keys_of,
    response_format,
    value,
)
from .tally import (
    NOT_APPLICABLE,
    Tallied,
    ask,
    check_profile,
    fingerprint,
    is_list,
    missing,
    result,
    strings,
)
from .verdict import (
    corrected,
)

VERSION = "1.0.0"
READERS = {"official": official, "corrected": corrected}

_CITATION = """\
@inproceedings{wang2025omnieval,
  title     = {{OmniEval}: An Omnidirectional and Automatic {RAG} Evaluation Benchmark in Financial Domain},
  author    = {Wang, Shuting and Tan, Jiejun and Dou, Zhicheng and Wen, Ji-Rong},
  booktitle = {Proceedings of the 2025 Conference on Empirical Methods in Natural Language Processing},
  pages     = {5737--5762},
  year      = {2025},
  url       = {https://arxiv.org/abs/2412.13018}
}
"""

_DESCRIPTION = """\
OmniEval's judged metrics, by a judge model that sees the accepted answers: accuracy (acc), hallucination (hal),
completeness (com), utilization of what was retrieved (utl) and numerical accuracy (nac). The config names one, or
`all`.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n answers. None is an item without one; an empty one is judged.
    references: list of n accepted answers, each a string or a list of strings, all shown to the judge. None, or none
        that is not blank: the item is not applicable.
    questions: list of n questions. Required.
    judge: callable from a list of chat-message lists to a list of replies, each a text or, for a failed call, an
        object with a `reason`; its `model`, if any, enters the signature. Required. Called once, with a request for
        every item and metric. Where its server takes a `response_format`, the module's attribute of that name holds
        replies to the verdicts of the config.
    contexts: list of n lists of retrieved passages, or of n texts; required for hal, utl and all. None stands for none
        where the prediction is None.
    history: list of n lists of the turns before the question, each a mapping with `question` and `answer`; None or an
        empty list where there are none.
    close_book: True for answers without retrieval: `all` leaves hal and utl out.
    profile: "official" (default) scores as OmniEval's code does: any integer is taken, a 3 of 2 is 1.5, and what has
        none leaves the mean. "corrected" takes the verdicts of the scale alone, from repaired JSON, and counts
        unscored items at the worst value: 0, for hal 1.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
    prompts: mapping from acc, hal, com, utl, nac to the judge's instructions, a text (or a system's and a user's) with
        {references}, {answer}, {question}, {history} and {passages}, each replaced by JSON; default this module's own.
Returns:
    acc: in [0, 1], or None without a value; official values may be above, here and below.
    hal: in [0, 1] or None; lower is better.
    com: in [0, 1] or None; over the items whose accepted answer has several aspects, by the judge.
    utl: in [0, 1] or None.
    nac: in [0, 1] or None; over the items that are about numbers, by the judge.
    <key>_over_scored: with "corrected" only; over the items with a value.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("omnieval", "acc")
    >>> def judge(requests):
    ...     return ['{"prediction": 2}', '{"prediction": 1}', '{"accuracy": "0"}', "我认为不对"]
    >>> answers, golds = ["3.2亿元", "约3亿元", "5%", "不清楚"], [["3.2亿元", "3.20亿元"], "3.2亿元", "4%", "2019年"]
    >>> asked = {"judge": judge, "questions": ["净利润是多少？", "净利润是多少？", "利率是多少？", "哪一年上市？"]}
    >>> result = metric.compute(predictions=answers, references=golds, **asked)
    >>> result["acc"], result["unscored"]
    (0.5, {'unparsable': 1})
    >>> [row["acc"] for row in result["per_item"]]
    [1.0, 0.5, 0.0, None]
    >>> result = metric.compute(predictions=answers, references=golds, **asked, profile="corrected")
    >>> result["acc"], result["acc_over_scored"]
    (0.375, 0.5)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Omnieval(Tallied, evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        keys_of(self.config_name, False)
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Sequence(datasets.Value("string")),
                }
            ),
            codebase_urls=["https://github.com/RUC-NLPIR/OmniEval"],
            reference_urls=["https://arxiv.org/abs/2412.13018"],
        )

    @property
    def response_format(self) -> dict[str, Any]:
        """What a chat server that constrains its replies takes as `response_format`; a new one each time."""
        return response_format(keys_of(self.config_name, False))

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer and what is accepted, which may be None."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and what is accepted of each."""
        answers = strings(predictions, "predictions", null=True)
        if not is_list(references):
            raise ValueError(f"references is {type(references).__name__}; expected a list, one per prediction")
        golds = [accepted(reference, f"references[{i}]") for i, reference in enumerate(references)]
        if len(golds) != len(answers):
            raise ValueError(f"{len(answers)} predictions but {len(golds)} references; give one per prediction")
        super().add_batch(predictions=answers, references=golds)

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        questions: Any = None,
        judge: Callable[[list[Any]], Any] | None = None,
        contexts: Any = None,
        history: Any = None,
        close_book: bool = False,
        profile: str = "official",
        states: Any = None,
        prompts: Any = None,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here."""
        check_profile(profile)
        keys = keys_of(self.config_name, close_book)
        templates(prompts, keys)
        if not callable(judge):
            raise ValueError(f"judge is {type(judge).__name__}; expected a callable from chats to replies")
        if questions is None:
            raise ValueError("questions is None; pass questions=[...], one per prediction")
        if contexts is None and set(keys) & set(RETRIEVAL):
            raise ValueError(
                "contexts is None, but hal and utl are judged by them; pass the passages of each prediction, "
                "or close_book=True"
            )
        return self.tally(
            predictions,
            references,
            questions=questions,
            judge=judge,
            contexts=contexts,
            history=history,
            close_book=close_book,
            profile=profile,
            states=states,
            prompts=prompts,
        )

    def _compute(
        self,
        predictions: list[str | None],
        references: list[list[str]],
        questions: Any = None,
        judge: Callable[[list[Any]], Any] | None = None,
        contexts: Any = None,
        history: Any = None,
        close_book: bool = False,
        profile: str = "official",
        states: Any = None,
        prompts: Any = None,
    ) -> dict[str, Any]:
        keys = keys_of(self.config_name, close_book)
        words, reader, n = templates(prompts, keys), READERS[profile], len(predictions)
        asked = strings(questions, "questions", n)
        shown = [[""]] * n if contexts is None else passages(contexts, predictions)
        before = turns(history, n)
        reasons = [
            why if golds else NOT_APPLICABLE
            for golds, why in zip(references, missing(predictions, states), strict=True)
        ]
        material = [
            fields(str(asked[i]), before[i], references[i], str(predictions[i]), shown[i])
            for i in range(n)
            if not reasons[i]
        ]
        replies, failed = ask(judge, [messages(words[key], item) for item in material for key in keys])
        verdicts = zip(replies, failed, strict=True)

        def cell(key: str) -> float | str:
            reply, why = next(verdicts)
            return why if reply is None else value(reader(reply, key), key)

        cells = [{key: why or cell(key) for key in keys} for why in reasons]
        prompt = "\0".join("\1".join(words[key]) for key in keys)
        signature = fingerprint("omnieval", VERSION, profile, prompt, judge, metrics="+".join(keys))
        got = result(keys, cells, profile, signature)
        return got | (at_worst(got, keys) if profile == "corrected" else {})
