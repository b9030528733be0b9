"""What the tests of the page in a browser share: a page that is opened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quadrag.reporting.page.page import Answers, render_page


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A function that opens the page of some answers; what goes wrong in it fails the test."""
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def show(answers: Answers, labels: str = "en", address: str = "") -> Any:
        file = tmp_path / "page.html"
        names = answers.index["runs"]
        file.write_text(render_page("title", [], blocks=answers.pack(), labels=labels, names=names), encoding="utf-8")
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith("file:") else None)
        page.goto(f"{file.as_uri()}{address}")
        page.wait_for_selector("html[data-ready]")
        return page

    yield show
    context.close()
    assert wrong == []
