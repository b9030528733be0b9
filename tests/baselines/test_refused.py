"""What cannot be is one line that names it, exit code 2, and nothing is left behind."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from quadrag.errors import QuadragError
from quadrag.prompts import load_prompts

COMMANDS, RECIPES, PROMPTS = (
    yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
    for name in ("refused", "refused_recipes", "refused_prompts")
)
CASES = [(group, *case) for group in COMMANDS for case in group["commands"].items()]


def is_refused(cli: Any, arguments: list[str], said: str) -> None:
    before = {path.name for path in Path().iterdir()}
    code, _, err = cli(*arguments)
    assert code == 2 and said in err and err.count("\n") == 1, err
    assert {path.name for path in Path().iterdir()} - {"L"} == before, "nothing but the ledger is written"


@pytest.mark.parametrize(("group", "command", "said"), CASES, ids=[command for _, command, _ in CASES])
def test_a_command(cli: Any, group: dict[str, Any], command: str, said: str) -> None:
    for name, text in group.get("files", {}).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    is_refused(cli, shlex.split(f"{command} {group['after']}"), said)


@pytest.mark.parametrize(("line", "said"), RECIPES.items())
def test_a_recipe(cli: Any, line: str, said: str) -> None:
    Path("r.yaml").write_text(f"benchmark: crud_rag\n{line}\nruns:\n  - {{config: summary}}\n", encoding="utf-8")
    is_refused(cli, ["run", "--recipe", "r.yaml", "--data-dir", "sample", "--out", "a"], said)


@pytest.mark.parametrize(("benchmark", "content", "said"), PROMPTS["refused"])
def test_a_file_of_prompts(tmp_path: Path, benchmark: str, content: Any, said: str) -> None:
    whole, lacking = tmp_path / "whole.yaml", tmp_path / "mine.yaml"
    whole.write_text(yaml.safe_dump(PROMPTS["whole"][benchmark]))
    assert load_prompts(benchmark, str(whole))
    raw = content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else None
    lacking.write_bytes(yaml.safe_dump(content, encoding="utf-8") if raw is None else raw)
    with pytest.raises(QuadragError) as caught:
        load_prompts(benchmark, str(lacking))
    assert said in str(caught.value) and "mine.yaml" in str(caught.value) and "\n" not in str(caught.value)
