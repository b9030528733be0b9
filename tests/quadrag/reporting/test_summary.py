"""The summary and the tables of runs: headlines, the papers' numbers beside them, what may not stand there."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import RGB_SPLITS, run_splits
from exported import copy_as_authors
from specs import record_of, spec_of

import quadrag
from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.data.card_facts import card_facts
from quadrag.metric_record import metric_record
from quadrag.provenance import Provenance
from quadrag.records import write_jsonl
from quadrag.reporting.facts import describe_results
from quadrag.reporting.tables import summary, tabulate_paper, tabulate_scores
from quadrag.reporting.text import print_tables
from quadrag.results import Counts, Note, NoteCode, Run, Score, ScoreKey
from quadrag.results.certificates import discredit
from quadrag.results.items import MOST, pick_headlines
from quadrag.run.folder import read_runs
from quadrag.spec import Replica

pytestmark = pytest.mark.plugins

SAMPLE = ("--data-dir", "sample")


def rows(out: str) -> list[list[str]]:
    """The cells of every line between a table's rule and its notes."""
    body = re.search(r"^─+\n((?:\S+.* \d+ of \d+.*\n)+)", out, re.MULTILINE)
    assert body
    return [re.split(r" {2,}", line.strip()) for line in body[1].splitlines()]


def widest(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.splitlines()))


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign on data as the authors' own."""
    from quadrag.cli import main

    folder = tmp_path_factory.mktemp("campaign")
    with pytest.MonkeyPatch.context() as patch:
        data = copy_as_authors("rgb", folder / "RGB", patch)
        assert main(["run", "rgb", "--all", "--data-dir", data, "--out", str(folder / "all")]) == 0
    return folder / "all"


@pytest.mark.parametrize("name", catalogue.benchmarks())
def test_the_headlines_of_a_record_are_keys_that_its_metrics_have(name: str) -> None:
    benchmark = load(name)
    keys: set[str] = set()
    for config in benchmark.configs:
        uses = benchmark.metrics(spec_of(name, config, retriever=benchmark.default_retriever, options={"gold": "test"}))
        names = {metric_record(use.module).key(key).name for use in uses for key in use.keys}
        assert names & set(benchmark.headlines), f"{config} has none"
        keys |= names
    assert set(benchmark.headlines) <= keys
    assert {one.key for one in card_facts(name).headlines} <= set(benchmark.headlines), "the Hub's are among them"


def test_a_summary_has_the_headlines_with_the_best_published_beside(cli: Any, monkeypatch: Any) -> None:
    data = copy_as_authors("crud_rag", Path("CRUD_RAG"), monkeypatch)
    ran = cli("run", "crud_rag", "summary", "--limit", "4", "--data-dir", data, "--out", "a")
    assert (ran.code, ran.err) == (0, "") and ran.out.endswith("a/report.html\n")
    assert rows(ran.out) == [
        ["rouge_l", "25.6", "–", "4 of 4", "33.77 gpt-3.5-turbo"],
        ["bleu", "13.6", "–", "4 of 4", "3.6", "25.19 gpt-3.5-turbo"],
        ["length", "54.2", "–", "4 of 4"],
    ]
    page = Path("a/report.html").read_text(encoding="utf-8")
    for word in ("bleu_1", "chunk_size", "whole files cut by tokens"):  # further metrics, settings and conditions
        assert word not in ran.out and word in cli("report", "a", "-v").out and word in page
    found = json.loads(cli("report", "a", "--json").out)["rows"]
    (row,) = [row for row in found if (row["key"], row["profile"]) == ("rouge_l", "official")]
    assert len(row["interval"]) == 2 and len(str(row["value"])) > 10, "all digits"


def test_beside_made_up_data_and_by_corrected_no_published_value_stands(cli: Any, monkeypatch: Any) -> None:
    one = ("run", "rgb", "noise_robustness_en", "--split", "noise_0")
    ran = cli(*one, *SAMPLE, "--out", "a")
    assert rows(ran.out) == [["accuracy", "91.7", "64.6–98.5", "12 of 12"]]
    for shown in (ran.out, cli("report", "a", "-v").out, Path("a/report.html").read_text().partition("</style>")[2]):
        assert "96.33" not in shown and "best published" not in shown.partition("<script")[0]
    data = ("--data-dir", copy_as_authors("rgb", Path("RGB"), monkeypatch))
    assert "96.33 chatgpt" in cli(*one, *data, "--out", "b").out
    assert "96.33" not in cli("report", "b", "--profile", "corrected").out


@pytest.fixture
def answers_of_crag(cli: Any) -> str:
    found = quadrag.questions("crag", "task_1_2", data_dir="sample")
    write_jsonl(Path("mine.jsonl"), [{"id": one.id, "answer": "Paris"} for one in found])
    return "mine.jsonl"


def test_the_best_printed_number_is_the_lowest_where_lower_is_better(cli, answers_of_crag, monkeypatch):
    data = ("--data-dir", copy_as_authors("crag", Path("CRAG"), monkeypatch))
    asked = ("score", answers_of_crag, "--benchmark", "crag", "--config", "task_1_2", *data)
    assert "llama" not in cli(*asked).out, "how passages were found is not known"
    found = {row[0]: row[-1] for row in rows(cli(*asked, "--retriever", "none").out)}
    assert found["missing"] == "6.7 llama-2-7b-chat"


def test_of_a_metric_with_cuts_the_deepest_and_at_most_five_are_shown(cli: Any) -> None:
    assert cli("run", "crud_rag", "qa_1doc", *SAMPLE, "--option", "gold=test", "--out", "a").code == 0
    assert [row[0] for row in rows(cli("report", "a").out)] == ["rouge_l", "bleu", "recall@8", "mrr", "length"]
    keys = list(metric_record("crud_overlap").keys)
    named = [
        Score(ScoreKey("rgb", "c", "s", "crud_overlap", key), "official", "all", 0.5, None, Counts(1), "s")
        for key in keys
    ]
    assert [score.key.key for score in pick_headlines(named, "official")] == keys[:MOST], "without headlines the first"


@pytest.mark.parametrize(
    ("said", "profiles"),
    [
        ('{"score":"1"}', {"official"}),  # what official cannot read takes nothing from corrected
        ('{"score": true}', {"official"}),
        ('```json\n{"score": 1}\n```', set()),
        ("I would say it is fine.", {"official", "corrected"}),
        ("", {"official", "corrected"}),
    ],
)
def test_what_is_invalid_is_so_by_the_profile_shown_in_every_door(cli, said, profiles):
    from chat_server import ChatServer

    asked = quadrag.questions("crag", "task_1_2", data_dir="sample")
    write_jsonl(Path("m.jsonl"), [{"id": one.id, "answer": f"It is {at}."} for at, one in enumerate(asked)])
    with ChatServer(text=said, models=["j"]) as server:
        given = ("--benchmark", "crag", "--config", "task_1_2", *SAMPLE, "--ledger", "L", "--judge", server.url)
        code = cli("score", "m.jsonl", *given, "--out", "r").code
    for profile in ("official", "corrected"):
        found = json.loads(cli("report", "r", "--profile", profile, "--json").out)
        texts = (cli("report", "r", "--profile", profile).out, repr(quadrag.result("r", profile=profile)))
        told = [not found["valid"], bool(found["invalid"]), *("INVALID" in text for text in texts)]
        assert {*told} == {profile in profiles}, profile
    assert code == (3 if "official" in profiles else 0)


def test_what_the_other_profile_says_stands_beside_where_it_differs(cli: Any, capsys: Any) -> None:
    from quadrag.loading import load_questions

    asked, _ = load_questions(spec_of("rgb", "negative_rejection_zh", data_dir="sample"), load("rgb"))
    gold = {question.id: question.references[0][0] for question in asked}
    quadrag.evaluate("rgb", "negative_rejection_zh", lambda one: gold[one.id], data_dir="sample", out="never", name="m")
    for profile, values in (("official", ["66.7", "0.0"]), ("corrected", ["0.0", "66.7"])):
        shown = repr(quadrag.result("never", profile=profile))
        (line,) = [line for line in shown.splitlines() if line.startswith("rejection_rate ")]
        assert [word for word in line.split() if word in values] == values
    fine = cli("run", "rgb", "noise_robustness_en", "--limit", "4", *SAMPLE, "--out", "a").out
    assert "corrected" not in fine


def test_over_all_splits_tables_and_json_hold_one_row() -> None:
    one = run_splits({split: [float(at % 3 == place) for at in range(12)] for place, split in enumerate(RGB_SPLITS)})
    first, *others = summary(one, "official").rows
    assert [line.label.partition("/")[0] for line in (first, *others)] == ["all 3 splits", *RGB_SPLITS]
    assert [cell.text for cell in first.cells][::2] == ["33.3", "12 × 3 splits"]
    grid, *_ = tabulate_scores(one, ["official", "corrected"])
    assert grid.columns == ["all 3 splits", *RGB_SPLITS] and grid.rows[0].cells[0].text == "33.3"
    found = describe_results([one], ["official", "corrected"], None)["rows"]
    pooled = [row for row in found if row["split"] == "all 3 splits"]
    assert [row["profile"] for row in pooled] == ["official", "corrected"]
    assert all(row["value"] == pytest.approx(1 / 3) and row["n"] == row["n_total"] == 12 for row in pooled)
    lacking = {split: [0.0] * 12 for split in RGB_SPLITS} | {"noise_0": [None] + [1.0] * 11}
    assert summary(run_splits(lacking), "official").rows[0].cells[0].text == "30.6", "11 thirds of 12"


def test_the_papers_tables_fit_into_80_columns(campaign: Path, cli: Any, capsys: Any) -> None:
    shown = cli("report", campaign).out
    titles = [line[:7] for line in shown.splitlines() if line.startswith("Table")]
    assert titles == ["Table 1", "Table 3", "Table 5", "Table 7"]
    results = [result for _, parts in read_runs([campaign]) for result in parts]
    for result in results:
        result.record.digests["system"]["model"] = "meta-llama/Llama-3.1-70B-Instruct-非常长的名字-Turbo"
    print_tables(tabulate_paper("rgb", results))
    for text in (shown, capsys.readouterr().out):
        assert widest(text) <= 80 and "…" not in text and "96.33" in text and "67.68?" in text
    for folder in campaign.glob("*/run.json"):
        for more in ((), ("-v",)):
            one = cli("report", folder.parent, *more).out
            assert widest(one) <= 80 and "…" not in one, folder


def test_runs_of_different_benchmarks_are_not_compared(cli: Any) -> None:
    for benchmark, config in (("rgb", "negative_rejection_en"), ("crag", "task_1_2")):
        assert cli("run", benchmark, config, *SAMPLE, "--limit", "2", "--out", benchmark).code == 0
    assert cli("run", "rgb", "noise_robustness_en", *SAMPLE, "--limit", "2", "--out", "many").code == 0
    for runs in (("rgb", "crag"), ("many", "rgb"), ("rgb", "rgb"), ("rgb", "x/../rgb/")):
        ran = cli("report", *runs)
        assert (ran.code, ran.out) == (2, "") and ran.err.count("\n") == 1 and "rgb" in ran.err
    for name in ("rgb", "crag"):
        shutil.copytree(name, f"both/{name}")
    shutil.copytree("both", "again")
    told = cli("report", "both", "again")
    assert told.code == 0 and "\nagain − both, crag" in told.out and "\nagain − both, rgb" in told.out


def test_no_printed_value_stands_in_the_papers_table_beside_what_is_marked() -> None:
    inputs = record_of(benchmark="crag", config="task_1_2", splits=["public"], retriever="snippets", llm="l", judge="m")
    scores = [
        Score(ScoreKey("crag", "task_1_2", split, "truthfulness", key), "official", "all", 0.1, None, Counts(40), "s")
        for split in ("public", "validation")
        for key in ("accuracy", "missing")
    ]
    printed: list[list[str]] = []
    for marked in (False, True):
        if marked:
            scores = [discredit(one) if one.key.key == "accuracy" else one for one in scores]
        (grid,) = tabulate_paper("crag", [Run(inputs, scores, [])], ["official"])
        line = next(line for line in grid.rows if line.kind == "published")
        printed.append([line.cells[at].text for at in (0, 2)])
    (accuracy, missing), beside = printed
    assert accuracy != "–" and beside == ["–", missing]
    assert [line.label for line in grid.rows if "ours" in line.label] == [" l (ours)", " l (ours), validation"]


@pytest.mark.parametrize(
    ("command", "more", "said", "code"),
    [
        ("run", {}, {}, NoteCode.OTHER_PROMPTS),
        ("run", {}, {"replica": Replica(recipe="r")}, None),
        ("run", {"prompts": "mine"}, {}, None),
        ("run", {"llm": "extractive"}, {}, None),
        ("score", {}, {}, NoteCode.UNSAID),
        ("score", {"log": True}, {}, None),
        ("score", {"retriever": "unknown", "log": True}, {}, NoteCode.UNSAID),
    ],
)
def test_whose_prompts_stand_beside_the_authors_is_told(command: str, more: Any, said: Any, code: Any) -> None:
    facts: Any = {"config": "task_1_2", "splits": ["public"], "retriever": "snippets"}
    facts |= {"provenance": Provenance.AUTHORS, "command": ["quadrag", command], **more}
    prompts = facts.pop("prompts", None)
    inputs = record_of("crag", **facts)
    inputs = replace(inputs, spec=inputs.spec.changed(**said), digests={**inputs.digests, "prompts": prompts})
    key = ScoreKey("crag", "task_1_2", "public", "truthfulness", "missing")
    table = summary(Run(inputs, [Score(key, "official", "all", 0.1, None, Counts(40), "s")], []), "official")
    told = {note.code for note in table.notes if isinstance(note, Note)}
    assert told & {NoteCode.OTHER_PROMPTS, NoteCode.UNSAID} == {code} - {None}
