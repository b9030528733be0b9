"""The knowledge graph in CRAG's runs: a model finds a question's entities, and its facts stand before the web."""

import json
from pathlib import Path

import pytest
from chat_server import Rule
from crag_runs import SAMPLE, lines, questions
from specs import spec_file

from quadrag.baselines.crag.entities import PROMPT_SCHEMA, SampleEntities
from quadrag.results import read_run

ENTITIES = json.dumps({"domain": "music", "artists": ["Idra Vanleer"]})
ASKED = PROMPT_SCHEMA[:60]  # what a request for entities holds
GRAPH = ("run", "crag", "task_1_2", *SAMPLE, "--retriever", "snippets-kg", "--ledger", "L")


def shown(folder="a"):
    return {row["id"]: row["passages"] for row in lines("retrieved.jsonl", folder)}


def found(folder="a"):
    return json.loads(Path(folder, "run.json").read_text())["found"]


@pytest.fixture
def knowing(server):
    """The model k finds the entities of every question of the sample."""
    for question in questions().values():
        reply = SampleEntities().complete([[{"role": "user", "content": f"Question: {question.query}"}]])[0].text
        server.rules.append(Rule("reply", match=f"Question: {question.query}", model="k", message={"content": reply}))
    return ("--entity-llm", f"{server.url}#k")


def test_facts_of_the_graph_stand_before_the_web_in_a_window_of_their_own(cli, server, knowing):
    options = ("--option", "kg_window=75", "--option", "web_window=50")
    code, _, err = cli(*GRAPH, *knowing, "--llm", f"{server.url}#m", *options, "--out", "a")
    assert (code, err) == (0, "") and found() == {"entities": {"model": 15}}
    (grammy,) = [one for one in questions().values() if one.query.startswith("how many grammy")]
    kinds = [passage["id"].partition("/")[0] for passage in shown()[grammy.id]]
    assert kinds == sorted(kinds) and "kg" in kinds and "web" in kinds
    facts = [passage["text"] for passage in shown()[grammy.id] if passage["id"].startswith("kg/")]
    assert sum(map(len, facts)) <= 300 and '{"Idra Vanleer":3}' in facts[0]
    bodies = [body for body in server.state.bodies if body["model"] == "m"]
    (prompt,) = [text for body in bodies if grammy.query in (text := body["messages"][0]["content"])]
    assert facts[0] in prompt.split("References:")[0]


def test_the_model_that_answers_is_asked_first_and_an_unreadable_reply_gives_no_facts(cli, server):
    server.rules.append(Rule("reply", match="how many grammy awards", times=1, message={"content": ENTITIES}))
    code, _, err = cli(*GRAPH, "--llm", f"{server.url}#m", "--out", "a")
    assert (code, err) == (0, "") and found() == {"entities": {"model": 1, "unreadable": 14}}
    assert len(server.state.bodies) == 30, "a call for the entities and one for the answer of every question"
    (grammy,) = [one.id for one in questions().values() if one.query.startswith("how many grammy")]
    with_facts = {i for i, passages in shown().items() if any(one["id"].startswith("kg/") for one in passages)}
    assert with_facts == {grammy}


def test_without_a_model_for_entities_a_run_with_the_graph_says_what_to_give(cli):
    code, _, err = cli(*GRAPH, "--out", "a")
    assert code == 2 and "--entity-llm" in err and err.count("\n") == 1 and not Path("a").exists()
    code, out, err = cli("run", "crag", "--all", "--data-dir", "sample", "--out", "b")
    assert (code, err) == (0, "") and "not run" in out and "--entity-llm" in out
    assert sorted(path.name for path in Path("b").iterdir() if path.is_dir()) == ["task_1_2", "task_1_2-none"]


@pytest.mark.slow
def test_an_entity_llm_finds_the_entities_in_place_of_the_model_that_answers(cli, server, stages):
    server.rules.append(Rule("reply", model="k", message={"content": ENTITIES}))
    asking = (*GRAPH, "--llm", f"{server.url}#m", "--temperature", "0.7", "--max-tokens", "50")
    entity = ("--entity-llm", f"{server.url}#k", *spec_file(entity_model={"name": "finds"}))
    assert cli(*asking, *entity, "--out", "a").code == 0
    asked = {name: [body for body in server.state.bodies if body["model"] == name] for name in ("m", "k")}
    assert len(asked["m"]) == len(asked["k"]) == 15
    assert all(ASKED in body["messages"][0]["content"] for body in asked["k"])
    assert {(body["temperature"], body["max_tokens"]) for body in asked["k"]} == {(0, 512)}
    info = read_run(Path("a"))
    assert info.entity["parameters"] == {"temperature": 0, "max_tokens": 512}
    assert (info.entity["model"], info.services) == ("finds", {"llm": server.url, "entity": "finds"})
    assert info.usage["llm"]["calls"] == info.usage["entity"]["calls"] == 15
    assert cli(*asking, *entity, "--out", "b").code == 0 and len(server.state.bodies) == 30
    assert stages(Path("a")) == stages(Path("b"))
    for other in ((), entity[:2]):
        code, _, err = cli(*asking, *other, "--out", "a")
        assert code == 2 and "entity" in err and err.count("\n") == 1
    server.rules.insert(0, Rule("reply", model="k", message={"content": json.dumps({"domain": "open"})}))
    assert cli(*asking, *entity, "--fresh", "--out", "a").code == 0
    assert len(server.state.bodies) == 60 and stages(Path("a")) != stages(Path("b"))


def test_the_graph_hides_what_a_question_could_not_know_unless_told_otherwise(cli, knowing):
    assert cli(*GRAPH, *knowing, "--out", "a").code == 0
    assert cli(*GRAPH, *knowing, "--option", "later=show", "--out", "b").code == 0
    # Asked on 23 February 2024, before upstream read the companies' figures.
    (early,) = [one.id for one in questions().values() if one.query.startswith("how much did quillmark")]
    titles = [[one["title"] for one in shown(f)[early] if one["id"].startswith("kg/")] for f in ("a", "b")]
    assert [any("market_cap" in title for title in named) for named in titles] == [False, True]
    infos = [read_run(Path(f)).retrieval["later"] for f in ("a", "b")]
    assert infos == ["hide", "show"]


def test_a_failed_call_for_entities_is_made_again_and_its_facts_come_in(cli, server, stages):
    server.rules.append(Rule("reply", match=ASKED, times=6, message={"content": ENTITIES}))
    server.rules.append(Rule("status", match=ASKED, status=400, times=4))
    server.rules.append(Rule("reply", match=ASKED, message={"content": ENTITIES}))
    asking = (*GRAPH, "--llm", f"{server.url}#m", "--max-tokens", "50", "--concurrency", "1")
    assert cli(*asking, "--out", "a").code == 0
    assert found() == {"entities": {"failed": 4, "model": 11}}
    asked = {body["max_tokens"] for body in server.state.bodies if ASKED in body["messages"][-1]["content"]}
    assert asked == {512}, "short answers leave room for a list of entities"
    answers = [body for body in server.state.bodies if ASKED not in body["messages"][-1]["content"]]
    assert {body["max_tokens"] for body in answers} == {50} and len(answers) == 15
    assert cli(*asking, "--out", "a").code == 0 and found() == {"entities": {"model": 15}}
    assert cli(*asking, "--out", "b").code == 0
    assert stages(Path("a")) == stages(Path("b"))
