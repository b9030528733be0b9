"""What is invalid is told of the profile whose values are shown, wherever these are."""

import json

import pytest
from chat_server import ChatServer

import quadrag

ASKED = ("--benchmark", "crag", "--config", "task_1_2", "--data-dir", "sample", "--ledger", "L", "--out", "r")
TEXT, TRUE, FENCED = '{"score":"1"}', '{"score": true}', '```json\n{"score": 1}\n```'


@pytest.fixture
def judged(cli, tmp_path):
    """A function that scores answers by a judge that always says the same, and returns the command's code."""
    found = quadrag.questions("crag", "task_1_2", data_dir="sample")
    lines = [json.dumps({"id": one.id, "answer": f"It is {at}."}) for at, one in enumerate(found)]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def score(said, *more):
        with ChatServer(text=said, models=["j"]) as server:
            return cli("score", "mine.jsonl", *ASKED, "--judge", server.url, *more)

    return score


def show(cli, profile):
    shown = cli("report", "r", "--profile", profile).out
    found = json.loads(cli("report", "r", "--profile", profile, "--json").out)
    python = repr(quadrag.result("r", profile=profile))
    told = ["INVALID" in text for text in (shown, python)]
    return [*told, bool(found["invalid"]), not found["valid"], *("INVALID" in note for note in found["notes"][:1])]


@pytest.mark.parametrize("said", [TEXT, TRUE, FENCED])
def test_what_official_cannot_read_takes_nothing_from_corrected(judged, cli, said):
    code = judged(said).code
    unread = [row for row in json.loads(cli("report", "r", "--profile", "official", "--json").out)["rows"]]
    invalid = any(not row["valid"] for row in unread)
    assert (code == 3) == invalid == any(show(cli, "official"))
    assert not any(show(cli, "corrected"))
    rows = json.loads(cli("report", "r", "--profile", "corrected", "--json").out)["rows"]
    assert all(row["valid"] and row["value"] is not None for row in rows)


def test_official_is_invalid_where_it_reads_none_and_its_line_says_whose_it_is(judged, cli):
    assert judged(TEXT).code == 3 and all(show(cli, "official"))
    for shown in (cli("report", "r").out, cli("report", "r", "-v").out):
        assert "(official: 13 unparsable)" in " ".join(shown.split())
    assert "unparsable" not in cli("report", "r", "--profile", "corrected", "-v").out


@pytest.mark.parametrize("said", ["I would say it is fine.", ""])
def test_what_nobody_can_read_is_invalid_under_both(judged, cli, said):
    assert judged(said).code == 3
    assert all(show(cli, "official")) and all(show(cli, "corrected"))


def test_a_command_that_shows_corrected_goes_by_corrected(judged):
    ran = judged(TEXT, "--profile", "corrected")
    assert ran.code == 0 and "INVALID" not in ran.out


def test_what_corrected_cannot_read_is_told_by_a_command_that_shows_it(judged):
    assert judged("No verdict.", "--profile", "corrected").code == 3
