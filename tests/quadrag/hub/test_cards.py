"""The cards of `hub_cards/` are what their builders and records make of them, and the genuine clients read them so."""

import ast
import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard

from quadrag import __version__, catalogue
from quadrag.benchmark import load
from quadrag.commands.shared.parser import build_parser
from quadrag.data import builders, files
from quadrag.data.card_facts import hub_record
from quadrag.data.download import RemoteFile, fault
from quadrag.hub.card import split_card
from quadrag.hub.cards import main
from quadrag.parts import Conditions

CARDS = Path(__file__).parents[3] / "hub_cards"
BENCHMARKS = sorted(catalogue.benchmarks())
ALL = pytest.mark.parametrize("benchmark", BENCHMARKS)


def text_of(benchmark):
    return (CARDS / f"{benchmark}.md").read_text(encoding="utf-8")


def region(benchmark, name):
    (found,) = re.findall(rf"<!-- {name}: rendered by make cards -->\n(.*?)<!-- /{name} -->", text_of(benchmark), re.S)
    return found


def table(text):
    """The rows of a Markdown table, each a list of cells, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


@pytest.fixture
def copies(tmp_path):
    return Path(shutil.copytree(CARDS, tmp_path / "cards"))


def put(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_committed_cards_are_as_rendered(capsys):
    assert main(["--check"]) == 0, f"run `make cards`: {capsys.readouterr().out}"


def test_what_drifted_is_brought_back_and_prose_is_kept(copies, capsys):
    put(copies / "crag.md", "| 1,335 |", "| 1,336 |")
    put(copies / "crag.md", "dtype: string", "dtype: int8")
    put(copies / "omnieval.yaml", "about: 3000", "about: 3001")
    put(copies / "rgb.md", "\n## Caveats\n", "\n## Caveats\n\nA new one.\n")
    assert main([str(copies), "--check"]) == 1
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        str(copies / "crag.md"),
        str(copies / "omnieval.md"),
    ]
    assert main([str(copies)]) == 0
    assert (copies / "crag.md").read_text(encoding="utf-8") == text_of("crag")
    assert "| about 3,001 |" in (copies / "omnieval.md").read_text(encoding="utf-8")
    assert "\nA new one.\n" in (copies / "rgb.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("rgb.md", "<!-- configs: rendered by make cards -->", "<!-- configs -->", "configs"),
        ("rgb.md", "<!-- load: ", "<!-- loads: ", "loads"),
        ("rgb.md", "pretty_name: RGB\n", "", "pretty_name"),
        ("rgb.md", "---\npretty", "pretty", "rgb"),
        ("rgb.yaml", "      query: the question\n", "", "query"),
        ("rgb.yaml", "      query: ", "      question: x\n      query: ", "question"),
        ("rgb.yaml", "    holds:\n", "    nullable: [url]\n    holds:\n", "columns of"),
        ("rgb.yaml", "[noise_robustness_zh, neg", "[noise_robustness_cn, neg", "noise_robustness_cn"),
        ("rgb.yaml", "[noise_robustness_zh, neg", "[neg", "noise_robustness_zh"),
        ("rgb.yaml", "  rows: 300\n", "  splits: [dev]\n  rows: 300\n", "dev"),
        ("rgb.yaml", "  all:\n", "  all:\n    configs: [negative_rejection_en]\n", "negative_rejection_en"),
        ("rgb.yaml", "  rows: 300\n", "  rows: many\n", "many"),
        ("rgb.yaml", "rows:\n", "rows: [\n", "not YAML"),
        ("rgb.yaml", "  metric: rgb_accuracy\n", "  metric: rgb_acuracy\n", "rgb_acuracy"),
        ("rgb.yaml", "  key: accuracy\n", "  key: accurate\n", "accurate"),
        ("rgb.yaml", "retriever: own\n", "", "retriever"),
        ("rgb.yaml", "split: noise_40}", "split: noise_50}", "noise_50"),
    ],
)
def test_what_disagrees_with_the_builder_is_one_line(copies, capsys, name, old, new, said):
    put(copies / name, old, new)
    assert main([str(copies), "--check"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


@ALL
def test_the_client_of_the_hub_reads_the_card(benchmark):
    card = DatasetCard.load(CARDS / f"{benchmark}.md")
    assert "configs" not in card.data.to_dict(), "there are no data files"
    licences = [card.data.license] if isinstance(card.data.license, str) else card.data.license
    info = catalogue.builder_class(benchmark)(config_name=next(iter(catalogue.configs(benchmark)))).info
    said = info.license.lower().replace("cc ", "cc-").replace(" 4.0", "-4.0")
    assert len(licences) == 1 + info.license.partition(";")[0].count(" and ")
    assert all(licence in said for licence in licences)
    assert info.citation.strip() in card.content
    assert info.homepage in card.content
    assert {"rag", "retrieval-augmented-generation"} <= set(card.data.tags)
    assert card.data.task_categories


def test_an_example_is_a_row_of_the_sample_cut_short():
    shown = region("crag", "example-pages")
    row = json.loads(shown.split("```json\n")[1].split("\n```")[0])
    builder, _ = builders.open_builder("crag", "task_1_2", builders.SAMPLE)
    genuine = next(iter(builders.rows(builder, "public")))
    assert list(row) == list(genuine)
    assert row["query"] == genuine["query"]
    assert row["page_result"] == [
        f"{genuine['page_result'][0][:72]}…",
        f"{genuine['page_result'][1][:72]}…",
        "… and 3 more",
    ]


@ALL
def test_commands_code_and_options_of_the_card_hold(benchmark):
    _, body = split_card(text_of(benchmark))
    commands = re.findall(r"`(quadrag [a-z][^`]*)`", body)
    commands += [line for block in re.findall(r"```sh\n(.*?)```", body, re.S) for line in block.splitlines()]
    assert {line.split()[1] for line in commands} >= {"prepare", "export", "run"}
    for line in commands:
        build_parser(__version__).parse_args(shlex.split(line)[1:])
    calls = [
        call
        for block in re.findall(r"```python\n(.*?)```", body, re.S)
        for call in ast.walk(ast.parse(block))
        if isinstance(call, ast.Call)
    ]
    assert [call.args[0].value for call in calls] == [benchmark, f"ORG/{benchmark}", f"FOLDER/{benchmark}"]
    for call in calls:
        assert call.keywords[0].value.value in catalogue.config(benchmark, call.args[1].value).splits
    options = builders.options_of(next(iter(catalogue.configs(benchmark).values())))
    shown = table(region(benchmark, "options")) if options else []
    assert [cells[0].strip("`") for cells in shown] == list(options)
    conditions = Conditions("bm25", {"gold": "test"}, top_k=5)
    campaign = [config for config, _ in load(benchmark).paper_runs()]
    used = {metric.module for config in campaign for metric in load(benchmark).metrics(config, conditions)}
    section = body.split("## Metrics and baselines\n")[1].split("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", section)) == used


@ALL
def test_what_the_record_tells_holds_for_the_sample_and_the_papers_tables(benchmark):
    known = hub_record(benchmark)
    with (CARDS.parent / "baselines" / benchmark / "published.csv").open(encoding="utf-8", newline="") as lines:
        counts = [line for line in csv.DictReader(lines) if line["unit"] == "count"]
    checked = 0
    for family in known.families.values():
        nulls = set()
        for config in family.configs:
            builder, _ = builders.open_builder(benchmark, config, builders.SAMPLE)
            for split in builders.splits(builder):
                nulls |= {key for row in builders.rows(builder, split) for key, value in row.items() if value is None}
                if found := re.match(r"paper, Table (\d+)$", known.rows[config][split].source):
                    told = [
                        int(line["value"]) for line in counts if (line["table"], line["task"]) == (found[1], config)
                    ]
                    assert sum(told) == known.rows[config][split].number
                    checked += 1
        # Answers of CRAG are null in the split `private` alone, popularity in release v4.
        assert set(family.nullable) - nulls == ({"answer", "popularity"} if benchmark == "crag" else set())
    assert checked == {"crud_rag": 6, "omnieval": 1}.get(benchmark, checked)


@pytest.mark.slow
@ALL
def test_real_files_have_as_many_rows(real_data, benchmark):
    root = real_data(benchmark.upper())
    known, cls = hub_record(benchmark), catalogue.builder_class(benchmark)
    for name, config in catalogue.configs(benchmark).items():
        found, lacking = files.locate_files(benchmark, config, root)
        builder = cls(config_name=name)
        builders.point_to(builder, root)
        for split in (split for split, missing in lacking.items() if not missing):
            rows, number = known.rows[name][split], sum(1 for _ in builders.rows(builder, split))
            assert rows.number is None or number <= rows.number * (1.05 if rows.about else 1), (name, split)
            pinned = [file for file in config.files_of(split) if file in found and cls.FILES.get(file)]
            whole = pinned == config.files_of(split)
            if (
                whole
                and not rows.about
                and not any(fault(found[file], RemoteFile(file, "", *cls.FILES[file])) for file in pinned)
            ):
                assert number == rows.number
