"""The ledger as a file: what it stores, what it refuses, and several writers."""

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quadrag.chat.ledger import Ledger, call_key, canonical
from quadrag.chat.reply import Reply
from quadrag.errors import QuadragError
from quadrag.records import Passage

MESSAGES = [{"role": "user", "content": "Frage 问题"}]


def value(text="t"):
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    return Reply(text, "stop", usage, latency=0.25, passages=(Passage("d", "", "x", 0.5),), created=1.0)


def keys(count):
    return [call_key("m", MESSAGES, {}, n) for n in range(count)]


def test_the_key_holds_all_that_makes_a_call():
    assert canonical(["m", MESSAGES, {"b": 1, "a": None}, 0]) == (
        '["m",[{"content":"Frage 问题","role":"user"}],{"a":null,"b":1},0]'.encode()
    )
    # A key that changes makes every stored reply unfindable.
    assert call_key("m", MESSAGES, {"max_tokens": 8}, service="s").hex() == (
        "30faeb1668a180497072f6585ea7f3e7c02acd9111370a319cb5a02ea1ea4374"
    )
    given = {"temperature": 0.0, "seed": 1}
    assert call_key("m", MESSAGES, given) == call_key("m", MESSAGES, {"seed": 1, "temperature": 0.0}, 0, "")
    others = [
        call_key("m", MESSAGES, given),
        call_key("n", MESSAGES, given),
        call_key("m", MESSAGES * 2, given),
        call_key("m", MESSAGES, {**given, "temperature": 0.5}),
        call_key("m", MESSAGES, given, 1),
        call_key("m", MESSAGES, given, service="s"),
        call_key("m", [{"role": "system", "content": MESSAGES[0]["content"]}], given),
    ]
    assert len(set(others)) == 7


def test_rows_come_back_and_the_first_value_stays(tmp_path):
    with Ledger(tmp_path / "deep" / "l") as ledger:
        rows = [(key, value(f"{n} 你好 \ud800")) for n, key in enumerate(keys(2500))]
        assert ledger.put_many(rows) == {} and len(ledger) == 2500
    with Ledger(tmp_path / "deep" / "l") as ledger:
        assert ledger.get_many([*keys(2500), b"absent"]) == dict(rows)
    [key, other] = keys(2)
    with Ledger(tmp_path / "l") as first, Ledger(tmp_path / "l") as second:
        assert first.put_many([(key, value("first"))]) == {}
        assert second.put_many([(key, value("second")), (other, value("new"))])[key] == value("first")
        assert first.get_many([key, other]) == {key: value("first"), other: value("new")}


def database(*statements):
    def write(path):
        with closing(sqlite3.connect(path)) as db:
            for statement in statements:
                db.execute(statement)
            db.commit()

    return write


REFUSED = {
    "text": lambda path: path.write_text('{"id": 1}\n' * 100),
    "folder": Path.mkdir,
    "another program's": database("CREATE TABLE t (a)"),
    "another version": database("PRAGMA user_version=2", f"PRAGMA application_id={0x51524147}", "CREATE TABLE t (a)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_ledger_is_refused_in_one_line_and_stays_as_it_is(tmp_path, kind):
    path = tmp_path / "l.sqlite"
    REFUSED[kind](path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(QuadragError) as error:
        Ledger(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)
    assert before is None or path.read_bytes() == before
    if before is not None:
        with pytest.raises(QuadragError, match=r"l\.sqlite"):
            Ledger(path / "below" / "l")


FULL = """
import resource, sys
from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Reply
from quadrag.errors import QuadragError
row = Reply("x" * 4000)
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
    assert "\n" not in said and "away" not in said and "replies are kept" in said
    with Ledger(tmp_path / "l") as ledger:
        assert len(ledger) >= 50 + int(stored)


def write(path, number):
    with Ledger(path) as ledger:
        for n, key in enumerate(keys(150)):
            ledger.put_many([(key, value(f"by {number}")), (call_key("m", MESSAGES, {"w": number}, n), value())])


def test_several_processes_write_one_new_file(tmp_path):
    path = tmp_path / "l.sqlite"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write, args=(path, number)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    with Ledger(path) as ledger:
        assert len(ledger) == 150 + 4 * 150
