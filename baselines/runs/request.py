"""What a user asks for, typed: the form in which commands hand it on, checked before anything is opened."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.chat.calling import Alias, Calling
from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.run_record import MOST_FAILED
from quadrag.trust import Trust

from ..core.benchmark import load
from ..core.result import PROFILES
from ..core.task import Task
from ..systems.own import RAG


@dataclass(frozen=True, slots=True)
class Service:
    """A RAG service: its address, what to call it, a file of further fields, and seconds that a reply may take."""

    url: str
    name: str | None = None
    body: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run, and what answers; None is what the user left open.

    Attributes:
        config: its config; None with `all_configs` or `recipe`.
        data_dir: folder of upstream files, or ``sample``.
        options: of benchmark and dataset script, by name.
        limit: the first questions of every split.
        samples: answers a question.
        retrieval: those settings of the retrieval that were given.
        entity_llm: the spec of the model that finds the entities of questions; None: the one that answers does.
        sampling: temperature, top_p, max_tokens, stop, seed, sampling_top_k and repetition_penalty, as far as given.
        api: how a server is asked: ``chat``, which None is too, or ``completions``.
        template: what makes a prompt of a chat for completions; see `load_template`.
        all_configs: all that the paper's tables need.
        original: of these, on the original data.
        replaced: the settings of the recipe that are given otherwise, as it says them.
        trust: the models whose own code may run.
        row: the printed row that the recipe replicates, as the record of a run has it.
    """

    benchmark: str | None = None
    config: str | None = None
    split: str | None = None
    data_dir: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    samples: int = 1
    prompts: str | None = None
    retriever: str | None = None
    retrieval: Mapping[str, Any] = field(default_factory=dict)
    llm: str | None = None
    entity_llm: str | None = None
    service: Service | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    api: str | None = None
    template: str | None = None
    all_configs: bool = False
    original: bool = False
    recipe: str | None = None
    replaced: Mapping[str, str] = field(default_factory=dict)
    trust: Trust = field(default_factory=Trust)
    row: Mapping[str, str] = field(default_factory=dict)

    @property
    def sent_sampling(self) -> dict[str, Any]:
        """The sampling by the names of a request's fields; `top_k` alone is a setting of the retrieval here."""
        return {"top_k" if name == "sampling_top_k" else name: value for name, value in self.sampling.items()}

    def named_benchmark(self) -> str:
        """Return the benchmark's name as the catalogue has it."""
        if not self.benchmark:
            raise QuadragError(f"no benchmark; expected one of {', '.join(catalogue.benchmarks())}")
        return catalogue.benchmark_name(self.benchmark)

    def named_config(self) -> str:
        """Return the config's name."""
        if not self.config:
            known = ", ".join(catalogue.configs(self.named_benchmark()))
            raise QuadragError(f"no config; expected one of {known}; --all of `quadrag run` takes all")
        return self.config


@dataclass(frozen=True, slots=True)
class Kept:
    """Which replies of the ledger count.

    Attributes:
        fresh: none from before the command.
        retry: not those that are of these kinds, of `quadrag.chat.reply.RETRIED`.
        began: Unix time of the command's beginning.
    """

    fresh: bool = False
    retry: Sequence[str] = ()
    began: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True)
class CallRequest:
    """Which judges are asked, and how all models are called.

    Attributes:
        judges: specs, in their order.
        certificates: how far judges agree with people, as files of `quadrag certify-judge` say it.
        judge_format: ``text``, ``json`` or ``schema``; ``text`` when None.
        judge_max_tokens: of a verdict; 1024 when None.
        bertscore: the sentence embedding of a metric.
        calling: how, less what is to be opened: prices, budget and ledger; its alias is of the model that answers.
        ledger: a file; None is the user's own.
        kept: which of its replies count.
        judge_aliases: what the user says of the servers of the judges, in their order.
        entity_alias: likewise of the model that finds entities.
        max_failed: the share of a metric's items above which its value is not shown.
        profile: the one that values are shown by where a later command names none.
        command: as typed, less passwords.
    """

    judges: Sequence[str] = ()
    certificates: Sequence[Mapping[str, Any]] = ()
    judge_format: str | None = None
    judge_max_tokens: int | None = None
    bertscore: str | None = None
    calling: Calling = field(default_factory=Calling)
    prices: str | None = None
    budget: float | None = None
    ledger: str | Path | None = None
    kept: Kept = field(default_factory=Kept)
    judge_aliases: Sequence[Alias] = ()
    entity_alias: Alias = field(default_factory=Alias)
    max_failed: float = MOST_FAILED
    profile: str = PROFILES[0]
    command: Sequence[str] = ()


def make_task(request: RunRequest) -> Task:
    """Make the task of one run."""
    name, config = request.named_benchmark(), request.named_config()
    catalogue.config(name, config)
    if request.limit is not None and (type(request.limit) is not int or request.limit < 1):
        raise QuadragError(f"limit is {request.limit!r}; expected a whole number from 1, or None for all questions")
    benchmark = load(name)
    if request.retriever not in (None, *benchmark.retrievers):
        raise QuadragError(f"{name} takes --retriever {' or '.join(benchmark.retrievers)}")
    task = Task(
        benchmark=name,
        config=config,
        split=request.split,
        data_dir=request.data_dir,
        retriever=request.retriever or _implied(request) or benchmark.default_retriever,
        retrieval=replace(benchmark.retrieval, **request.retrieval, trust=request.trust),
        options=request.options,
        limit=request.limit,
        samples=request.samples,
        prompts=request.prompts,
        replaced=request.replaced,
        row=request.row,
    )
    for setting in request.retrieval:
        if not task.uses(setting):
            flag = f"--{setting.replace('_', '-')}"
            raise QuadragError(f"the retriever {task.retriever} of {name} does not use {flag}; leave it out")
    return task


def _implied(request: RunRequest) -> str | None:
    if request.service:
        return RAG
    return "own" if (request.llm or "").startswith("challenge:") else None


def read_options(pairs: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; numbers are read as numbers."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, mark, text = pair.partition("=")
        if not mark or not name:
            raise QuadragError(f"--option {pair!r} is not NAME=VALUE")
        try:
            options[name] = parse_json(text, pair)
        except QuadragError:
            options[name] = text
    return options
