"""The site of docs/, as `make docs` builds it: nothing comes from the network, and a browser's search finds Chinese."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pages import DOCS, ROOT

if not find_spec("sphinx"):
    pytest.skip("needs sphinx: make docs", allow_module_level=True)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-d", f"{out}/trees", f"{ROOT}/docs", f"{out}/pages"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out / "pages"


def test_every_page_is_built(site: Path) -> None:
    assert {Path(page).stem for page in DOCS} <= {path.stem for path in site.glob("*.html")}


def test_pages_load_nothing_from_the_network(site: Path) -> None:
    loads = re.compile(
        r"""<(?:script|img|link|iframe|source)[^>]*\s(?:src|href)=["']?(?:https?:)?//|@import|url\(["']?http"""
    )
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        assert not loads.search(path.read_text(encoding="utf-8")), path


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize(
    ("query", "found"), [("自己的系统", True), ("检索 系统", True), ("budget", True), ("统系", False)]
)
def test_search_finds_words_of_both_languages(site: Path, query: str, found: bool) -> None:
    address = f"file://{site}/search.html?q={query}"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"]
    page = subprocess.run([str(CHROMIUM), *flags, address], capture_output=True, text=True, timeout=120).stdout
    assert ('<li class="kind' in page) == found, page[-2000:]
