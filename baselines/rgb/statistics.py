"""What is counted of RGB's data: the questions of each of its eight files, and lengths of what is in them.

The splits of a config show the same questions, so a file is counted by one of them.
"""

from collections.abc import Iterator

from ..statistics.record import Row, Source, Statistics

_ONE_SPLIT = ("noise_0", "test")  # a config has one of the two


def _positives(row: Row) -> Iterator[str]:
    """Yield the positives; of information integration they stand in a list for each aspect."""
    for texts in row["positive"]:
        yield from [texts] if isinstance(texts, str) else texts


def _source(file: str, config: str) -> Source:
    return Source(
        configs=(config,),
        splits=_ONE_SPLIT,
        label=file,
        texts={
            "question": lambda row: [row["query"]],
            "answer": lambda row: [text for part in row["answer"] for text in part],
            "positive": _positives,
            "negative": lambda row: row["negative"],
            "false positive": lambda row: row["positive_wrong"],
        },
    )


STATISTICS = Statistics(
    sources=[
        _source(f"{language}{end}.json", config.format(language))
        for end, config in (
            ("_refine", "noise_robustness_{}"),
            ("", "noise_robustness_{}_original"),
            ("_int", "information_integration_{}"),
            ("_fact", "counterfactual_robustness_{}"),
        )
        for language in ("en", "zh")
    ]
)
