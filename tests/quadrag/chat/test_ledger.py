"""The ledger as a file: what it stores, what it refuses, and several writers."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quadrag.chat.ledger import Ledger, call_key, canonical, default_path
from quadrag.errors import QuadragError

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
        db.execute("PRAGMA user_version=3")
    db.close()
    assert "version 3, expected 2" in refused(path)


def test_damage_is_named(tmp_path):
    path = tmp_path / "l.sqlite"
    with Ledger(path) as ledger:
        ledger.put_many((key, value("x" * 500)) for key in keys(200))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(QuadragError, match=r"l\.sqlite cannot be used"):
        Ledger(path).get_many(keys(200))


ROW = json.dumps(value())
DAMAGES = [
    "value = replace(value, '0.25', '0.35')",
    "value = '{'",
    "value = x'fffe'",
    "value = 1",
    "sum = sum + 1",
    "sum = 'text'",
    "service = 'else'",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_not_used_and_replaced(tmp_path, capsys, damage):
    first, second = keys(2)
    with Ledger(tmp_path / "l") as ledger:
        ledger.put_many([(first, value("first")), (second, value("second"))])
        ledger._db.execute(f"UPDATE replies SET {damage} WHERE key = ?", (first,))
    with Ledger(tmp_path / "l") as ledger:
        assert ledger.get_many([first, second]) == {second: value("second")}
        said = capsys.readouterr().err
        assert said.count("\n") == ("service" not in damage) and ("damaged rows in the ledger" in said) == bool(said)
        assert ledger.get_many([first, second]) == {second: value("second")} and capsys.readouterr().err == ""
        assert ledger.put_many([(first, value("anew")), (second, value("other"))]) == {second: value("second")}
        assert ledger.get_many([first, second]) == {first: value("anew"), second: value("second")}
    with Ledger(tmp_path / "l") as ledger:
        assert ledger.get_many([first]) == {first: value("anew")} and not ledger.damaged


@pytest.mark.parametrize(
    "text",
    ["[]", "null", "{}", '{"text": "t"}', ROW.replace('"t"', "5"), ROW.replace("0.25", "[]"), ROW + "x",
     ROW.replace('"usage": {', '"used": {'), "[" * 200_000,
     ROW.replace("0.25", "9" * 5000), ROW.replace("reasoning", "season")],
)  # fmt: skip
def test_a_value_of_another_shape_is_a_damaged_row_even_with_its_sum(tmp_path, text):
    [key] = keys(1)
    with Ledger(tmp_path / "l") as ledger:
        ledger._db.execute(
            "INSERT INTO replies VALUES (?, '', ?, row_sum(?, '', CAST(? AS BLOB)))", (key, text, key, text)
        )
        assert ledger.get_many([key]) == {} and ledger.damaged == {key}
        ledger.put_many([(key, value())])
        assert ledger.get_many([key]) == {key: value()} and not ledger.damaged


def older_ledger(path, rows):
    """Write a ledger as version 1 left it."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE replies (key BLOB PRIMARY KEY NOT NULL, value TEXT NOT NULL)")
        db.execute("CREATE TABLE models (name TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID")
        db.execute("INSERT INTO models VALUES ('m')")
        db.executemany("INSERT INTO replies VALUES (?, ?)", rows)
        db.execute("PRAGMA user_version=1")
        db.execute(f"PRAGMA application_id={0x51524147}")
        db.commit()


def test_a_ledger_of_version_1_is_taken_over_with_its_rows(tmp_path):
    path = tmp_path / "l"
    rows = {key: value(f"{n} 你好 \ud800") for n, key in enumerate(keys(1200))}
    older_ledger(path, [*((key, json.dumps(row)) for key, row in rows.items()), (b"bad", "{")])
    for _ in range(2):
        with Ledger(path) as ledger:
            assert ledger.get_many([*rows, b"bad"]) == rows and ledger.damaged == {b"bad"}
            assert ledger.models() == ["m"] and len(ledger) == 1201
            assert ledger._db.execute("SELECT DISTINCT service, typeof(sum) FROM replies").fetchall() == [
                (b"", b"integer")
            ]


@pytest.mark.slow(3, 10, 60)
def test_a_takeover_that_is_killed_loses_nothing(tmp_path, rounds):
    path = tmp_path / "l"
    rows = {key: value(f"{n}" * 200) for n, key in enumerate(keys(4000))}
    older_ledger(path, [(key, json.dumps(row)) for key, row in rows.items()])
    context = multiprocessing.get_context("fork")
    for turn in range(rounds):
        process = context.Process(target=Ledger, args=(path,))
        process.start()
        process.join(0.004 * turn)
        process.kill()
        process.join()
    with Ledger(path) as ledger:
        assert ledger.get_many(rows) == rows


FULL = """
import resource, sys
from quadrag.chat.ledger import Ledger
from quadrag.errors import QuadragError
row = {"text": "x" * 4000, "usage": None, "latency": 1.0}
with Ledger(sys.argv[1]) as ledger:
    ledger.put_many([(b"%032d" % n, row) for n in range(50)])
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
try:
    with Ledger(sys.argv[1]) as ledger:
        for n in range(1000):
            ledger.put_many([(b"%032d" % (50 + n), row)])
except QuadragError as error:
    print(n, error)
"""


@pytest.mark.slow
def test_on_a_full_disk_the_ledger_is_not_to_be_moved_away(tmp_path, forked_python, environment):
    done = forked_python(FULL, tmp_path / "l", env=environment())
    assert done.stderr == "" and done.returncode == 0
    stored, said = done.stdout.rstrip("\n").split(" ", 1)
    assert "\n" not in said and "away" not in said
    assert said.endswith(f"; free room in {tmp_path} and run again, its replies are kept")
    with Ledger(tmp_path / "l") as ledger:
        assert len(ledger) >= 50 + int(stored)


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
        assert ledger._db.execute("PRAGMA journal_mode").fetchone() == (b"wal",)
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
