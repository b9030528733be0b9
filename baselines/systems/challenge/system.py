"""A model file of the CRAG challenge as what answers: it is handed the pages themselves."""

from quadrag.errors import QuadragError

from ...core.benchmark import Benchmark
from ...core.task import Task
from ..system import AskedSystem, Assignment, Generated, Passages, Questions, Tell, collect


class Challenge(AskedSystem):
    """A model file, whose process starts at the first query."""

    wants_pages = True

    def take(self, benchmark: Benchmark, task: Task) -> Assignment:
        """Refuse samples; see `System.take`."""
        work = super().take(benchmark, task)
        if task.samples > 1:
            raise QuadragError("a challenge: model has no seed to vary; leave out --samples")
        return work

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Hand the pages over; see `System.answer`."""
        assert work.benchmark.records is not None
        self.asked.on_progress = tell
        found = dict(self.asked.answer(work.benchmark.records(work.task, questions), len(questions)))
        missing = [question.id for question in questions if question.id not in found]
        if missing:
            raise QuadragError(f"the data changed while they were read: {missing[0]} is no longer there; run again")
        return collect([(question, 0) for question in questions], [found[question.id] for question in questions])
