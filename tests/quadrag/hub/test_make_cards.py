"""`make cards` rewrites what drifted, and names what it cannot render."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quadrag.errors import QuadragError
from quadrag.hub.cards.__main__ import main
from quadrag.hub.cards.render import render

CARDS = Path(__file__).parents[3] / "hub_cards"
RGB = (CARDS / "rgb.md").read_text(encoding="utf-8")


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """The cards and their facts in a folder that may be written to."""
    folder = tmp_path / "cards"
    folder.mkdir()
    for path in [*CARDS.glob("*.md"), *CARDS.glob("*.yaml")]:
        shutil.copy(path, folder)
    return folder


def put(folder: Path, name: str, *changes: tuple[str, str]) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "<!-- configs: rendered by make cards -->",
            "<!-- configs -->",
            "has the region configs 0 times; expected once",
        ),
        ("<!-- /files -->\n", "<!-- /files -->\n<!-- files: rendered by make cards -->\n<!-- /files -->\n", "2 times"),
        ("<!-- /citation -->", "", "region citation of rgb's card does not end; expected a line <!-- /citation -->"),
        ("<!-- /configs -->", "<!-- /config -->", "region configs of rgb's card does not end"),
        ("<!-- load: ", "<!-- loads: ", "unknown region of rgb's card 'loads'; nearest: load"),
        ("pretty_name: RGB\n", "", "header of rgb's card ('pretty_name'); expected YAML with pretty_name, "),
        ("pretty_name: RGB\n", "pretty_name: [\n", "header of rgb's card ("),
        ("---\npretty", "pretty", "the card of rgb has no header"),
    ],
)
def test_a_card_that_cannot_be_rendered_is_named(old: str, new: str, said: str) -> None:
    assert old in RGB
    with pytest.raises(QuadragError) as caught:
        render("rgb", RGB.replace(old, new, 1))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_rewrites_what_drifted_and_names_it(copies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(copies), "--check"]) == 0
    assert capsys.readouterr() == ("", "")
    put(copies, "crag.md", ("| 1,335 |", "| 1,336 |"), ("dtype: string", "dtype: int8"))
    put(copies, "omnieval.yaml", ("about: 3000", "about: 3001"))
    drifted = (copies / "crag.md").read_text(encoding="utf-8")
    assert main([str(copies), "--check"]) == 1
    err = capsys.readouterr().err.splitlines()
    assert [line.split(" is not in step with the builder of ")[0] for line in err] == [
        str(copies / "crag.md"),
        str(copies / "omnieval.md"),
    ]
    assert (copies / "crag.md").read_text(encoding="utf-8") == drifted
    assert main([str(copies)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{copies / name}: rewritten" for name in ("crag.md", "omnieval.md")
    ]
    assert (copies / "crag.md").read_text(encoding="utf-8") == (CARDS / "crag.md").read_text(encoding="utf-8")
    assert "| about 3,001 |" in (copies / "omnieval.md").read_text(encoding="utf-8")
    (copies / "crag.md").unlink()
    assert main([str(copies)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"{copies}/crag.md cannot be read" in err
    put(copies, "rgb.yaml", ("rows: 300", "rows: 301"))
    shutil.copy(CARDS / "crag.md", copies)
    put(copies, "crag.md", ("<!-- /files -->", ""))
    assert main([str(copies), "--check"]) == 2, "where one cannot be rendered, the others were not looked at"
    assert "region files of crag's card does not end" in capsys.readouterr().err


@pytest.mark.slow
def test_it_runs_as_a_module(copies: Path, forked_python: Any, environment: Callable[..., dict[str, str]]) -> None:
    put(copies, "rgb.md", ("| 300 each |", "| 301 each |"))
    code = "import runpy; runpy.run_module('quadrag.hub.cards', run_name='__main__', alter_sys=True)"
    done = forked_python(code, "--check", copies, env=environment())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{copies}/rgb.md is not in step with the builder of rgb; run `make cards`\n"


def test_an_example_that_is_not_there_is_named(copies: Path) -> None:
    put(copies, "rgb.yaml", ("split: noise_40}", "split: noise_50}"))
    said = r"^unknown split of noise_robustness_en 'noise_50'; nearest: noise_40, noise_60, noise_20$"
    with pytest.raises(QuadragError, match=said):
        render("rgb", RGB, copies)
