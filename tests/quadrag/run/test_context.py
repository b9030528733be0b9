"""What a small server's model is: a context that prompts are told by or cut to, and a name that is a path."""

import json
import re
from pathlib import Path

import pytest
from chat_server import ChatServer
from rgb_runs import ONE, rows

from quadrag.chat.tokens import reckon_chat
from quadrag.results import read_run

pytestmark = pytest.mark.plugins

SHORT = 150  # tokens, fewer than any prompt of these has
RUNS = [
    (("rgb", "noise_robustness_zh", "--split", "noise_40"), 330),
    (("crag", "task_1_2", "--retriever", "snippets"), 330),
    (("crud_rag", "qa_1doc"), 900),
    (("omnieval", "extractive_qa"), 900),
]


def ask(cli, url, *more):
    return cli("run", *more, "--data-dir", "sample", "--llm", url, "--ledger", "L", "--max-tokens", 50)


@pytest.mark.parametrize(
    "facts", [{"max_model_len": SHORT}, {"meta": {"n_ctx": SHORT}}], ids=lambda facts: next(iter(facts))
)
def test_calls_that_do_not_fit_are_told_before_they_are_made(cli, facts):
    with ChatServer(facts=facts) as server:
        ran = ask(cli, server.url, "rgb", "negative_rejection_en", "--out", "r")
        assert ran.code == 0 and re.findall(r"\d+", ran.err)[:3] == ["12", "12", str(SHORT)] and server.requests == 12
        assert ask(cli, server.url, "rgb", "negative_rejection_en", "--out", "again").err == "", "all are kept"


@pytest.mark.parametrize("facts", [{}, {"meta": None}, {"max_model_len": "4096"}, {"meta": {"n_ctx": 0}}], ids=str)
def test_a_server_that_says_nothing_of_its_context_is_believed_to_take_all(cli, facts):
    with ChatServer(facts=facts) as server:
        assert ask(cli, server.url, "rgb", "negative_rejection_en", "--out", "r")[::2] == (0, "")


@pytest.mark.parametrize(("run", "context"), RUNS, ids=lambda value: str(value[0]) if isinstance(value, tuple) else "")
def test_passages_are_left_out_from_the_last_until_a_prompt_fits(cli, run, context):
    with ChatServer() as server:
        assert ask(cli, server.url, *run, "--out", "whole").code == 0
        whole = [reckon_chat(body["messages"]) + 50 for body in server.bodies]
        server.bodies.clear()
        ran = ask(cli, server.url, *run, "--out", "r", "--context", context)
        sent = [reckon_chat(body["messages"]) + 50 for body in server.bodies]
        other = ask(cli, server.url, *run, "--out", "whole", "--context", context)
    before, after = ([row["passages"] for row in rows(f"{name}/retrieved.jsonl")] for name in ("whole", "r"))
    assert ran.code == 0 and max(whole) > context >= max(sent) and all(map(len, after)), "those that fit are kept ones"
    assert all(fewer == more[: len(fewer)] for fewer, more in zip(after, before, strict=True))
    cut = sum(len(fewer) < len(more) for fewer, more in zip(after, before, strict=True))
    record = read_run(Path("r"))
    assert record.found["cut"] == cut == sum(size > context for size in whole) and record.spec.context == context
    assert other.code == 2 and f"context None, not {context}" in other.err


@pytest.mark.parametrize(
    "path", ["/home/ann/models/small-q4.gguf", "C:\\models\\small-q4.gguf", "models/small-q4.gguf"]
)
def test_a_model_that_its_server_names_by_a_path_is_shown_by_the_last_part(cli, path):
    with ChatServer(models=[path], text="Yes, it is addressed.") as server:
        judged = ("--judge", server.url, "--out", "r", "--json")
        ran = cli(*ONE, "--llm", server.url, "--ledger", "L", *judged)
        assert {body["model"] for body in server.bodies} == {path}
    kept = [file.read_text(encoding="utf-8") for file in Path("r").iterdir()]
    parts = [json.dumps(part)[1:-1] for part in (path, path.removesuffix("small-q4.gguf"))]
    assert not [part for part in parts for text in (ran.out, ran.err, *kept) if part in text]
    record = read_run(Path("r"))
    assert record.llm == record.judge == "small-q4.gguf" == json.loads(ran.out)["name"]
