"""The models that a spec names, opened and closed: what answers, the judges, and their ledger and budget."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from quadrag.benchmark import load
from quadrag.chat.client import Completer
from quadrag.chat.ledger import Ledger
from quadrag.chat.policy import CallPolicy
from quadrag.errors import QuadragError
from quadrag.results.record import name_judge
from quadrag.scoring.drive import Embed
from quadrag.spec import CHALLENGE, EXTRACTIVE, Chat, RunSpec, Service
from quadrag.systems.extractive import Extractive
from quadrag.systems.function import Challenge
from quadrag.systems.models import ChatModel, open_completer
from quadrag.systems.service import RagService
from quadrag.systems.system import System


@dataclass(slots=True)
class Models:
    """What answers and what judges, as one run or several ask them; `dead_judge` says why no judge is asked."""

    policy: CallPolicy = field(default_factory=CallPolicy)
    system: System = field(default_factory=Extractive)
    judges: Sequence[Completer] = ()
    entity_llm: Completer | None = None
    embed: Embed | None = None
    ledger: Ledger | None = None
    dead_judge: Mapping[str, Any] | None = None

    def spent(self) -> dict[str, dict[str, Any]]:
        asked = {"llm": self.system.spent, "entity": self.entity_llm.spent if self.entity_llm else None}
        asked |= {name_judge(place): judge.spent for place, judge in enumerate(self.judges)}
        return {role: dict(spent) for role, spent in asked.items() if spent is not None}

    def spent_since(self, before: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the counters less those that there were before; the oldest reply's moment as it is, in UTC."""
        since: dict[str, dict[str, Any]] = {}
        for role, spent in self.spent().items():
            since[role] = dict(spent)
            for name, value in spent.items():
                if name == "oldest":
                    since[role][name] = value and show_time(value)
                elif isinstance(value, int | float):
                    since[role][name] = value - (before[role][name] or 0)
        return since


def show_time(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


@contextmanager
def open_models(spec: RunSpec, policy: CallPolicy, system: System | None = None) -> Iterator[Models]:
    """Open the models that a spec names and the ledger of their replies, and close them.

    `system` is what answers, where no spec can name it, as a function.
    """
    embed: Any = None
    if spec.embed:
        from quadrag.retrieval.encoder import Encoder

        embed = Encoder(spec.embed, policy.trust)
        embed.check()
    with ExitStack() as stack:
        ledger = None
        if asks_models(spec):
            ledger = stack.enter_context(policy.open_ledger())
            policy = replace(policy, ledger=ledger)
        system = system or _open_system(spec, policy)
        stack.callback(system.close)
        judges = []
        for judge in spec.judges:
            judges.append(open_completer(judge, policy, judges=True))
            stack.callback(judges[-1].close)
            judges[-1].model  # noqa: B018  # a server's only one is asked for here
        entity = None
        if spec.entity_model is not None:
            entity = open_completer(spec.entity_model, policy)
            stack.callback(entity.close)
        yield Models(policy, system, judges, entity, embed, ledger)


def asks_models(spec: RunSpec) -> bool:
    answers = spec.system.llm != EXTRACTIVE if isinstance(spec.system, Chat) else isinstance(spec.system, Service)
    return answers or bool(spec.judges) or spec.entity_model is not None


def _open_system(spec: RunSpec, policy: CallPolicy) -> System:
    named = spec.system
    is_challenge = isinstance(named, Chat) and named.llm.startswith(CHALLENGE)
    if policy.estimate is not None and (is_challenge or isinstance(named, Service)):
        raise QuadragError(
            "what a RAG service or a challenge: model asks is not known before; what its judge will be asked is told "
            "by quadrag score ANSWERS --judge ... --estimate"
        )
    if isinstance(named, Service):
        return RagService(named.rag, policy, name=named.name)
    if not isinstance(named, Chat) or named.llm == EXTRACTIVE:
        return Extractive()
    if is_challenge:
        return Challenge(named.llm.removeprefix(CHALLENGE))
    return ChatModel(open_completer(named, policy))


def name_model(chat: Any, asked: Any) -> str:
    return getattr(chat, "name", None) or str(getattr(asked, "model", None) or asked.name)


def name_judges(spec: RunSpec, models: Models) -> str | None:
    """Name the judges: one by its model, several as ``mean(a+b)``, or ``a; hal: b`` where they share out the keys."""
    names = [name_model(chat, judge) for chat, judge in zip(spec.judges, models.judges, strict=True)]
    if len(names) < 2:
        return names[0] if names else None
    asking = [metric for metric in load(spec.benchmark).metrics(spec) if metric.judged]
    if any(metric.panel for metric in asking):
        return f"mean({'+'.join(names)})"
    shares = {
        place: [key for metric in asking if metric.judge == place for key in metric.judged]
        for place in range(1, len(names))
    }
    return "; ".join([names[0], *(f"{', '.join(keys)}: {names[place]}" for place, keys in shares.items())])
