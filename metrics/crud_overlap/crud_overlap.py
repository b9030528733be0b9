# SPDX-License-Identifier: Apache-2.0
"""Overlap of an answer with its reference, as CRUD-RAG measures it: BLEU, ROUGE-L, length, embedding cosine."""

from collections.abc import Callable
from typing import Any

import datasets
import evaluate
import jieba
import sacrebleu

from .overlap import (
    bleu,
    columns,
    cosines,
    rouge_l,
)
from .tally import (
    NOT_APPLICABLE,
    Tallied,
    check_profile,
    fingerprint,
    missing,
    result,
)
from .words import Vocabulary

_CITATION = """\
@article{lyu2024crud,
  title   = {{CRUD-RAG}: A Comprehensive Chinese Benchmark for Retrieval-Augmented Generation of Large Language Models},
  author  = {Lyu, Yuanjie and Li, Zhiyu and Niu, Simin and Xiong, Feiyu and Tang, Bo and Wang, Wenjin and Wu, Hao
             and Liu, Huanyong and Xu, Tong and Chen, Enhong},
  journal = {ACM Transactions on Information Systems},
  year    = {2024},
  doi     = {10.1145/3701228}
}
"""

_DESCRIPTION = """\
Overlap metrics of CRUD-RAG on Chinese text, over jieba's tokens: BLEU with and without the brevity penalty, BLEU-1
to BLEU-4, ROUGE-L, length in characters and, with an embedding function, the cosine that the paper calls bertScore.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n answers. None is an item without an answer; an empty string is an empty answer.
    references: list of n gold answers, each a string or a list of one; None or an empty string where there is none.
    profile: "official" (default) scores as CRUD-RAG's code does: no brevity penalty in `bleu`, and an item with an
        empty answer, without an answer or without a gold answer is left out. "corrected" has the penalty in `bleu`,
        counts empty and missing answers as 0, and takes an item without a gold answer for not applicable.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
    embed: callable from a list of m texts to an m x d array; its `model`, if any, enters the signature. Called
        once, with each text once.
Returns:
    bleu: in [0, 1], or None without a value; the mean over items of the BLEU of each.
    bleu_bp: the same with the brevity penalty in both profiles.
    bleu_1, bleu_2, bleu_3, bleu_4: precisions of n-grams, in [0, 1].
    rouge_l: F-measure, in [0, 1].
    length: characters of an answer.
    bertscore: with embed only; in [-1, 1].
    <key>_over_scored: with "corrected" only; over the items with an answer.
    n_total, n_scored, unscored: items, items with a value, and the others counted by reason ("empty" besides the
        states).
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("crud_overlap")
    >>> gold = "上海市体育局发放了500万元体育消费券。"
    >>> result = metric.compute(predictions=["上海市体育局发放了"], references=[gold])
    >>> [round(result[key], 6) for key in ("bleu", "bleu_bp", "bleu_4", "rouge_l", "length")]
    [1.0, 0.22313, 1.0, 0.571429, 9.0]
    >>> fixed = metric.compute(predictions=["上海市体育局发放了", ""], references=[gold, gold], profile="corrected")
    >>> [round(fixed[key], 6) for key in ("bleu", "bleu_1", "rouge_l")]
    [0.111565, 0.5, 0.285714]
    >>> def embed(texts):
    ...     return [[text.count("万"), text.count("元")] for text in texts]
    >>> metric.compute(predictions=["三元", "五万"], references=["9元", "8元"], embed=embed)["bertscore"]
    0.5
"""

VERSION = "1.0.0"
KEYS = ("bleu", "bleu_bp", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "length")


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CrudOverlap(Tallied, evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            codebase_urls=["https://github.com/IAAR-Shanghai/CRUD_RAG"],
            reference_urls=["https://arxiv.org/abs/2401.17043", "https://doi.org/10.1145/3701228"],
        )

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one answer and its gold answer; None is a value of either."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n answers and gold answers in any documented shape."""
        super().add_batch(**columns(predictions, references))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        profile: str = "official",
        states: Any = None,
        embed: Callable[[list[str]], Any] | None = None,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here."""
        check_profile(profile)
        if embed is not None and not callable(embed):
            raise ValueError(f"embed is {type(embed).__name__}; expected a callable from a list of texts to an array")
        return self.tally(predictions, references, profile=profile, states=states, embed=embed)

    def _compute(
        self,
        predictions: list[str | None],
        references: list[str | None],
        profile: str = "official",
        states: Any = None,
        embed: Callable[[list[str]], Any] | None = None,
    ) -> dict[str, Any]:
        keys = [*KEYS, "bertscore"] if embed else [*KEYS]
        tokens = Vocabulary()
        items: list[dict[str, float | str]] = []
        pairs: list[tuple[dict[str, float | str], tuple[str, str]]] = []
        for answer, gold, why in zip(predictions, references, missing(predictions, states), strict=True):
            item: dict[str, float | str]
            if not gold and profile == "corrected":
                item = dict.fromkeys(keys, NOT_APPLICABLE)
            elif answer is None:
                item = dict.fromkeys(keys, why)
            elif answer and gold:
                candidate, reference = tokens(answer), tokens(gold)
                item = {**bleu(candidate, reference), "rouge_l": rouge_l(candidate, reference)}
                item["length"] = float(len(answer))
                if profile == "corrected":
                    item["bleu"] = item["bleu_bp"]
                pairs.append((item, (answer, gold)))
            else:
                item = dict.fromkeys(keys, "empty" if profile == "official" else 0.0)
            items.append(item)
        if embed:
            for (item, _), value in zip(pairs, cosines([texts for _, texts in pairs], embed), strict=True):
                item["bertscore"] = value
        model = str(getattr(embed, "model", None) or "unnamed") if embed else "none"
        used = {"tokenizer": f"jieba-{jieba.__version__}", "bleu": f"sacrebleu-{sacrebleu.__version__}"}
        return result(keys, items, profile, fingerprint("crud_overlap", VERSION, profile, **used, embed=model))
