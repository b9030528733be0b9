"""Every recipe by a scripted model: what enters is true of its source, the same again after kills, less at a budget."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from chat_server import ChatServer
from maker_model import Manner, make_reply
from warm import Warm

from quadrag import catalogue, cli
from quadrag.construct.recipe import language_of, stands_in

TABLE = Path(__file__).parents[3] / "baselines" / "crag" / "construct" / "sample"
CONCURRENCY = 4
RECIPES = [name for name in catalogue.names() if name != "crag"]  # which reads a table and asks no model
# The pauses between attempts at a call that fails are made short; how often it is tried stays.
IMPORTS = """
from quadrag import cli
from quadrag.construct import construct
from quadrag.baselines.rgb import construct as recipe
from quadrag.chat import calls
calls.backoff = lambda attempt: 0.05
"""
RUN = "import sys\nsys.exit(cli.main(arguments))"


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def command(recipe, documents, out, server, ledger):
    asked = ["--llm", f"{server.url}#m", "--concurrency", str(CONCURRENCY), "--ledger", str(ledger)]
    return ["construct", recipe, "--documents", str(documents), "--out", str(out), *asked]


def check_rgb(folder):
    """Hold every item of a dataset against what RGB's files promise; return the files that have some."""
    found = set()
    for path in folder.glob("zh*.json"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            found.add(path.stem)
            assert language_of(line["query"]) == "zh"
            aspects = line["positive"] if path.stem == "zh_int" else [line["positive"]]
            for answers, positive in zip(line["answer"], aspects, strict=True):
                assert positive and all(any(stands_in(answer, text) for answer in answers) for text in positive)
                assert not any(stands_in(answer, text) for answer in answers for text in line["negative"])
                assert not any(len(answer) > 1 and stands_in(answer, line["query"]) for answer in answers)
            assert len(line["negative"]) >= 5
            if path.stem == "zh_fact":
                (fake,) = line["fakeanswer"]
                assert len(line["positive_wrong"]) == len(line["positive"])
                assert all(stands_in(fake, text) for text in line["positive_wrong"])
                assert not any(stands_in(a, text) for a in line["answer"][0] for text in line["positive_wrong"])
    return found


@pytest.mark.parametrize("recipe", RECIPES)
def test_whatever_a_model_says_only_what_holds_enters_and_no_reply_is_asked_for_twice(recipe, documents, tmp_path):
    out = tmp_path / "mine"
    with ChatServer(text=make_reply) as server:
        line = command(recipe, documents, out, server, tmp_path / "ledger.sqlite")
        assert cli.main(line) == 0
        asked, first = server.requests, files(out)
        assert asked > 0
        assert cli.main(line) == 0
        assert server.requests == asked
    assert files(out) == first
    record = json.loads(first["construct.json"])
    dropped = {why for step in record["steps"] for why in step["dropped"]}
    assert "unreadable reply" in dropped and (
        recipe == "omnieval" or {"answer is not in the source", "question in another language"} <= dropped
    )
    if recipe == "rgb":
        assert check_rgb(out) >= {"zh", "zh_refine", "zh_int"}
    card = first["README.md"].decode()
    assert "by the model `m`" in card and "Made by rule" not in card
    for step in record["steps"]:
        (path,) = (out / "stages").glob(f"[0-9][0-9]-{step['step']}.jsonl")
        lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
        assert sum("dropped" not in row for row in lines) == step["kept"]
        assert sum("dropped" in row for row in lines) == sum(step["dropped"].values())


def test_every_kind_of_rgbs_files_is_made_and_run(made, tmp_path):
    dataset = made("rgb")
    assert check_rgb(dataset) == {"zh", "zh_refine", "zh_int", "zh_fact"}
    for config in ("information_integration_zh", "counterfactual_robustness_zh"):
        assert cli.main(["run", "rgb", config, "--data-dir", str(dataset), "--out", str(tmp_path / config)]) == 0


@pytest.mark.slow(0, 1, 10)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("recipe", catalogue.names())
def test_killed_and_run_again_it_is_the_same(recipe, documents, tmp_path, rounds):
    """The server is late, silent, cuts connections, fails, and says much that is wrong: see `Manner` and `FAULTS`."""
    draw, manner = random.Random(18), Manner()
    given = ["--table", TABLE / "table.csv", "--templates", TABLE / "templates.yaml", "--documents", TABLE / "pages"]
    with (
        ChatServer(text=manner.reply, latency=manner.latency, manner=manner.rule) as server,
        Warm(IMPORTS, RUN, tmp_path, os.environ) as warm,
    ):

        def line(name):
            if recipe == "crag":
                return ["construct", "crag", *map(str, given), "--out", str(tmp_path / name)]
            asked = command(recipe, documents, tmp_path / name, server, tmp_path / f"{name}.sqlite")
            return [*asked, "--timeout", "1"]

        began = time.monotonic()
        assert warm.start(*line("whole")).wait() == 0, warm.errors.read_text()
        took, calls = time.monotonic() - began, manner.said
        manner.begin_again()
        for _ in range(rounds):
            process = warm.start(*line("killed"))
            time.sleep(draw.uniform(0, took))
            process.kill()
            process.wait()
        assert warm.start(*line("killed")).wait() == 0, warm.errors.read_text()
        assert manner.said <= calls + rounds * CONCURRENCY, "a kill repeats at most the calls in flight"
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_a_budget_leaves_a_smaller_dataset_which_more_money_completes(documents, tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"m": {"input": 1.0, "output": 1.0}}))
    with ChatServer(text=make_reply) as server:
        whole = command("rgb", documents, tmp_path / "whole", server, tmp_path / "a.sqlite")
        assert cli.main(whole) == 0
        some = command("rgb", documents, tmp_path / "some", server, tmp_path / "b.sqlite")
        assert cli.main([*some, "--prices", str(prices), "--budget", "0.075"]) == 2
        made, stopped = (json.loads((tmp_path / name / "construct.json").read_text()) for name in ("whole", "some"))
        assert 0 < sum(stopped["splits"].values()) < sum(made["splits"].values())
        assert "budget" in stopped["stopped"]
        assert any("budget reached" in why for step in stopped["steps"] for why in step["dropped"])
        assert cli.main([*some, "--prices", str(prices), "--budget", "1000"]) == 0
    assert files(tmp_path / "some") == files(tmp_path / "whole")


def test_a_folder_of_something_else_is_refused(documents, tmp_path):
    (tmp_path / "mine.txt").write_text("my own")
    with ChatServer(text=make_reply) as server:
        line = command("rgb", documents, tmp_path, server, tmp_path.with_suffix(".sqlite"))
        assert cli.main(line) == 2
        assert (tmp_path / "mine.txt").read_text() == "my own" and not (tmp_path / "stages").exists()
        assert cli.main(line[: line.index("--llm")]) == 2, "a model must make the questions"
        line[line.index("--out") + 1] = str(tmp_path / "mine.txt")
        assert cli.main(line) == 2
        line[line.index("--out") + 1] = str(tmp_path / "a")
        (tmp_path / "a").mkdir()
        assert cli.main(line) == 0
        before = files(tmp_path / "a")
        assert cli.main([*line, "--seed", "1"]) == 2
    assert files(tmp_path / "a") == before


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("公告 1.txt", "公司２０２３年营业收入５亿元，同比增长３％。\n".encode("gb18030"), "公告 1.txt"),
        ("a.jsonl", b'{"id": 1}', "a.jsonl:1"),
        ("a.jsonl", b'{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}', "'1'"),
        ("a.pdf", b"no PDF", "a.pdf"),
        ("a.docx", b"no Word", "a.docx"),
        ("a.rtf", b"", "in"),
        ("a.txt", b"short", "1 documents"),
    ],
)
def test_documents_that_cannot_be_read_are_one_line(name, text, said, tmp_path, capsys):
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    with ChatServer(text=make_reply) as server:
        line = command("rgb", tmp_path / "in", tmp_path / "out", server, tmp_path / "ledger.sqlite")
        assert cli.main(line) == 2
        assert server.requests == 0
    (found,) = capsys.readouterr().err.strip().splitlines()[-1:]
    assert said in found


def test_a_document_with_personal_data_is_in_no_file_of_the_dataset(documents, tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    first, *others = (documents / "news.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(first)
    row["text"] += "联系人电话13763996499。"
    (folder / "a.jsonl").write_text("\n".join([json.dumps(row), *others]), encoding="utf-8")
    with ChatServer(text=make_reply) as server:
        line = command("crud_rag", folder, out, server, tmp_path / "ledger.sqlite")
        assert cli.main([*line, "--limit", "20"]) == 0
    assert json.loads(others[0])["text"][40:80] in (out / "stages/03-fitting.jsonl").read_text(encoding="utf-8")
    assert not any(row["text"][40:80] in path.read_text() for path in out.rglob("*") if path.is_file())
    dropped = [json.loads(text) for text in (out / "stages/01-personal.jsonl").read_text().splitlines()]
    assert {"id": row["id"], "dropped": "telephone"} in dropped
