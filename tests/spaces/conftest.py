"""The Spaces' pages running as on the Hub: a metric's folder alone, without quadrag."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

METRICS = Path(__file__).resolve().parents[2] / "metrics"
STARTING = 120  # seconds, for a machine that does much else


@pytest.fixture(scope="session", autouse=True)
def _gradio() -> None:
    pytest.importorskip("gradio")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Run `python app.py` in a copy of a metric's folder; return its address once it answers."""
    running: list[subprocess.Popen[bytes]] = []

    def start(name: str) -> str:
        shutil.copytree(METRICS / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        # A Space has no quadrag: here importing it would fail the app.
        (tmp_path / "without").mkdir()
        (tmp_path / "without" / "quadrag.py").write_text("raise ImportError('a Space does not have it')\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        env = {key: value for key, value in os.environ.items() if key not in ("HF_MODULES_CACHE", "SPACE_ID")}
        env |= {"GRADIO_SERVER_PORT": str(port), "GRADIO_ANALYTICS_ENABLED": "False", "HF_HOME": str(tmp_path / "home")}
        env["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "without"), os.environ.get("PYTHONPATH", "")])
        with (tmp_path / "log").open("wb") as log:
            command = [sys.executable, "app.py"]
            running.append(subprocess.Popen(command, cwd=tmp_path / name, env=env, stdout=log, stderr=log))
        deadline = time.monotonic() + STARTING
        while time.monotonic() < deadline and running[-1].poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/config", timeout=10).close()
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
            else:
                return f"http://127.0.0.1:{port}"
        pytest.fail(f"{name} does not start:\n{(tmp_path / 'log').read_text(encoding='utf-8', errors='replace')}")

    yield start
    for process in running:
        process.kill()
        process.wait()
