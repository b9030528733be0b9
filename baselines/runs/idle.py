"""Options that were asked for and would do nothing: refused, so that nobody believes that they did something.

What a retriever does not use is refused where a task is made, what a config does not where its questions are read, and
a judge that no metric asks where the metrics are known.
"""

from quadrag.errors import QuadragError

from ..core.benchmark import load
from ..core.options import OptionSpec
from ..systems.models import takes_sampling
from .request import CallRequest, RunRequest


def refuse_idle_options(request: RunRequest, calls: CallRequest) -> None:
    """Refuse what is for a judge where there is none, and what is for a chat model where none answers.

    Raises:
        QuadragError: an option would do nothing.
    """
    given = {"--judge-format": calls.judge_format, "--judge-max-tokens": calls.judge_max_tokens}
    known = load(request.named_benchmark()).options
    given |= {f"--option {name}": name for name in request.options if known.get(name, OptionSpec()).judged}
    for flag, value in given.items():
        if value is not None and not calls.judges:
            raise QuadragError(f"{flag} is for a judge, and there is none; name one with --judge, or leave it out")
    if request.service or takes_sampling(request.llm):
        return
    for name in (*request.sampling, *(["prompts"] if request.prompts else [])):
        raise QuadragError(
            f"--{name.replace('_', '-')} is for a chat model, and {request.llm or 'the extractive baseline'} is none; "
            "name one with --llm, or leave it out"
        )
