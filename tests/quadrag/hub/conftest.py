"""What the tests of the Hub share: exported samples, runs of the real pipeline, copies of runs that were changed."""

import shutil

import pytest
from altered_runs import alter
from chat_server import ChatServer

from quadrag.cli import main
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.hub.export import export

MODEL = "ann/model"


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """A folder with the samples of all benchmarks as `quadrag export` writes them."""
    folder = tmp_path_factory.mktemp("exported")
    export(folder, data_dir=builders.SAMPLE)
    return folder


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Runs of the real pipeline on files in upstream's layout, by name; none is on upstream's own."""
    root = tmp_path_factory.mktemp("runs")
    for benchmark in ("rgb", "crag", "crud_rag"):
        shutil.copytree(sample_dir(benchmark), root / "data" / benchmark)
    with ChatServer(models=[MODEL, "another"]) as server:

        def run(out, benchmark, *arguments):
            place = ["--out", root / out, "--data-dir", root / "data" / benchmark, "--ledger", root / "ledger.sqlite"]
            llm = ["--llm", f"{server.url}#{MODEL}"]
            assert main([str(each) for each in ("run", benchmark, *arguments, *llm, *place)]) == 0

        run("noise", "rgb", "noise_robustness_en", "--split", "noise_40")
        run("all/noise", "rgb", "noise_robustness_en", "--split", "noise_0")
        run("all/rejection", "rgb", "negative_rejection_zh", "--samples", "2")
        run("all/none", "rgb", "counterfactual_robustness_en", "--retriever", "none")
        run("limited", "rgb", "noise_robustness_zh", "--split", "noise_0", "--limit", "3")
        run("summary", "crud_rag", "summary", "--retriever", "bm25", "--top-k", "4")
        run("crag", "crag", "task_1_2", "--retriever", "none", "--judge", f"{server.url}#another")
        run("unjudged", "crag", "task_3", "--retriever", "none")
    return root


@pytest.fixture
def copied(runs, tmp_path):

    def copy(name="noise", change=lambda info: None):
        folder = tmp_path / "copied" / name
        shutil.copytree(runs / name, folder)
        alter(folder, change)
        return folder

    return copy
