# SPDX-License-Identifier: Apache-2.0
"""RAGQuestEval of CRUD-RAG: are the reference's key facts in the generated text, and are they right there?"""

from collections.abc import Callable
from typing import Any

import datasets
import evaluate

from .cache import (
    read_cache,
)
from .compose import (
    tokenizer_version,
)
from .interview import (
    interview,
    open_case,
    values,
)
from .prompts import (
    templates,
)
from .replies import (
    READERS,
)
from .tally import (
    Tallied,
    check_profile,
    fingerprint,
    missing,
    result,
    strings,
)

VERSION = "1.0.0"
KEYS = ("precision", "recall")

_CITATION = """\
@article{lyu2025crud,
  title   = {{CRUD-RAG}: A Comprehensive {Chinese} Benchmark for Retrieval-Augmented Generation of Large Language
             Models},
  author  = {Lyu, Yuanjie and Li, Zhiyu and Niu, Simin and Xiong, Feiyu and Tang, Bo and Wang, Wenjin and Wu, Hao and
             Liu, Huanyong and Xu, Tong and Chen, Enhong},
  journal = {ACM Transactions on Information Systems},
  volume  = {43},
  number  = {2},
  year    = {2025},
  doi     = {10.1145/3701228}
}
"""

_DESCRIPTION = """\
RAGQuestEval of CRUD-RAG: a judge asks questions about the key facts of the reference and answers them from the
reference and from the generated text. Recall is the share that the generated text answers, precision the mean token
F1 (jieba) of those answers with the reference's.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n generated texts. None is an item without one. An empty text is left out by "official",
        as upstream does, and answers nothing for "corrected".
    references: list of n ground-truth texts. None, or a blank text, is an item without one: not applicable.
    judge: callable from a list of chat-message lists to a list of replies, each a text or, for a failed call, an
        object with a `reason`; its `model`, if any, enters the signature. Required. Called at most three times:
        once for all questions, once for all reference answers, once for the answers of all generated texts.
    profile: "official" (default) scores as the authors' code does: strict parsing, answers matched by position,
        `无法推断` known only exactly, items whose reference answers nothing count as 0, and what cannot be read
        leaves the mean. "corrected" matches answers by the number of their question, reads replies patiently,
        leaves out what the reference does not answer, and counts unscored items as 0.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
    ids: list of n item ids; required with question_cache.
    question_cache: path of an upstream `*_quest_gt_save.json`, or a mapping from ids to mappings with `question` (or
        `questions`) and `answers`. Never written. Items not in it are asked about.
    prompts: mapping that replaces the judge's instructions: "questions", a text with {text}, or "answers", a text
        with {text} and {questions}, or both.
Returns:
    precision: in [0, 1], or None without a value.
    recall: in [0, 1], or None without a value.
    <key>_over_scored: with "corrected" only; over the items with a value.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("ragquesteval")
    >>> questions = ["哪个城市发放消费券？", "总额是多少？", "多少家场馆可用？"]
    >>> cache = {"a": {"question": questions, "answers": ["西安市", "500万元", "173家"]}}
    >>> def judge(requests):
    ...     answers = ["西安市", "500万元", "无法推断"]
    ...     blocks = [f"问题 {n}\\n<response>\\n{text}\\n</response>" for n, text in enumerate(answers, 1)]
    ...     return ["\\n".join(blocks) for request in requests]
    >>> text, truth = "西安市发放500万元消费券。", "西安市发放500万元消费券，173家场馆可用。"
    >>> asked = {"judge": judge, "ids": ["a"], "question_cache": cache}
    >>> result = metric.compute(predictions=[text], references=[truth], **asked)
    >>> result["precision"], round(result["recall"], 4)
    (1.0, 0.6667)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Ragquesteval(Tallied, evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            codebase_urls=["https://github.com/IAAR-Shanghai/CRUD_RAG"],
            reference_urls=["https://arxiv.org/abs/2401.17043"],
        )

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one generated text and its ground truth, which may be None."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n generated texts and their ground truths; None among them is allowed."""
        texts = strings(predictions, "predictions", null=True)
        golds = strings(references, "references", len(texts), null=True)
        super().add_batch(predictions=texts, references=golds)

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        judge: Callable[[list[Any]], Any] | None = None,
        profile: str = "official",
        states: Any = None,
        ids: Any = None,
        question_cache: Any = None,
        prompts: Any = None,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here."""
        check_profile(profile)
        templates(prompts)
        if not callable(judge):
            raise ValueError(f"judge is {type(judge).__name__}; expected a callable from chats to replies")
        options = {"judge": judge, "states": states, "ids": ids, "question_cache": question_cache, "prompts": prompts}
        return self.tally(predictions, references, profile=profile, **options)

    def _compute(
        self,
        predictions: list[str | None],
        references: list[str | None],
        judge: Callable[[list[Any]], Any] | None = None,
        profile: str = "official",
        states: Any = None,
        ids: Any = None,
        question_cache: Any = None,
        prompts: Any = None,
    ) -> dict[str, Any]:
        words, tokenizer = templates(prompts), tokenizer_version()
        reasons = missing(predictions, states)
        items = [open_case(*texts, profile) for texts in zip(predictions, references, reasons, strict=True)]
        source = "judge"
        if question_cache is not None:
            if ids is None:
                raise ValueError("question_cache was given without ids; pass ids=[...], one per prediction")
            entries, digest = read_cache(question_cache)
            source = f"cache-{digest}"
            for item, key in zip(items, strings(ids, "ids", len(items)), strict=True):
                if key in entries:
                    item.take(entries[str(key)], profile)
        interview(items, judge, words, READERS[profile], profile)
        cells = [dict(zip(KEYS, values(item, profile), strict=True)) for item in items]
        prompt = "\0".join(words[name] for name in sorted(words))
        more = {"questions": source, "tokenizer": tokenizer}
        return result(KEYS, cells, profile, fingerprint("ragquesteval", VERSION, profile, prompt, judge, **more))
