"""The ledger as a file: what it stores, what it refuses, and several writers."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from quadrag.errors import QuadragError
from quadrag.ledger import Ledger, call_key, canonical, default_path

MESSAGES = [{"role": "user", "content": "Frage 问题"}]


def value(text="t"):
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    return {
        "text": text, "reasoning": None, "finish_reason": "stop", "usage": usage, "latency": 0.25, "created": 1.0
    }  # fmt: skip


def keys(count):
    return [call_key("m", MESSAGES, {}, n) for n in range(count)]


def test_rows_come_back_from_a_reopened_file(tmp_path):
    path = tmp_path / "deep" / "folder" / "l.sqlite"
    with Ledger(path) as ledger:
        rows = [(key, value(f"{n} 你好 \ud800")) for n, key in enumerate(keys(2500))]
        assert ledger.put_many(rows, "m") == {} and len(ledger) == 2500
    with Ledger(path) as ledger:
        assert ledger.get_many([*keys(2500), b"absent"]) == dict(rows)
        assert ledger.models() == ["m"]


def test_the_key_holds_all_that_makes_a_call():
    key = call_key("m", MESSAGES, {"temperature": 0.0, "seed": 1}, 0)
    assert len(key) == 32 and key == call_key("m", MESSAGES, {"seed": 1, "temperature": 0.0}, 0)
    others = [
        call_key("n", MESSAGES, {"temperature": 0.0, "seed": 1}, 0),
        call_key("m", MESSAGES * 2, {"temperature": 0.0, "seed": 1}, 0),
        call_key("m", MESSAGES, {"temperature": 0.5, "seed": 1}, 0),
        call_key("m", MESSAGES, {"temperature": 0.0, "seed": 1}, 1),
        call_key("m", [{"role": "system", "content": MESSAGES[0]["content"]}], {"temperature": 0.0, "seed": 1}, 0),
    ]
    assert len({key, *others}) == 6


def test_the_key_does_not_change_between_releases():
    # A key that changes makes every stored reply unfindable.
    assert canonical(["m", MESSAGES, {"b": 1, "a": None}, 0]) == (
        '["m",[{"content":"Frage 问题","role":"user"}],{"a":null,"b":1},0]'.encode()
    )
    assert call_key("m", MESSAGES, {"max_tokens": 8}).hex() == (
        "cc75a613245ea6d1f8d846bd184d619b98f44068fa72205a647d20de7d5b9d8b"
    )


def test_the_first_value_stays(tmp_path):
    [key, other] = keys(2)
    with Ledger(tmp_path / "l") as first, Ledger(tmp_path / "l") as second:
        assert first.put_many([(key, value("first"))]) == {}
        assert second.put_many([(key, value("second")), (other, value("new"))]) == {key: value("first")}
        assert first.put_many([(key, value("first"))]) == {}, "an equal value is no other one"
        assert first.get_many([key, other]) == {key: value("first"), other: value("new")}


def test_nothing_asked_nothing_found(tmp_path):
    with Ledger(tmp_path / "l") as ledger:
        assert ledger.get_many([]) == {} and ledger.put_many([]) == {} and ledger.models() == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"QUADRAG_CACHE": "/q", "XDG_CACHE_HOME": "/x"}, "/q/ledger.sqlite"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/quadrag/ledger.sqlite"),
        ({"HOME": "/h"}, "/h/.cache/quadrag/ledger.sqlite"),
    ],
)
def test_the_default_path(monkeypatch, variables, expected):
    for name in ("QUADRAG_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert default_path() == Path(expected)


def test_the_default_ledger_is_made(monkeypatch, tmp_path):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    with Ledger() as ledger:
        assert ledger.path == tmp_path / "cache" / "ledger.sqlite" and ledger.path.is_file()


def refused(path):
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(QuadragError) as error:
        Ledger(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)
    assert before is None or path.read_bytes() == before, "a file that is refused stays as it is"
    return str(error.value)


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    text = tmp_path / "answers.jsonl"
    text.write_text('{"id": 1}\n' * 100)
    assert "not a database" in refused(text)
    refused(tmp_path)


def test_another_programs_database_is_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (a)")
    db.close()
    assert "not a quadrag ledger" in refused(path)


def test_a_later_version_is_refused(tmp_path):
    path = tmp_path / "l.sqlite"
    Ledger(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=2")
    db.close()
    assert "version 2, expected 1" in refused(path)


def test_damage_is_named(tmp_path):
    path = tmp_path / "l.sqlite"
    with Ledger(path) as ledger:
        ledger.put_many((key, value("x" * 500)) for key in keys(200))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(QuadragError, match=r"l\.sqlite cannot be used"):
        Ledger(path).get_many(keys(200))


def test_a_damaged_row_is_named(tmp_path):
    with Ledger(tmp_path / "l") as ledger:
        ledger.put_many([(keys(1)[0], value())])
        ledger._db.execute("UPDATE replies SET value = '{'")
        with pytest.raises(QuadragError, match="damaged row"):
            ledger.get_many(keys(1))


def test_a_failed_write_stores_nothing(tmp_path):
    with Ledger(tmp_path / "l") as ledger:
        ledger.put_many([(key, value()) for key in keys(3)])
        ledger._db.execute("PRAGMA query_only=1")
        with pytest.raises(QuadragError, match="readonly"):
            ledger.put_many([(b"k", value())], "m")
        ledger._db.execute("PRAGMA query_only=0")
        assert len(ledger) == 3 and ledger.models() == []
        ledger.put_many([(b"k", value())], "m")
        assert len(ledger) == 4 and ledger.models() == ["m"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(QuadragError, match=r"file"):
        Ledger(tmp_path / "file" / "l.sqlite")


def test_values_are_json(tmp_path):
    with Ledger(tmp_path / "l") as ledger:
        ledger.put_many([(keys(1)[0], value("é"))])
        [[key, text]] = ledger._db.execute("SELECT key, value FROM replies").fetchall()
        assert key == keys(1)[0] and json.loads(text) == value("é")
        assert ledger._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert ledger._db.execute("PRAGMA synchronous").fetchone() == (1,)


def write(path, number):
    with Ledger(path) as ledger:
        for n, key in enumerate(keys(150)):
            ledger.put_many([(key, value(f"by {number}")), (call_key("m", MESSAGES, {"w": number}, n), value())], "m")


def test_several_processes_write_one_new_file(tmp_path):
    path = tmp_path / "l.sqlite"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write, args=(path, number)) for number in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join(60)
    assert [one.exitcode for one in writers] == [0] * 4
    with Ledger(path) as ledger:
        assert len(ledger) == 150 + 4 * 150
