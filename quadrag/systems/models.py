"""From a spec to a chat model that answers or judges: an endpoint, or weights loaded here.

In an estimate, which asks nothing, a usual text stands for each reply.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.chat.client import ChatClient, Completer
from quadrag.chat.estimate import StandIn
from quadrag.chat.http import Server, Transport
from quadrag.chat.keys import page_url
from quadrag.chat.policy import BudgetReached, CallPolicy
from quadrag.chat.reply import Messages, Reply, read_completion
from quadrag.errors import QuadragError, pick, read_yaml
from quadrag.metric_record import metric_record
from quadrag.records import Question, digest
from quadrag.spec import Chat, Judge

from .local import BATCH_SIZE, LocalModel
from .system import Assignment, Generated, OnProgress, Passages, Questions, System, collect


class CompletionsTransport(Transport):
    """Calls of ``/v1/completions``; a call's messages are one, the prompt."""

    form = "a completion"
    unsent = ("api", "template")

    def __init__(self, template: str) -> None:
        from jinja2 import Environment

        file = Path(__file__).with_name("templates.yaml")
        source = pick("template", template, read_yaml(file, "templates by name"))
        self._template = Environment(trim_blocks=True, lstrip_blocks=True).from_string(source)
        self.parameters = {"api": "completions", "template": digest([source])}

    def compose(self, messages: Messages) -> list[dict[str, Any]]:
        first, *turns = [dict(message) for message in messages]
        if first["role"] == "system" and turns:
            turns[0]["content"] = f"{first['content']}\n\n{turns[0]['content']}"
        else:
            turns = [first, *turns]
        return [{"role": "prompt", "content": self._template.render(turns=turns)}]

    async def attempt(self, server: Server, messages: Messages, model: str, body: dict[str, Any]) -> Reply:
        sent = {"model": model, "prompt": messages[0]["content"], **body}
        reply = read_completion(json.loads(await server.send(page_url(server.address, "completions"), sent)))
        return replace(reply, text=reply.text.strip())


ANSWERS, ENTITIES, JUDGE = "answers", "entities", "judge"  # the stages of an estimate
_LOCAL = "local:"


class ChatModel(System):
    def __init__(self, asked: Completer) -> None:
        self.asked = self.completer = asked
        self.parameters, self.spent = dict(asked.parameters), asked.spent
        self.service = asked.service

    @property
    def name(self) -> str:
        return str(self.asked.model)

    def close(self) -> None:
        self.asked.close()

    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        asked, samples = self.asked, work.task.samples
        if isinstance(asked, StandIn):
            expected = expect_answers(questions, samples)
            asked = StandIn(asked.estimate, asked.asked, ANSWERS, lambda batch: expected, asked.rate)
        asked.on_progress = on_progress
        retriever, messages = work.task.retriever or "", work.benchmark.messages
        jobs = [(question, sample) for question in questions for sample in range(samples)]
        batch = [messages(question, passages[question.key], work.prompts, retriever) for question, _ in jobs]
        try:
            return collect(jobs, asked.complete(batch, samples=[sample for _, sample in jobs]))
        except BudgetReached as stop:
            return replace(collect(jobs, stop.results), stopped=stop.params)


def open_completer(chat: Chat, policy: CallPolicy, judges: bool = False) -> Completer:
    """Open a chat model; `judges` tells whether it judges."""
    if not chat.is_chat:
        raise QuadragError(f"{chat.llm} is no chat model; expected http://host:port/v1#model or the like")
    parameters = chat.sampling.sent()
    if isinstance(chat, Judge) and chat.response_format:
        parameters["response_format"] = chat.response_format
    asked: ChatClient | LocalModel
    if chat.llm.startswith(_LOCAL):
        asked = LocalModel(
            chat.llm.removeprefix(_LOCAL),
            ledger=None if policy.ledger is None else policy.open_ledger(),
            replay=policy.replay,
            parameters=parameters,
            trust=policy.trust,
            batch_size=chat.batch_size or BATCH_SIZE,
        )
    else:
        transport = CompletionsTransport(chat.template) if chat.template else None
        parameters |= transport.parameters if transport else {}
        asked = ChatClient(chat.address, policy, name=chat.name, parameters=parameters, transport=transport)
    if policy.estimate is None:
        return asked
    stage, expect = (JUDGE, expect_verdicts) if judges else (ENTITIES, expect_entities)
    rate = asked.rate(asked.model) if isinstance(asked, ChatClient) else None
    return StandIn(policy.estimate, asked, stage, expect, rate)


def expect_answers(questions: Sequence[Question], samples: int) -> list[str]:
    """Return for each sample of each question a text as long as the accepted answer, numbered, so that none are alike.

    It is of the question's own words: no rule takes it for right, which would spare a judge a call.
    """
    texts: list[str] = []
    for question in questions:
        accepted = question.references
        while not isinstance(accepted, str):
            accepted = next(iter(accepted), "") if accepted else ""
        words = f"{question.query} "
        text = (words * (len(accepted) // len(words) + 1))[: len(accepted)]
        texts += [f"{text} {len(texts) + sample}" for sample in range(samples)]
    return texts


def expect_verdicts(batch: Sequence[Messages]) -> list[str]:
    """Return usual verdicts: a prompt ends with the form of its reply; before that stands anybody's text."""
    prompts = ["\n".join(message["content"] for message in chat) for chat in batch]
    usual = {mark: text for name in catalogue.metrics() for mark, text in metric_record(name).replies.items()}
    return [usual[max(usual, key=prompt.rfind)] for prompt in prompts]


def expect_entities(batch: Sequence[Messages]) -> list[str]:
    """Return lists of about forty tokens, whose one name holds whatever the question names."""
    asked = (chat[-1]["content"].strip().splitlines()[-1] for chat in batch)
    return [json.dumps({"names": [text], "aspects": [text[:60]]}) for text in asked]
