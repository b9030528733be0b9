# SPDX-License-Identifier: Apache-2.0
"""How well a retriever ranks: MAP, MRR, MRR over gold documents, recall, nDCG and hit rate at k."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from .ranking import (
    check_k,
    columns,
    keys,
    measures,
    places,
)
from .tally import (
    NOT_APPLICABLE,
    Tallied,
    check_profile,
    fingerprint,
    missing,
    result,
)

_CITATION = """\
@article{lyu2024crud,
  title   = {{CRUD-RAG}: A Comprehensive Chinese Benchmark for Retrieval-Augmented Generation of Large Language Models},
  author  = {Lyu, Yuanjie and Li, Zhiyu and Niu, Simin and Xiong, Feiyu and Tang, Bo and Wang, Wenjin and Wu, Hao
             and Liu, Huanyong and Xu, Tong and Chen, Enhong},
  journal = {ACM Transactions on Information Systems},
  year    = {2024},
  doi     = {10.1145/3701228}
}
@article{wang2024omnieval,
  title   = {{OmniEval}: An Omnidirectional and Automatic {RAG} Evaluation Benchmark in Financial Domain},
  author  = {Wang, Shuting and Tan, Jiejun and Dou, Zhicheng and Wen, Ji-Rong},
  journal = {arXiv preprint arXiv:2412.13018},
  year    = {2024}
}
"""

_DESCRIPTION = """\
Ranking metrics with binary relevance: mean average precision, mean reciprocal rank of the first hit and over gold
documents (CRUD-RAG), recall, nDCG and hit rate at k.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of n rankings, each a list of ids, best first; None is a retrieval that failed, an empty list
        one that found nothing. An id is a string or an integer, and 7 is "7". An id met again keeps its place in the
        ranking but counts only at its first.
    references: list of n lists of relevant ids, in any order. An empty one, or None, makes an item not applicable.
    k: list of cut-offs, different positive integers; default [1, 5, 10].
    profile: "official" (default) has OmniEval's MAP, over the relevant ids found, and leaves failed retrievals
        out. "corrected" has the textbook's, over all relevant ids, and counts a failed retrieval as 0.
    states: list of n reasons, read where a prediction is None: "api_error", "unparsable", "truncated" or None
        for "api_error".
Returns:
    map: in [0, 1], or None without a value; over the whole ranking, as all without a k.
    mrr: in [0, 1]; the reciprocal rank of the first relevant id.
    mrr_per_gold: in [0, 1]; the reciprocal rank of each relevant id, 0 for one not found, averaged over these.
    recall@k, ndcg@k, hit@k: in [0, 1]; for each k.
    <key>_over_scored: with "corrected" only; over the items with a ranking.
    n_total, n_scored, unscored: items, items without an unscored value, and the others counted by reason.
    per_item: one row per item, in order: its values, and the reasons where there is none.
    signature: what the values depend on.
Examples:
    >>> metric = evaluate.load("retrieval_ranking")
    >>> result = metric.compute(predictions=[["x", "y", "d1"]], references=[["d1", "d2"]], k=[1, 3])
    >>> [round(result[key], 6) for key in ("map", "mrr", "mrr_per_gold", "recall@3", "ndcg@3", "hit@1")]
    [0.333333, 0.333333, 0.166667, 0.5, 0.306574, 0.0]
    >>> fixed = metric.compute(predictions=[["x", "y", "d1"], None], references=[["d1", "d2"]] * 2, profile="corrected")
    >>> round(fixed["map_over_scored"], 6), round(fixed["map"], 6)
    (0.166667, 0.083333)
"""

VERSION = "1.0.0"


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RetrievalRanking(Tallied, evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Sequence(datasets.Value("string")),
                    "references": datasets.Sequence(datasets.Value("string")),
                }
            ),
            codebase_urls=["https://github.com/IAAR-Shanghai/CRUD_RAG", "https://github.com/RUC-NLPIR/OmniEval"],
            reference_urls=["https://arxiv.org/abs/2401.17043", "https://arxiv.org/abs/2412.13018"],
        )

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        """Add one ranking and its relevant ids; None is a value of either."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add n rankings and lists of relevant ids."""
        super().add_batch(**columns(predictions, references))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        k: Sequence[int] = (1, 5, 10),
        profile: str = "official",
        states: Any = None,
    ) -> dict[str, Any] | None:
        """Score what was added and what is given here."""
        check_profile(profile)
        return self.tally(predictions, references, k=check_k(k), profile=profile, states=states)

    def _compute(
        self,
        predictions: list[list[str] | None],
        references: list[list[str] | None],
        k: Sequence[int] = (1, 5, 10),
        profile: str = "official",
        states: Any = None,
    ) -> dict[str, Any]:
        cuts = check_k(k)
        names = keys(cuts)
        items: list[dict[str, float | str]] = []
        for ranking, gold, why in zip(predictions, references, missing(predictions, states), strict=True):
            item: dict[str, float | str] = dict.fromkeys(names, why if gold else NOT_APPLICABLE)
            if gold and ranking is not None:
                item = {**measures(places(ranking, gold), len(set(gold)), cuts, profile)}
            items.append(item)
        signature = fingerprint("retrieval_ranking", VERSION, profile, k=",".join(map(str, cuts)))
        return result(names, items, profile, signature)
