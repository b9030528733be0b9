"""What the Space tests share: the apps running as Spaces do, one Chromium, and the page as a user sees it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

METRICS = Path(__file__).resolve().parents[2] / "metrics"
NAMES = sorted(path.parent.name for path in METRICS.glob("*/app.py"))
STARTING = 120  # seconds, for a machine that does much else
WAITING = 60_000  # milliseconds


class Server:
    """One metric's folder, alone in a folder of its own, and `python app.py` there."""

    def __init__(self, name: str, room: Path) -> None:
        self.name, self.log = name, room / f"{name}.log"
        shutil.copytree(METRICS / name, room / name, ignore=shutil.ignore_patterns("__pycache__"))
        # A Space has no quadrag: here importing it would fail the app.
        (room / "without").mkdir(exist_ok=True)
        (room / "without" / "quadrag.py").write_text("raise ImportError('a Space does not have it')\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        env = {
            **os.environ,
            "GRADIO_SERVER_PORT": str(port),
            "GRADIO_ANALYTICS_ENABLED": "False",
            "GRADIO_TEMP_DIR": str(room / "gradio"),
            "HF_HOME": str(room / f"{name}-home"),
            "PYTHONPATH": str(room / "without"),
            "PYTHONUNBUFFERED": "1",
        }
        # Compiled files are kept where they may be: nine processes read the same thousands of modules.
        for given in (
            "HF_MODULES_CACHE",
            "HF_EVALUATE_CACHE",
            "HF_DATASETS_CACHE",
            "PYTHONDONTWRITEBYTECODE",
            "SPACE_ID",
        ):
            env.pop(given, None)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "app.py"], cwd=room / name, env=env, stdout=log, stderr=subprocess.STDOUT
            )

    def wait(self) -> None:
        """Return when it answers; fail with its log when it ends, or does not answer in time."""
        deadline = time.monotonic() + STARTING
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/config", timeout=10).close()
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
            else:
                return
        self.stop()
        pytest.fail(f"{self.name} does not start:\n{self.log.read_text(encoding='utf-8', errors='replace')}")

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="session", autouse=True)
def _gradio() -> None:
    pytest.importorskip("gradio")


class Page:
    """A Space as its user sees it; what the page asks of any other host is refused and kept in `elsewhere`."""

    def __init__(self, page: Any, url: str) -> None:
        from playwright.sync_api import TimeoutError as Late

        self.page, self.late = page, Late
        self.elsewhere: list[str] = []
        page.set_default_timeout(WAITING)
        page.route("**/*", lambda route: self._pass(route, url))
        page.goto(url, wait_until="domcontentloaded")
        page.locator("[data-testid^=cell-]").first.wait_for()

    def _pass(self, route: Any, url: str) -> None:
        if route.request.url.startswith(url):
            route.continue_()
        else:
            self.elsewhere.append(route.request.url)
            route.abort()

    def cells(self, columns: int) -> list[list[str]]:
        """The rows of the table, as shown; the sign of a cell's menu left out."""
        texts = [text.replace("⋮", "").strip() for text in self.page.locator("[data-testid^=cell-]").all_inner_texts()]
        return [texts[i : i + columns] for i in range(0, len(texts), columns)]

    def edit(self, row: int, column: int, text: str) -> None:
        """Put a text into a cell in place of what it holds."""
        cell = self.page.get_by_test_id(f"cell-{row}-{column}")
        box = cell.locator("textarea, input")
        for _ in range(10):  # a double click is lost where the table is drawn anew between its two
            cell.dblclick()
            try:
                box.wait_for(timeout=1000)
                break
            except self.late:
                self.page.keyboard.press("Escape")
        box.fill(text)
        box.press("Enter")
        box.wait_for(state="detached")

    def choose(self, option: str) -> None:
        """Choose among the buttons for one of several."""
        self.page.get_by_role("radio", name=option, exact=True).check()

    def paste(self, text: str, button: str = "Into the table") -> None:
        """Paste rows into the box and send them into the table; errors of before are closed first."""
        self.page.get_by_label("or paste rows").fill(text)
        self._press(button)

    def submit(self) -> dict[str, Any] | str:
        """Press Submit; the result that the page then shows, or the text of the error."""
        self._press("Submit")
        shown = self.page.locator(".json-holder:not([data-old])")
        error = self.page.get_by_test_id("toast-body")
        shown.or_(error).first.wait_for()
        if error.count():
            return self.error()
        result: dict[str, Any] = json.loads(shown.inner_text())
        return result

    def error(self) -> str:
        """The text of the error that is shown, without its title and button."""
        toast = self.page.get_by_test_id("toast-body")
        toast.wait_for()
        lines = [line for line in str(toast.inner_text()).split("\n") if line.strip() not in ("", "Error", "×")]
        return "\n".join(lines)

    def _press(self, button: str) -> None:
        for close in self.page.get_by_test_id("toast-close").all():
            close.click()
        self.page.get_by_test_id("toast-body").first.wait_for(state="detached")
        self.page.evaluate("document.querySelectorAll('.json-holder').forEach(old => old.dataset.old = '')")
        self.page.get_by_role("button", name=button, exact=True).click()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """The running Spaces by name."""
    running: dict[str, Server] = {}
    yield running
    for server in running.values():
        server.stop()


@pytest.fixture(scope="module", params=NAMES)
def server(
    request: pytest.FixtureRequest, servers: dict[str, Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Each metric's Space in turn, while the next one starts; several workers would only start the same."""
    ahead = 1 if "PYTEST_XDIST_WORKER" in os.environ else 2
    for name in NAMES[NAMES.index(request.param) :][:ahead]:
        if name not in servers:
            servers[name] = Server(name, tmp_path_factory.mktemp(name))
    servers[request.param].wait()
    yield servers[request.param]
    servers.pop(request.param).stop()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    """One tab for the Spaces in turn, which keeps the files that they have in common."""
    with browser.new_page(viewport={"width": 1280, "height": 900}) as tab:
        yield tab


@pytest.fixture
def page(tab: Any, server: Server) -> Iterator[Page]:
    """The Space's page, opened anew."""
    page = Page(tab, server.url)
    yield page
    tab.unroute_all()
    assert page.elsewhere == [], "the page asks other hosts"
