"""What a model that is asked nothing is expected to say; one that thinks before it answers writes more."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from quadrag import catalogue
from quadrag.metric_record import metric_record
from quadrag.records import Question

ANSWERS, ENTITIES, JUDGE = "answers", "entities", "judge"  # the stages of an estimate
Batch = Sequence[Sequence[Mapping[str, Any]]]


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


@cache
def _usual_verdicts() -> dict[str, str]:
    """Return, by what stands in a judge's prompt, a usual reply."""
    return {mark: text for name in catalogue.metrics() for mark, text in metric_record(name).replies.items()}


def expect_verdicts(batch: Batch) -> list[str]:
    """Return usual verdicts: a prompt ends with the form of its reply; before that stands anybody's text."""
    prompts = ["\n".join(message["content"] for message in chat) for chat in batch]
    return [_usual_verdicts()[max(_usual_verdicts(), key=prompt.rfind)] for prompt in prompts]


def expect_entities(batch: Batch) -> list[str]:
    """Return lists of about forty tokens, whose one name holds whatever the question names."""
    asked = (chat[-1]["content"].strip().splitlines()[-1] for chat in batch)
    return [json.dumps({"names": [text], "aspects": [text[:60]]}) for text in asked]
