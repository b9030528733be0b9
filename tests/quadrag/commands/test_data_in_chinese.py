"""What the commands about data and their search say in Chinese: tables, closing lines, nothing left in English."""

import re

import pytest

from quadrag.cli import main

WORDS = re.compile(r"\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b")
NAMES = re.compile(
    r'\{.*\}|“.*?”|`.*?`|[\w-]+_\w+|invalid question|I don\'t know|--[\w-]+|"Data construction"|正在写.*'
)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["audit", "rgb", "negative_rejection_zh"],
            (
                "已检查：negative_rejection_zh，自带样例",
                "发现：1 short_answer",
                "\n  short_answer  可接受的答案只有一两个字符，",
            ),
        ),
        (["recall", "crag", "task_1_2"], ("图 2：前几个网页中有答案的题", "摘要中", "占题数的百分数。")),
        (
            ["export", "out", "--benchmark", "omnieval"],
            ("out/omnieval：634 条，0.3 MB", "缺 train long_form_qa 的问题（名为 gen_datas_* 且含"),
        ),
    ],
)
def test_data_are_told_of_in_chinese(tmp_path, monkeypatch, capsys, command, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert main([*command, "--data-dir", "sample", "--labels", "zh"]) == 0
    shown = "".join(capsys.readouterr())
    for text in said:
        assert text in shown
    assert "还没有中文" not in shown and WORDS.findall(NAMES.sub(";", shown)) == []
