"""What the soak runs: commands of quadrag on its samples, what each makes, and the model that they ask."""

import hashlib
from dataclasses import dataclass
from typing import Any

from chat_server import asked_of, echo
from maker_model import make_reply

CONCURRENCY = 4
SAMPLE = ("--data-dir", "sample")
ASKED = ("--concurrency", str(CONCURRENCY), "--ledger", "L")
STAGES = ("out/retrieved.jsonl", "out/answers.jsonl", "out/items.jsonl", "out/scores.json")
# What a judge says, by what its prompt holds; which of them, by a hash of the prompt.
VERDICTS = {
    "is addressed by the documents": (
        "Yes, the question is addressed by the documents.",
        "No, the question is not addressed by the documents.",
    ),
    '"score"': ('{"score": 0}', '{"score": 1}'),
    '"prediction"': ('{"prediction": 0}', '{"prediction": 1}'),
}


@dataclass(frozen=True)
class Job:
    """A command."""

    name: str
    command: tuple[str, ...]  # `{llm}` and `{maker}` are filled in
    before: tuple[str, ...] = ()  # a command that is run first, undisturbed
    then: tuple[str, ...] = ()  # a command that reads what was made, where that is in caches
    made: tuple[str, ...] = STAGES  # globs of the files that are the same however it was disturbed
    fresh: bool = False  # it reads the environment at import, as what writes the caches of Hugging Face does
    data: str = ""  # the benchmark whose sample is copied to the folder `data`

    @property
    def asks(self) -> bool:
        return "--ledger" in self.command


_RUNS = {
    "rgb": ("rgb", "negative_rejection_en", "--limit", "6"),
    "crud_rag": ("crud_rag", "qa_1doc", "--limit", "6"),
    "crag": ("crag", "task_1_2", "--limit", "4", "--retriever", "snippets-kg"),
    "omnieval": ("omnieval", "all", "--limit", "3"),
}
_WHOLE = ("out/**/*",)


def _list() -> list[Job]:
    found = []
    for name, words in _RUNS.items():
        judged = () if name == "crud_rag" else ("--judge", "{llm}")
        run = ("run", *words, *SAMPLE)
        found.append(Job(f"run {name}", (*run, "--llm", "{llm}", *judged, *ASKED, "--out", "out")))
        score = ("score", "first/answers.jsonl", *SAMPLE, *(judged and (*judged, *ASKED)), "--out", "out")
        score += ("--retriever", "none") if name == "crag" else ()
        # Extractive, which names no entities for the graph.
        first = tuple("snippets" if word == "snippets-kg" else word for word in run)
        found.append(Job(f"score {name}", score, before=(*first, "--out", "first"), made=STAGES[1:]))
    for name, config in (("rgb", "negative_rejection_en"), ("crag", "qa")):
        then = ("run", name, config, "--limit", "3", "--retriever", "none", "--out", "out")
        command = ("prepare", name, "--config", config, "--data-dir", "data")
        found.append(Job(f"prepare {name}", command, then=then, fresh=True, data=name))
    for name in ("rgb", "omnieval", "crud_rag"):
        made = ("construct", name, "--documents", "documents", "--out", "out", "--llm", "{maker}", *ASKED)
        found.append(Job(f"construct {name}", made, made=_WHOLE))
    export = ("export", "out", "--benchmark", "rgb", *SAMPLE, "--accept-licence")
    return [
        *found,
        Job("kg build", ("kg", "build", "data", "out/kg.sqlite"), made=_WHOLE, data="crag"),
        Job("export", export, made=_WHOLE, fresh=True),
    ]


JOBS = {job.name: job for job in _list()}


def reply(body: dict[str, Any]) -> str:
    if body["model"] == "maker":
        return make_reply(body)
    asked = asked_of(body)
    draw = hashlib.sha256(asked.encode("utf-8", "replace")).digest()[0]
    return next((said[draw % 2] for mark, said in VERDICTS.items() if mark in asked), None) or echo(body)
