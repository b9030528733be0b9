"""What is told of made-up answers, in no run."""

from typing import Any

from quadrag.baselines.core.result import Asked, Result
from quadrag.baselines.tables.answers import note_answers, note_kinds
from quadrag.run_record import Inputs, RunRecord

OWN = "; if these are errors, put null in the file"
RAISE = ("put null in the file", "let the function raise")  # of a file, of a function
LIMIT = "Error code: 429 - rate limit"
DECLINED = "I can not answer the question because of the insufficient information in documents."


def told_of(
    texts: list[str | None],
    samples: int = 1,
    metric: str = "rgb_accuracy.accuracy",
    value: float | None = 0,
    same: int = 0,
    right: str = DECLINED,
    empty: int = 0,
    log: bool = False,
    **inputs: Any,
) -> str:
    """What is told of questions that were answered so, each as often as there are samples, the first ones the same."""
    made = Inputs(quadrag="0", benchmark="rgb", config="c", splits=["s"], retriever="own", llm="m", **inputs)
    places = [(str(i), sample) for i in range(len(texts)) for sample in range(samples)]
    rows = [
        {"config": "c", "split": "s", "id": i, "sample": sample}
        | {metric: {"official": value and value * (texts[int(i)] == right)}}
        for i, sample in places
    ]
    known = {(("c", "s", i), sample): texts[int(i)] for i, sample in places}
    asked: dict[Any, Asked] = {("c", "s", str(i)): Asked(str(max(i, same - 1))) for i in range(len(texts))}
    run = RunRecord(made, short=dict.fromkeys(map(str, range(empty)), "empty"), log=log)
    result = Result(run, [], rows, asked=asked, texts=known)
    return "|".join([*note_answers([result]), *note_kinds([result])])
