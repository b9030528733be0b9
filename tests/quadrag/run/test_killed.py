"""Kill -9 in the middle of a run, again and again: few calls are repeated, and the files end as if undisturbed."""

import pytest
from chat_server import ChatServer
from warm import Warm

IMPORTS = """
import datasets, evaluate, jinja2, rich.console, rich.table, scipy.io
from quadrag.chat import calls
from quadrag.run import run, sweep
from quadrag.cli import main
"""


@pytest.mark.slow
def test_a_kill_at_any_write_leaves_a_folder_that_goes_on(tmp_path, environment, stages):
    """The moments between two writes are too short to be hit by chance, so each of them is taken in turn."""
    code = """
import signal
from pathlib import Path
left = [arguments.pop(0)]
def dying(real):
    def call(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call
# Before a file's text is written, before it is moved to its place, before one is removed.
Path.write_text, Path.replace, Path.unlink = map(dying, (Path.write_text, Path.replace, Path.unlink))
sys.exit(main(arguments))
"""
    asked = ["run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", "3", "--concurrency", "2"]

    with ChatServer() as server, Warm(IMPORTS, code, tmp_path, environment()) as warm:

        def run(number, name):
            there = ["--llm", f"{server.url}#m", "--ledger", f"{name}.sqlite", "--out", name]
            return warm.start(number, *asked, *there).wait()

        assert run(10_000, "undisturbed") == 0
        killed = 0
        # Every kill meets a folder that the kills before it have left.
        for number in range(1, 60):
            ended = run(number, "killed")
            if ended == 0:
                break
            assert ended == -9, warm.errors.read_text(errors="replace")
            killed += 1
        assert ended == 0 and killed >= 10
        assert server.requests == 2 * 3, "no reply is asked for twice"
    assert stages(tmp_path / "killed") == stages(tmp_path / "undisturbed")
    assert [path.name for path in (tmp_path / "killed").iterdir() if path.name.startswith(".")] == [".lock"]
