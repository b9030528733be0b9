"""What a system is measured with: the questions of a benchmark without their gold, and the corpus that it searches."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, NoReturn

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Corpus, known_options, load_questions, open_whole_corpus
from quadrag.baselines.runs.request import RunRequest, make_task
from quadrag.baselines.systems.function import Function, OpenQuestion, pose
from quadrag.baselines.systems.system import Assignment
from quadrag.errors import QuadragError
from quadrag.measure.arguments import check_names, entrance, refuse_unknown
from quadrag.measure.words import in_python, labels_in_use, speaking_python
from quadrag.provenance import Source
from quadrag.records import Passage, Question

_IN_ORDER = "a corpus is read in its order: next(iter(corpus)) is its first document, list(corpus) has all, in memory"
_SHOWN = 10  # questions in the text of a list of them


@entrance
def questions(
    benchmark: str,
    config: str,
    *,
    split: str | None = None,
    data_dir: str | None = None,
    limit: int | None = None,
    labels: str | None = None,
    **options: Any,
) -> "Questions":
    """Return the questions of a config, as one's own system is asked them: without their gold.

    Args:
        benchmark: its name, as ``crud_rag``.
        config: its config, as ``summary``.
        split: one split; all that are measured by default when None.
        data_dir: the folder of the upstream files, or ``sample``; what `quadrag prepare` built when None.
        limit: the first questions of every split alone.
        labels: ``en`` or ``zh``, the language of the list's head and of messages; that of QUADRAG_LABELS, or
            English, when None.
        options: of the benchmark, as ``noise_ratio=0.4``.

    Raises:
        QuadragError: a name or an option is unknown, or files are missing.
    """
    check_names(benchmark=benchmark, config=config, split=split)
    refuse_unknown(questions, options, known_options(load(benchmark), config))
    work, found, _ = take_questions(benchmark, config, split, data_dir, limit, options)
    return Questions(benchmark, config, (pose(work, question, question.passages) for question in found))


class Questions(list[OpenQuestion]):
    """Questions of a config: a list that says how many they are, and of what."""

    def __init__(self, benchmark: str, config: str, found: Iterable[OpenQuestion]) -> None:
        """Take the questions, and the names of what they are of; they are shown in the language in use."""
        super().__init__(found)
        self.labels = labels_in_use()
        self._of = f"{benchmark} {config}"

    @entrance
    def __repr__(self) -> str:
        """Show the first few, a line each, under a line that says how many there are of which split."""
        splits = ", ".join(f"{split} {count}" for split, count in Counter(one.split for one in self).items())
        head = in_python(f"{len(self)} questions of {self._of} ({splits}):")
        shown = [f"  {one!r}" for one in self[:_SHOWN]]
        left = [f"  {in_python(f'... and {len(self) - _SHOWN} more')}"] * (len(self) > _SHOWN)
        return "\n".join((head, *shown, *left))


class Documents(Collection[Passage]):
    """The documents of a corpus in their order, read from the files each time that they are gone through."""

    def __init__(self, opened: Corpus, labels: str) -> None:
        """Take an open corpus, and the language of messages."""
        self.labels = labels
        self._opened = opened

    def __iter__(self) -> Iterator[Passage]:
        """Yield them one by one."""
        with speaking_python(self.labels):
            for document in self._opened.documents():
                yield Passage(document.id, document.title, document.text)

    @entrance
    def __getitem__(self, place: object) -> NoReturn:
        """Refuse to give one by its place.

        Raises:
            QuadragError: always; it says how they are had.
        """
        raise QuadragError(_IN_ORDER)

    @entrance
    def __len__(self) -> int:
        """Count them; without `quadrag prepare` that takes as long as to read them once."""
        return self._count

    @cached_property
    def _count(self) -> int:
        return self._opened.count_rows()

    def __contains__(self, passage: object) -> bool:
        """Look for a passage among all."""
        return any(passage == one for one in self)

    @entrance
    def __repr__(self) -> str:
        """Say how many there are."""
        return in_python(f"{len(self)} passages")


@entrance
def corpus(benchmark: str, *, data_dir: str | None = None, labels: str | None = None, **options: Any) -> Documents:
    """Return the documents that a benchmark's questions are answered from, whole, in their order.

    They are read anew each time that they are gone through, and so never all in memory. ``len`` counts them. A warning
    says which files are missing where the folder has a part of them.

    Args:
        benchmark: its name.
        data_dir: as in `questions`.
        labels: as in `questions`.
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
        warnings.warn(in_python(f"the corpus is not whole: {lacking}"), stacklevel=3)  # beyond the decorator
    return Documents(opened, labels_in_use())


def take_questions(
    benchmark: str, config: str, split: str | None, data_dir: str | None, limit: int | None, options: dict[str, Any]
) -> tuple[Assignment, list[Question], Source]:
    """Take a config on for a function, and load its questions and where they come from."""
    request = RunRequest(benchmark, config, split, data_dir, options, limit)
    work = Function(lambda question: "").take(load(request.named_benchmark()), make_task(request))
    return (work, *load_questions(work.task, work.benchmark))
