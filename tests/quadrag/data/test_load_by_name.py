"""Names that `quadrag prepare` filled load in another process, elsewhere, with the Hub or not, by other versions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from prepared_data import LOAD, other_data, printed, released, sample
from small_servers import Quiet, serving

from quadrag import catalogue

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Environment = Callable[..., dict[str, str]]

LOAD_ALL = """
import json, sys
from datasets import load_dataset
loaded = {
    name: {split: load_dataset(sys.argv[1], name, split=split) for split in splits}
    for name, splits in json.loads(sys.argv[2]).items()
}
said = {rows.info.description.splitlines()[0] for found in loaded.values() for rows in found.values()}
rows = {name: {split: list(rows) for split, rows in found.items()} for name, found in loaded.items()}
print(json.dumps({"said": list(said), "rows": rows}))
"""


class Hub(Quiet):
    """Knows no repository, and says so as the Hub does."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("X-Error-Message", "Repository not found")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_POST = do_GET


@pytest.fixture(params=["offline", "hub 404", "hub 401"])
def hub(request: pytest.FixtureRequest) -> Iterator[tuple[dict[str, str | None], list[str] | None]]:
    """Settings of a process without the Hub or with one, and the paths that the latter was asked for."""
    if request.param == "offline":
        yield {"HF_HUB_OFFLINE": "1"}, None
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.status, server.asked = int(request.param[-3:]), []  # type: ignore[attr-defined]
    with serving(server) as endpoint:
        yield (
            {"HF_HUB_OFFLINE": None, "HF_EVALUATE_OFFLINE": None, "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1"},
            server.asked,  # type: ignore[attr-defined]
        )


@pytest.mark.slow
def test_bare_names_load_elsewhere_with_the_hub_or_without(
    quadrag: Process,
    python: Process,
    environment: Environment,
    hub: tuple[dict[str, str | None], list[str] | None],
) -> None:
    settings, asked = hub
    arguments = ("prepare", "rgb", "--config", "noise_robustness_zh", "--data-dir", "sample")
    done = quadrag(*arguments, env=environment(), fresh=True)
    assert done.returncode == 0, done.stderr
    assert 'now: load_dataset("rgb", "noise_robustness_zh", split="noise_0")' in done.stdout
    loaded = printed(python(LOAD, env=environment(**settings), fresh=True))
    assert loaded["rows"] == sample("noise_robustness_zh", "noise_40")
    assert loaded["columns"] == list(loaded["rows"][0])
    assert loaded["rate"] == 0.5
    if asked is not None:
        assert any("datasets/rgb" in path for path in asked), "the Hub was to be asked and to know nothing"


@pytest.mark.parametrize(
    "benchmark",
    [pytest.param(name, marks=[] if name == "rgb" else pytest.mark.slow) for name in sorted(catalogue.benchmarks())],
)
def test_every_config_loads_by_name(
    quadrag: Process, python: Process, environment: Environment, benchmark: str
) -> None:
    done = quadrag("prepare", benchmark, "--data-dir", "sample", env=environment())
    assert done.returncode == 0, done.stderr
    expected = {
        name: {split: sample(name, split, benchmark) for split in released(benchmark, name)}
        for name in catalogue.configs(benchmark)
    }
    for name, splits in expected.items():
        counts = ", ".join(f"{split} {len(found)}" for split, found in splits.items())
        assert f"{name}: {counts} (the bundled sample, which is made up)" in done.stdout.splitlines()
    asked = json.dumps({name: list(splits) for name, splits in expected.items()})
    loaded = printed(python(LOAD_ALL, benchmark, asked, env=environment()))
    assert loaded["rows"] == expected
    assert loaded["said"] == ["The rows are the bundled sample of quadrag, which is made up."]


@pytest.mark.parametrize("direction", ["written here", "read here"])
def test_versions_of_datasets_read_each_others_caches(
    quadrag: Process, python: Process, environment: Environment, other_python: str, direction: str
) -> None:
    version = "import datasets; print(datasets.__version__.split('.')[0])"
    versions = [python(version, env=environment(), executable=each).stdout for each in (sys.executable, other_python)]
    assert versions[0] != versions[1], "QUADRAG_OTHER_PYTHON has the same version of datasets"
    writer, reader = (sys.executable, other_python) if direction == "written here" else (other_python, sys.executable)
    arguments = ("prepare", "rgb", "--config", "noise_robustness_zh", "--data-dir", "sample")
    done = quadrag(*arguments, env=environment(), executable=writer)
    assert done.returncode == 0, done.stderr
    loaded = printed(python(LOAD, env=environment(), executable=reader))
    assert loaded["rows"] == sample("noise_robustness_zh", "noise_40")
    # The other's prepare takes the cache as it stands.
    done = quadrag(*arguments, env=environment(), executable=reader)
    assert "noise_robustness_zh: noise_0 12, noise_20 12, noise_40 12, noise_60 12, noise_80 12" in done.stdout
    assert printed(python(LOAD, env=environment(), executable=writer)) == loaded


LOAD_CRUD = """
import json
from datasets import load_dataset
names = {"hallucination": "test", "corpus": "corpus", "ragquesteval": "hallucination"}
print(json.dumps({name: list(load_dataset("crud_rag", name, split=split)) for name, split in names.items()}))
"""


@pytest.mark.parametrize("direction", ["written here", "read here"])
def test_lists_of_records_too_are_read_by_both_versions(
    quadrag: Process, python: Process, environment: Environment, other_python: str, direction: str
) -> None:
    writer, reader = (sys.executable, other_python) if direction == "written here" else (other_python, sys.executable)
    done = quadrag("prepare", "crud_rag", "--data-dir", "sample", env=environment(), executable=writer)
    assert done.returncode == 0, done.stderr
    loaded = printed(python(LOAD_CRUD, env=environment(), executable=reader))
    for name, found in loaded.items():
        split = {"hallucination": "test", "corpus": "corpus", "ragquesteval": "hallucination"}[name]
        assert found == sample(name, split, "crud_rag")
    assert loaded["hallucination"][0]["all_keywords"]


@pytest.mark.slow
def test_the_newest_wins(quadrag: Process, python: Process, environment: Environment, tmp_path: Path) -> None:
    other = other_data(tmp_path / "other")
    queries = []
    for data_dir in ("sample", other, "sample"):
        done = quadrag("prepare", "rgb", "--config", "noise_robustness_zh", "--data-dir", data_dir, env=environment())
        assert done.returncode == 0, done.stderr
        queries.append(printed(python(LOAD, env=environment()))["rows"][0]["query"])
    (first, *_) = sample("noise_robustness_zh", "noise_40")
    assert queries == [first["query"], "另一个问题", first["query"]]


@pytest.mark.slow
def test_a_killed_prepare_leaves_the_name_loadable(
    quadrag: Process, python: Process, environment: Environment, tmp_path: Path
) -> None:
    done = quadrag("prepare", "rgb", "--config", "noise_robustness_zh", "--data-dir", "sample", env=environment())
    assert done.returncode == 0, done.stderr
    large = other_data(tmp_path / "large")
    row = json.loads((large / "zh_refine.json").read_text(encoding="utf-8").splitlines()[0])
    with (large / "zh_refine.json").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row | {"id": i}, ensure_ascii=False) + "\n" for i in range(20000))
    cache = tmp_path / "home" / "huggingface" / "datasets"
    whole = set(cache.rglob("*.arrow"))
    code = "import sys; from quadrag.cli import main; sys.exit(main())"
    command = [
        sys.executable,
        "-c",
        code,
        "prepare",
        "rgb",
        "--config",
        "noise_robustness_zh",
        "--data-dir",
        str(large),
    ]
    process = subprocess.Popen(
        command, env=environment(), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while set(cache.rglob("*.arrow")) == whole and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL, "it was killed while it wrote"
    assert printed(python(LOAD, env=environment()))["rows"] == sample("noise_robustness_zh", "noise_40")
    assert list(cache.glob(".quadrag.*.part")), "what it was writing"
    done = quadrag("prepare", "rgb", "--config", "noise_robustness_zh", "--data-dir", "sample", env=environment())
    assert done.returncode == 0 and not list(cache.glob(".quadrag.*")), "it goes with the next start"
