"""Recipes: which printed row their runs replicate, or what keeps them from it; and the settings of each."""

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from compared_runs import note_lost

from quadrag import catalogue
from quadrag.data.card_facts import card_facts
from quadrag.paths import room
from quadrag.provenance import Provenance
from quadrag.reporting.published import list_reasons
from quadrag.reporting.settings import compare_settings, find_settings
from quadrag.reporting.tables import tabulate_paper
from quadrag.results import Run
from quadrag.run.folder import read_result
from quadrag.run.plan import read_recipe, recipes
from quadrag.spec import merge

pytestmark = pytest.mark.plugins

ZH, REJECTED = "rgb-table7-chatgpt-zh", "rejection_rate.rejection_rate"
RECIPES = list(recipes())
SOURCE = re.compile(r"(.+?) \[(?:P|C|M|3P)\](?:; |$)")


@pytest.fixture(scope="module")
def run(shared_cli: Any) -> Iterator[Callable[..., Any]]:
    """A function that runs a recipe over one question, and returns its object for programs."""
    with ChatServer(models=["gpt-3.5-turbo", "lmsys/vicuna-7b-v1.3", "m"]) as server:

        def make(recipe: str, *more: str, model: str = "", out: str = "r") -> Any:
            asked = ("run", "--recipe", recipe, "--data-dir", "sample", "--limit", "1", "--llm", f"{server.url}{model}")
            ran = shared_cli(*asked, "--ledger", "L", "--out", out, "--json", *more)
            assert ran.code == 0, ran.err
            return json.loads(ran.out)

        make.folder = shared_cli.folder  # type: ignore[attr-defined]
        make(ZH)
        yield make


def read_as_whole(folder: Path) -> list[Run]:
    """Read the runs of a folder as they would be over all of the authors' own questions."""
    results = [read_result(path.parent) for path in sorted(folder.glob("*/run.json"))]
    for result in results:
        result.record.provenance, result.record.coverage = Provenance.AUTHORS, None
        result.record.spec = result.record.spec.changed(limit=None)
        splits, line = catalogue.config("rgb", result.record.config).splits, result.items[0]
        counts = {name: card_facts("rgb").find_rows(result.record.config, name).number for name in splits}
        result.items = [{**line, "split": name, "id": str(n)} for name, count in counts.items() for n in range(count)]
    return results


def change_replica(result: Run, **values: Any) -> None:
    """Let a run's recipe say other things."""
    replica = result.record.spec.replica
    assert replica is not None
    result.record.spec = result.record.spec.changed(replica=replica.model_copy(update=values))


def change_system(result: Run, **values: Any) -> None:
    result.record.digests["system"] |= values


def marked(results: list[Run], profile: str = "official") -> list[str]:
    """The printed rows that are marked."""
    lines = tabulate_paper("rgb", results, [profile])[0].rows
    return [line.label for line in lines if line.label.endswith(("<", "~"))]


def test_the_row_is_marked_where_all_that_the_recipe_fixes_holds(run):
    run("rgb-table1-vicuna-7b-v1.3", out="v")
    for folder, label in (("r", "chatgpt-zh<"), ("v", "vicuna-7b-v1.3<")):
        whole = read_as_whole(run.folder / folder)
        assert marked(whole) == [label] and list_reasons(whole, "official") == []
    results = read_as_whole(run.folder / "r")
    assert marked(results, "corrected") == ["chatgpt-zh~"], "the printed ones are official"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: change_system(one, model="m"), {"kind": "model", "own": ["m"], "row": "gpt-3.5-turbo"}),
        (lambda one: change_system(one, parameters={}), {"kind": "refused", "fields": ["temperature"]}),
        (
            lambda one: change_replica(one, changed={"seed": (1, None)}),
            {"kind": "setting", "name": "seed", "own": 1, "row": "none"},
        ),
        (lambda one: one.record.given.append("answers.jsonl"), {"kind": "files", "files": ["answers.jsonl"]}),
        (
            lambda one: one.record.digests["splits"].append("mine"),
            {"kind": "setting", "name": "split", "own": ["mine"], "row": ["test"]},
        ),
        (lambda one: setattr(one.record, "provenance", Provenance.OWN), {"kind": "data_own"}),
        (lambda one: setattr(one.record, "provenance", Provenance.UNVERIFIED), {"kind": "data_unverified"}),
        (lambda one: setattr(one.record, "provenance", Provenance.PARTIAL), {"kind": "data_partial"}),
        (lambda one: one.items.pop(), {"kind": "questions", "done": "99", "total": "100"}),
        (lambda one: setattr(one.record, "stopped", {"code": "budget", "params": {}}), {"kind": "stopped"}),
        (lambda one: one.record.notes.append(note_lost(one.record.config, "test", REJECTED)), {"kind": "invalid"}),
        (lambda one: change_replica(one, runs=3), {"kind": "runs", "done": 2, "total": 3}),
    ],
)
def test_each_departure_makes_the_mark_another_one_and_is_named(run, change, reason):
    results = read_as_whole(run.folder / "r")
    change(results[0])
    assert marked(results) == ["chatgpt-zh~"]
    assert [note.params for _, note in list_reasons(results, "official")] == [reason]


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        (("--temperature", "0.9"), ["temperature 0.9 (recipe 0.2)"]),
        (("--max-tokens", "5", "--samples", "2"), ["samples 2 (recipe 1)", "max_tokens 5 (recipe none)"]),
        (("--temperature", "0.2"), []),
    ],
)
def test_what_the_user_changed_is_named_for_programs(run, given, changed):
    found = run(ZH, *given, out=f"g{len(given)}{given[1]}")
    rest = ["the bundled sample, which is made up", "1 of 12 questions"]
    assert found["not_replicated"] == [*changed, *rest]
    assert (found["recipe"], found["coverage"]) == (ZH, "1 of 12")
    assert {(row["recipe"], row["retriever"]) for row in found["rows"]} == {(ZH, "none"), (ZH, "own")}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_setting_has_a_source_and_what_the_recipe_says_stands_beside_it(recipe):
    content, settings = read_recipe(recipe)[1], compare_settings(recipe)
    told = {setting.name: setting.ours for setting in settings}
    assert len(told) == len(settings)
    for name, paper, _, why in settings:
        assert paper == "–" or "".join(one.group() for one in SOURCE.finditer(paper)) == paper, name
        assert "{" not in paper and (why or paper != "–"), name
    system = content.get("system", {})
    sampling = system.get("sampling", {})
    plain = {"model": system.get("model"), **sampling, "sampling_top_k": sampling.get("top_k")}
    for name in ("model", "temperature", "top_p", "sampling_top_k", "repetition_penalty", "max_tokens", "stop", "seed"):
        usual = "0.1" if name == "temperature" else ""
        assert told[name] == (usual if plain.get(name) is None else str(plain[name])), name


@pytest.mark.parametrize("benchmark", catalogue.benchmarks())
def test_every_line_of_the_facts_is_some_recipes(benchmark):
    assert len(RECIPES) == 73
    with (room("baselines") / benchmark / "settings.csv").open(encoding="utf-8", newline="") as lines:
        facts = {(line["setting"], line["why"]) for line in csv.DictReader(lines)}
    used = {
        (said.name, said.why)
        for recipe in RECIPES
        if (content := read_recipe(recipe)[1])["benchmark"] == benchmark
        for said in find_settings(benchmark, recipe, content["published"])
    }
    assert facts == used


def test_ours_is_what_the_run_records_and_sends(cli):
    told = {setting.name: setting.ours for setting in compare_settings("omnieval-table5-yi15-34b-alone")}
    with ChatServer(models=[told["model"]]) as server:
        arguments = ("--llm", server.url, "--data-dir", "sample", "--limit", 2, "--ledger", "L", "--out", "a")
        assert cli("run", "--recipe", "omnieval-table5-yi15-34b-alone", *arguments).code == 0
        body = server.state.bodies[-1]
    run = json.loads(next(Path("a").glob("*/run.json")).read_text(encoding="utf-8"))
    spec, digests = run["spec"], run["digests"]
    assert told["model"] == digests["system"]["model"]
    assert (told["config"], told["split"], told["retriever"]) == ("all", *digests["splits"], spec["retriever"])
    assert told["conversation"] == spec["options"]["conversation"] and told["samples"] == str(spec.get("samples", 1))
    for name in ("temperature", "top_p", "sampling_top_k", "repetition_penalty", "max_tokens", "seed"):
        assert str(body["top_k" if name == "sampling_top_k" else name]) == told[name]


def test_a_recipe_of_ones_own_shows_its_own_values(cli):
    recipe = recipes()["crud_rag-table3-chunk128"]
    own = {"retrieval": {"chunk_size": 99}, "system": {"sampling": {"temperature": 0.7}}}
    Path("mine.yaml").write_text(json.dumps(merge(recipe, own)))
    found = {setting.name: setting for setting in compare_settings("mine.yaml")}
    assert [found[name][1:3] for name in ("chunk_size", "temperature")] == [("128 [P]", "99"), ("0.1 [C]", "0.7")]
    Path("other.yaml").write_text(json.dumps({name: part for name, part in recipe.items() if name != "published"}))
    assert cli("list", "--recipe", "other.yaml").code == cli("list", "--recipe", "rgb-tabel7").code == 2
    shown = cli("list", "--recipe", "rgb-table7").out
    assert max(map(len, shown.splitlines())) <= 80
    heads = [line.split(":")[0] for line in shown.splitlines() if line.startswith("rgb-table7")]
    assert heads == ["rgb-table7-chatgpt-en", "rgb-table7-chatgpt-zh", "rgb-table7-qwen-7b-chat-zh"]
    assert len(re.findall("^temperature ", shown, re.MULTILINE)) == 1, "what all share stands once"
