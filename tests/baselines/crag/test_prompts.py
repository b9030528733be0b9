"""Prompts of the user's own, with the slots and the fields of those that the paper prints; the words are ours."""

import json
from pathlib import Path

import pytest
import yaml
from chat_server import ChatServer, Rule
from crag_runs import questions, scores

from quadrag.prompts import load_prompts
from quadrag.records import read_jsonl

SAMPLE = ("crag", "task_1_2", "--data-dir", "sample", "--split", "public", "--ledger", "L")
# As the paper has them: A.3.1 with its slots, the entities and A.2.2's judge without any.
PAPERS = {
    "llm_only": {"user": "ALONE. Query: {query} at {query_time}"},
    "web": {"user": "WEB. {references} Query: {query} at {query_time}"},
    "web_kg": {"user": "BOTH. {web_results} and {kg_response} Query: {query} at {query_time}"},
    "entities": {"user": 'ENTITIES. Write JSON only, such as {"domain": "music"}.'},
    "judge": {"user": 'JUDGE. Write {"Accuracy": "True"} or {"Accuracy": "False"}.'},
}
FOUND = {"domain": "music", "artist_name": "Idra Vanleer", "artist_aspect": "grammy award count"}


@pytest.fixture
def server():
    with ChatServer(models=["m", "j"], text="three of them") as running:
        yield running


def write(**changes):
    content = {**PAPERS, **changes}
    Path("mine.yaml").write_text(yaml.safe_dump({key: text for key, text in content.items() if text}))
    return "mine.yaml"


def sent(server, word):
    """What was sent with a prompt that begins with a word."""
    return [text for body in server.state.bodies if (text := body["messages"][0]["content"]).startswith(word)]


def test_a_file_of_the_papers_prompts_reaches_the_model_the_entities_and_the_judge(cli, server):
    server.rules.append(Rule("reply", match="ENTITIES", message={"content": json.dumps(FOUND)}))
    server.rules.append(Rule("reply", match="how many grammy", model="j", message={"content": '{"Accuracy": "True"}'}))
    server.rules.append(Rule("reply", model="j", message={"content": '{"Accuracy": "False", "Explanation": "no"}'}))
    models = ("--llm", f"{server.url}#m", "--judge", f"{server.url}#j", "--retriever", "snippets-kg")
    code, out, err = cli("run", *SAMPLE, *models, "--prompts", write(), "--out", "a")
    assert (code, err) == (0, "")
    assert len(sent(server, "BOTH")) == len(sent(server, "ENTITIES")) == 15 and not sent(server, "Answer")
    (grammy,) = [text for text in sent(server, "BOTH") if "how many grammy" in text]
    assert '{"music_grammy_get_award_count_by_artist":{"Idra Vanleer":3}}' in grammy.partition(" and ")[2]
    (asked,) = [text for text in sent(server, "ENTITIES") if "how many grammy" in text]
    assert asked.startswith(PAPERS["entities"]["user"] + "\n\nQuery Time: ") and "\nQuestion: how many" in asked
    judged = sent(server, "JUDGE")
    assert len(judged) == 13, "two golds are `invalid question`, which rules decide"
    lines = judged[0].splitlines()
    assert lines[0] == PAPERS["judge"]["user"] and lines[4] == 'Prediction: "three of them"'
    assert json.loads(lines[3].removeprefix("Accepted answers: "))
    found = scores("a")
    for profile in ("official", "corrected"):
        row = found["all", "accuracy", profile]
        assert row["value"] == pytest.approx(1 / 15) and row["n_scored"] == 15, "every verdict is read"
    assert "a prompt of the user's own" in " ".join(out.split())
    assert cli("run", *SAMPLE, *models, "--out", "b", "--max-failed", 1)[0] == 0
    signatures = [scores(folder)["all", "accuracy", "official"]["signature"] for folder in "ab"]
    assert signatures[0] != signatures[1] and all("|prompt:" in one for one in signatures)
    code, _, err = cli("run", *SAMPLE, *models, "--prompts", write(judge={"user": "JUDGE otherwise."}), "--out", "a")
    assert code == 2 and "a holds a run with" in err


@pytest.mark.parametrize(("retriever", "word"), [("none", "ALONE"), ("snippets", "WEB")])
def test_the_papers_slots_of_the_other_tasks_are_filled(cli, server, retriever, word):
    models = ("--llm", f"{server.url}#m", "--retriever", retriever)
    assert cli("run", *SAMPLE, *models, "--prompts", write(), "--out", "a")[0] == 0
    texts = sent(server, word)
    assert len(texts) == 15 and not any("{" in text for text in texts)


def test_a_judges_prompt_with_slots_is_filled_and_serves_a_file_of_answers_too(cli, server):
    server.rules.append(Rule("reply", model="j", message={"content": '{"score": 1}'}))
    mine = write(judge={"user": "JUDGE {question} {reference} {answer}"})
    grammy = next(one for one in questions().values() if one.query.startswith("how many grammy"))
    Path("answers.jsonl").write_text(json.dumps({"id": grammy.id, "answer": "three of them"}) + "\n")
    code, out, err = cli(
        *("score", "answers.jsonl", "--benchmark", *SAMPLE[:1], "--config", *SAMPLE[1:]),
        *("--judge", f"{server.url}#j", "--prompts", mine, "--out", "a"),
    )
    assert (code, err) == (0, ""), out
    assert all(text.endswith('"three of them"') for text in sent(server, "JUDGE")) and sent(server, "JUDGE")
    assert "a prompt of the user's own" in " ".join(out.split())


def test_a_judges_prompt_serves_a_system_that_is_told_nothing(cli, server):
    server.rules.append(Rule("reply", model="j", message={"content": '{"Accuracy": "False"}'}))
    arguments = ("run", *SAMPLE, "--prompts", write(), "--out", "a")
    assert cli(*arguments, "--judge", f"{server.url}#j")[0] == 0 and sent(server, "JUDGE")
    code, _, err = cli(*arguments[:-1], "b")
    assert code == 2 and "--prompts are for a chat model" in err


def test_the_same_words_by_other_names_of_the_slots_are_the_same_run(cli, server):
    models = ("--llm", f"{server.url}#m", "--retriever", "snippets")
    ours = {key: dict(parts) for key, parts in load_prompts("crag").items()}
    ours["web"]["user"] = ours["web"]["user"].replace("{web}", "{references}")
    Path("same.yaml").write_text(yaml.safe_dump(ours))
    assert cli("run", *SAMPLE, *models, "--out", "a")[0] == 0
    code = cli("run", *SAMPLE, *models, "--prompts", "same.yaml", "--out", "a").code
    assert code == 0 and server.state.requests == 15
    assert len(list(read_jsonl(Path("a/answers.jsonl")))) == 15
