"""A model that is asked nothing, as it stands in a run: what it is expected to say, and how its tokens are counted.

An answer is expected to be as long as the accepted one, a verdict as the metric's own record shows one; a model that
thinks before it answers writes more.
"""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from quadrag import catalogue
from quadrag.chat.calling import Calling
from quadrag.chat.estimate import Estimator, Messages
from quadrag.chat.http import Transport
from quadrag.metric_record import metric_record
from quadrag.records import Question

ANSWERS, ENTITIES = "answers", "entities"
_VERDICT = ("verdicts", '{"score": 1}')


def estimate_model(calling: Calling, model: str, asked: Any, transport: Transport | None = None) -> Estimator:
    """Return what notes the calls of a model and makes none.

    Args:
        calling: how it would be called.
        model: its name as requested.
        asked: what would be asked, an open client, or a model that is loaded here, which has not been yet.
        transport: how a server would be asked.
    """
    assert calling.estimate is not None
    estimator = Estimator(
        calling.estimate,
        model,
        asked.parameters,
        asked.shelf,
        service=getattr(asked, "service", None),
        rate=calling.rate(model) if hasattr(asked, "service") else None,
        transport=transport,
        known_as=getattr(asked, "known_as", None),
    )
    estimator.expect = _expect_verdicts if calling.alias.role == "judge" else _expect_entities
    return estimator


def expect_answers(questions: Sequence[Question], samples: int) -> list[tuple[str, str]]:
    """Return for each sample of each question a text as long as the accepted answer, numbered, so that none are alike.

    It is of the question's own words: no rule takes it for right, which would spare a judge a call.
    """
    texts: list[tuple[str, str]] = []
    for question in questions:
        accepted = question.references
        while not isinstance(accepted, str):
            accepted = next(iter(accepted), "") if accepted else ""
        words = f"{question.query} "
        text = (words * (len(accepted) // len(words) + 1))[: len(accepted)]
        texts += [(ANSWERS, f"{text} {len(texts) + sample}") for sample in range(samples)]
    return texts


@cache
def _shown_replies() -> dict[str, tuple[str, str]]:
    """Return, by what stands in a judge's prompt, the metric that asks and a usual reply."""
    records = map(metric_record, catalogue.metrics())
    return {mark: (record.name, text) for record in records for mark, text in record.replies.items()}


def _expect_verdicts(batch: Sequence[Messages]) -> list[tuple[str, str]]:
    prompts = ["\n".join(message["content"] for message in chat) for chat in batch]
    # A prompt ends with the form of the reply; before that stands anybody's text.
    last = [max(_shown_replies(), key=prompt.rfind) for prompt in prompts]
    return [_shown_replies()[mark] if mark in prompt else _VERDICT for mark, prompt in zip(last, prompts, strict=True)]


def _expect_entities(batch: Sequence[Messages]) -> list[tuple[str, str]]:
    # A list of about forty tokens, whose one name holds whatever the question names.
    asked = (chat[-1]["content"].strip().splitlines()[-1] for chat in batch)
    return [(ENTITIES, json.dumps({"names": [text], "aspects": [text[:60]]})) for text in asked]
