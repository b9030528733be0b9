"""Terminals, pipes, logs and signals: what is printed fits where it goes, and a reader that leaves is no error."""

import fcntl
import io
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

from quadrag.cli import main
from quadrag.printing import Progress

pytestmark = pytest.mark.plugins

CONFIG = ("run", "rgb", "negative_rejection_en")
RUN = (*CONFIG, "--data-dir", "sample", "--out", "out")
SCORE = ("--benchmark", "rgb", "--config", "negative_rejection_en", "--data-dir", "sample")

ENTRY = "import sys; from quadrag.cli import main; sys.exit(main())"


def test_a_reader_that_has_seen_enough_is_no_error(environment):
    for typed in ("list", " ".join(RUN)):
        command = f"{sys.executable} -c '{ENTRY}' {typed} | true; echo ${{PIPESTATUS[0]}}"
        ran = subprocess.run(["bash", "-c", command], env=environment(), capture_output=True, text=True)
        assert ran.stdout.strip() == "0" and ran.stderr == ""


# Progress.


@pytest.mark.slow
def test_a_terminal_shows_a_bar_and_takes_it_away(environment):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = environment(TERM="xterm")
    env.pop("COLUMNS", None)
    with ChatServer(latency=0.1) as server:
        asked = [*RUN, "--llm", f"{server.url}#m", "--ledger", "L", "--concurrency", "2"]
        process = subprocess.Popen(
            [sys.executable, "-c", ENTRY, *asked], env=env, stdout=subprocess.DEVNULL, stderr=follower
        )
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(leader)
    text = shown.decode()
    assert "negative_rejection_en: answers" in text and "12" in text and "\r" in text
    assert len({part for part in text.split("\r") if "answers" in part}) >= 3, "it moves"
    assert text.endswith("\r") and text.split("\r")[-2].strip() == "", "the line is blank again"
    assert max(len(part) for part in text.split("\r")) <= 80


def show(monkeypatch, terminal, steps, wait):
    """Return the lines, or the states of the bar, that steps make, each done so many seconds after the first one."""
    log = io.StringIO()
    log.isatty = lambda: terminal
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", log)
        with Progress("answers", 300) as progress:
            for seconds, done in steps:
                wait(seconds)
                progress.update(done, 300)
    assert ("\r" in log.getvalue()) == terminal, "a log holds none"
    return [part for part in re.split("[\r\n]", log.getvalue()) if part.strip()]


def test_the_time_left_is_of_what_is_yet_to_be_asked(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    steps = ((0, 150), (50, 150), (60, 160), (120, 170), (500, 170), (5000, 170))
    shown = show(monkeypatch, False, steps, lambda seconds: clock.__setitem__(0, 1000.0 + seconds))
    waiting, *_, last, long, longer = shown
    assert "150 of 300" in waiting and "0:00:50" in waiting, "time passes, and nothing is reckoned yet"
    assert "170 of 300" in last and "0:13:00" in last  # twenty in two minutes, and 130 to go
    assert "0:06:40" in long and "0:00:00" in longer, "while one is waited for the time left grows no longer"
    monkeypatch.undo()
    *_, last = show(monkeypatch, True, ((0, 150), (0.2, 150), (0.2, 151)), time.sleep)
    left = re.search(r"151/300 \[00:00, 0:(\d\d):(\d\d)", last)
    assert left and 50 <= int(left[1]) * 60 + int(left[2]) <= 240, "one in 0.4 seconds, and 149 to go"


# Secrets.


@pytest.mark.slow
def test_no_key_leaves_the_process(environment):
    marker, password = "sk-marker-0123456789abcdef", "pa55word-fedcba"
    env = environment(QUADRAG_API_KEY=marker)
    with ChatServer(key=marker) as server:
        server.rules.append(Rule("echo_key", times=2))
        url = server.url.replace("http://", f"http://user:{password}@") + "?token=query-secret-77"
        outputs = []
        for spec, out in ((f"{server.url}#m", "a"), (f"{server.url}#m", "a"), (f"{url}#m", "b")):
            asked = [*CONFIG, "--data-dir", "sample", "--out", out, "--llm", spec, "--ledger", "L"]
            asked += ["--llm-name", "m"]  # so that the server, which wants the key, is not asked with the login
            ran = subprocess.run([sys.executable, "-c", ENTRY, *asked], env=env, capture_output=True)
            outputs.append(ran.stdout + ran.stderr)
            assert ran.returncode == 0, ran.stderr
        assert server.authorizations >= {f"Bearer {marker}"}
    with ChatServer(key="another") as server:
        asked = [*CONFIG, "--data-dir", "sample", "--out", "c", "--llm", f"{server.url}#m", "--ledger", "L2"]
        ran = subprocess.run([sys.executable, "-c", ENTRY, *asked], env=env, capture_output=True)
        assert ran.returncode == 2 and b"QUADRAG_API_KEY" in ran.stderr
        outputs.append(ran.stdout + ran.stderr)
    contents = {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert "L" in contents and "a/run.json" in contents and "a/report.html" in contents
    for secret in (marker, password, "query-secret-77"):
        assert not [name for name, content in contents.items() if secret.encode() in content], secret
        assert not any(secret.encode() in output for output in outputs), secret


# Interrupts, and several at once.


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_one_line_and_the_run_goes_on(environment, quadrag, tmp_path, sent):
    # So slow that this process cannot come too late, however busy the machine is.
    with ChatServer(latency=0.5) as server:
        asked = [*CONFIG, "--data-dir", "sample", "--llm", f"{server.url}#m", "--ledger", "L", "--concurrency", "1"]
        asked += ["--out", "a run"]
        command = [sys.executable, "-c", ENTRY, *asked]
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while server.requests < 4 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(sent)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert out == b"" and err.startswith(b"quadrag: stopped") and err.count(b"\n") == 1
        for told in ("report", "show"):
            ran = quadrag(told, tmp_path / "a run", env=environment())
            assert (
                ran.stderr.count("\n") == 1 and "a run" in ran.stderr and shlex.join(["quadrag", *asked]) in ran.stderr
            )
        server.state.latency = 0.0
        ran = subprocess.run(command, env=environment(), capture_output=True)
        assert ran.returncode == 0 and server.requests <= 12 + 1


@pytest.fixture
def unread(monkeypatch):
    """A function that runs the command into a pipe whose reader has gone."""

    def run(*arguments):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w", buffering=1) as pipe, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", pipe)
            return main([*map(str, arguments)])

    return run


def test_what_a_command_writes_is_there_though_nobody_reads_what_it_prints(cli, unread):
    with ChatServer(models=["j"], text="Yes, the question is addressed by the documents.") as judge:
        assert cli(*RUN, "--judge", f"{judge.url}#j", "--ledger", "L")[0] == 0
    shutil.copytree("out", "other")
    people = ["right", "wrong", "right", "wrong", "right"]
    labels = "".join(f"{at},Who is {at}?,Paris,Paris,{one}\n" for at, one in enumerate(people))
    Path("l.csv").write_text(f"id,question,answer,gold,label\n{labels}")
    Path("v.csv").write_text("id,verdict\n" + "".join(f"{at},{one}\n" for at, one in enumerate(people)))
    for written, *command in (
        ("page.html", "report", "out", "--html", "page.html"),
        ("scored/report.html", "score", "out/answers.jsonl", *SCORE, "--out", "scored"),
        ("sheet.csv", "label", "out", "--n", 4, "--out", "sheet.csv"),
        ("sheet.html", "label", "out", "--n", 4, "--out", "sheet.html"),
        ("certificate.json", "certify-judge", "l.csv", "--judge", "v.csv", "--out", "certificate.json"),
    ):
        assert unread(*command) == 0 and Path(written).exists(), command
