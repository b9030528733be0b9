"""What `hub_cards/NAME.yaml` tells is what the builders, the sample, the papers' tables and the real files say."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.download import RemoteFile, fault
from quadrag.errors import QuadragError
from quadrag.hub.record import Family, features, hub_record, read_record

CARDS = Path(__file__).parents[3] / "hub_cards"
PUBLISHED = CARDS.parent / "baselines"
BENCHMARKS = sorted(catalogue.benchmarks())


def sample(benchmark: str) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Config, split and rows of the bundled sample."""
    for config in catalogue.configs(benchmark):
        builder, _ = builders.open_builder(benchmark, config, builders.SAMPLE)
        for split in builders.splits(builder):
            yield config, split, list(builders.rows(builder, split))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_facts_hold_for_the_sample(benchmark: str) -> None:
    known = hub_record(benchmark)
    families = {config: family for family in known.families.values() for config in family.configs}
    languages = set()
    nulls: dict[int, set[str]] = {}
    for config, _, rows in sample(benchmark):
        family = families[config]
        found = {column for row in rows for column, value in row.items() if value is None}
        assert found <= set(family.nullable), config
        nulls.setdefault(id(family), set()).update(found)
        text = json.dumps(rows[0], ensure_ascii=False)
        chinese = len(re.findall(r"[\u4e00-\u9fff]", text)) > len(re.findall(r"[a-z]", text)) / 4
        languages.add("zh" if chinese else "en")
        if hasattr(catalogue.config(benchmark, config), "language"):
            assert catalogue.config(benchmark, config).language == ("zh" if chinese else "en")
    assert languages == set(known.languages)
    for family in known.families.values():
        # Answers are null in the split `private` alone, popularity in release v4.
        assert set(family.nullable) - nulls[id(family)] == ({"answer", "popularity"} if benchmark == "crag" else set())


def test_numbers_of_a_paper_are_those_of_its_table() -> None:
    checked = 0
    for benchmark, configs in ((name, hub_record(name).rows) for name in BENCHMARKS):
        with (PUBLISHED / benchmark / "published.csv").open(encoding="utf-8", newline="") as lines:
            published = list(csv.DictReader(lines))
        for config, splits in configs.items():
            for split, rows in splits.items():
                if not (found := re.match(r"paper, Table (\d+)$", rows.source)):
                    continue
                told = [
                    int(line["value"])
                    for line in published
                    if line["table"] == found[1] and line["task"] == config and line["unit"] == "count"
                ]
                assert sum(told) == rows.number, (config, split)
                checked += 1
    assert checked == 7


@pytest.mark.slow
def test_real_files_have_as_many_rows(real_data: Callable[[str], Path]) -> None:
    """Exactly as many where the file is the pinned one, else no more: what is at hand may be a part of it."""
    seen, skipped = 0, []
    for benchmark in BENCHMARKS:
        try:
            root = real_data(benchmark.upper())
        except pytest.skip.Exception as reason:
            skipped.append(str(reason))
            continue
        known, cls = hub_record(benchmark), catalogue.builder_class(benchmark)
        for name, config in catalogue.configs(benchmark).items():
            found, lacking = files.locate_files(benchmark, config, root)
            builder = cls(config_name=name)
            builders.point_to(builder, root)
            for split in (split for split, missing in lacking.items() if not missing):
                rows, number = known.rows[name][split], sum(1 for _ in builders.rows(builder, split))
                wanted = config.files_of(split)
                pinned = all(
                    file in found
                    and cls.FILES.get(file)
                    and not fault(found[file], RemoteFile(file, "", *cls.FILES[file]))
                    for file in wanted
                )
                seen += 1
                assert rows.number is None or number <= rows.number * (1.05 if rows.about else 1), (name, split)
                if pinned and not rows.about:
                    assert number == rows.number, f"{name} {split} can be told as counted"
                if stated := re.match(r"([\d,]+) counted in (\d+) of its \d+ files", rows.source):
                    there = sum(file in found for file in wanted)
                    assert (number == int(stated[1].replace(",", ""))) == (there == int(stated[2]))
    if len(skipped) == len(BENCHMARKS):
        pytest.skip(skipped[0])
    assert seen, "there are real files, and no split of them"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("      query: the question\n", "", "has the columns query, which nothing describes"),
        ("      query: ", "      question: x\n      query: ", "has no column question; it has id, query, "),
        ("      id: upstream's number, from 0\n      query: the question\n", "      query: q\n      id: i\n", "order"),
        ("    holds:\n", "    nullable: [url]\n    holds:\n", "has no column url"),
        ("[noise_robustness_zh, neg", "[noise_robustness_cn, neg", "unknown config of rgb 'noise_robustness_cn'; near"),
        ("[noise_robustness_zh, neg", "[neg", "rows of noise_robustness_zh noise_0, noise_20, "),
        ("[noise_robustness_zh, neg", "[noise_robustness_en, neg", "are told twice; expected once"),
        ("  rows: 300\n", "  splits: [dev]\n  rows: 300\n", "unknown split of noise_robustness_zh 'dev'"),
        (
            "  all:\n",
            "  all:\n    configs: [negative_rejection_en]\n",
            "stands under 0 tables of columns; expected one",
        ),
        ("  all:\n", "  all:\n    like: some\n", "unknown columns that all is like 'some'"),
        ("  rows: 300\n", "  rows: many\n", "cannot be read (ValueError: invalid literal"),
        ("languages: [en, zh]\n", "", "cannot be read (KeyError: 'languages')"),
        ("rows:\n", "rows: [\n", "cannot be read (ParserError: "),
        ("  metric: rgb_accuracy\n", "  metric: rgb_acuracy\n", "unknown metric 'rgb_acuracy'; nearest: rgb_accuracy"),
        ("  key: accuracy\n", "  key: accurate\n", "unknown key of rgb_accuracy 'accurate'; nearest: accuracy"),
        ("- configs: noise_rob", "- configs: noisy_rob", "no config of rgb matches the headline 'noisy_robustness_*'"),
        ("splits: [noise_0, ", "splits: [noise_1, ", "unknown split of noise_robustness_* 'noise_1'; nearest: noise_"),
        ("  unit: percent\n", "  unit: per cent\n", "unknown unit 'per cent'; nearest: percent"),
        ("retriever: own\n", "", "cannot be read (KeyError: 'retriever')"),
        ("retriever: own\n", "retriever: own\nnot_hosted: {why: x}\n", "cannot be read (TypeError: "),
        ("retriever: own\n", "retriever: own\nlarge: {columns: [id], size: 3}\n", "cannot be read (TypeError: "),
    ],
)
def test_facts_that_disagree_with_the_builder_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = (CARDS / "rgb.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "rgb.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(QuadragError) as caught:
        read_record("rgb", tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/rgb.yaml")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_columns_like_those_of_others_are_described_once() -> None:
    family: Family = hub_record("crag").families["pages"]
    assert family.like == "qa"
    assert list(family.holds) == list(features("crag", "task_3"))
    assert "alternatives:" in (CARDS / "crag.yaml").read_text(encoding="utf-8").split("  pages:\n")[0]
    assert "alternatives:" not in (CARDS / "crag.yaml").read_text(encoding="utf-8").split("  pages:\n")[1]
