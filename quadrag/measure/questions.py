"""What a system is measured with: the questions of a benchmark without their gold, and the corpus that it searches."""

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Corpus, known_options, load_questions, open_whole_corpus
from quadrag.baselines.runs.plan import plan_run
from quadrag.baselines.systems.function import Function
from quadrag.baselines.systems.own import OpenQuestion, pose
from quadrag.errors import QuadragError
from quadrag.measure.arguments import check_names, entrance, refuse_unknown
from quadrag.records import Passage


@entrance
def questions(
    benchmark: str,
    config: str,
    *,
    split: str | None = None,
    data_dir: str | None = None,
    limit: int | None = None,
    **options: Any,
) -> list[OpenQuestion]:
    """Return the questions of a config, as one's own system is asked them: without their gold.

    Args:
        benchmark: its name, as ``crud_rag``.
        config: its config, as ``summary``.
        split: one split; all that are measured by default when None.
        data_dir: the folder of the upstream files, or ``sample``; what `quadrag prepare` built when None.
        limit: the first questions of every split alone.
        options: of the benchmark, as ``noise_ratio=0.4``.

    Raises:
        QuadragError: a name or an option is unknown, or files are missing.
    """
    check_names(benchmark=benchmark, config=config, split=split)
    refuse_unknown(questions, options, known_options(load(benchmark), config))
    spec = plan_run(
        {
            "benchmark": benchmark,
            "config": config,
            "split": split,
            "data_dir": data_dir,
            "options": options,
            "limit": limit,
            "system": {"function": "questions"},
        }
    )
    work = Function(lambda question: "").take(load(spec.benchmark), spec)
    found, _ = load_questions(work.task, work.benchmark)
    return [pose(work, question, question.passages) for question in found]


class Documents:
    """The documents of a corpus in their order, read from the files each time that they are gone through."""

    def __init__(self, opened: Corpus) -> None:
        """Take an open corpus."""
        self._opened = opened

    def __iter__(self) -> Iterator[Passage]:
        """Yield them one by one."""
        for document in self._opened.documents():
            yield Passage(document.id, document.title, document.text)

    def __len__(self) -> int:
        """Count them; without `quadrag prepare` that takes as long as to read them once."""
        return self._count

    @cached_property
    def _count(self) -> int:
        return self._opened.count_rows()


@entrance
def corpus(benchmark: str, *, data_dir: str | None = None, **options: Any) -> Documents:
    """Return the documents that a benchmark's questions are answered from, whole, in their order.

    They are read anew each time that they are gone through, and so never all in memory. ``len`` counts them. A warning
    says which files are missing where the folder has a part of them.

    Args:
        benchmark: its name.
        data_dir: as in `questions`.
        options: of the corpus.

    Raises:
        QuadragError: the benchmark has no corpus, or files are missing.
    """
    check_names(benchmark=benchmark)
    record = load(benchmark)
    if record.corpus is None:
        raise QuadragError(f"{record.name} has no corpus; its passages come with its questions")
    refuse_unknown(corpus, options, record.corpus.options)
    opened = open_whole_corpus(record, data_dir, options)
    if lacking := opened.source.lacking:
        warnings.warn(f"the corpus is not whole: {lacking}", stacklevel=3)  # beyond the decorator
    return Documents(opened)
