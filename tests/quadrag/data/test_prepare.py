"""`quadrag prepare` as a user meets it: what it builds, what it says of what lacks, who then loads it by name."""

import json
import signal
import subprocess
import sys
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pytest
from attacks import READ_ONLY
from exported import copy_sample
from prepared_data import LOAD, other_data, printed, released, sample
from small_servers import Quiet, serving

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.builders import prepare
from quadrag.errors import QuadragError

pytestmark = pytest.mark.plugins

COMMAND = "import sys; from quadrag.cli import main; sys.exit(main(sys.argv[1:]))"
NAME = "noise_robustness_zh"
ARGUMENTS = ("prepare", "rgb", "--config", NAME, "--data-dir", "sample")
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


def test_a_partial_folder_builds_what_it_holds_and_names_what_it_lacks(own_cache, tmp_path):
    root = Path(copy_sample("crud_rag", tmp_path / "root"))
    split, full = root / "data/crud_split/split_merged.json", root / "data/crud/merged.zip"
    content = json.loads(split.read_text(encoding="utf-8"))
    kept = {key: content[key] for key in ("event_summary", "questanswer_1doc")}
    split.write_text(json.dumps(kept), encoding="utf-8")
    full.unlink()
    (root / "src/quest_eval/Summary_quest_gt_save.json").unlink()
    told: list[str] = []
    done = prepare("crud_rag", None, str(root), told.append)
    assert told == list(done.built) == ["qa_1doc", "summary", "corpus", "ragquesteval"]
    assert done.built["summary"] == {"test": len(kept["event_summary"])}
    assert done.built["corpus"] == {"corpus": len(sample("corpus", "corpus", "crud_rag"))}
    assert "summary" not in done.built["ragquesteval"]
    assert done.lacking["hallucination"][1:] == done.lacking["summary"] == ["data/crud/merged.zip"]
    assert "questanswer_1doc" in done.lacking["hallucination"][0]
    assert done.lacking["ragquesteval"] == ["src/quest_eval/Summary_quest_gt_save.json"]
    assert len(done.lacking["corpus"]) == 45 and done.lacking["corpus"][0] == "documents_dup_part_1_part_3"
    assert set(done.metrics) == set(catalogue.metrics())
    with pytest.raises(QuadragError, match=r"data/crud/merged\.zip"):
        prepare("crud_rag", "hallucination", str(root))
    # A broken file is no lacking one.
    full.write_bytes(b"PK\3\4 cut short")
    with pytest.raises(QuadragError, match=rf"^{full} "):
        prepare("crud_rag", None, str(root))


def test_features_are_spelled_so_that_every_version_reads_them(own_cache):
    done = prepare("rgb", "information_integration_zh", builders.SAMPLE)
    assert done.built == {"information_integration_zh": {"noise_0": 12, "noise_20": 12, "noise_40": 12}}
    (folder,) = (own_cache / "rgb" / "information_integration_zh" / "1.0.0").glob("[0-9a-f]*/")
    assert len(folder.name) == 64
    spelled = [json.loads((folder / "dataset_info.json").read_text(encoding="utf-8"))["features"]]
    for arrow in folder.glob("*.arrow"):
        with pa.memory_map(str(arrow)) as source, pa.ipc.open_stream(source) as reader:
            spelled.append(json.loads(reader.schema.metadata[b"huggingface"])["info"]["features"])
    text = {"dtype": "string", "_type": "Value"}
    assert [(features["answer"], features["documents"]) for features in spelled] == [([[text]], [text])] * 4
    stamps = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.arrow")}
    assert prepare("rgb", "information_integration_zh", builders.SAMPLE) == done
    assert {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.arrow")} == stamps, "built once"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rgbb", "--data-dir", "sample"), "rgbb"),
        (("rgb", "--config", "noise_robustnes_zh"), "noise_robustnes_zh"),
        (("rgb", "--data-dir", "/absent/folder"), "/absent/folder"),
        (("rgb", "--config", NAME, "--data-dir", "bad"), "zh_refine.json:13 "),
    ],
)
def test_bad_arguments_and_files_get_one_line_and_leave_nothing(quadrag, environment, tmp_path, arguments, said):
    folder = other_data(tmp_path / "bad")
    with (folder / "zh_refine.json").open("a", encoding="utf-8") as file:
        file.write("\n{'id': 12}\n")
    arguments = tuple(str(folder) if each == "bad" else each for each in arguments)
    done = quadrag("prepare", *arguments, env=environment())
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count("\n") == 1
    cache = tmp_path / "home" / "huggingface" / "datasets"
    assert not [path for path in cache.rglob("*") if path.suffix in (".arrow", ".json", ".part")]


class Hub(Quiet):
    """Knows no repository, and says so as the Hub does."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_POST = do_GET


@pytest.mark.slow
def test_bare_names_load_elsewhere_while_the_hub_is_asked_and_knows_none(quadrag, python, environment):
    done = quadrag(*ARGUMENTS, env=environment(), fresh=True)
    assert done.returncode == 0, done.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.asked = []
    online = {"HF_HUB_OFFLINE": None, "HF_EVALUATE_OFFLINE": None, "HF_HUB_DISABLE_XET": "1"}
    with serving(server) as endpoint:
        loaded = printed(python(LOAD, env=environment(**online, HF_ENDPOINT=endpoint), fresh=True))
    assert loaded["rows"] == sample(NAME, "noise_40")
    assert loaded["columns"] == list(loaded["rows"][0])
    assert loaded["rate"] == 0.5
    assert any("datasets/rgb" in path for path in server.asked)


@pytest.mark.parametrize(
    "benchmark",
    [pytest.param(name, marks=[] if name == "rgb" else pytest.mark.slow) for name in sorted(catalogue.benchmarks())],
)
def test_every_config_loads_by_name(quadrag, python, environment, benchmark):
    done = quadrag("prepare", benchmark, "--data-dir", "sample", env=environment())
    assert done.returncode == 0, done.stderr
    expected = {
        name: {split: sample(name, split, benchmark) for split in released(benchmark, name)}
        for name in catalogue.configs(benchmark)
    }
    for name, splits in expected.items():
        counts = ", ".join(f"{split} {len(found)}" for split, found in splits.items())
        assert any(line.startswith(f"{name}: {counts}") for line in done.stdout.splitlines()), name
    asked = json.dumps({name: list(splits) for name, splits in expected.items()})
    loaded = printed(python(LOAD_ALL, benchmark, asked, env=environment()))
    assert loaded["rows"] == expected
    assert loaded["said"] == ["The rows are the bundled sample of quadrag, which is made up."]


@pytest.mark.parametrize("direction", ["written here", "read here"])
@pytest.mark.parametrize("benchmark", ["rgb", "crud_rag"])
def test_versions_of_datasets_read_each_others_caches(quadrag, python, environment, other_python, benchmark, direction):
    version = "import datasets; print(datasets.__version__.split('.')[0])"
    pythons = (sys.executable, other_python)
    versions = {python(version, env=environment(), executable=each).stdout for each in pythons}
    assert len(versions) == 2, "QUADRAG_OTHER_PYTHON has the same version of datasets"
    writer, reader = pythons if direction == "written here" else reversed(pythons)
    splits = {"rgb": {NAME: ["noise_40"]}, "crud_rag": {"hallucination": ["test"], "ragquesteval": ["hallucination"]}}
    asked = splits[benchmark]
    arguments = [("prepare", benchmark, "--config", name, "--data-dir", "sample") for name in asked]
    for executable in (writer, reader):  # the other's prepare takes the cache as it stands
        for each in arguments:
            done = quadrag(*each, env=environment(), executable=executable)
            assert done.returncode == 0, done.stderr
        loaded = printed(python(LOAD_ALL, benchmark, json.dumps(asked), env=environment(), executable=reader))
        assert loaded["rows"] == {
            name: {split: sample(name, split, benchmark) for split in splits} for name, splits in asked.items()
        }


@pytest.mark.slow
def test_the_newest_wins_and_a_killed_prepare_leaves_the_name_loadable(quadrag, python, environment, tmp_path):
    other = other_data(tmp_path / "other")
    queries = []
    for data_dir in ("sample", other, "sample"):
        done = quadrag("prepare", "rgb", "--config", NAME, "--data-dir", data_dir, env=environment())
        assert done.returncode == 0, done.stderr
        queries.append(printed(python(LOAD, env=environment()))["rows"][0]["query"])
    expected = sample(NAME, "noise_40")
    assert queries == [expected[0]["query"], "另一个问题", expected[0]["query"]]
    row = json.loads((other / "zh_refine.json").read_text(encoding="utf-8").splitlines()[0])
    with (other / "zh_refine.json").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row | {"id": i}, ensure_ascii=False) + "\n" for i in range(20000))
    cache = tmp_path / "home" / "huggingface" / "datasets"
    whole = set(cache.rglob("*.arrow"))
    command = [sys.executable, "-c", COMMAND, "prepare", "rgb", "--config", NAME, "--data-dir", str(other)]
    process = subprocess.Popen(
        command, env=environment(), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while set(cache.rglob("*.arrow")) == whole and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL, "it was killed while it wrote"
    assert printed(python(LOAD, env=environment()))["rows"] == expected
    assert list(cache.glob(".quadrag.*.part")), "what it was writing"
    done = quadrag(*ARGUMENTS, env=environment())
    assert done.returncode == 0 and not list(cache.glob(".quadrag.*")), "it goes with the next start"


@pytest.fixture
def read_only(python, environment, tmp_path):

    def run(*arguments, **changes):
        code = "".join(READ_ONLY.format(str(tmp_path / "home" / name)) for name in ("huggingface", "quadrag"))
        return python(code + COMMAND, *arguments, env=environment(**changes))

    for name in ("huggingface", "quadrag"):
        (tmp_path / "home" / name).mkdir(parents=True)
    return run


RUN = ("run", "rgb", "noise_robustness_en", "--split", "noise_0")
GRAPH = ("run", "crag", "task_1_2", "--data-dir", "sample")
SEARCH = ("run", "crud_rag", "summary", "--data-dir", "sample")


def test_what_is_in_a_cache_that_may_only_be_read_is_read(read_only, quadrag, environment, tmp_path):
    data = copy_sample("rgb", tmp_path / "RGB")
    for command in (("prepare", "rgb", "--config", RUN[2], "--data-dir", data), (*SEARCH, "--out", tmp_path / "w")):
        assert quadrag(*command, env=environment()).returncode == 0
    ways = {"prepared": RUN, "a folder": (*RUN, "--data-dir", data), "an index": SEARCH}
    for name, arguments in ways.items():
        done = read_only(*arguments, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    prepared, folder, index, written = ((tmp_path / name / "scores.json").read_bytes() for name in (*ways, "w"))
    assert (prepared, written) == (folder, index)
    named = {"QUADRAG_CACHE": str(tmp_path / "other")}
    assert read_only(*SEARCH, "--out", tmp_path / "r", **named).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        (ARGUMENTS, "HF_HOME"),
        (RUN, "QUADRAG_CACHE"),
        (SEARCH, "QUADRAG_CACHE"),
        ((*GRAPH, "--retriever", "snippets-kg", "--entity-llm", "http://127.0.0.1:9/v1#m"), "--ledger"),
    ],
)
def test_what_is_not_there_is_one_line_with_the_setting(read_only, tmp_path, arguments, setting):
    more = ("--out", tmp_path / "r") if arguments[0] == "run" else ()
    done = read_only(*arguments, *more)
    assert done.returncode == 2 and setting in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("quadrag: ")]) == 1
    assert "Traceback" not in done.stderr
