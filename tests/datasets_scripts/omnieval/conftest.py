"""What the tests of OmniEval's script share: a checkout of OmniEval."""

from pathlib import Path

import pytest
from omnieval_files import HUMAN, NODES, PLACES, TASKS, cell, named, node, put, record


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for topic in PLACES:
        for task in TASKS:
            lines = [record(f"{topic} {task} {number}") for number in (1, 2)]
            talk = [[record("一"), record("二"), record("三")], [record("甲")]]
            cell(root, *(talk if task == "conversational_qa" else lines), topic=topic, task=task)
    for topic in ("investment/bonds", "fintech/ai"):
        cell(root, record(f"train {topic}"), topic=topic, of="corpus/nodes_dir/gen_datas_train_final")
    put(
        root,
        HUMAN,
        named(question="人写的"),
        [named(task="conversational_qa"), named(task="conversational_qa", question="又？")],
        named("fintech/ai", "contrast_qa"),
    )
    return put(root, f"corpus/nodes_dir/{NODES}", node(1), node(2), node(3))
