"""What the pipeline asks of a benchmark's file, and how it finds that file and its prompts.

A benchmark is one module beside this one, named like its dataset script, with the members of `Benchmark`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from quadrag.errors import QuadragError, unknown_name
from quadrag.records import Passage, Question

Prompts = Mapping[str, Mapping[str, str]]


class Metric(NamedTuple):
    """An evaluate module with the keys it reports; those in `judged` need a judge."""

    module: str
    keys: tuple[str, ...]
    judged: tuple[str, ...] = ()


class Benchmark(Protocol):
    """The members of a benchmark's module."""

    NAME: str
    RETRIEVERS: tuple[str, ...]
    TEMPERATURE: float

    def questions(self, builder: Any, split: str) -> Iterator[Question]:
        """Yield the questions of a split."""

    def messages(self, question: Question, passages: Sequence[Passage], prompts: Prompts) -> list[dict[str, str]]:
        """Build the chat messages of one question."""

    def metrics(self, config: str, retriever: str, options: Mapping[str, Any]) -> list[Metric]:
        """Return the metrics of a config under options of the dataset script."""

    def keywords(self, config: str) -> dict[str, Any]:
        """Return further keyword arguments of a config's metrics."""

    def campaign(self, original: bool = False) -> list[tuple[str, str]]:
        """Return every (config, retriever) that the paper's tables need."""


def known() -> list[str]:
    """Names of the benchmarks that have a baseline here."""
    from quadrag.catalogue import benchmarks

    return [name for name in benchmarks() if Path(__file__).with_name(f"{name}.py").is_file()]


def load(name: str) -> Benchmark:
    """Return a benchmark's module.

    Raises:
        QuadragError: there is none of this name.
    """
    if name not in known():
        raise unknown_name("benchmark", name, known())
    return cast(Benchmark, importlib.import_module(f".{name}", __package__))


def load_prompts(benchmark: str, path: str | None = None) -> Prompts:
    """Read the prompts of a benchmark, or the user's own from a file of the same form.

    Raises:
        QuadragError: the file cannot be read, or lacks a language, a part or a slot that the bundled file has.
    """
    import yaml

    bundled = Path(__file__).with_name("prompts") / f"{benchmark}.yaml"
    file = Path(path) if path else bundled
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise QuadragError(f"cannot read prompts from {file} ({' '.join(str(error).split())})") from None
    wanted = yaml.safe_load(bundled.read_text(encoding="utf-8"))
    for language, parts in wanted.items():
        for part, text in parts.items():
            named = found.get(language) if isinstance(found, dict) else None
            given = named.get(part) if isinstance(named, dict) else None
            if not isinstance(given, str):
                raise QuadragError(f"{file} has no text {language}.{part}; expected the form of {bundled}")
            for slot in ("{documents}", "{query}"):
                if text.count(slot) != given.count(slot):
                    raise QuadragError(f"{file}: {language}.{part} needs {slot} {text.count(slot)} time(s)")
    return cast(Prompts, found)
