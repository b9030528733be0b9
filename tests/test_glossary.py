"""Every English line that common commands print about their numbers is explained in Chinese, in tables by subject."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from pages import ROOT, read

from quadrag.cli import main

PAGE = "docs/lines.zh.md"
SAMPLE = ("--data-dir", "sample")
LABELS = "id,label,question,answer,gold\n" + "".join(
    f"{n},{'right' if n % 2 else 'wrong'},Who won {n}?,Ada,Ada\n" for n in range(8)
)
VERDICTS = "id,verdict\n" + "".join(f"{n},{'right' if n % 3 else 'wrong'}\n" for n in range(8))


def phrases() -> list[str]:
    """What stands in the left columns of the tables, a … being any text."""
    left = [row.split("|")[1] for row in read(PAGE).splitlines() if row.startswith("| `")]
    return [phrase for cell in left for phrase in re.findall(r"`([^`]+)`", cell)]


def test_no_table_is_too_long_to_look_something_up() -> None:
    tables = [part.count("\n| `") for part in read(PAGE).split("\n## ")[1:]]
    assert len(tables) > 10 and max(tables) < 30


def is_prose(line: str) -> bool:
    """Whether a line is a sentence or a note, no row of a table and no text of the data."""
    return not line.startswith((" ", "http")) and "  " not in line and (line.endswith(".") or ": " in line)


def test_no_phrase_is_explained_twice() -> None:
    found = phrases()
    assert len(found) == len(set(found)) > 60


@pytest.mark.slow
def test_every_line_about_numbers_is_explained(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setenv("QUADRAG_CACHE", "cache")
    Path("labels.csv").write_text(LABELS)
    Path("verdicts.csv").write_text(VERDICTS)
    with ChatServer(models=["m", "j"]) as server:
        llm, judge = ("--llm", f"{server.url}#m"), ("--judge", f"{server.url}#j", "--max-failed", "1")
        rgb, crag, crud = ("rgb", "negative_rejection_en"), ("crag", "task_1_2"), ("crud_rag", "qa_1doc")
        commands: list[tuple[str, ...]] = [
            ("run", *rgb, *SAMPLE, "--out", "plain"),
            ("run", *rgb, *SAMPLE, *llm, "--out", "asked"),
            ("run", *rgb, *SAMPLE, *llm, "--out", "asked"),
            ("run", *rgb, *SAMPLE, *llm, "--out", "kept", "--limit", "8"),
            ("run", *crag, *SAMPLE, *llm, *judge, "--out", "judged"),
            ("run", *crag, *SAMPLE, *llm, *judge[:2], "--out", "invalid"),
            ("run", *crag, *SAMPLE, *llm, *judge, "--out", "other", "--estimate"),
            ("run", *crud, *SAMPLE, "--out", "searched"),
            ("run", "--recipe", "rgb-table1-chatgpt", *SAMPLE, *llm, "--out", "recipe"),
            ("score", "kept/answers.jsonl", *SAMPLE),
            ("report", "plain", "asked"),
            ("report", "plain", "kept"),
            ("show", "plain", "--wrong"),
            ("show", "plain", "asked", "--worse"),
            ("certify-judge", "labels.csv", "--verdicts", "verdicts.csv"),
        ]
        printed = []
        for command in commands:
            main(list(command))
            printed += [(line, command) for text in capsys.readouterr() for line in text.splitlines()]
    known = [".*".join(re.escape(part.rstrip(".")) for part in re.split("…", one)) for one in phrases()]
    known = [one for one in known if len(one) > 3]  # the heads of columns
    prose = [(line, command) for line, command in printed if is_prose(line)]
    assert len(prose) > 60
    assert [one for one in prose if not any(re.search(phrase, one[0]) for phrase in known)] == []


# What a reader of Chinese meets under one name: the word that all texts have, and those that none has.
ONE_WORD = {
    "标准文档": ("标准报道", "原报道"),
    "片段": ("段落", "文段"),
    "不给片段": ("无文档", "不带文档"),
    "未分高下": ("分不出高下",),
    "token": ("词元", "令牌"),
    "未作答": ("缺答",),
    "读不懂": ("格式不符",),
    "改正错误": ("纠错率",),
    "最佳值": ("最好值",),
}


def test_a_thing_has_one_word_in_chinese() -> None:
    pages = [
        ROOT / "README.zh.md",
        *(ROOT / "docs").glob("*.zh.md"),
        *(ROOT / "baselines/tables/chinese").glob("*.yaml"),
    ]
    assert len(pages) > 10
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert [(word, page.name) for words in ONE_WORD.values() for word in words if word in text] == []
