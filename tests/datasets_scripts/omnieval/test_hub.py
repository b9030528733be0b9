"""The dataset script `omnieval` without a folder: the Hub's gated repositories, granted, refused, out of reach."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import GatedRepoError
from omnieval_files import cell, ids, named, node, put, record

from quadrag import catalogue
from quadrag.cli import main
from quadrag.data import builders
from quadrag.errors import QuadragError

GENERATED, HUMAN, CORPUS = "OmniEval-AutoGen-Dataset", "OmniEval-Human-Questions", "OmniEval-KnowledgeCorpus"


class Repositories(dict[str, Path | Exception]):
    """Stands in for `snapshot_download`: a folder or an error of each repository; keeps what it was asked for."""

    asked: list[tuple[str, Any]]

    def __call__(self, name: str, repo_type: str, allow_patterns: list[str]) -> str:
        assert repo_type == "dataset"
        self.asked.append((name, allow_patterns))
        found = self[name.removeprefix("RUC-NLPIR/")]
        if isinstance(found, Exception):
            raise found
        return str(found)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> Repositories:
    generated, human, corpus = (tmp_path / "hub" / COMMIT for COMMIT in "abc")
    cell(generated, record(), record())
    put(generated, "train.jsonl", named("insurance/health", "long_form_qa"))
    put(human, "README.md", "# empty")
    put(corpus, "all-2048-256_nodes/corpus.jsonl", node(1))
    repositories = Repositories({GENERATED: generated, HUMAN: human, CORPUS: corpus})
    repositories.asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", repositories)
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "quadrag"))
    return repositories


ALL = {
    "train": ["train/insurance/health/long_form_qa/1"],
    "auto": ["auto/banking/retail/extractive_qa/1", "auto/banking/retail/extractive_qa/2"],
}


def read(config: str, **options: Any) -> dict[str, list[str]]:
    builder, _ = builders.open_builder("omnieval", config, None, options)
    return {split: ids(list(builders.rows(builder, split))) for split in builders.splits(builder)}


def test_the_repositories_are_brought_without_pickles(hub: Repositories) -> None:
    assert read("all") == ALL, "the human set is empty upstream, and no error for the others"
    suffixes = ["*.jsonl", "*.json", "*.parquet"]
    assert hub.asked == [(f"RUC-NLPIR/{name}", suffixes) for name in (GENERATED, HUMAN)]
    assert read("corpus") == {"corpus": ["n-1"]}


@pytest.mark.parametrize("config", ["all", "corpus"])
def test_the_script_by_itself_brings_them_too(hub: Repositories, tmp_path: Path, config: str) -> None:
    builder = catalogue.builder_class("omnieval")(config_name=config, cache_dir=str(tmp_path / "cache"))
    builder.download_and_prepare()
    found = {split: builder.as_dataset(split=split)["id"][:] for split in builder.info.splits}
    assert found == (ALL if config == "all" else {"corpus": ["n-1"]})


def test_prepare_builds_what_can_be_had_and_says_what_is_refused(
    hub: Repositories, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    answer = SimpleNamespace(status_code=403, headers={}, request=None)
    hub[HUMAN] = GatedRepoError("no", response=answer)
    assert main(["prepare", "omnieval"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert {"all: train 1, auto 2", "extractive_qa: auto 2", "corpus: corpus 1"} <= {*out}
    assert any(HUMAN in entry.getMessage() and "403" in entry.getMessage() for entry in caplog.records)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (GatedRepoError("no", response=SimpleNamespace(status_code=401, headers={}, request=None)), "gated"),
        (ConnectionError("refused"), "refused"),
        (RuntimeError(""), "RuntimeError"),
    ],
)
def test_what_cannot_be_had_is_one_line_with_the_page(hub: Repositories, error: Exception, said: str) -> None:
    hub[CORPUS] = error
    with pytest.raises(QuadragError, match=said) as caught:
        read("corpus")
    assert f"https://huggingface.co/datasets/RUC-NLPIR/{CORPUS}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_options_leave_the_hub_alone(hub: Repositories, tmp_path: Path) -> None:
    put(tmp_path, "own.jsonl", named("insurance/health", "long_form_qa"))
    assert read("all", human_file=str(tmp_path / "own.jsonl")) == {"human": ["human/insurance/health/long_form_qa/1"]}
    assert hub.asked == []
