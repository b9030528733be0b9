"""RGB (Chen et al. 2024, section 4): how its questions are asked, and which metrics judge each of its four testbeds.

The documents come composed from the dataset script, so nothing is retrieved: `--retriever` is ``own`` (those documents)
or ``none`` (no documents and no system prompt: the accuracy of Table 7).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.benchmark import Benchmark, MetricUse
from quadrag.data.builders import rows
from quadrag.errors import QuadragError
from quadrag.metrics._shared.slots import fill
from quadrag.parts import RetrieverSpec
from quadrag.prompts import Message, Prompts
from quadrag.records import Passage, Question
from quadrag.spec import NONE, RunSpec

NAME = "rgb"
_NOISE = {"negative_rejection": 1, "counterfactual_robustness": 0}  # of the testbeds with one noise ratio
_ACCURACY = MetricUse("rgb_accuracy", ("accuracy", "accuracy_bounded"))
_REJECTION = MetricUse("rejection_rate", ("rejection_rate", "rejection_rate_judged", "unsupported_correct"))
_ERRORS = MetricUse("error_detection", ("error_detection", "error_detection_judged", "error_correction"))


def questions(builder: Any, split: str, options: Mapping[str, Any]) -> Iterator[Question]:
    config = builder.config
    _check_mixture(config)
    for row in rows(builder, split):
        yield Question(
            benchmark=NAME,
            config=config.name,
            split=split,
            id=str(row["id"]),
            query=row["query"],
            references=row["answer"],
            language=config.language,
            passages=tuple(
                Passage(id=f"{row['id']}-{rank}", title="", text=text) for rank, text in enumerate(row["documents"])
            ),
        )


def _check_mixture(config: Any) -> None:
    """Refuse what would ask one testbed under the name of another: the splits of two do not say their noise ratio."""
    asked = f"noise_robustness{config.name.removeprefix(config.ability)}"
    noise = _NOISE.get(config.ability)
    if noise is not None and config.noise_ratio not in (None, noise):
        shows = "noise alone" if noise else "no noise"
        raise QuadragError(
            f"option noise_ratio is of noise_robustness and information_integration, and {config.name} shows {shows}; "
            f"leave it out, or ask {asked}"
        )
    n = config.passage_num
    if config.correct_ratio and n and math.ceil(n * config.correct_ratio) == n:
        raise QuadragError(
            f"option correct_ratio={config.correct_ratio} leaves none of {n} passages false, and {config.name} is "
            f"about these; give a smaller one, or ask {asked}"
        )


def messages(question: Question, passages: Sequence[Passage], prompts: Prompts, retriever: str) -> list[Message]:
    """Build the chat messages of one question; without passages there is no system message, as upstream."""
    words = prompts[question.language]
    documents = "\n".join(passage.text for passage in passages)
    user = fill(words["user"], {"documents": documents, "query": question.query})
    system = [{"role": "system", "content": words["system"]}] if passages else []
    return [*system, {"role": "user", "content": user}]


def metrics(spec: RunSpec) -> list[MetricUse]:
    """Return the metrics of a config's testbed; without documents only accuracy means anything."""
    if spec.retriever != NONE and spec.config.startswith("negative_rejection"):
        return [_REJECTION]
    if spec.retriever != NONE and spec.config.startswith("counterfactual_robustness"):
        return [_ACCURACY, _ERRORS]
    return [_ACCURACY]


def keywords(metric: MetricUse, questions: Sequence[Question], spec: RunSpec) -> dict[str, Any]:
    asked = {"questions": [question.query for question in questions]} if metric.judged else {}
    return {"language": questions[0].language, **asked}


def read_result(row: Mapping[str, Any], config: str) -> dict[str, Any] | None:
    """Read a line of a prediction file of the authors' code, which says the split by its noise ratio.

    Of a testbed with one noise ratio that says nothing.
    """
    if "prediction" not in row:
        return None
    line = {name: row[name] for name in ("id", "query", "split") if name in row}
    noise = row.get("noise_rate")
    if "split" not in line and isinstance(noise, int | float) and not config.startswith(tuple(_NOISE)):
        line["split"] = f"noise_{noise * 100:.6g}".replace(".", "_")
    return {**line, "answer": row["prediction"]}


def paper_runs(original: bool = False) -> list[tuple[str, str | None]]:
    """Return every (config, retriever) of the paper's four tables, `original` files where there are two versions."""
    suffix = "_original" if original else ""
    configs = [
        f"{ability}_{language}{end}"
        for ability, end in (
            ("noise_robustness", suffix),
            ("negative_rejection", suffix),
            ("information_integration", ""),
            ("counterfactual_robustness", ""),
        )
        for language in ("en", "zh")
    ]
    bare = [(config, NONE) for config in configs if config.startswith("counterfactual")]
    return [*((config, "own") for config in configs), *bare]


BENCHMARK = Benchmark(
    name=NAME,
    paper="arXiv:2309.01431",
    sample="RGB on the bundled sample: 12 made-up questions a file",
    retrievers={"own": RetrieverSpec(), NONE: RetrieverSpec()},
    temperature=0.2,  # the authors' README; their code's default is 0.7
    questions=questions,
    messages=messages,
    metrics=metrics,
    keywords=keywords,
    paper_runs=paper_runs,
    read_result=read_result,
    option_help="passage_num, noise_ratio, correct_ratio, order",
    headlines=(
        "error_detection",
        "error_detection_judged",
        "error_correction",
        "accuracy",
        "rejection_rate",
        "rejection_rate_judged",
        "unsupported_correct",
    ),
    default_context="own",
)
