# SPDX-License-Identifier: Apache-2.0
"""How well a retriever ranks: MAP, MRR, MRR over gold documents, recall, nDCG and hit rate at k."""

import evaluate

from .module import CRUD_RAG, OMNIEVAL, RESULT, STATES, TEXTS, Shared, info
from .scorer import SCORER
from .scoring import Scorer as Scorer

_DESCRIPTION = """\
Ranking metrics with binary relevance: mean average precision, mean reciprocal rank of the first hit and over gold
documents (CRUD-RAG), recall, nDCG and hit rate at k.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n rankings, each a list of ids, best first; None is a retrieval that failed. An id is a string
        or an integer, and 7 is "7"; met again it keeps its place but counts only at its first.
    references: list of n lists of relevant ids, in any order; an item with none is not applicable.
    k: list of cut-offs, different positive integers; default [1, 5, 10].
    profile: "official" (default) has OmniEval's MAP, over the relevant ids found, and leaves failed retrievals out.
        "corrected" has the textbook's, over all relevant ids, and counts a failed retrieval as 0.
    {STATES}
Returns:
    map, mrr: in [0, 1], or None without a value; over the whole ranking, the second of the first relevant id.
    mrr_per_gold: in [0, 1]; the reciprocal rank of each relevant id, 0 for one not found, averaged over these.
    recall@k, ndcg@k, hit@k: in [0, 1]; for each k.
    {RESULT}
Examples:
    >>> metric = evaluate.load("retrieval_ranking")
    >>> result = metric.compute(predictions=[["x", "y", "d1"]], references=[["d1", "d2"]], k=[1, 3])
    >>> [round(result[key], 6) for key in ("map", "mrr", "mrr_per_gold", "recall@3", "ndcg@3", "hit@1")]
    [0.333333, 0.333333, 0.166667, 0.5, 0.306574, 0.0]
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RetrievalRanking(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, TEXTS, CRUD_RAG, OMNIEVAL, predictions=TEXTS)
