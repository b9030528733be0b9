"""A chat model as what answers: an endpoint, or weights loaded here, asked with the benchmark's messages."""

from quadrag.chat.prices import BudgetReached

from .system import AskedSystem, Assignment, Completer, Generated, Passages, Questions, Tell, collect


class ChatModel(AskedSystem):
    """A chat model, which may also be asked about a question before it is answered."""

    def __init__(self, completer: Completer) -> None:
        """Take an open client or model."""
        super().__init__(completer)
        self.completer = completer

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Ask each question `samples` times; see `System.answer`."""
        self.asked.on_progress = tell
        retriever, messages = work.task.retriever, work.benchmark.messages
        jobs = [(question, sample) for question in questions for sample in range(work.task.samples)]
        batch = [messages(question, passages[question.key], work.prompts, retriever) for question, _ in jobs]
        try:
            return collect(jobs, self.asked.complete(batch, samples=[sample for _, sample in jobs]))
        except BudgetReached as stop:
            stop.results = [collect(jobs, stop.results)]
            raise
