"""CRAG's runs by the command line: windows, facts, judges, slices, and what a run leaves behind."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

from quadrag.baselines.crag import benchmark as crag
from quadrag.baselines.crag import finder as crag_finder
from quadrag.data.builders import open_builder
from quadrag.records import read_jsonl

YES, NO = '{"score": 1, "explanation": "same"}', '{"score": 0, "explanation": "other"}'
RECIPES = Path(crag.__file__).parent / "recipes"
SAMPLE = ("--data-dir", "sample", "--split", "public")


def questions(config="task_1_2"):
    builder, _ = open_builder("crag", config, "sample", None, "public")
    return {question.id: question for question in crag.questions(builder, "public", {})}


def scores(folder="a"):
    return {
        (row["slice"], row["key"], row["profile"]): row
        for row in json.loads(Path(folder, "scores.json").read_text(encoding="utf-8"))
    }


def lines(name, folder="a"):
    return [row for _, row in read_jsonl(Path(folder, name))]


@pytest.fixture
def server():
    with ChatServer(models=["m", "j", "k"], text="I don't know") as running:
        yield running


def test_task_1_shows_the_snippets_in_upstreams_order_up_to_the_window(cli):
    code, out, err = cli("run", "crag", "task_1_2", *SAMPLE, "--option", "web_window=30", "--out", "a", "-v")
    assert (code, err) == (0, "")
    known = questions()
    for row in lines("retrieved.jsonl"):
        texts = [passage["text"] for passage in row["passages"]]
        assert 0 < sum(map(len, texts)) <= 120
        whole = [passage.text for passage in known[row["id"]].passages if passage.text.strip()]
        assert "".join(whole).startswith("".join(texts))
    assert "web_window 120" in " ".join(out.split())


def test_slices_have_values_intervals_and_sizes_that_add_up(cli):
    code, out, _ = cli("run", "crag", "task_1_2", *SAMPLE, "--out", "a", "-v")
    assert code == 0
    found = scores()
    for grouping in ("domain", "question_type", "dynamism", "popularity"):
        parts = [
            row
            for (name, key, profile), row in found.items()
            if name.startswith(f"{grouping}=") and (key, profile) == ("accuracy_bounded", "official")
        ]
        assert sum(row["n_total"] for row in parts) == 15, "every question is in one slice of every grouping"
        whole = found["all", "accuracy_bounded", "official"]
        assert math.fsum(row["value"] * row["n_scored"] for row in parts) == pytest.approx(whole["value"] * 15)
        assert all(row["interval"][0] <= row["value"] <= row["interval"][1] for row in parts)
    assert found["all", "truthfulness", "official"]["not_run"] == "no judge"
    assert found["domain=music", "truthfulness", "official"]["not_run"] == "no judge"
    assert "task_1_2, extractive, public: slices" in out and "question type\n" in re.sub(" +\n", "\n", out)
    assert max(map(len, out.splitlines())) <= 80


def test_two_judges_are_averaged_and_the_slices_are_means_over_their_items(cli, server):
    server.rules.append(Rule("reply", model="m", message={"content": "The Glass Orchard, I think"}))
    server.rules.append(Rule("reply", model="j", message={"content": YES}))
    server.rules.append(Rule("reply", model="k", message={"content": NO}))
    judges = ("--judge", f"{server.url}#j", "--judge", f"{server.url}#k")
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", *judges, "--ledger", "L", "--out", "a")
    code, out, err = cli("run", "crag", "task_1_2", *SAMPLE, *arguments)
    assert (code, err) == (0, "")
    found = scores()
    info = json.loads(Path("a/run.json").read_text())
    assert info["inputs"]["judge"] == "mean(j+k)"
    assert "judge:mean(j+k)" in found["all", "accuracy", "official"]["signature"]
    # Two questions have `invalid question` as their answer, which no judge is asked about: wrong.
    assert found["all", "accuracy", "official"]["value"] == pytest.approx(13 / 15 * 0.5)
    assert found["all", "truthfulness", "official"]["value"] == pytest.approx(-2 / 15)
    values = {row["id"]: row["truthfulness.truthfulness"]["official"] for row in lines("items.jsonl")}
    for domain in ("finance", "music", "movie", "sports", "open"):
        ids = [ident for ident, question in questions().items() if question.slices["domain"] == domain]
        row = found[f"domain={domain}", "truthfulness", "official"]
        assert row["value"] == pytest.approx(sum(values[ident] for ident in ids) / len(ids)) and row["n_total"] == len(
            ids
        )
    assert {"llm", "judge", "judge 2"} == set(info["usage"])
    assert "20.0 gpt-4-turbo-2024-04-09" in out and "Published" in out


def test_a_failed_verdict_counts_as_the_profile_says_and_is_told(cli, server):
    server.rules.append(Rule("reply", model="j", message={"content": "no verdict"}))
    server.rules.append(Rule("reply", model="m", message={"content": "forty-one"}))
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", "--judge", f"{server.url}#j", "--ledger", "L")
    arguments = (*arguments, "--limit", "12")  # of more, such a judge is asked no further
    code, out, _ = cli("run", "crag", "task_1_2", *SAMPLE, *arguments, "--out", "a", "-v")
    assert code == 3
    official, corrected = (scores()["all", "hallucination", profile] for profile in ("official", "corrected"))
    assert official["value"] == 1 and official["n_scored"] == 2 and official["n_filled"] == 10
    assert official["n_scored"] + official["n_not_applicable"] + sum(official["unscored"].values()) == 12
    assert corrected["value"] == pytest.approx(2 / 12) and corrected["unscored"] == {"unparsable": 10}
    told = " ".join(out.split())
    # A metric without a value has no profile that left anything out, and its n are the verdicts that were read.
    assert "Unscored" not in told and "official counts" not in told
    assert "Judged, scored 2 of 12: truthfulness, accuracy, hallucination." in told
    assert (
        all(f"{name} – n 2 of 12" in told for name in ("truthfulness", "accuracy", "hallucination", "missing"))
        and "12 of 12" not in told
    )
    code, out, _ = cli("run", "crag", "task_1_2", *SAMPLE, *arguments, "--out", "c", "-v", "--max-failed", "1")
    told = " ".join(out.split())
    assert code == 0
    assert "10 of 12 verdicts could not be read, they count as wrong: truthfulness, accuracy, hallucination" in told
    assert "n 12" in told
    assert (
        "Truthfulness: official counts unscored items as hallucinations, corrected keeps them as a share of their own."
        in told
    )
    arguments = (*arguments, "--option", "judge_failure=excluded", "--out", "b")
    assert cli("run", "crag", "task_1_2", *SAMPLE, *arguments)[0] == 3
    excluded = scores("b")["all", "hallucination", "official"]
    assert excluded["value"] == 1 and excluded["n_scored"] == 2 and "n_filled" not in excluded


def test_several_judges_are_refused_where_a_metric_asks_one(cli, server):
    judges = ("--judge", f"{server.url}#j", "--judge", f"{server.url}#k")
    code, _, err = cli("run", "rgb", "negative_rejection_en", "--data-dir", "sample", *judges)
    assert code == 2 and err == "quadrag: rejection_rate asks one judge, and 2 were named; give --judge once\n"


def test_judge_presets_name_the_papers_models_and_ask_for_json(cli, server):
    server.models[:] = ["m", "gpt-3.5-turbo-0125", "meta-llama/Meta-Llama-3-70B-Instruct"]
    server.rules.append(Rule("reply", model="m", message={"content": "forty-one"}))
    server.rules.append(Rule("reply", message={"content": YES}))
    judges = [f"{name}={server.url}" for name in ("gpt-3.5-turbo-0125", "llama-3-70b-instruct")]
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", "--ledger", "L", "--out", "a")
    code, _, err = cli("run", "crag", "task_1_2", *SAMPLE, *arguments, "--judge", judges[0], "--judge", judges[1])
    assert (code, err) == (0, "")
    asked = [body for body in server.state.bodies if body["model"] != "m"]
    assert {body["model"] for body in asked} == set(server.models[1:])
    assert all(body["response_format"] == {"type": "json_object"} and body["temperature"] == 0 for body in asked)
    for bad, message in (("gpt-3.5=http://x/v1", "nearest: gpt-3.5-turbo-0125"), (f"{judges[0]}#m", "leave out #")):
        code, _, err = cli("run", "crag", "task_1_2", *SAMPLE, "--judge", bad)
        assert code == 2 and message in err and err.count("\n") == 1


def test_facts_of_the_graph_stand_before_the_web_in_a_window_of_their_own(cli, server):
    arguments = ("--retriever", "snippets-kg", "--llm", f"{server.url}#m", "--ledger", "L", "--out", "a")
    options = ("--option", "entities=rules", "--option", "kg_window=75", "--option", "web_window=50")
    code, out, err = cli("run", "crag", "task_1_2", *SAMPLE, *arguments, *options, "-v")
    assert (code, err) == (0, "")
    grammy = next(one for one in questions().values() if one.query.startswith("how many grammy"))
    (row,) = [row for row in lines("retrieved.jsonl") if row["id"] == grammy.id]
    kinds = [passage["id"].partition("/")[0] for passage in row["passages"]]
    assert kinds == sorted(kinds) and "kg" in kinds and "web" in kinds
    facts = [passage["text"] for passage in row["passages"] if passage["id"].startswith("kg/")]
    assert sum(map(len, facts)) <= 300 and "3" in "".join(facts)
    (prompt,) = [
        b["messages"][0]["content"] for b in server.state.bodies if grammy.query in b["messages"][0]["content"]
    ]
    assert facts[0] in prompt.split("References:")[0]
    assert json.loads(Path("a/run.json").read_text())["found"] == {"entities": {"rules": 15}}
    assert "Entities of the questions were found by rules, without a model." in " ".join(out.split())


def test_the_model_is_asked_for_the_entities_first_and_rules_stand_in_where_it_says_none(cli, server):
    reply = json.dumps({"domain": "music", "artists": ["Idra Vanleer"]})
    server.rules.append(Rule("reply", match="how many grammy awards", times=1, message={"content": reply}))
    arguments = ("--retriever", "snippets-kg", "--llm", f"{server.url}#m", "--ledger", "L", "--out", "a")
    code, out, err = cli("run", "crag", "task_1_2", *SAMPLE, *arguments)
    assert (code, err) == (0, "")
    assert json.loads(Path("a/run.json").read_text())["found"] == {"entities": {"model": 1, "unreadable": 14}}
    told = "Entities by the model that answers: 1 of 15 questions; 14 by rules, since the reply could not be read."
    assert told in " ".join(out.split())
    assert len(server.state.bodies) == 30, "a call for the entities and one for the answer of every question"
    grammy = next(one for one in questions().values() if one.query.startswith("how many grammy"))
    (row,) = [row for row in lines("retrieved.jsonl") if row["id"] == grammy.id]
    assert any("idra vanleer" in passage["text"].lower() for passage in row["passages"] if passage["id"][:3] == "kg/")


ENTITIES = json.dumps({"domain": "music", "artists": ["Idra Vanleer"]})


@pytest.mark.slow
def test_an_entity_llm_finds_the_entities_in_place_of_the_model_that_answers(cli, server, stages):
    server.rules.append(Rule("reply", model="k", message={"content": ENTITIES}))
    arguments = ("run", "crag", "task_1_2", *SAMPLE, "--retriever", "snippets-kg", "--llm", f"{server.url}#m")
    arguments = (*arguments, "--temperature", "0.7", "--max-tokens", "50", "--ledger", "L")
    entity = ("--entity-llm", f"{server.url}#k", "--entity-service", "finds")
    code, out, err = cli(*arguments, *entity, "--out", "a")
    assert (code, err) == (0, "")
    asked = {name: [body for body in server.state.bodies if body["model"] == name] for name in ("m", "k")}
    assert len(asked["m"]) == len(asked["k"]) == 15
    assert all("JSON object" in body["messages"][0]["content"] for body in asked["k"])
    assert all("JSON object" not in body["messages"][0]["content"] for body in asked["m"])
    assert {(body["temperature"], body["max_tokens"]) for body in asked["k"]} == {(0, 512)}
    info = json.loads(Path("a/run.json").read_text())
    assert info["inputs"]["entity"] == {"model": "k", "temperature": 0, "max_tokens": 512}
    assert info["inputs"]["services"] == {"llm": server.url, "entity": "finds"}
    assert info["usage"]["llm"]["calls"] == info["usage"]["entity"]["calls"] == 15
    told = " ".join(out.split())
    assert "Entities by k: 15 of 15 questions." in told
    assert "model of the entities" in Path("a/report.html").read_text(encoding="utf-8")
    assert "calls: 15 made, 0 kept replies used; entity 15 made, 0 kept replies used" in told
    assert cli(*arguments, *entity, "--out", "b")[0] == 0 and len(server.state.bodies) == 30
    assert stages(Path("a")) == stages(Path("b"))
    code, _, err = cli(*arguments, "--out", "a")
    assert code == 2 and "holds a run with entity" in err
    code, _, err = cli(*arguments, *entity[:2], "--out", "a")
    assert code == 2 and 'services.entity "finds"' in err and 'give --entity-service "finds"' in err
    server.rules.insert(0, Rule("reply", model="k", message={"content": json.dumps({"domain": "open"})}))
    assert cli(*arguments, *entity, "--fresh", "--out", "a")[0] == 0
    assert len(server.state.bodies) == 60 and stages(Path("a")) != stages(Path("b"))


def test_the_extractive_baseline_may_have_a_model_find_the_entities(cli, server):
    server.rules.append(Rule("reply", model="k", message={"content": ENTITIES}))
    arguments = ("--retriever", "snippets-kg", "--entity-llm", f"{server.url}#k", "--ledger", "L", "--out", "a")
    code, out, err = cli("run", "crag", "task_1_2", *SAMPLE, *arguments)
    assert (code, err) == (0, "") and "Entities by k: 15 of 15" in " ".join(out.split())


def test_a_name_that_the_entity_server_does_not_list_is_labelled(cli, server):
    arguments = ("run", "crag", "task_1_2", *SAMPLE, "--retriever", "snippets-kg", "--ledger", "L", "--out", "a")
    arguments = (*arguments, "--entity-llm", f"{server.url}#meta-llama/Meta-Llama-3-8B-Instruct")
    code, _, err = cli(*arguments)
    assert code == 2 and "--entity-served-as" in err and err.count("\n") == 1
    server.state.any_model = True
    code, out, err = cli(*arguments, "--entity-served-as", "k", "-v")
    assert (code, err) == (0, "") and "entity, served by k" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("crag", "task_1_2", "--entity-llm", "{m}"), "crag task_1_2 asks for no entities as it is run here"),
        (("crag", "task_1_2", "--retriever", "none", "--entity-llm", "{m}"), "leave out --entity-llm"),
        (
            ("crag", "task_1_2", "--retriever", "snippets-kg", "--option", "entities=rules", "--entity-llm", "{m}"),
            "asks for no entities",
        ),
        (("rgb", "--all", "--entity-llm", "{m}"), "asks for no entities as it is run here"),
        (("crag", "--all", "--entity-llm", "extractive"), "--entity-llm extractive finds no entities"),
        (("crag", "--all", "--entity-llm", " "), "--entity-llm is empty"),
        (("crag", "--all", "--entity-service", "x"), "--entity-service is of a server, and no --entity-llm is none"),
    ],
)
def test_an_entity_llm_without_use_is_refused_in_one_line(cli, server, arguments, message):
    given = [one.format(m=f"{server.url}#m") for one in arguments]
    code, _, err = cli("run", *given, "--data-dir", "sample", "--ledger", "L", "--out", "a")
    assert code == 2 and message in err and err.count("\n") == 1, err
    assert server.state.requests == 0 and not Path("a/run.json").exists()


@pytest.mark.slow
def test_rows_of_the_papers_tables_say_where_other_models_found_the_entities(cli, server):
    finds = "meta-llama/Meta-Llama-3-8B-Instruct"
    server.models[:] = ["tiiuae/falcon-40b", finds]
    server.rules.append(Rule("reply", model=finds, message={"content": ENTITIES}))
    arguments = ("run", "--recipe", "crag-table11-falcon-40b", "--llm", server.url, "--data-dir", "sample")
    arguments = (*arguments, "--ledger", "L")
    said = "Entities: the paper's by Llama 3 8B for every model, ours not; name it with --entity-llm."
    code, out, err = cli(*arguments, "--out", "a")
    assert (code, err) == (0, "") and said in " ".join(out.split())
    code, out, err = cli(*arguments, "--entity-llm", server.url, "--out", "b")
    assert (code, err) == (0, "") and said not in " ".join(out.split())
    assert f"Entities by {finds}: 17 of 17 questions." in " ".join(out.split())
    inputs = [json.loads(path.read_text())["inputs"] for path in sorted(Path("b").glob("*/run.json"))]
    assert [one["retriever"] for one in inputs if "entity" in one] == ["snippets-kg"] * 2, "no other asks for entities"
    assert all(("entity" in one["services"]) == ("entity" in one) for one in inputs)


def test_the_graph_hides_what_a_question_could_not_know_unless_told_otherwise(cli):
    arguments = ("run", "crag", "task_1_2", *SAMPLE, "--retriever", "snippets-kg")
    assert cli(*arguments, "--out", "a")[0] == cli(*arguments, "--option", "later=show", "--out", "b")[0] == 0
    hidden, shown = ({row["id"]: row["passages"] for row in lines("retrieved.jsonl", f)} for f in ("a", "b"))
    assert hidden != shown
    # Asked on 23 February 2024, before upstream read the companies' figures.
    early = next(one for one in questions().values() if one.query.startswith("how much did quillmark"))

    def calls(passages):
        return [passage["title"] for passage in passages if passage["id"].startswith("kg/")]

    assert not any("market_cap" in title for title in calls(hidden[early.id]))
    infos = [json.loads(Path(f, "run.json").read_text())["inputs"]["retrieval"]["later"] for f in ("a", "b")]
    assert infos == ["hide", "show"]


def test_a_search_cut_short_goes_on_where_it_was(cli, monkeypatch, stages):
    arguments = ("run", "crag", "task_1_2", *SAMPLE, "--retriever", "snippets-kg")
    assert cli(*arguments, "--out", "a")[0] == 0
    real = crag_finder.PageFinder.find
    seen = []

    def broken(self, asked, llm, prompts, done):
        for number, found in enumerate(real(self, asked, llm, prompts, done)):
            if number == 6 and not seen:
                raise KeyboardInterrupt
            yield found

    monkeypatch.setattr(crag_finder.PageFinder, "find", broken)
    assert cli(*arguments, "--out", "b")[0] == 130
    partial = Path("b/retrieving.jsonl")
    partial.write_text(partial.read_text() + '{"config": "task_1_2", "cut')

    def counted(self, asked, llm, prompts, done):
        seen.append(len(asked) - len(done))
        yield from real(self, asked, llm, prompts, done)

    monkeypatch.setattr(crag_finder.PageFinder, "find", counted)
    assert cli(*arguments, "--out", "b")[0] == 0
    assert seen == [9] and not partial.exists()
    assert stages(Path("a")) == stages(Path("b"))


def test_all_four_settings_make_the_papers_table(cli):
    code, out, err = cli("run", "crag", "--all", "--data-dir", "sample", "--out", "a")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "Table 5. Truthfulness of answers" in text
    for block in ("LLM only", "Task 1", "Task 2", "Task 3"):
        assert f"{block} llama-3-70b-instruct" in text.replace("gpt-4-turbo-2024-04-09", "llama-3-70b-instruct")
    assert "35.6" in text and "43.6" in text and "not run" in text
    assert max(map(len, out.splitlines())) <= 80
    for folder in ("task_1_2", "task_1_2-none", "task_1_2-snippets-kg", "task_3-snippets-kg"):
        assert Path("a", folder, "scores.json").is_file()
    code, out, _ = cli("report", "a")
    assert code == 0 and "Table 5" in out
    shutil.copytree("a", "b")
    code, out, _ = cli("report", "a", "b")
    assert code == 0 and "task_1_2 public (snippets-kg): missing" in " ".join(out.split())


def test_a_recipe_of_a_table_runs_the_four_settings_with_its_windows(cli, server):
    server.models[:] = ["meta-llama/Meta-Llama-3-8B-Instruct"]
    arguments = ("--llm", server.url, "--data-dir", "sample", "--ledger", "L", "--out", "a")
    code, out, err = cli("run", "--recipe", "crag-table11-llama-3-8b-instruct", *arguments, "-v")
    assert (code, err) == (0, "")
    inputs = json.loads(Path("a/task_3-snippets-kg/run.json").read_text())["inputs"]
    assert inputs["retrieval"]["web_window"] == 16000 and inputs["retrieval"]["kg_window"] == 8000
    assert inputs["retrieval"]["later"] == "show" and inputs["llm"] == "meta-llama/Meta-Llama-3-8B-Instruct"
    assert "web_window 16000; kg_window 8000" in " ".join(out.split())
    assert "latency of an answer: median" in out


@pytest.mark.parametrize("named", [False, True])
def test_a_recipes_windows_are_tokens_of_the_tokenizer_or_four_characters_each(cli, server, words, named):
    """What the model was sent of pages whose snippets would fill any window."""
    server.models[:] = ["tiiuae/falcon-40b"]
    arguments = private("p.jsonl", ("a", ""), snippet="one two " * 20_000)[5:]
    recipe = (RECIPES / "crag-table11-falcon-40b.yaml").read_text().split("  - config")
    Path("task1.yaml").write_text("  - config".join([recipe[0], recipe[2]]))
    if named:
        arguments = (*arguments, "--option", f"window_tokenizer={words}")
    arguments = (*arguments, "--split", "private", "--llm", server.url, "--ledger", "L", "--out", "a")
    code, _, err = cli("run", "--recipe", "task1.yaml", *arguments)
    assert (code, err) == (0, "")
    (body,) = server.state.bodies
    shown = re.search(r"(?:one two )+", body["prompt"])[0]
    assert len(shown.split()) == 1000 if named else len(shown) == 4000


def test_real_questions_are_answered_from_their_real_pages_with_slices(cli, real_data):
    folder = real_data("CRAG")
    arguments = ("task_1_2", "--split", "public", "--data-dir", folder, "--llm", "extractive", "--out", "a")
    code, out, err = cli("run", "crag", *arguments)
    assert (code, err) == (0, "")
    assert len(lines("answers.jsonl")) == 6 and all(row["answer"] for row in lines("answers.jsonl"))
    assert "the example file dev_data.jsonl.bz2 in place of" in " ".join(out.split())
    assert scores()["domain=finance", "missing", "official"]["n_total"] == 2


MODEL = """
class UserModel:
    def get_batch_size(self):
        return 4

    def batch_generate_answer(self, batch):
        assert set(batch) == {"interaction_id", "query", "query_time", "search_results"}, sorted(batch)
        print("a batch of", len(batch["query"]))
        pages = [pages[0]["page_result"][:6] for pages in batch["search_results"]]
        return [f"{query} {page}" for query, page in zip(batch["query"], pages)]
"""


def test_a_model_file_of_the_challenge_is_run_as_it_is_and_asked_once(cli, stages):
    Path("mine/models").mkdir(parents=True)
    Path("mine/models/user_config.py").write_text(MODEL)
    arguments = ("run", "crag", "task_1_2", *SAMPLE, "--llm", "challenge:mine/models/user_config.py", "--ledger", "L")
    code, out, err = cli(*arguments, "--option", "time_limit=30", "--out", "a")
    assert code == 0, err
    known = questions()
    answers = {row["id"]: row for row in lines("answers.jsonl")}
    assert all(row["answer"].startswith(known[ident].query) for ident, row in answers.items()) and len(answers) == 15
    assert any("<" in row["answer"] for row in answers.values()), "the pages come with their HTML"
    info = json.loads(Path("a/run.json").read_text())
    assert info["inputs"]["llm"] == "challenge:user_config.py#UserModel" and info["latency"]["p95"] < 30
    assert "calls: 15 made, 0 kept replies used" in out and "latency of an answer: median" in out
    code, out, _ = cli(*arguments, "--option", "time_limit=30", "--out", "b")
    assert code == 0 and "calls: 0 made, 15 kept replies used" in out
    assert stages(Path("a")) == stages(Path("b"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("crag", "task_1_2", "--llm", "challenge:none.py"), "none.py"),
        (("crag", "task_1_2", "--llm", "challenge:m.py", "--retriever", "snippets"), "run crag with --retriever own"),
        (("crag", "task_1_2", "--retriever", "own"), "give --llm challenge:FILE.py#Class"),
        (("crag", "task_1_2", "--llm", "challenge:m.py", "--option", "time_limit=0"), "expected a whole number from 1"),
        (("crag", "task_1_2", "--llm", "challenge:m.py", "--samples", "2"), "leave out --samples"),
        (("rgb", "negative_rejection_en", "--llm", "challenge:m.py"), "is handed CRAG's pages themselves"),
        (("crag", "task_1_2", "--judge", "challenge:m.py"), "judges nothing"),
    ],
)
def test_a_challenge_model_where_it_cannot_be_is_one_line(cli, arguments, message):
    Path("m.py").write_text(MODEL)
    code, _, err = cli("run", *arguments, "--data-dir", "sample", "--ledger", "L", "--out", "a")
    assert code == 2 and message in err and err.count("\n") == 1, err
    assert not Path("a/answers.jsonl").exists()


def test_weights_add_means_over_domains_with_intervals_by_strata(cli, server):
    Path("weights.yaml").write_text(
        json.dumps(
            {
                kind: n
                for n, kind in enumerate(
                    sorted({question.slices["question_type"] for question in questions().values()}), 1
                )
            }
        )
    )
    server.rules.append(Rule("reply", model="m", message={"content": "forty-one"}))
    server.rules.append(Rule("reply", match="ostra", model="j", message={"content": YES}))
    server.rules.append(Rule("reply", model="j", message={"content": NO}))
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", "--judge", f"{server.url}#j", "--ledger", "L")
    code, out, err = cli(
        "run", "crag", "task_1_2", *SAMPLE, *arguments, "--option", "weights=weights.yaml", "--out", "a", "-v"
    )
    assert (code, err) == (0, "")
    weights = json.loads(Path("weights.yaml").read_text())
    values = {row["id"]: row["truthfulness.accuracy"]["official"] for row in lines("items.jsonl")}
    by_domain: dict[str, dict[str, list[float]]] = {}
    for ident, question in questions().items():
        kinds = by_domain.setdefault(question.slices["domain"], {})
        kinds.setdefault(question.slices["question_type"], []).append(values[ident])
    means = []
    for kinds in by_domain.values():
        total = sum(weights[kind] for kind in kinds)
        means.append(sum(weights[kind] * sum(found) / len(found) for kind, found in kinds.items()) / total)
    row = scores()["all", "accuracy_weighted", "official"]
    assert row["value"] == pytest.approx(sum(means) / len(means)) and 0 < row["value"] < 1
    low, high = row["interval"]
    assert low < row["value"] < high and (row["method"], row["n_scored"]) == ("wilson", 15)
    graded = scores()["all", "truthfulness_weighted", "official"]
    low, high = graded["interval"]
    assert low - 1e-9 <= graded["value"] <= high + 1e-9 and graded["method"] == "bca"
    assert "accuracy_weighted" in out
    Path("weights.yaml").write_text(json.dumps(dict.fromkeys(weights, 1)))
    code, _, err = cli("run", "crag", "task_1_2", *SAMPLE, *arguments, "--option", "weights=weights.yaml", "--out", "a")
    assert code == 2 and "holds a run with options.weights" in err, "other weights are another run"


def test_a_type_without_a_weight_is_named_before_anything_is_asked(cli, server):
    Path("weights.yaml").write_text("{simple: 1}")
    arguments = ("--retriever", "none", "--llm", f"{server.url}#m", "--judge", f"{server.url}#j", "--ledger", "L")
    code, _, err = cli("run", "crag", "qa", *SAMPLE, *arguments, "--option", "weights=weights.yaml", "--out", "a")
    assert code == 2 and "weights.yaml has no weight of" in err and err.count("\n") == 1
    assert server.state.requests == 0


def test_a_failed_call_for_entities_is_made_again_and_its_facts_come_in(cli, server, stages):
    reply = json.dumps({"domain": "music", "artists": ["Idra Vanleer"]})
    from quadrag.baselines.crag.language.entities import PROMPT_SCHEMA

    entities = PROMPT_SCHEMA[:60]
    server.rules.append(Rule("reply", match=entities, times=6, message={"content": reply}))
    server.rules.append(Rule("status", match=entities, status=400, times=4))
    server.rules.append(Rule("reply", match=entities, message={"content": reply}))
    arguments = ("run", "crag", "task_1_2", *SAMPLE, "--retriever", "snippets-kg", "--llm", f"{server.url}#m")
    arguments = (*arguments, "--max-tokens", "50", "--concurrency", "1", "--ledger", "L")
    code, out, _ = cli(*arguments, "--out", "a")
    assert code == 0
    assert json.loads(Path("a/run.json").read_text())["found"] == {"entities": {"failed": 4, "model": 11}}
    assert "4 by rules, since the call failed; run again to ask again." in " ".join(out.split())
    asked = {body["max_tokens"] for body in server.state.bodies if entities in body["messages"][-1]["content"]}
    assert asked == {512}, "short answers leave room for a list of entities"
    answers = [body for body in server.state.bodies if entities not in body["messages"][-1]["content"]]
    assert {body["max_tokens"] for body in answers} == {50} and len(answers) == 15
    code, out, _ = cli(*arguments, "--out", "a")
    assert code == 0 and json.loads(Path("a/run.json").read_text())["found"] == {"entities": {"model": 15}}
    assert cli(*arguments, "--out", "b")[0] == 0
    assert stages(Path("a")) == stages(Path("b"))


def private(path, *rows, snippet="s"):
    page = {"page_name": "p", "page_url": "u", "page_snippet": snippet, "page_last_modified": ""}
    for number, (answer, html) in enumerate(rows):
        row = {
            "interaction_id": f"q{number}",
            "query_time": "03/01/2024, 10:00:00 PT",
            "domain": "open",
            "question_type": "simple",
            "static_or_dynamic": "static",
            "query": f"question {number}?",
            "answer": answer,
            "split": 2,
            "popularity": "",
            "search_results": [{**page, "page_result": html}],
        }
        with Path(path).open("a") as file:
            file.write(json.dumps(row) + "\n")
    return ("run", "crag", "task_1_2", "--split", "private", "--option", f"private_file={path}")


def test_other_pages_are_another_run_though_the_snippets_are_the_same(cli):
    Path("m.py").write_text(MODEL)
    arguments = private("p.jsonl", ("a", "<p>one</p>"))
    model = ("--llm", "challenge:m.py", "--ledger", "L", "--out", "a")
    assert cli(*arguments, *model)[0] == 0
    Path("p.jsonl").unlink()
    private("p.jsonl", ("a", "<b>two</b>"))
    code, _, err = cli(*arguments, *model)
    assert code == 2 and "holds a run with search.pages" in err


def test_withheld_and_blank_answers_are_not_applicable(cli):
    code, _, err = cli(*private("p.jsonl", (None, ""), ("  ", ""), ("paris", "")), "--out", "a")
    assert (code, err) == (0, "")
    for key in ("missing", "accuracy_bounded"):
        row = scores()["all", key, "official"]
        assert (row["n_total"], row["n_scored"], row["n_not_applicable"]) == (3, 1, 2), key


def test_what_a_later_run_of_several_lacks_is_said_before_the_first(cli, server):
    server.models[:] = ["tiiuae/falcon-40b"]
    arguments = ("run", "--recipe", "crag-table11-falcon-40b", "--llm", server.url, "--data-dir", "sample")
    for options, message in (
        (("--option", "kg=none.sqlite"), "no knowledge graph 'none.sqlite'"),
        (("--option", "time_limit=3"), "none of these runs uses the option time_limit"),
        (("--option", "web_windows=3"), "unknown option of crag 'web_windows'; nearest: web_window"),
    ):
        code, _, err = cli(*arguments, *options, "--ledger", "L", "--out", "a")
        assert code == 2 and message in err and err.count("\n") == 1, err
    assert not [body for body in server.state.bodies], "nothing was paid for"


@pytest.mark.slow
def test_a_recipe_stands_in_its_own_table(cli, server):
    server.models[:] = ["tiiuae/falcon-40b"]
    arguments = ("--llm", server.url, "--data-dir", "sample", "--ledger", "L")
    code, out, _ = cli("run", "--recipe", "crag-table11-falcon-40b", *arguments, "--out", "a")
    assert code == 0 and "Table 11. " in out and re.search(r"falcon-40b<? +21\.9", out)
    server.models[:] = ["gpt-4-turbo-2024-04-09", "meta-llama/Meta-Llama-3-70B-Instruct"]
    code, out, _ = cli("run", "--recipe", "crag-table5", *arguments, "--out", "b")
    assert code == 0 and "Table 5. " in out and "falcon" not in out.partition("Published:")[0]


def test_scored_answers_stand_beside_no_row_unless_their_passages_are_said(cli):
    assert cli("run", "crag", "task_1_2", *SAMPLE, "--out", "a")[0] == 0
    base = ("score", "a/answers.jsonl", "--benchmark", "crag", "--config", "task_1_2", *SAMPLE)
    code, out, _ = cli(*base)
    assert code == 0 and "Published" not in out and "so none stands beside" in " ".join(out.split())
    code, out, _ = cli(*base, "--retriever", "snippets")
    assert code == 0 and "0.5 llama-2-7b-chat" in out
