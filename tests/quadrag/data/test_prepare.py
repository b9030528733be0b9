"""`quadrag prepare` as a user meets it: the bare names then load in another process, elsewhere, with the Hub or not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError

Process = Callable[..., "subprocess.CompletedProcess[str]"]
Environment = Callable[..., dict[str, str]]

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
LOAD_ALL = """
import json, sys
from datasets import load_dataset
loaded = {
    name: {split: list(load_dataset(sys.argv[1], name, split=split)) for split in splits}
    for name, splits in json.loads(sys.argv[2]).items()
}
print(json.dumps(loaded))
"""


@pytest.fixture
def python(forked_python: Process) -> Process:
    """Nearly all tests here start processes; `fresh=True` where the whole way of a user is walked."""
    return forked_python


class Hub(BaseHTTPRequestHandler):
    """Knows no repository, and says so as the Hub does."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("X-Error-Message", "Repository not found")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_POST = do_GET

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""


@pytest.fixture(params=["offline", "hub 404", "hub 401"])
def hub(request: pytest.FixtureRequest) -> Iterator[tuple[dict[str, str | None], list[str] | None]]:
    """Settings of a process without the Hub or with one, and the paths that the latter was asked for."""
    if request.param == "offline":
        yield {"HF_HUB_OFFLINE": "1"}, None
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.status, server.asked = int(request.param[-3:]), []  # type: ignore[attr-defined]
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    yield (
        {"HF_HUB_OFFLINE": None, "HF_EVALUATE_OFFLINE": None, "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1"},
        server.asked,  # type: ignore[attr-defined]
    )
    server.shutdown()
    server.server_close()


def sample(config: str, split: str, benchmark: str = "rgb") -> list[dict[str, Any]]:
    return list(builders.rows(builders.open_builder(benchmark, config, builders.SAMPLE)[0], split))


def released(benchmark: str, config: str) -> list[str]:
    """The splits that the sample has rows of; one of CRAG's is withheld."""
    return builders.splits(builders.open_builder(benchmark, config, builders.SAMPLE)[0])


def printed(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def other_data(folder: Path, name: str = "zh_refine.json", query: str = "另一个问题") -> Path:
    """A copy of one sample file with another first query."""
    folder.mkdir(exist_ok=True)
    lines = (sample_dir("rgb") / name).read_text(encoding="utf-8").splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"query": query}, ensure_ascii=False)
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return folder


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
        assert f"{name}: {counts}" in done.stdout.splitlines()
    asked = json.dumps({name: list(splits) for name, splits in expected.items()})
    assert printed(python(LOAD_ALL, benchmark, asked, env=environment())) == expected


@pytest.mark.parametrize("direction", ["written here", "read here"])
def test_versions_of_datasets_read_each_others_caches(
    quadrag: Process, python: Process, environment: Environment, direction: str
) -> None:
    other = os.environ.get("QUADRAG_OTHER_PYTHON")
    if not other:
        pytest.skip("QUADRAG_OTHER_PYTHON names no interpreter with another version of datasets")
    version = "import datasets; print(datasets.__version__.split('.')[0])"
    versions = [python(version, env=environment(), executable=each).stdout for each in (sys.executable, other)]
    assert versions[0] != versions[1], "QUADRAG_OTHER_PYTHON has the same version of datasets"
    writer, reader = (sys.executable, other) if direction == "written here" else (other, sys.executable)
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
    quadrag: Process, python: Process, environment: Environment, direction: str
) -> None:
    other = os.environ.get("QUADRAG_OTHER_PYTHON")
    if not other:
        pytest.skip("QUADRAG_OTHER_PYTHON names no interpreter with another version of datasets")
    writer, reader = (sys.executable, other) if direction == "written here" else (other, sys.executable)
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
def test_a_partial_folder_builds_what_it_holds_and_names_what_it_lacks(
    quadrag: Process, environment: Environment, tmp_path: Path
) -> None:
    folder = other_data(tmp_path / "partial")
    done = quadrag("prepare", "rgb", "--data-dir", folder, env=environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "noise_robustness_zh: noise_0 12, noise_20 12, noise_40 12, noise_60 12, noise_80 12" in lines
    assert "negative_rejection_zh: test 12" in lines
    assert f"information_integration_zh: not built, {folder} lacks zh_int.json" in lines
    assert sum("not built" in line for line in lines) == 10
    done = quadrag("prepare", "rgb", "--config", "information_integration_en", "--data-dir", folder, env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"quadrag: {folder} holds none of the files of rgb: lacking en_int.json\n"


@pytest.mark.slow
def test_keys_that_a_file_lacks_leave_their_configs_out(
    quadrag: Process, environment: Environment, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    split, full = root / "data/crud_split/split_merged.json", root / "data/crud/merged.zip"
    shutil.copytree(sample_dir("crud_rag"), root)
    content = json.loads(split.read_text(encoding="utf-8"))
    kept = {key: content[key] for key in ("event_summary", "questanswer_1doc")}
    split.write_text(json.dumps(kept), encoding="utf-8")
    full.unlink()
    (root / "src/quest_eval/Summary_quest_gt_save.json").unlink()
    done = quadrag("prepare", "crud_rag", "--data-dir", root, env=environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f"summary: test {len(kept['event_summary'])}" in lines
    assert f"qa_1doc: test {len(kept['questanswer_1doc'])}" in lines
    assert f"corpus: corpus {len(sample('corpus', 'corpus', 'crud_rag'))}" in lines
    held = "data/crud_split/split_merged.json (it holds event_summary, questanswer_1doc), data/crud/merged.zip"
    assert f"continuation: not built, {root} lacks continuing_writing in {held}" in lines
    assert f"hallucination: not built, {root} lacks hallu_modified in {held}" in lines
    assert sum("not built" in line for line in lines) == 4
    done = quadrag("prepare", "crud_rag", "--config", "hallucination", "--data-dir", root, env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"quadrag: {root} holds none of the files of crud_rag: lacking data/crud/merged.zip")
    # A broken file is no lacking one.
    full.write_bytes(b"PK\3\4 cut short")
    done = quadrag("prepare", "crud_rag", "--data-dir", root, env=environment())
    assert done.returncode == 2
    assert done.stderr == f"quadrag: {full} is no whole zip (File is not a zip file); fetch it again\n"


def test_what_a_config_was_built_without_is_named(own_cache: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(sample_dir("crud_rag"), root)
    (root / "data/crud/merged.zip").unlink()
    for name in ("ContinueWriting", "Summary"):
        (root / f"src/quest_eval/{name}_quest_gt_save.json").unlink()
    done = prepare("crud_rag", None, str(root))
    assert done.lacking == {}
    assert list(done.built) == list(catalogue.configs("crud_rag"))
    assert list(done.built["ragquesteval"]) == ["qa_1doc", "qa_2doc", "qa_3doc", "hallucination"]
    assert done.partial == {
        **{name: ["data/crud/merged.zip"] for name in list(done.built)[:6]},
        "corpus": [
            "documents_dup_part_1_part_3 to documents_dup_part_15_part_3",
            "documents_hallu.txt_part_2 to documents_hallu.txt_part_3",
        ],
        "ragquesteval": [
            "src/quest_eval/ContinueWriting_quest_gt_save.json",
            "src/quest_eval/Summary_quest_gt_save.json",
        ],
    }
    assert prepare("rgb", "noise_robustness_zh", builders.SAMPLE).partial == {}


@pytest.mark.slow
def test_real_crud_rag_files_build(
    quadrag: Process, python: Process, environment: Environment, real_data: Callable[[str], Path]
) -> None:
    root = real_data("CRUD_RAG")
    if (root / "data/crud/merged.zip").exists() or not (root / "data/80000_docs").is_dir():
        pytest.skip("not the files of the real-data pack")
    done = quadrag("prepare", "crud_rag", "--data-dir", root, env=environment())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "summary: test 900" in lines
    assert "corpus: corpus 68126" in lines
    assert "ragquesteval: qa_1doc 800, qa_2doc 800" in lines
    assert sum(line.endswith("(it holds event_summary), data/crud/merged.zip") for line in lines) == 5
    code = """
from datasets import load_dataset
corpus = load_dataset("crud_rag", "corpus", split="corpus")
print(len(corpus), corpus[-1]["file"], corpus[-1]["line"])
"""
    loaded = python(code, env=environment())
    assert loaded.stdout == "68126 documents_hallu.txt_part_3 1710\n", loaded.stderr


@pytest.mark.slow
def test_real_partial_files_build(quadrag: Process, environment: Environment, real_data: Callable[[str], Path]) -> None:
    root = real_data("RGB")
    done = quadrag("prepare", "rgb", "--data-dir", root, env=environment())
    assert done.returncode == 0, done.stderr
    for name, config in catalogue.configs("rgb").items():
        (file,) = config.files
        path = root / "data" / file
        if path.is_file():
            count = sum(1 for _ in path.open(encoding="utf-8"))
            assert f"{name}: " + ", ".join(f"{split} {count}" for split in config.splits) in done.stdout.splitlines()
        else:
            assert f"{name}: not built, {root} lacks {file}" in done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rgbb", "--data-dir", "sample"), "unknown benchmark 'rgbb'; nearest: rgb"),
        (("rgb", "--config", "noise_robustnes_zh"), "unknown config of rgb 'noise_robustnes_zh'; nearest: noise_robu"),
        (("rgb", "--data-dir", "/absent/folder"), "no folder '/absent/folder'; expected the files of rgb or the root"),
        (("rgb", "--data-dir", ""), "no folder ''; expected the files of rgb or the root"),
    ],
)
def test_bad_arguments_get_one_line(
    quadrag: Process, environment: Environment, arguments: tuple[str, ...], message: str
) -> None:
    done = quadrag("prepare", *arguments, env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"quadrag: {message}")
    assert done.stderr.count("\n") == 1


def test_a_bad_file_gets_one_line_and_leaves_nothing(
    quadrag: Process, environment: Environment, tmp_path: Path
) -> None:
    folder = other_data(tmp_path / "bad")
    with (folder / "zh_refine.json").open("a", encoding="utf-8") as file:
        file.write("\n{'id': 12}\n")
    done = quadrag("prepare", "rgb", "--config", "noise_robustness_zh", "--data-dir", folder, env=environment())
    assert done.returncode == 2
    assert done.stderr.startswith(f"quadrag: {folder / 'zh_refine.json'}:13 is not JSON")
    assert done.stderr.count("\n") == 1
    cache = tmp_path / "home" / "huggingface" / "datasets"
    assert not [path for path in cache.rglob("*") if path.suffix in (".arrow", ".json", ".part")]


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


def test_a_built_config_that_was_altered_is_told_and_built_again(own_cache: Path, tmp_path: Path, capsys: Any) -> None:
    folder = other_data(tmp_path / "other")
    arguments = ("rgb", "noise_robustness_zh", str(folder))
    prepare(*arguments)
    opened, _ = builders.open_builder(*arguments[:2])
    before = [list(builders.rows(opened, split)) for split in builders.splits(opened)]
    for name in ("rgb-noise_40.arrow", "dataset_info.json", "quadrag.json"):
        (path,) = own_cache.rglob(name)
        content = path.read_bytes()
        path.write_bytes(content[:-40] + bytes([content[-40] ^ 1]) + content[-39:])
        with pytest.raises(QuadragError, match=rf"{name} is damaged; remove .* and run `quadrag prepare` again"):
            opened, _ = builders.open_builder(*arguments[:2])
            list(builders.rows(opened, "noise_40"))
        if name == "quadrag.json":
            continue
        prepare(*arguments)
        assert capsys.readouterr().err == f"{path} is not as it was built; rgb noise_robustness_zh is built again\n"
        opened, _ = builders.open_builder(*arguments[:2])
        assert [list(builders.rows(opened, split)) for split in builders.splits(opened)] == before
    assert not list(own_cache.glob(".quadrag.*"))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The datasets cache of this process, moved into the test's folder."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def test_features_are_spelled_so_that_every_version_reads_them(own_cache: Path) -> None:
    import pyarrow as pa

    done = prepare("rgb", "information_integration_zh", builders.SAMPLE)
    assert done.built == {"information_integration_zh": {"noise_0": 12, "noise_20": 12, "noise_40": 12}}
    assert done.lacking == {}
    assert set(done.metrics) == set(catalogue.metrics())
    (folder,) = (own_cache / "rgb" / "information_integration_zh" / "1.0.0").glob("[0-9a-f]*/")
    assert len(folder.name) == 64
    spelled = [json.loads((folder / "dataset_info.json").read_text(encoding="utf-8"))["features"]]
    for arrow in folder.glob("*.arrow"):
        with pa.memory_map(str(arrow)) as source, pa.ipc.open_stream(source) as reader:
            spelled.append(json.loads(reader.schema.metadata[b"huggingface"])["info"]["features"])
    text = {"dtype": "string", "_type": "Value"}
    assert len(spelled) == 4
    for features in spelled:
        assert features["answer"] == features["positive"] == [[text]]
        assert features["documents"] == features["negative"] == [text]
    assert not list(own_cache.rglob("*.part"))
    assert not list(own_cache.glob("quadrag-*")), "what was built aside is gone"


def test_progress_is_told_before_each_config_and_a_second_time_costs_no_build(own_cache: Path) -> None:
    told: list[str] = []
    first = prepare("rgb", None, builders.SAMPLE, told.append)
    assert told == list(catalogue.configs("rgb")) == list(first.built)
    stamps = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.arrow")}
    assert len(stamps) == 32
    assert prepare("rgb", None, builders.SAMPLE) == first
    assert {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.arrow")} == stamps


def test_a_run_reads_what_was_prepared_from_real_files_but_never_the_sample(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "downloads"))
    name = "noise_robustness_zh"
    prepare("rgb", name, builders.SAMPLE)
    with pytest.raises(QuadragError, match=r"cannot fetch http://127\.0\.0\.1:9/.*zh_refine\.json"):
        builders.open_builder("rgb", name)
    other = other_data(tmp_path / "other")
    prepare("rgb", name, str(other))
    prepare("rgb", name, builders.SAMPLE)
    builder, source = builders.open_builder("rgb", name)
    assert source == f"{other} (zh_refine.json: not upstream's pinned file), as prepared"
    assert next(row["query"] for row in builders.rows(builder, "noise_0")) == "另一个问题"
    # Options compose anew, so they need the files.
    with pytest.raises(QuadragError, match="cannot fetch"):
        builders.open_builder("rgb", name, None, {"passage_num": 3})


def test_two_builders_of_a_config_keep_their_own_folders(tmp_path: Path) -> None:
    name, split = "noise_robustness_zh", "noise_0"
    first, _ = builders.open_builder("rgb", name, str(other_data(tmp_path / "a", query="甲")))
    second, _ = builders.open_builder("rgb", name, str(other_data(tmp_path / "b", query="乙")))
    assert [next(builders.rows(builder, split))["query"] for builder in (first, second)] == ["甲", "乙"]
    assert catalogue.config("rgb", name).data_dir is None


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", sorted(catalogue.benchmarks()))
def test_read_and_prepared_rows_are_the_same(own_cache: Path, tmp_path: Path, benchmark: str) -> None:
    shutil.copytree(sample_dir(benchmark), tmp_path / "files")
    for name in catalogue.configs(benchmark):
        prepare(benchmark, name, str(tmp_path / "files"))
        builder, _ = builders.open_builder(benchmark, name)
        for split in released(benchmark, name):
            expected = sample(name, split, benchmark)
            assert list(builders.rows(builder, split)) == expected
            assert list(builder.as_dataset(split=split)) == expected


def test_an_unknown_split_gets_the_nearest() -> None:
    builder, _ = builders.open_builder("rgb", "noise_robustness_zh", builders.SAMPLE)
    assert builders.check_split(builder, "noise_40") == "noise_40"
    with pytest.raises(QuadragError, match=r"unknown split of noise_robustness_zh 'noise_4'; nearest: noise_40"):
        builders.check_split(builder, "noise_4")
