"""The samples' rows, as names that were prepared are to load them, and a file that differs from the sample's."""

import json
import subprocess
from pathlib import Path
from typing import Any

from quadrag.data import builders
from quadrag.data.files import sample_dir

# The two lines that the README promises, word for word, and what they bring.
LOAD = """
import json
from datasets import load_dataset
import evaluate
d = load_dataset("rgb", "noise_robustness_zh", split="noise_40")
m = evaluate.load("rejection_rate")
result = m.compute(predictions=["文档信息不足，因此我无法基于提供的文档回答该问题。", "70"])
print(json.dumps({"rows": list(d), "columns": d.column_names, "rate": result["rejection_rate"]}))
"""


def sample(config: str, split: str, benchmark: str = "rgb") -> list[dict[str, Any]]:
    return list(builders.rows(builders.open_builder(benchmark, config, builders.SAMPLE)[0], split))


def released(benchmark: str, config: str) -> list[str]:
    return builders.splits(builders.open_builder(benchmark, config, builders.SAMPLE)[0])


def printed(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def other_data(folder: Path, name: str = "zh_refine.json", query: str = "另一个问题") -> Path:
    folder.mkdir(exist_ok=True)
    lines = (sample_dir("rgb") / name).read_text(encoding="utf-8").splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"query": query}, ensure_ascii=False)
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return folder
