# SPDX-License-Identifier: Apache-2.0
"""OmniEval's five judged metrics: accuracy, hallucination, completeness, utilization and numerical accuracy."""

from typing import Any

import evaluate

from .fold import fold as fold
from .module import JUDGE, JUDGED, STATES, TEXTS, Shared, info
from .papers import OMNIEVAL
from .prompts import PROMPTS as PROMPTS
from .scales import keys_of
from .scorer import SCORER
from .scoring import Scorer as Scorer
from .slots import fill as fill
from .tally import strings as strings
from .verdict_reader import VerdictReader as VerdictReader

_DESCRIPTION = """\
OmniEval's judged metrics, by a judge model that sees the accepted answers: accuracy (acc), hallucination (hal),
completeness (com), utilization of what was retrieved (utl) and numerical accuracy (nac). The config names one, or
`all`.
"""

_KWARGS_DESCRIPTION = f"""
Args:
    predictions: list of n answers. None is an item without one; an empty one is judged.
    references: list of n accepted answers, each a string or a list of strings, all shown to the judge. None, or none
        that is not blank: the item is not applicable.
    questions: list of n questions. Required.
    {JUDGE} Required.
        Called once, with a request for every item and metric. Where its server takes a `response_format`, the module's
        attribute of that name holds replies to the verdicts of the config.
    contexts: list of n lists of retrieved passages, or of n texts; required for hal, utl and all. None stands for none
        where the prediction is None.
    history: list of n lists of the turns before the question, each a mapping with `question` and `answer`; None or an
        empty list where there are none.
    profile: "official" (default) scores as OmniEval's code does: any integer is taken, a 3 of 2 is 1.5, and what has
        none leaves the mean. "corrected" takes the verdicts of the scale alone, from repaired JSON, and counts unscored
        items at the worst value: 0, for hal 1.
    {STATES}
    prompts: mapping from acc, hal, com, utl, nac to the judge's instructions, a text (or a system's and a user's) with
        {{references}}, {{answer}}, {{question}}, {{history}} and {{passages}}, each replaced by JSON; default this
        module's own.
Returns:
    acc: in [0, 1], or None without a value; official values may be above, here and below.
    hal, utl: in [0, 1] or None; of hal lower is better.
    com, nac: in [0, 1] or None; over the items to which they apply, by the judge.
    {JUDGED}
Examples:
    >>> metric = evaluate.load("omnieval", "acc")
    >>> def judge(requests):
    ...     return ['{{"prediction": 2}}', '{{"prediction": 1}}', '{{"accuracy": "0"}}', "我认为不对"]
    >>> answers, golds = ["3.2亿元", "约3亿元", "5%", "不清楚"], [["3.2亿元", "3.20亿元"], "3.2亿元", "4%", "2019年"]
    >>> asked = {{"judge": judge, "questions": ["净利润是多少？", "净利润是多少？", "利率是多少？", "哪一年上市？"]}}
    >>> result = metric.compute(predictions=answers, references=golds, **asked)
    >>> result["acc"], [row["acc"] for row in result["per_item"]]
    (0.5, [1.0, 0.5, 0.0, None])
    >>> metric.compute(predictions=answers, references=golds, **asked, profile="corrected")["acc"]
    0.375
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
