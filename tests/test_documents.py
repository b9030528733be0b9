"""The READMEs and the help say what the code does: names that there are, commands that parse, both READMEs in step."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from quadrag import __version__, catalogue
from quadrag import commands as every_command
from quadrag.arguments import build_parser

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.zh.md")


def commands(name: str) -> list[str]:
    """Commands in the shell blocks of a file, comments cut off."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = [line.split("#  ")[0].split("# ")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def test_readmes_show_the_same_commands() -> None:
    english, chinese = (commands(name) for name in READMES)
    assert english == chinese
    assert len(english) >= 8


def test_readmes_show_the_same_code_and_headings() -> None:
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in READMES]
    python = [re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL) for text in texts]
    assert python[0] == python[1]
    assert len(re.findall(r"^#+ ", texts[0], flags=re.MULTILINE)) == len(
        re.findall(r"^#+ ", texts[1], flags=re.MULTILINE)
    )


@pytest.mark.parametrize("command", [line for line in commands("README.md") if line.startswith("quadrag")])
def test_every_quadrag_command_of_the_readme_parses(command: str) -> None:
    arguments = build_parser(__version__).parse_args(shlex.split(command)[1:])
    if getattr(arguments, "recipe", None):
        assert any(name == arguments.recipe or name.startswith(f"{arguments.recipe}-") for name in catalogue.recipes())
    if getattr(arguments, "config", None):
        catalogue.config(arguments.benchmark, arguments.config)


@pytest.mark.parametrize("name", every_command.NAMES)
def test_help_of_a_command_stands_on_its_own(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        build_parser(__version__).parse_args([name, "--help"])
    shown = capsys.readouterr().out
    command = every_command.load(name)
    assert command.EXAMPLES
    for example in command.EXAMPLES:
        assert f"  {example}" in shown
        for part in re.findall(r"quadrag [^|()]*", example):
            assert build_parser(__version__).parse_args(shlex.split(part)[1:]).command in every_command.NAMES
    assert max(map(len, shown.partition("example")[0].splitlines())) <= 80


@pytest.mark.parametrize("command", [line for line in commands("README.md") if line.startswith("make")])
def test_every_make_target_of_the_readme_exists(command: str) -> None:
    assert f"\n{command.split()[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
