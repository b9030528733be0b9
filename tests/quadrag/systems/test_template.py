"""Chats as prompts: our templates letter by letter, files, what is refused; runs and recipes with completions."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer
from specs import spec_file

from quadrag.run.plan import read_recipe, recipes
from quadrag.systems.models import CompletionsTransport

pytestmark = pytest.mark.plugins

SYSTEM, ASKED = {"role": "system", "content": "S"}, {"role": "user", "content": "Q1"}
TALK = [SYSTEM, ASKED, {"role": "assistant", "content": "A1"}, {"role": "user", "content": "Q2"}]
VICUNA = (
    "A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions. "
)
PROMPTS = {
    "plain": ("Q1", "S\n\nQ1", "S\n\nQ1\n\nA1\n\nQ2"),
    "vicuna": tuple(
        VICUNA + text
        for text in (
            "USER: Q1 ASSISTANT:",
            "USER: S\n\nQ1 ASSISTANT:",
            "USER: S\n\nQ1 ASSISTANT: A1</s>USER: Q2 ASSISTANT:",
        )
    ),
    "belle": (
        "Human: Q1\n\nAssistant:",
        "Human: S\n\nQ1\n\nAssistant:",
        "Human: S\n\nQ1\n\nAssistant: A1\n\nHuman: Q2\n\nAssistant:",
    ),
    "chatglm": ("Q1", "S\n\nQ1", "[Round 0]\n问：S\n\nQ1\n答：A1\n[Round 1]\n问：Q2\n答："),
    "chatglm2": (
        "[Round 1]\n\n问：Q1\n\n答：",
        "[Round 1]\n\n问：S\n\nQ1\n\n答：",
        "[Round 1]\n\n问：S\n\nQ1\n\n答：A1\n\n[Round 2]\n\n问：Q2\n\n答：",
    ),
}
# The rows of the papers whose model has no chat interface.
ROWS = {
    "rgb": {"vicuna-7b-v1.3": "vicuna", "belle-7b-2m": "belle", "chatglm-6b": "chatglm", "chatglm2-6b": "chatglm2"},
    "crud_rag": {"chatglm2-6b": "chatglm2"},
    "crag": {"falcon-40b": "plain", "flan-t5-xxl-11b": "plain"},
}
ASKING = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", "2", "--ledger", "L")


def test_our_templates():
    for name, prompts in PROMPTS.items():
        composed = map(CompletionsTransport(name).compose, ([ASKED], [SYSTEM, ASKED], TALK))
        assert tuple(prompt["content"] for (prompt,) in composed) == prompts
    assert len({CompletionsTransport(name).parameters["template"] for name in PROMPTS}) == len(PROMPTS)


def test_braces_and_tags_of_a_text_stay_what_they_are():
    text = "{{ 7 * 7 }} {% raw %} {# c #}\n"
    (prompt,) = CompletionsTransport("plain").compose([{"role": "user", "content": text}])
    assert prompt["content"] == text


def test_a_run_sends_prompts_and_says_so(cli):
    with ChatServer(text=" insufficient information\n") as server:

        def spoken(name):
            return spec_file(system={"api": "completions", "template": name})

        asked = (*ASKING, "--llm", f"{server.url}#m")
        assert cli(*asked, *spoken("vicuna"), "--out", "a")[::2] == (0, "")
        assert len(server.bodies) == 2 and all(
            set(body) == {"model", "prompt", "temperature"} for body in server.bodies
        )
        for body in server.bodies:
            assert body["prompt"].startswith(f"{VICUNA}USER: ") and body["prompt"].endswith(" ASSISTANT:")
        parameters = json.loads(Path("a/run.json").read_text("utf-8"))["digests"]["system"]["parameters"]
        assert (
            parameters["api"] == "completions"
            and parameters["template"] == CompletionsTransport("vicuna").parameters["template"]
        )
        answers = [json.loads(line)["answer"] for line in Path("a/answers.jsonl").read_text("utf-8").splitlines()]
        assert answers == ["insufficient information"] * 2
        code, _, err = cli(*asked, *spoken("belle"), "--out", "a")
        assert code == 2 and "parameters" in err, "another template is another run"
        assert cli(*ASKING, "--llm", f"{server.url}#m", "--out", "b")[::2] == (0, "")
        assert len(server.bodies) == 4 and "messages" in server.bodies[-1], "a chat is another call"


def test_recipes_of_models_without_a_chat_interface_name_their_template():
    for name in recipes():
        _, recipe = read_recipe(name)
        published, asked = recipe["published"], recipe.get("system", {})
        row = str(published.get("model", published.get("llm")))
        template = ROWS.get(recipe["benchmark"], {}).get(row)
        assert (asked.get("api"), asked.get("template")) == ("completions" if template else None, template), name


def test_a_recipe_asks_for_completions_and_the_user_may_say_otherwise(cli):
    with ChatServer(models=["THUDM/chatglm2-6b"], text="x") as server:
        asked = ("run", "--recipe", "rgb-table3-chatglm2-6b", "--data-dir", "sample", "--limit", "1", "--ledger", "L")
        for more, field in (((), "prompt"), (spec_file(system={"api": "chat", "template": None}), "messages")):
            server.bodies.clear()
            code, _, err = cli(*asked, "--llm", server.url, *more, "--out", field)
            assert (code, err) == (0, "") and server.bodies and all(field in body for body in server.bodies)
            assert field != "prompt" or all(body["prompt"].startswith("[Round 1]\n\n问：") for body in server.bodies)
