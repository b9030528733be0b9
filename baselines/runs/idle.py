"""Options that were asked for and would do nothing: refused, so that nobody believes that they did something.

What a retriever does not use is refused where a task is made, what a config does not where its questions are read, and
a judge that no metric asks where the metrics are known. A model for entities is refused where the tasks are known.
"""

from collections.abc import Sequence

from quadrag.chat.reply import FAILED
from quadrag.errors import QuadragError

from ..core.benchmark import Benchmark, load
from ..core.options import OptionSpec
from ..core.prompts import JUDGE, load_prompts
from ..core.task import Task
from ..systems.completions.template import template_names
from ..systems.extractive import EXTRACTIVE
from ..systems.models import judge_spec, takes_sampling
from ..systems.system import Completer
from .request import CallRequest, RunRequest


def refuse_idle_options(request: RunRequest, calls: CallRequest, own: bool = False) -> None:
    """Refuse what is for a judge where there is none, and what is for a chat model where none answers.

    Args:
        request: what answers.
        calls: the judges, and how models are called.
        own: whether a function of the user's answers, which the request does not name.

    Raises:
        QuadragError: an option would do nothing.
    """
    given = {"--judge-format": calls.judge_format, "--judge-max-tokens": calls.judge_max_tokens}
    known = load(request.named_benchmark()).options
    given |= {f"--option {name}": name for name in request.options if known.get(name, OptionSpec()).judged}
    for flag, value in given.items():
        if value is not None and not calls.judges:
            raise QuadragError(f"{flag} is for a judge, and there is none; name one with --judge, or leave it out")
    _refuse_idle_aliases(request, calls)
    _check_api(request)
    _refuse_idle_kept(request, calls, own)
    _refuse_idle_timeout(request, calls)
    _refuse_idle_prompts(request, calls)
    if request.service or takes_sampling(request.llm):
        return
    for name in request.sampling:
        raise QuadragError(
            f"--{name.replace('_', '-')} is for a chat model, and {request.llm or 'the extractive baseline'} is none; "
            "name one with --llm, or leave it out"
        )


def _check_api(request: RunRequest) -> None:
    """Refuse a way of asking where no server is asked, and one of completions and template without the other."""
    llm = request.llm or "the extractive baseline"
    if request.api is not None and (request.service or not llm.lower().startswith(("http://", "https://"))):
        raise QuadragError(f"--api is of a server that --llm names, and {llm} is none; leave it out")
    if request.api == "completions" and not request.template:
        raise QuadragError(
            f"--api completions needs --template: one of {', '.join(template_names())}, a Jinja file, or a tokenizer"
        )
    if request.template and request.api != "completions":
        raise QuadragError("--template is for --api completions; a chat is put into its form by the server")


def _refuse_idle_prompts(request: RunRequest, calls: CallRequest) -> None:
    """Refuse prompts of the user's own where neither a chat model that answers nor a judge is told any of them."""
    if request.prompts is None or request.entity_llm or (not request.service and takes_sampling(request.llm)):
        return
    told = load_prompts(request.named_benchmark(), request.prompts) if calls.judges else {}
    if JUDGE not in told:
        what = "a RAG service" if request.service else request.llm or "the extractive baseline"
        raise QuadragError(
            f"--prompts is for a chat model, and {what} is none; name one with --llm, give {JUDGE} in the file and a "
            "--judge, or leave it out"
        )


def _refuse_idle_aliases(request: RunRequest, calls: CallRequest) -> None:
    """Refuse what is said of a server where none is asked."""
    if request.service and calls.calling.alias.served_as is not None:
        raise QuadragError("--served-as is of a chat model, and a RAG service names its own; leave it out")
    answering = request.service.url if request.service else request.llm or EXTRACTIVE
    judges = [judge_spec(named)[0] for named in calls.judges]
    if len(calls.judge_aliases) > len(judges):
        raise QuadragError(
            f"--judge-service and --judge-served-as are of judges in their order, and {len(judges) or 'none'} is named"
        )
    asked = ((calls.calling.alias, answering), (calls.entity_alias, request.entity_llm or "no --entity-llm"))
    for alias, spec in (*asked, *zip(calls.judge_aliases, judges, strict=False)):
        for name, value in (("service", alias.service), ("served-as", alias.served_as)):
            if value is not None and not spec.lower().startswith(("http://", "https://")):
                raise QuadragError(f"--{alias.role}{name} is of a server, and {spec} is none; leave it out")


def _refuse_idle_kept(request: RunRequest, calls: CallRequest, own: bool) -> None:
    """Refuse to say which replies count where none are asked for, or where those of the ledger are all there is."""
    kept = calls.kept
    flags = {"--fresh": kept.fresh, "--retry": bool(kept.retry)}
    asked = calls.judges or request.service or request.entity_llm or request.llm not in (None, EXTRACTIVE)
    for flag in (flag for flag, given in flags.items() if given):
        if calls.calling.replay:
            raise QuadragError(f"{flag} is of replies that are asked for, and --replay asks for none; leave one out")
        of_function = flag == "--fresh" or (flag == "--retry" and set(kept.retry) == {FAILED})
        if not asked and not (own and of_function):
            raise QuadragError(f"{flag} is of models that are asked, and there is none; leave it out")


def _refuse_idle_timeout(request: RunRequest, calls: CallRequest) -> None:
    """Refuse to bound the calls of models where none is asked; a RAG service has a bound of its own."""
    answers = not request.service and request.llm not in (None, EXTRACTIVE)
    if calls.calling.timeout is not None and not (answers or request.entity_llm or calls.judges):
        cure = "--rag-timeout is the service's" if request.service else "leave it out"
        raise QuadragError(f"--timeout is of models that are asked, and there is none; {cure}")


def refuse_idle_entity_llm(entity_llm: Completer | None, tasks: Sequence[tuple[Benchmark, Task]]) -> None:
    """Refuse a model that is to find the entities of questions where none of these tasks asks for any.

    Raises:
        QuadragError: none does.
    """
    if entity_llm is not None and not any(benchmark.asks_entities(task) for benchmark, task in tasks):
        what = f"{tasks[0][0].name} {', '.join(dict.fromkeys(task.config for _, task in tasks))}"
        raise QuadragError(f"{what} asks for no entities as it is run here; leave out --entity-llm")
