"""RGB's recipe, by rule and by a scripted model: what enters is true of its source, whatever the model says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from maker_model import make_reply

from quadrag import cli
from quadrag.baselines.construct.held import language_of, stands_in


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.json*")}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check(folder: Path) -> int:
    """Hold every item of a dataset against what RGB's files promise; return how many there are."""
    count = 0
    for path in folder.glob("zh*.json"):
        for line in lines_of(path):
            count += 1
            assert language_of(line["query"]) == "zh"
            aspects = line["positive"] if path.stem == "zh_int" else [line["positive"]]
            assert len(aspects) == len(line["answer"])
            for answers, positive in zip(line["answer"], aspects, strict=True):
                assert positive
                assert all(any(stands_in(answer, text) for answer in answers) for text in positive)
                assert not any(stands_in(answer, text) for answer in answers for text in line["negative"])
                assert not any(len(answer) > 1 and stands_in(answer, line["query"]) for answer in answers)
            assert len(line["negative"]) >= 5
            if path.stem == "zh_fact":
                (fake,) = line["fakeanswer"]
                assert len(line["positive_wrong"]) == len(line["positive"])
                assert all(stands_in(fake, text) for text in line["positive_wrong"])
                assert not any(stands_in(a, text) for a in line["answer"][0] for text in line["positive_wrong"])
    return count


@pytest.mark.slow
def test_by_rule_the_whole_path_works(documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine"
    assert cli.main(["construct", "rgb", "--documents", str(documents), "--out", str(out)]) == 0
    assert "noise_robustness_zh            noise_0 " in capsys.readouterr().out
    assert check(out) > 10
    first = files(out)
    assert cli.main(["construct", "rgb", "--documents", str(documents), "--out", str(out)]) == 0
    assert files(out) == first
    for config in ("noise_robustness_zh", "information_integration_zh", "counterfactual_robustness_zh"):
        assert cli.main(["run", "rgb", config, "--data-dir", str(out), "--out", str(tmp_path / config)]) == 0


@pytest.mark.slow
def test_whatever_a_model_says_only_what_holds_enters(documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    with ChatServer(text=make_reply) as server:
        command = ["construct", "rgb", "--documents", str(documents), "--out", str(out), "--llm", f"{server.url}#m"]
        command += ["--ledger", str(tmp_path / "ledger.sqlite")]
        assert cli.main(command) == 0
        asked = server.requests
        first = files(out)
        assert cli.main(command) == 0
        assert server.requests == asked
    assert files(out) == first
    assert check(out) > 5
    dropped = {why for step in json.loads(first["construct.json"])["steps"] for why in step["dropped"]}
    assert {"unreadable reply", "answer is not in the source", "question in another language"} <= dropped
