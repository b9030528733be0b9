"""`quadrag recall` by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

ARGUMENTS = ("recall", "crag", "task_1_2", "--data-dir", "sample", "--split", "public", "--ledger", "L")


def test_recall_grows_with_the_pages_and_is_written_where_it_is_asked_for(cli):
    code, out, err = cli(*ARGUMENTS, "--pages", "1,3,5", "--out", "recall.json")
    assert (code, err) == (0, "")
    whole = json.loads(Path("recall.json").read_text(encoding="utf-8"))
    found = {(row["way"], row["pages"]): row for row in whole["scores"] if row["answers"] == "all"}
    assert {way for way, _ in found} == {"snippets", "pages"}
    for way in ("snippets", "pages"):
        values = [found[way, pages]["value"] for pages in (1, 3, 5)]
        assert values == sorted(values) and values[-1] > 0
    assert all(found["pages", pages]["value"] >= found["snippets", pages]["value"] for pages in (1, 3, 5))
    assert found["pages", 5]["n_scored"] + found["pages", 5]["n_not_applicable"] == 15
    assert "Figure 2. Search recall by number of pages" in out and "85%" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_a_judge_says_whether_the_snippets_suffice(cli):
    with ChatServer(models=["j"]) as server:
        server.rules.append(Rule("reply", message={"content": '{"sufficient": true}'}))
        code, _, _ = cli(*ARGUMENTS, "--pages", "2", "--judge", f"{server.url}#j", "--limit", "4", "--out", "r.json")
        assert code == 0
        asked = len(server.state.bodies)
    whole = json.loads(Path("r.json").read_text(encoding="utf-8"))
    (row,) = [r for r in whole["scores"] if (r["way"], r["answers"]) == ("sufficient", "all")]
    assert row["n_total"] == 4 and row["n_scored"] + row["n_not_applicable"] + sum(row["unscored"].values()) == 4
    assert asked == 4 - row["n_not_applicable"] and whole["judge"] == "j"


def test_a_judge_reads_a_window_of_each_page_where_it_is_told_so(cli, real_data):
    folder = real_data("CRAG")
    with ChatServer(models=["j"]) as server:
        server.rules.append(Rule("reply", message={"content": '{"sufficient": false}'}))
        sizes = {}
        for name, more in (("snippets", ()), ("pages", ("--judge-reads", "pages", "--page-window", "1500"))):
            server.state.bodies.clear()
            place = ("--data-dir", folder, "--pages", "5", "--judge", f"{server.url}#j", "--out", f"{name}.json")
            done = cli("recall", "crag", "task_1_2", *place, *more)
            assert done.code == 0, done.err
            sizes[name] = [len(body["messages"][0]["content"]) for body in server.state.bodies]
        assert "up to 1,500 characters of text" in " ".join(done.out.split())
    assert len(sizes["pages"]) == len(sizes["snippets"]) == 6
    for few, many in zip(sorted(sizes["snippets"]), sorted(sizes["pages"]), strict=True):
        assert few + 4 * 1000 < many < few + 5 * 1500 * 1.2, "with what quoting adds"
    written = [json.loads(Path(f"{name}.json").read_text(encoding="utf-8")) for name in ("snippets", "pages")]
    assert [one["window"] for one in written] == [0, 1500]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*ARGUMENTS, "--judge-reads", "pages"), "--judge-reads pages says what a judge is shown; name one"),
        ((*ARGUMENTS, "--page-window", "9"), "--page-window is of --judge-reads pages"),
        (("recall", "crag", "qa"), "crag qa has no pages; expected crag task_1_2 or task_3"),
        (("recall", "rgb", "negative_rejection_en"), "rgb negative_rejection_en has no pages"),
        ((*ARGUMENTS, "--pages", "0"), "--pages is '0'; expected numbers of pages"),
        (("recall", "crag", "task_1_2", "--data-dir", "nowhere"), "nowhere"),
        ((*ARGUMENTS, "--judge", "http://127.0.0.1:9/v1#a", "--judge", "http://127.0.0.1:9/v1#b"), "asks one judge"),
    ],
)
def test_bad_input_is_one_line(cli, arguments, message):
    code, _, err = cli(*arguments)
    assert code == 2 and message in err and err.count("\n") == 1, err
