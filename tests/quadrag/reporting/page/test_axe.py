"""axe-core finds no serious fault in the page, in either theme, wide or narrow."""

from pathlib import Path

import pytest

axe = pytest.importorskip("axe_playwright_python")
RUN = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--limit", "6")
FAULTS = """async () => (await axe.run()).violations
  .filter(({impact}) => ["serious", "critical"].includes(impact))
  .map(({id, nodes}) => [id, nodes.length, nodes[0].html])"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of a run, of a campaign, and of two and three runs compared."""
    from quadrag.cli import main

    folder = tmp_path_factory.mktemp("pages")
    for name in ("a", "b", "d"):
        assert main([*RUN, "--out", str(folder / name)]) == 0
    whole = ["run", "omnieval", "all", "--data-dir", "sample", "--limit", "40", "--labels", "zh"]
    assert main([*whole, "--out", str(folder / "c")]) == 0
    compared = [folder / "two.html", folder / "three.html"]
    for names, page in zip(("ab", "abd"), compared, strict=True):
        assert main(["report", *(str(folder / name) for name in names), "--html", str(page)]) == 0
    return [folder / "a" / "report.html", folder / "c" / "report.html", *compared]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser, pages, scheme, width):
    script = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    for file in pages:
        page = context.new_page()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.evaluate(script)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert page.evaluate(FAULTS) == [], f"{file}: the list"
        page.click("#list li:nth-child(2) button")
        page.wait_for_selector("#item h3")
        assert page.evaluate(FAULTS) == [], f"{file}: a question"
    context.close()
