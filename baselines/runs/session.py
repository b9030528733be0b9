"""A session opened from requests: the models and the ledger that they name, closed at its end."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from quadrag.chat.calling import Alias, Calling
from quadrag.chat.faults import DeadServer
from quadrag.chat.ledger import Ledger, Reuse
from quadrag.chat.prices import Budget, Prices
from quadrag.chat.reply import FAILED
from quadrag.chat.spec import parse_spec
from quadrag.errors import QuadragError

from ..core.benchmark import load
from ..core.options import OptionSpec
from ..scoring.modules import verdict_format
from ..systems.completions import read_templates
from ..systems.extractive import EXTRACTIVE, Extractive
from ..systems.models import Embedding, check_roles, judge_spec, open_completer, open_system, takes_sampling
from ..systems.service import Rag, RagService
from ..systems.system import Completer, System
from .inputs import ENTITY, name_judge
from .pipeline import Session
from .request import CallRequest, RunRequest

_VERDICT_TOKENS = 1024
ENTITY_PARAMETERS = {"temperature": 0, "max_tokens": 512}  # of a list of entities


@contextmanager
def open_session(
    request: RunRequest, calls: CallRequest, budget: Budget | None = None, system: System | None = None
) -> Iterator[Session]:
    """Open the models and the ledger that a request names, and close them.

    Args:
        request: what answers.
        calls: the judges, and how models are called.
        budget: what may be spent on all of them together; see `open_budget`.
        system: what answers, where the request does not name it.
    """
    for flag, given in (("--llm", request.llm), ("--entity-llm", request.entity_llm)):
        if given is not None and not given.strip():
            raise QuadragError(f"{flag} is empty; expected extractive, http://HOST:PORT/v1#MODEL or the like")
    refuse_idle(request, calls, own=system is not None)
    prices = Prices.load(calls.prices) if calls.prices else None
    embed = Embedding(calls.bertscore, request.trust) if calls.bertscore else None
    spec = request.llm or EXTRACTIVE
    reuse = Reuse(frozenset(calls.kept.retry), began=calls.kept.began)
    if system is None and spec == EXTRACTIVE and not request.service:
        system = Extractive()
    make = partial(
        Session,
        command=calls.command,
        embed=embed,
        max_failed=calls.max_failed,
        profile=calls.profile,
        certificates=calls.certificates,
        reuse=reuse,
        fresh=calls.kept.fresh,
    )
    if system is not None and not calls.judges and request.entity_llm is None:
        yield make(system)
        return
    aliases = {
        "llm": calls.calling.alias,
        ENTITY: calls.entity_alias,
        **{name_judge(at): alias for at, alias in enumerate(calls.judge_aliases)},
    }
    served = {role: alias.served_as for role, alias in aliases.items() if alias.served_as is not None}
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(calls.ledger))
        calling = replace(calls.calling, ledger=ledger, prices=prices, budget=budget, reuse=reuse, trust=request.trust)
        system = system or _open_system(request, spec, calling)
        stack.callback(system.close)
        judges = []
        check_roles(calls.judges)
        for role, named in enumerate(calls.judges):
            judge = _open_judge(request, calls, calling, role, named)
            stack.callback(judge.close)
            judges.append(judge)
        entity_llm = None
        if request.entity_llm is not None:
            entity_llm = _open_entity_llm(request.entity_llm, calls, calling)
            stack.callback(entity_llm.close)
        yield make(
            system,
            judges,
            served_as=served,
            budget=budget,
            entity_llm=entity_llm,
            estimate=calls.calling.estimate,
        )


def refuse_idle(request: RunRequest, calls: CallRequest, own: bool = False) -> None:
    """Refuse what is for a judge or a model where there is none, and half of a way to ask for completions.

    Args:
        request: what answers.
        calls: the judges, and how models are called.
        own: whether a function of the user's answers, which the request does not name.
    """
    chat = bool(request.service) or takes_sampling(request.llm)
    asked = bool(calls.judges or request.service or request.entity_llm) or request.llm not in (None, EXTRACTIVE)
    known = load(request.named_benchmark()).options
    judged = [f"option {name}" for name in request.options if known.get(name, OptionSpec()).judged]
    judged += ["judge-format"] * (calls.judge_format is not None)
    judged += ["judge-max-tokens"] * (calls.judge_max_tokens is not None)
    sampled = [name.replace("_", "-") for name in request.sampling]
    kept = ["fresh"] * calls.kept.fresh + ["retry"] * bool(calls.kept.retry)
    of_function = own and set(calls.kept.retry) <= {FAILED}
    told = ["prompts"] * bool(request.prompts)
    for names, there, what in (
        (judged, bool(calls.judges), "a judge"),
        (sampled, chat, "a chat model"),
        (told, asked, "a chat model"),
        (kept, asked or of_function, "models that are asked"),
    ):
        if names and not there:
            raise QuadragError(f"--{names[0]} is for {what}, and there is none; leave it out")
    if (request.api == "completions") != bool(request.template):
        raise QuadragError(f"--api completions and --template go together: {', '.join(read_templates())}, a Jinja file")


def check_served(request: RunRequest, calls: CallRequest) -> None:
    """Hold the name of the model that answers against its server's list, where a server is asked.

    Raises:
        NotServed: the server lists others.
    """
    spec = request.llm or EXTRACTIVE
    if not request.service and spec.lower().startswith(("http://", "https://")) and not calls.calling.replay:
        from quadrag.chat.client import ChatClient

        with ChatClient(spec, calls.calling) as client:
            client.check_served()


def _open_system(request: RunRequest, spec: str, calling: Calling) -> System:
    if request.service:
        if calling.estimate is not None:
            raise QuadragError(
                "what a RAG service asks is not known before; what its judge will be asked is told by quadrag score "
                "ANSWERS --judge ... --estimate"
            )
        service = RagService(
            request.service.url,
            calling,
            name=request.service.name,
            body=request.service.body,
            timeout=request.service.timeout,
            parameters=request.sent_sampling,  # a service has a temperature of its own
        )
        return Rag(service)
    parameters = answer_parameters(request)
    return open_system(spec, calling, parameters, _read_time_limit(request), request.template)


def answer_parameters(request: RunRequest) -> dict[str, Any]:
    """Return how a chat model that answers is asked, by the names of a request's fields."""
    return {"temperature": load(request.named_benchmark()).temperature, **request.sent_sampling}


def _open_judge(request: RunRequest, calls: CallRequest, calling: Calling, role: int, named: str) -> Any:
    shape = verdict_format(load(request.named_benchmark()), calls.judge_format or "text", role)
    spec, preset = judge_spec(named)
    _refuse_as_asked("--judge", spec, "judges nothing")
    alias = dict(enumerate(calls.judge_aliases)).get(role, Alias(role="judge-"))
    own = replace(calling, alias=alias)
    parameters = {**judge_parameters(calls), **preset, **shape}
    try:
        judge = open_completer(spec, own, parameters)
        judge.model  # noqa: B018  # a server's only one is asked for here
    except DeadServer:
        if calling.estimate is not None:
            raise
        # It is called by its address, and whatever needs no judge is scored.
        own = replace(own, prices=None, budget=None)
        return open_completer(f"{spec}#{parse_spec(spec).shown}", own, parameters)
    return judge


def judge_parameters(calls: CallRequest) -> dict[str, Any]:
    """Return how a judge is asked where neither its preset nor a form of verdicts says otherwise."""
    longest = _VERDICT_TOKENS if calls.judge_max_tokens is None else calls.judge_max_tokens
    return {"temperature": 0, "max_tokens": longest}


def _open_entity_llm(spec: str, calls: CallRequest, calling: Calling) -> Completer:
    _refuse_as_asked("--entity-llm", spec, "finds no entities")
    own = replace(calling, alias=calls.entity_alias)
    return open_completer(spec, own, ENTITY_PARAMETERS)


def _refuse_as_asked(flag: str, spec: str, why: str) -> None:
    if spec == EXTRACTIVE or spec.startswith("challenge:"):
        raise QuadragError(f"{flag} {spec} {why}; expected http://host:port/v1#model or the like")


def _read_time_limit(request: RunRequest) -> float | None:
    """Return the option ``time_limit``: seconds for each query of a challenge's batch."""
    found = request.options.get("time_limit")
    if found is not None and (type(found) is not int or found < 1):
        raise QuadragError(f"option time_limit is {found!r}; expected a whole number from 1")
    return found


def open_budget(calls: CallRequest) -> Budget | None:
    """Return what a command may spend on all its models together; None where nothing bounds it."""
    if calls.budget is None:
        return None
    if not calls.prices:
        raise QuadragError("--budget needs the prices of the models; name a price file with --prices")
    return Budget(calls.budget, Prices.load(calls.prices).currency)
