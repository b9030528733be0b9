"""The scripts as `datasets` 3.6 runs them, built and streamed: the rows are those that quadrag reads."""

from pathlib import Path
from typing import Any

import datasets
import pytest
from crag_files import lines, record
from sample_rows import rows

from quadrag import catalogue

OLD = int(datasets.__version__.split(".")[0]) < 4  # runs scripts
LOADED: list[tuple[str, str, str, dict[str, Any]]] = [
    ("crag", "qa", "public", {}),
    ("crag", "task_1_2", "validation", {}),
    ("crag", "task_3", "public", {}),
    ("crag", "qa", "private", {"private_file": "own.jsonl"}),
    ("crud_rag", "summary", "test", {}),
    ("crud_rag", "hallucination", "full", {}),
    ("crud_rag", "corpus", "corpus", {}),
    ("crud_rag", "corpus", "corpus", {"gold": "full"}),
    ("crud_rag", "ragquesteval", "hallucination", {}),
    ("omnieval", "all", "train", {}),
    ("omnieval", "all", "auto", {"min_evaluation": 2}),
    ("omnieval", "all", "human", {}),
    ("omnieval", "conversational_qa", "auto", {}),
    ("omnieval", "corpus", "corpus", {}),
    ("rgb", "noise_robustness_zh", "noise_40", {}),
    ("rgb", "noise_robustness_zh", "noise_60", {"passage_num": 3, "noise_ratio": 0.6, "order": "per_item"}),
    ("rgb", "information_integration_en", "noise_0", {"passage_num": 10}),
    ("rgb", "counterfactual_robustness_en", "test", {"correct_ratio": 0.4}),
]


@pytest.fixture(autouse=True)
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.jsonl").write_bytes(lines(record(1), record(2)))
    monkeypatch.chdir(tmp_path)


@pytest.mark.skipif(not OLD, reason=f"datasets {datasets.__version__} runs no scripts; 3.6.0 does")
@pytest.mark.parametrize("streaming", [False, True], ids=["built", "streamed"])
@pytest.mark.parametrize(("name", "config", "split", "options"), LOADED)
def test_datasets_3_runs_the_script_folder(
    name: str, config: str, split: str, options: dict[str, Any], streaming: bool
) -> None:
    folder = catalogue.benchmarks()[name].parent
    given = {"trust_remote_code": True, "data_dir": str(folder / "sample"), **options}
    loaded = datasets.load_dataset(str(folder), config, split=split, streaming=streaming, **given)
    assert list(loaded) == rows(name, config, split, **options)


@pytest.mark.parametrize("name", catalogue.benchmarks())
def test_no_config_is_the_default(name: str) -> None:
    with pytest.raises(ValueError, match=next(iter(catalogue.configs(name)))):
        catalogue.builder_class(name)()
