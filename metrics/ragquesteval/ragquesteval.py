# SPDX-License-Identifier: Apache-2.0
"""RAGQuestEval of CRUD-RAG: are the reference's key facts in the generated text, and are they right there?"""

import evaluate

from .module import CRUD_RAG, JUDGE, JUDGED, STATES, TEXT, Shared, info
from .prompts import PROMPTS as PROMPTS
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill
from .words import cut as cut

_DESCRIPTION = """\
RAGQuestEval of CRUD-RAG: a judge asks questions about the key facts of the reference and answers them from the
reference and from the generated text. Recall is the share that the generated text answers, precision the mean token
F1 (jieba) of those answers with the reference's.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n generated texts, None where there is none.
    references: list of n ground-truth texts; where one is None or blank the item is not applicable.
    {JUDGE} Required.
        Called at most three times: for all questions, for all reference answers, for the answers of all texts.
    profile: "official" (default) as the authors' code: strict parsing, answers by position, `无法推断` exactly,
        0 where the reference answers nothing. "corrected" matches answers by number, reads replies patiently, leaves
        out what the reference does not answer, and counts unscored items as 0.
    {STATES}
    ids: list of n item ids; required with question_cache.
    question_cache: path of an upstream `*_quest_gt_save.json`, or a mapping from ids to mappings with `question` (or
        `questions`) and `answers`. Never written. Items not in it are asked about.
    prompts: mapping that replaces the judge's instructions: "questions", a text with {{text}}, or "answers", a text
        with {{text}} and {{questions}}, or both.
Returns:
    precision, recall: in [0, 1], or None without a value.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("ragquesteval")
    >>> cache = {{"a": {{"question": ["哪个城市？", "多少家场馆？"], "answers": ["西安市", "173家"]}}}}
    >>> def judge(requests):
    ...     return ["问题 1\\n<response>\\n西安市\\n</response>\\n问题 2\\n<response>\\n无法推断\\n</response>"]
    >>> given = {{"predictions": ["西安市发券。"], "references": ["西安市发券，173家可用。"], "ids": ["a"]}}
    >>> result = metric.compute(**given, question_cache=cache, judge=judge)
    >>> result["precision"], result["recall"]
    (1.0, 0.5)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Ragquesteval(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, TEXT, CRUD_RAG)
