# SPDX-License-Identifier: Apache-2.0
"""RAGQuestEval of CRUD-RAG: are the reference's key facts in the generated text, and are they right there?"""

import evaluate

from .compose import declines as declines
from .fold import fold as fold
from .module import JUDGE, JUDGED, STATES, TEXT, Shared, info
from .papers import CRUD_RAG
from .prompts import PROMPTS as PROMPTS
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill
from .tally import strings as strings
from .words import cut as cut

_DESCRIPTION = """\
RAGQuestEval of CRUD-RAG: a judge asks questions about the key facts of the reference and answers them from the
reference and from the generated text. Recall is the share that the generated text answers, precision the mean token
F1 (jieba) of those answers with the reference's.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n generated texts. None is an item without one. An empty text is left out by "official", as
        upstream does, and answers nothing for "corrected".
    references: list of n ground-truth texts. None, or a blank text, is an item without one: not applicable.
    {JUDGE} Required.
        Called at most three times: once for all questions, once for all reference answers, once for the answers of all
        generated texts.
    profile: "official" (default) scores as the authors' code does: strict parsing, answers matched by position,
        `无法推断` known only exactly, items whose reference answers nothing count as 0, and what cannot be read leaves
        the mean. "corrected" matches answers by the number of their question, reads replies patiently, leaves out what
        the reference does not answer, and counts unscored items as 0.
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
    >>> questions = ["哪个城市发放消费券？", "总额是多少？", "多少家场馆可用？"]
    >>> cache = {{"a": {{"question": questions, "answers": ["西安市", "500万元", "173家"]}}}}
    >>> def judge(requests):
    ...     answers = ["西安市", "500万元", "无法推断"]
    ...     blocks = [f"问题 {{n}}\\n<response>\\n{{text}}\\n</response>" for n, text in enumerate(answers, 1)]
    ...     return ["\\n".join(blocks) for request in requests]
    >>> text, truth = "西安市发放500万元消费券。", "西安市发放500万元消费券，173家场馆可用。"
    >>> asked = {{"judge": judge, "ids": ["a"], "question_cache": cache}}
    >>> result = metric.compute(predictions=[text], references=[truth], **asked)
    >>> result["precision"], round(result["recall"], 4)
    (1.0, 0.6667)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Ragquesteval(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, TEXT, CRUD_RAG)
