# SPDX-License-Identifier: Apache-2.0
"""OmniEval's five judged metrics: accuracy, hallucination, completeness, utilization and numerical accuracy."""

from typing import Any

import evaluate

from .module import JUDGE, JUDGED, OMNIEVAL, STATES, TEXTS, Shared, info
from .plain import PlainReader as PlainReader
from .prompts import keys_of
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill
from .verdict_reader import VerdictReader as VerdictReader

_DESCRIPTION = """\
OmniEval's judged metrics, by a judge model that sees the accepted answers: accuracy (acc), hallucination (hal),
completeness (com), utilization of what was retrieved (utl) and numerical accuracy (nac). The config names one, or
`all`.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers, None where there is none; an empty one is judged.
    references: list of n accepted answers, each a string or a list of strings; with none the item is not applicable.
    questions: list of n questions. Required.
    {JUDGE} Required.
        Where its server takes a `response_format`, the module's attribute of that name holds replies to the scale.
    contexts: list of n lists of retrieved passages, or of n texts; required for hal, utl and all.
    history: list of n lists of the turns before the question, each a mapping with `question` and `answer`, or None.
    profile: "official" (default) as OmniEval's code: any integer is taken, a 3 of 2 is 1.5, what has none leaves the
        mean. "corrected" takes the scale's verdicts alone, and counts unscored items at the worst value: 0, for hal 1.
    {STATES}
    prompts: mapping from acc, hal, com, utl, nac to the judge's instructions, a text (or a system's and a user's) with
        {{references}}, {{answer}}, {{question}}, {{history}} and {{passages}}; default this module's own.
    prompt: "plain" for those for small judges, which give words in place of grades.
Returns:
    acc, hal, com, utl, nac: in [0, 1], or None without a value, official ones may be above; of hal lower is better;
        com and nac over the items to which they apply, by the judge.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("omnieval", "acc")
    >>> def judge(requests):
    ...     return ['{{"prediction": 2}}', '{{"accuracy": "0"}}', "我认为不对"]
    >>> given = {{"predictions": ["3.2亿元", "5%", "不清楚"], "references": [["3.2亿元", "3.20亿元"], "4%", "2019年"]}}
    >>> metric.compute(**given, questions=["净利润？", "利率？", "哪年上市？"], judge=judge)["acc"]
    0.5
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class Omnieval(Shared, evaluate.Metric):
    SCORER = SCORER

    def _info(self) -> evaluate.MetricInfo:
        keys_of(self.config_name)
        return info(_DESCRIPTION, _KWARGS_DESCRIPTION, TEXTS, OMNIEVAL)

    @property
    def response_format(self) -> dict[str, Any]:
        """What a chat server that constrains its replies takes as `response_format`; a new one each time."""
        return SCORER(config=self.config_name).schema
