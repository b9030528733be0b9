"""Pages and help say what the code does: commands that parse, links that lead somewhere, translations in step."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from pages import DOCS, FENCE, PAGES, READMES, ROOT, meaning, read, steps_of

from quadrag import catalogue
from quadrag import commands as every_command
from quadrag.cli import parse
from quadrag.run.plan import recipes

COMMANDS = dict.fromkeys(step.text for page in PAGES for step in steps_of(page) if step.kind == "sh")


@pytest.mark.parametrize(
    ("english", "chinese"), [(page.replace(".zh", ""), page) for page in PAGES if page.endswith(".zh.md")]
)
def test_a_translation_has_the_same_commands_and_scripts(english: str, chinese: str) -> None:
    there, here = ([meaning(step) for step in steps_of(page)] for page in (english, chinese))
    assert there == [step for step in here if step in there]
    assert len(there) >= 2


def test_the_readme_can_be_read_in_five_minutes() -> None:
    assert len(read("README.md").splitlines()) <= 120


@pytest.mark.slow
@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("quadrag")])
def test_every_quadrag_command_of_a_page_parses(command: str) -> None:
    arguments = parse(shlex.split(re.split(" [>|] ", command)[0])[1:])
    if arguments.command == "run" and arguments.recipe:
        assert any(name == arguments.recipe or name.startswith(f"{arguments.recipe}-") for name in recipes())
    if getattr(arguments, "config", None):
        catalogue.config(arguments.benchmark, arguments.config)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", read(page))):
        if target.startswith("https://"):
            continue
        name, _, place = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.is_file(), f"{page}: {target}"
        assert page in READMES or path.parent == ROOT / "docs", f"{page}: {target} is not on the site"
        if path.suffix == ".png":
            continue
        headings = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text(encoding="utf-8")), flags=re.MULTILINE)
        anchors = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
        assert not place or place in anchors, f"{page}: {target}"


def test_every_page_is_in_the_navigation() -> None:
    index = read("docs/index.md")
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", index, flags=re.DOTALL | re.MULTILINE)
    named = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    pages = {Path(page).stem for page in DOCS} - {"index"}
    assert sorted(named) == sorted(pages)
    assert pages <= {target.removesuffix(".md") for target in re.findall(r"\]\(([^)]+)\)", index)}
    assert all(f"(docs/{page}.md)" in read("README.md") for page in pages)


@pytest.mark.parametrize("name", [*every_command.NAMES, *catalogue.commands()])
def test_help_of_a_command_stands_on_its_own(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        parse([name, "--help"])
    shown = capsys.readouterr().out
    about, _, examples = shown.partition("\nexamples:\n")
    calls = re.findall(r"quadrag [^|()>\n]*", examples.replace("quadrag list names them", ""))
    assert calls and max(map(len, about.splitlines())) <= 80
    assert shown.count("\n") <= {"run": 100, "score": 70}.get(name, 60)
    for call in calls:
        parse(shlex.split(call.replace("BENCHMARK", "rgb"))[1:])


def test_make_targets_of_the_pages_are_run_by_ci() -> None:
    named = {target for page in PAGES for target in re.findall(r"`make (\w+)`", read(page))}
    assert named
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in named:
        assert f"\n{target}:" in makefile
        run = "test" if target == "soak" else target  # ten minutes long; `make test` has a short form of it
        assert re.search(rf"^make .*\b{run}\b", ci, flags=re.MULTILINE), target
