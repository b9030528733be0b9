"""The cards of `hub_cards/` are what their builders and facts make of them, and the genuine clients read them so."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml
from huggingface_hub import DatasetCard

from quadrag import __version__, catalogue
from quadrag.baselines.core.benchmark import known, load
from quadrag.baselines.core.settings import Conditions
from quadrag.commands.shared.parser import build_parser
from quadrag.data import builders
from quadrag.hub.cards.render import render
from quadrag.hub.export.card import Part, make_data_card, make_recipe
from quadrag.hub.export.parquet import Written
from quadrag.hub.record import COUNTED, features, hub_record

CARDS = Path(__file__).parents[3] / "hub_cards"
BENCHMARKS = sorted(catalogue.benchmarks())
# What `datasets` makes of a header: features in Arrow's words, and splits; and the configs of data files.
READ = """
import json, sys
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard
read = {}
for path in sys.argv[1:]:
    header = DatasetCard.load(path).data
    assert not MetadataConfigs.from_dataset_card_data(header)
    read[path] = {
        name: [
            str(info.features.arrow_schema.remove_metadata()),
            {split: one.num_examples for split, one in (info.splits or {}).items()},
        ]
        for name, info in DatasetInfosDict.from_dataset_card_data(header).items()
    }
print(json.dumps(read))
"""

Process = Callable[..., "subprocess.CompletedProcess[str]"]


def text_of(benchmark: str) -> str:
    return (CARDS / f"{benchmark}.md").read_text(encoding="utf-8")


def header_of(text: str) -> dict[str, Any]:
    return yaml.safe_load(text.split("---\n")[1])


def body_of(text: str) -> str:
    return text.split("---\n", 2)[2]


def region(benchmark: str, name: str) -> str:
    (found,) = re.findall(rf"<!-- {name}: rendered by make cards -->\n(.*?)<!-- /{name} -->", text_of(benchmark), re.S)
    return found


def table(text: str) -> list[list[str]]:
    """The rows of a Markdown table, each a list of cells, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_committed_cards_are_as_rendered(benchmark: str) -> None:
    card = text_of(benchmark)
    assert render(benchmark, card) == card, "run `make cards`"


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_what_drifted_is_brought_back_and_prose_is_kept(benchmark: str) -> None:
    card = text_of(benchmark)
    header, body = header_of(card), body_of(card)
    for key in ("license", "language", "size_categories", "dataset_info"):
        header[key] = ["other"]
    header["configs"] = [{"config_name": "other", "data_files": "other.csv"}]
    emptied = re.sub(r"( rendered by make cards -->\n).*?(<!-- /)", r"\1another text\n\2", body, flags=re.S)
    assert emptied.count("another text") == body.count("rendered by make cards")
    assert render(benchmark, f"---\n{yaml.safe_dump(header, sort_keys=False)}---\n{emptied}") == card
    prose = card.replace("\n## Caveats\n", "\n## Caveats\n\nA new one.\n").replace("- rag\n", "- ragged\n")
    again = render(benchmark, prose)
    assert again == prose
    assert "\nA new one.\n" in again
    assert "ragged" in header_of(again)["tags"]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_config_split_and_column_is_in_the_card_and_no_other(benchmark: str) -> None:
    named: dict[str, list[str]] = {}
    for config, _, splits, _, _ in table(region(benchmark, "configs")):
        named.setdefault(config.strip("`"), []).extend(re.findall(r"`(\w+)`", splits))
    assert named == {name: list(config.splits) for name, config in catalogue.configs(benchmark).items()}
    known = hub_record(benchmark)
    for name, family in known.families.items():
        lines = table(region(benchmark, f"columns-{name}"))
        assert all(holds for _, _, holds in lines)
        for config in family.configs:
            assert [column.strip("`") for column, _, _ in lines] == list(features(benchmark, config))
            for (_, kind, _), feature in zip(lines, features(benchmark, config).values(), strict=True):
                assert words(feature) in kind
    assert [one["config_name"] for one in header_of(text_of(benchmark))["dataset_info"]] == list(named)


def words(feature: Any) -> str:
    """A type in words, said once more."""
    if isinstance(feature, list) or type(feature).__name__ == "List":
        inner = feature[0] if isinstance(feature, list) else feature.feature
        return f"list of {words(inner)}".replace("of list", "of lists") + ("s" if words(inner) == "string" else "")
    return f"{{{', '.join(feature)}}}" if isinstance(feature, dict) else str(feature.dtype)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_client_of_the_hub_reads_the_card(benchmark: str) -> None:
    card = DatasetCard.load(CARDS / f"{benchmark}.md")
    assert card.data.to_dict() == header_of(text_of(benchmark))
    assert "configs" not in card.data.to_dict(), "there are no data files"
    # As the builder says it, in the Hub's spelling.
    licences = [card.data.license] if isinstance(card.data.license, str) else card.data.license
    info = catalogue.builder_class(benchmark)(config_name=next(iter(catalogue.configs(benchmark)))).info
    said = info.license.lower().replace("cc ", "cc-").replace(" 4.0", "-4.0")
    assert licences
    assert all(licence in said for licence in licences)
    assert len(licences) == 1 + info.license.partition(";")[0].count(" and ")
    assert f"```bibtex\n{info.citation.strip()}\n```" in card.content
    assert info.homepage in card.content
    assert {"rag", "retrieval-augmented-generation"} <= set(card.data.tags)
    assert card.data.task_categories


def held(benchmark: str) -> dict[str, list[Any]]:
    """What READ should find: features of every config, splits of those all of whose rows were counted."""
    rows = hub_record(benchmark).rows
    return {
        name: [
            str(datasets.Features(features(benchmark, name)).arrow_schema.remove_metadata()),
            {split: one.number for split, one in rows[name].items()}
            if all(one.source == COUNTED for one in rows[name].values())
            else {},
        ]
        for name in catalogue.configs(benchmark)
    }


@pytest.mark.slow
@pytest.mark.parametrize("other", [False, True], ids=["this datasets", "another"])
def test_datasets_reads_the_header_as_the_builder_has_it(
    forked_python: Process, environment: Callable[..., dict[str, str]], request: pytest.FixtureRequest, other: bool
) -> None:
    executable = request.getfixturevalue("other_python") if other else sys.executable
    paths = {str(CARDS / f"{benchmark}.md"): benchmark for benchmark in BENCHMARKS}
    done = forked_python(READ, *paths, env=environment(), executable=executable)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read == {path: held(benchmark) for path, benchmark in paths.items()}
    counts = [splits for configs in read.values() for _, splits in configs.values()]
    assert any(counts)
    assert not all(counts)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_an_exported_card_is_this_one_with_what_was_written(benchmark: str) -> None:
    card = text_of(benchmark)
    header, body = header_of(card), body_of(card)
    parts = {
        name: Part(features(benchmark, name), "", {split: Written(7, 70, {"a": 1}) for split in config.splits})
        for name, config in catalogue.configs(benchmark).items()
    }
    exported = make_data_card(benchmark, parts, sample=False)
    made = header_of(exported)
    of_data = ("configs", "dataset_info", "size_categories")
    assert {key: value for key, value in made.items() if key not in of_data} == {
        key: value for key, value in header.items() if key not in of_data
    }
    assert [one["features"] for one in made["dataset_info"]] == [one["features"] for one in header["dataset_info"]]
    assert [[split["num_examples"] for split in one["splits"]] for one in made["dataset_info"]] == [
        [7] * len(config.splits) for config in catalogue.configs(benchmark).values()
    ]
    assert [one["config_name"] for one in made["configs"]] == list(parts)
    before, after = body_of(exported).split("## What is here\n")
    rest = "## How to load it\n" + after.partition("\n## How to load it\n")[2]
    assert before + rest == body
    if not_hosted := hub_record(benchmark).not_hosted:
        made = header_of(make_recipe(benchmark, not_hosted))
        assert made == {**{key: value for key, value in header.items() if key != "dataset_info"}, "viewer": False}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_an_example_is_a_row_of_the_sample_cut_short(benchmark: str) -> None:
    for name, family in hub_record(benchmark).families.items():
        shown = region(benchmark, f"example-{name}")
        assert "made up" in shown
        row = json.loads(shown.split("```json\n")[1].split("\n```")[0])
        config, split = family.example
        builder, _ = builders.open_builder(benchmark, config, builders.SAMPLE)
        genuine = next(iter(builders.rows(builder, split)))
        assert list(row) == list(genuine)
        assert begins(row, genuine)
        assert len(shown) < 4000


def begins(shown: Any, genuine: Any) -> bool:
    """Whether what is shown is the genuine value or the beginning of it, marked as such."""
    if isinstance(genuine, dict):
        return all(begins(shown[name], value) for name, value in genuine.items())
    if isinstance(genuine, list):
        whole = len(shown) == len(genuine)
        rest = shown if whole else shown[:-1]
        told = whole or shown[-1] == f"… and {len(genuine) - len(rest)} more"
        return told and all(begins(one, other) for one, other in zip(rest, genuine, strict=False))
    if isinstance(genuine, str) and shown != genuine:
        return shown.endswith("…") and genuine.startswith(shown[:-1])
    return bool(shown == genuine)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_commands_and_code_of_the_card_hold(benchmark: str) -> None:
    body = body_of(text_of(benchmark))
    given = re.findall(r"`(quadrag [a-z][^`]*)`", body)
    given += [line for block in re.findall(r"```sh\n(.*?)```", body, re.S) for line in block.splitlines()]
    assert {line.split()[1] for line in given} >= {"prepare", "export", "run"}
    for line in given:
        parsed = build_parser(__version__).parse_args(shlex.split(line)[1:])
        if getattr(parsed, "config", None):
            named = parsed.config if isinstance(parsed.config, list) else [parsed.config]
            assert set(named) <= set(catalogue.configs(benchmark)), line
    calls = [
        call
        for block in re.findall(r"```python\n(.*?)```", body, re.S)
        for call in ast.walk(ast.parse(block))
        if isinstance(call, ast.Call)
    ]
    assert [call.args[0].value for call in calls] == [benchmark, f"ORG/{benchmark}", f"FOLDER/{benchmark}"]
    for call in calls:
        config, split = call.args[1].value, call.keywords[0].value.value
        assert split in catalogue.config(benchmark, config).splits
    options = builders.options_of(next(iter(catalogue.configs(benchmark).values())))
    shown = table(region(benchmark, "options")) if options else []
    assert [cells[0].strip("`") for cells in shown] == list(options)
    assert all(cells[2] for cells in shown)


@pytest.mark.parametrize("benchmark", known())
def test_the_card_names_the_metrics_of_the_baselines(benchmark: str) -> None:
    conditions = Conditions("bm25", {"gold": "test"}, top_k=5)
    used = {
        metric.module
        for config, _ in load(benchmark).campaign()
        for metric in load(benchmark).metrics(config, conditions)
    }
    section = body_of(text_of(benchmark)).split("## Metrics and baselines\n")[1].split("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", section)) == used
    assert used <= set(catalogue.metrics())


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_upstream_files_are_those_of_the_builder(benchmark: str) -> None:
    cls = catalogue.builder_class(benchmark)
    lines = table(region(benchmark, "files"))
    counts = [int(found[1]) if (found := re.search(r", (\d+) files$", line[0])) else 1 for line in lines]
    repositories = {name for config in catalogue.configs(benchmark).values() for name in config.files}
    assert sum(counts) == len(cls.FILES or repositories)
    for (name, size, verified, _), count in zip(lines, counts, strict=True):
        pinned = cls.FILES.get(name.split("`")[1])
        if pinned and count == 1:
            assert (size == "not known") == (pinned[0] is None)
            assert verified == ("sha256" if pinned[1] else "git blob id")
            unit = {"k": 1e3, "M": 1e6, "G": 1e9}
            assert pinned[0] is None or abs(float(size.split()[0]) * unit[size.split()[1][0]] / pinned[0] - 1) < 0.03
