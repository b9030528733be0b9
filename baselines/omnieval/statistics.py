"""What is counted of OmniEval's data: questions by topic and task, the corpus beside Table 2, and lengths.

Table 2 counts the corpus by where its documents come from, which the rows do not tell: its sums stand beside ours.
"""

from ..statistics.record import Counts, Printed, Source, Statistics, read_counts
from .matrix import TASKS, TOPICS

NAME = "omnieval"
_TABLE = "2"


def _printed() -> Printed:
    rows = read_counts(NAME, _TABLE)
    sums = (sum(int(row["value"]) for row in rows if row["metric"] == metric) for metric in ("documents", "length"))
    return Printed(_TABLE, *sums)


_QUESTIONS = Source(
    configs=("all",),
    texts={
        "question": lambda row: [row["question"]],
        "answer": lambda row: row["answers"],
        "relevant passage": lambda row: row["relevant_passages"],
    },
    counts=(
        Counts(
            title="Questions by topic and task",
            line=lambda row: row["topic"],
            column=lambda row: row["task"],
            lines={topic: topic for topic in TOPICS},
            columns={task: english for task, (english, _) in TASKS.items()},
            by_split=True,
        ),
    ),
)
_CORPUS = Source(configs=("corpus",), texts={"passage": lambda row: [row["contents"]]})
STATISTICS = Statistics(sources=(_QUESTIONS, _CORPUS), printed={("corpus", "corpus"): _printed()})
