"""What a recipe's runs say of themselves: which printed row they replicate and mark, or all that keeps them from it."""

import io
import json
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer

from quadrag.baselines.report.paper import tabulate_paper
from quadrag.baselines.runs.finished import read_result
from quadrag.baselines.tables.draw import print_grids
from quadrag.hub.record import hub_record

ZH = "rgb-table7-chatgpt-zh"


@pytest.fixture
def run(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ChatServer(models=["gpt-3.5-turbo", "lmsys/vicuna-7b-v1.3", "m"]) as server:

        def run(recipe, *more, model=""):
            asked = ("run", "--recipe", recipe, "--data-dir", "sample", "--limit", "1", "--llm", f"{server.url}{model}")
            code, out, err = cli(*asked, "--ledger", "L", *more)
            assert code == 0, err
            return " ".join(out.split())

        yield run


def read_as_whole(folder):
    """Read the runs of a folder as they would be over all of the authors' own questions."""
    results = [read_result(path.parent) for path in sorted(Path(folder).glob("*/run.json"))]
    for result in results:
        result.run.provenance, result.run.coverage, result.run.inputs.limit = "authors", None, None
        rows = hub_record("rgb").rows[result.run.inputs.config]
        line = result.items[0]
        result.items = [{**line, "split": name, "id": str(n)} for name in rows for n in range(rows[name].number)]
    return results


def show(results, profiles=("official",)):
    """Return the tables of runs as text, and which of the printed rows are marked."""
    printed = io.StringIO()
    grids = tabulate_paper("rgb", results, profiles)
    print_grids(grids, printed)
    assert max(map(len, printed.getvalue().splitlines())) <= 80
    return " ".join(printed.getvalue().split()), [one.label for one in grids[0].lines if one.label.endswith(("<", "~"))]


@pytest.mark.parametrize(("recipe", "marked"), [(ZH, "chatgpt-zh<"), ("rgb-table1-vicuna-7b-v1.3", "vicuna-7b-v1.3<")])
def test_the_row_is_marked_where_all_that_the_recipe_fixes_holds(run, recipe, marked):
    run(recipe, "--out", "r")
    text, labels = show(read_as_whole("r"))
    assert labels == [marked] and "not replicated" not in text.lower()
    assert "<: the published row that is replicated, settings and data as in the paper; prompts ours." in text


def test_what_keeps_a_run_from_its_row_is_one_line_with_all_reasons(run, cli):
    out = run(ZH, "--out", "r", model="#m")
    said = "Recipe rgb-table7-chatgpt-zh: published row chatgpt-zh (gpt-3.5-turbo); asked: m; prompts: ours."
    why = (
        "Not replicated: another model (m, the row is by gpt-3.5-turbo); the bundled sample, which is made up; "
        "1 of 12 questions. "
    )
    for shown in (out, " ".join(cli("report", "r").out.split())):
        assert f"{why}- ~: the published row of the recipe, which is not replicated. " in shown
        assert said in shown and "chatgpt-zh~ " in shown and "chatgpt-zh<" not in shown
    assert why.partition("; 1")[0] in " ".join(cli("report", "r/counterfactual_robustness_zh").out.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: setattr(one.run.inputs, "llm", "m"), "another model (m, the row is by gpt-3.5-turbo)"),
        (
            lambda one: one.run.inputs.served_as.update(llm="m"),
            "another model (gpt-3.5-turbo, served by m, the row is by gpt-3.5-turbo)",
        ),
        (lambda one: one.run.inputs.parameters.clear(), "asked without temperature, which the server does not take"),
        (lambda one: one.run.row.update(changed="seed 1 (recipe none)"), "seed 1 (recipe none)"),
        (lambda one: one.run.given.append("answers.jsonl"), "files of the user's own (answers.jsonl)"),
        (lambda one: one.run.inputs.splits.append("mine"), "split mine (recipe test)"),
        (lambda one: setattr(one.run, "provenance", "own"), "own data"),
        (lambda one: setattr(one.run, "provenance", "unverified"), "unverified data"),
        (lambda one: setattr(one.run, "provenance", "partial"), "a part of the authors' own data"),
        (lambda one: one.items.pop(), "99 of 100 questions"),
        (lambda one: setattr(one.run, "stopped", "dead"), "not finished"),
        (lambda one: one.run.invalid.append("x"), "INVALID scores"),
        (lambda one: one.run.row.update(runs="3"), "2 of the recipe's 3 runs"),
    ],
)
def test_each_departure_makes_the_mark_another_one_and_is_named(run, change, reason):
    run(ZH, "--out", "r")
    results = read_as_whole("r")
    change(results[0])
    text, labels = show(results)
    assert labels == ["chatgpt-zh~"] and f"Not replicated: {reason}." in text


def test_corrected_values_replicate_no_row(run):
    run(ZH, "--out", "r")
    text, labels = show(read_as_whole("r"), ("corrected",))
    assert labels == ["chatgpt-zh~"] and "Not replicated: corrected values, the printed ones are official." in text


def test_another_model_for_entities_keeps_a_run_from_its_row(cli):
    recipe = "crag-table11-falcon-40b"
    with ChatServer(models=["tiiuae/falcon-40b"]) as server:
        arguments = ("--llm", server.url, "--data-dir", "sample", "--limit", 1, "--ledger", "L", "--out", "a")
        code, out, err = cli("run", "--recipe", recipe, *arguments)
    assert code == 0, err
    assert "another model for entities (none, the row has meta-llama/Meta-Llama-3-8B" in " ".join(out.split())


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        (("--temperature", "0.9"), "temperature 0.9 (recipe 0.2)"),
        (("--top-p", "0.5", "--samples", "2"), "samples 2 (recipe 1); top_p 0.5 (recipe none)"),
        (("--temperature", "0.2"), ""),
    ],
)
def test_a_setting_that_is_not_the_recipes_is_named(run, cli, given, changed):
    out = run(ZH, "--out", "r", *given)
    for shown in (out, " ".join(cli("report", "r").out.split())):
        assert f"Not replicated: {changed}{'; ' * bool(changed)}the bundled sample" in shown


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        (("--option", "conversation=turns"), "conversation turns (recipe text)"),
        (("--option", "conversation=text"), "the bundled sample"),
    ],
)
def test_an_option_that_is_not_the_recipes_is_named(cli, given, changed):
    with ChatServer(models=["m"]) as server:
        recipe = ("run", "--recipe", "omnieval-table5-qwen2.5-72b-alone", "--data-dir", "sample", "--limit", "1")
        out = cli(*recipe, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r", *given).out
    assert f"by Qwen/Qwen2.5-72B-Instruct); {changed}" in " ".join(out.split())


def test_a_setting_of_the_search_that_the_recipe_leaves_to_the_benchmark_is_named(cli):
    from quadrag.baselines.runs.recipe import plan_runs
    from quadrag.baselines.runs.request import RunRequest

    recipe = RunRequest(recipe="omnieval-table4-bge-m3", llm="http://h/v1", retrieval={"chunk_size": 99})
    assert plan_runs(recipe)[0].row["changed"].startswith("chunk_size 99 (recipe ")


def test_of_a_sweep_each_row_is_marked_with_ours_right_under_it(run):
    run("rgb-table1-vicuna-7b-v1.3", "--out", "r")
    labels = [one.label for one in tabulate_paper("rgb", read_as_whole("r"))[0].lines if one.kind == "published"]
    results = []
    for label in labels:
        for other in read_as_whole("r"):
            other.run.inputs.llm = label.rstrip("<")
            other.run.row |= {name: other.run.inputs.llm for name in ("row", "model")}
            other.run.row["recipe"] = f"rgb-table1-{other.run.inputs.llm}"
            results.append(other)
    text, marked = show(results)
    assert marked == [f"{label.rstrip('<')}<" for label in labels] and "Not replicated" not in text
    lines = [one for one in tabulate_paper("rgb", results)[0].lines if not one.label.startswith("  ")]
    assert [one.kind for one in lines] == ["published", "ours"] * len(labels)
    results[0].items.pop()
    text, marked = show(results)
    assert len(marked) == len(labels) > 2 and [one for one in marked if one.endswith("~")] == ["chatgpt~"]
    assert "Not replicated, rgb-table1-chatgpt: 2,999 of 3,000 questions." in text


def test_verbose_shows_every_metric_and_setting(run):
    out = run(ZH, "--out", "r", "--verbose")
    for said in (
        "rgb counterfactual_robustness_zh, gpt-3.5-turbo, no documents",
        "accuracy_bounded 0.0",
        "Settings: temperature 0.2; the first 1 questions",
        f"Its settings beside the paper's: quadrag list --recipe {ZH}",
    ):
        assert said in out
    assert out.count("Not replicated") == 1 and "Settings: " not in run(ZH, "--out", "r")


def test_the_second_profile_is_explained(run):
    with ChatServer(models=["j"], text="No, it has not identified them. Yes?") as judge:  # "Yes", for official
        out = run(ZH, "--out", "r", "--judge", judge.url)
    assert ("corrected" in out.split("Published")[0]) == ("corrected: what the paper defines" in out)
    assert "corrected: what the paper defines" in out


def test_the_second_profile_is_explained_under_the_first_table_that_shows_it(cli):
    assert cli("run", "rgb", "--all", "--data-dir", "sample", "--limit", "2", "--out", "r")[0] == 0
    results = read_as_whole("r")
    for one in results:
        official = [row for row in one.scores if row["profile"] == "official"]
        more = 0.25 * one.run.inputs.config.startswith("negative_rejection")
        other = [row | {"profile": "corrected"} for row in official]
        one.scores = [
            *official,
            *(row | {"value": row["value"] + more} for row in other if row.get("value") is not None),
        ]
    first, second, *others = tabulate_paper("rgb", results)
    told = "corrected: what the paper defines; above it official, what the authors' code computes."
    assert told in second.notes and second.title.startswith("Table 3.")
    assert not any(told in grid.notes for grid in (first, *others))


def test_programs_are_told_which_row_it_is_and_what_keeps_from_it(run, cli):
    found = json.loads(cli("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--json", "--out", "x").out)
    assert (found["recipe"], found["not_replicated"], found["coverage"]) == (None, [], None)
    assert found["provenance"] == "sample"
    out = run(ZH, "--json", "--out", "r")
    found = json.loads(out)
    assert (found["recipe"], found["coverage"]) == (ZH, "1 of 12")
    assert found["not_replicated"] == ["the bundled sample, which is made up", "1 of 12 questions"]
    assert {(row["recipe"], row["retriever"]) for row in found["rows"]} == {(ZH, "none"), (ZH, "own")}


def test_runs_of_different_benchmarks_are_not_compared(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for benchmark, config in (("rgb", "negative_rejection_en"), ("crag", "task_1_2")):
        assert cli("run", benchmark, config, "--data-dir", "sample", "--limit", "2", "--out", benchmark).code == 0
    code, out, err = cli("report", "rgb", "crag")
    said = "quadrag: nothing to compare: rgb is rgb negative_rejection_en test; crag is crag task_1_2 public\n"
    assert (code, out, err) == (2, "", said)
    assert cli("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--limit", "2", "--out", "many").code == 0
    code, out, err = cli("report", "many", "rgb")
    said = "quadrag: nothing to compare: many is rgb noise_robustness_en; rgb is rgb negative_rejection_en test\n"
    assert (code, out, err) == (2, "", said)
    for name in ("rgb", "crag"):
        shutil.copytree(name, f"both/{name}")
    assert cli("report", "both", "rgb").err == (
        "quadrag: nothing to compare: both is crag task_1_2 public and rgb negative_rejection_en test; rgb is rgb "
        "negative_rejection_en test; name their folders of one benchmark\n"
    )
    shutil.copytree("both", "again")
    told = cli("report", "both", "again")
    assert told.code == 0 and [line for line in told.out.splitlines() if line.startswith("== ")] == [
        "== crag",
        "== rgb",
    ]
    shutil.copytree("rgb", "copied")
    assert cli("report", "many", "rgb", "copied").code == 0, "two of three have the same questions"


def test_what_is_odd_of_answers_is_said_once_at_the_table_of_their_config(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("run", "rgb", "--all", "--data-dir", "sample", "--limit", "3", "--ledger", "L", "--out", "r")
    with ChatServer(models=["m"], text="Same.") as server:
        out = " ".join(cli(*asked, "--llm", server.url).out.split())
    *tables, last = out.split("Table ")[1:]
    assert "all 4 runs: all 3 answers are the same text, 'Same'." in last
    assert [one.count("are the same text") for one in (*tables, last)] == [1, 1, 1, 1]
