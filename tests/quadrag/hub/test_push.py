"""`quadrag push`: the calls that it makes of the Hub's client, what it uploads, and whom it leaves alone."""

import shlex
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
import yaml
from exported import copy_sample
from hub_recorder import Recorder
from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError, RepositoryNotFoundError

from quadrag import catalogue
from quadrag.cli import main
from quadrag.hub.export import MANIFEST, split_card

pytestmark = pytest.mark.plugins

ORG = "quadrag-test"
SAMPLE = ("--data-dir", "sample")


@pytest.fixture
def hub(monkeypatch, tmp_path):
    recorder = Recorder()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda **_: recorder)
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    return recorder


def push(*words):
    return main(["push", ORG, *words])


def test_without_yes_nothing_is_asked(hub, capsys):
    assert push(*SAMPLE) == 0
    names = [f"dataset {ORG}/{name}" for name in catalogue.benchmarks()]
    names += [f"space {ORG}/{name}" for name in catalogue.metrics()]
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(("dataset", "space"))] == names
    assert hub.calls == []


def test_a_dataset_is_made_and_sent_in_one_commit(hub, capsys):
    repo, configs = f"{ORG}/crud_rag", catalogue.configs("crud_rag")
    assert push("--benchmark", "crud_rag", "--private", "--yes", *SAMPLE) == 0
    assert [name for name, _ in hub.calls] == ["whoami", "list_repo_files", "create_repo", "upload_folder"]
    assert dict(hub.calls)["create_repo"] == {"repo_id": repo, "repo_type": "dataset", "private": True}
    sent = dict(hub.calls)["upload_folder"]
    assert (sent["repo_id"], sent["repo_type"]) == (repo, "dataset")
    # What was pushed before and is none any more goes; nothing of another's does.
    assert sent["delete_patterns"] == ["eval.yaml", *(f"{config}/*.parquet" for config in configs)]
    files = hub.files[repo]
    splits = [f"{name}/{split}-00000-of-00001.parquet" for name, each in configs.items() for split in each.splits]
    assert set(files) == {MANIFEST, "README.md", *splits}
    assert f'load_dataset("{repo}", "'.encode() in files["README.md"] and b'"ORG/' not in files["README.md"]
    assert capsys.readouterr().out == f"https://hub/{repo}/commit/1\n"
    # What is ours is not made again, and the same goes there to the byte.
    hub.calls.clear()
    assert push("--benchmark", "crud_rag", "--yes", *SAMPLE) == 0
    assert [name for name, _ in hub.calls] == ["whoami", "list_repo_files", "upload_folder"]
    assert hub.files[repo] == files


def test_a_metric_is_a_space_that_loads_from_there(hub):
    assert push("--metric", "ragquesteval", "--yes") == 0
    assert dict(hub.calls)["create_repo"]["space_sdk"] == "gradio"
    assert dict(hub.calls)["upload_folder"]["delete_patterns"] == []
    files = hub.files[f"{ORG}/ragquesteval"]
    folder = catalogue.metric_folder("ragquesteval")
    assert set(files) == {MANIFEST, *(path.name for path in folder.iterdir() if path.is_file())}
    assert f'>>> metric = evaluate.load("{ORG}/ragquesteval")\n'.encode() in files["README.md"]
    assert all(files[name] == (folder / name).read_bytes() for name in files if name not in (MANIFEST, "README.md"))


def test_data_go_out_under_their_licence_with_their_tasks_or_as_a_recipe(hub, tmp_path):
    (tmp_path / "mine").mkdir()
    whole = Path(copy_sample("rgb", tmp_path / "whole"))
    (whole / "zh_int.json").rename(tmp_path / "mine" / "zh_int.json")
    command = ["--benchmark", "rgb", "--data-dir", str(tmp_path / "mine"), "--yes"]
    assert push(*command) == 2, "the licence is non-commercial"
    assert hub.calls == []
    assert push(*command, "--accept-licence") == 0
    files = hub.files[f"{ORG}/rgb"]
    assert split_card(files["README.md"].decode())[0]["license"] == "cc-by-nc-sa-4.0"
    assert {task["config"] for task in yaml.safe_load(files["eval.yaml"])["tasks"]} == {"information_integration_zh"}
    assert push("--benchmark", "rgb", *SAMPLE, "--yes") == 0
    assert "eval.yaml" not in hub.files[f"{ORG}/rgb"], "made-up rows are no benchmark"
    assert push("--benchmark", "omnieval", "--yes") == 0
    files = hub.files[f"{ORG}/omnieval"]
    assert set(files) == {"README.md", "eval.yaml", MANIFEST}
    assert f'"{ORG}/'.encode() not in files["README.md"], "nothing can be loaded from there"


@pytest.mark.parametrize("kind", ["dataset", "space"])
def test_a_name_that_is_anothers_is_left_alone(hub, capsys, kind):
    name, file = ("rgb", "README.md") if kind == "dataset" else ("rgb_accuracy", "app.py")
    hub.files[f"{ORG}/{name}"] = {file: b""}
    assert push("--benchmark", "rgb", "--metric", "truthfulness", "--metric", "rgb_accuracy", *SAMPLE, "--yes") == 2
    assert f"{kind} {ORG}/{name} " in capsys.readouterr().err
    assert not {"create_repo", "upload_folder"} & {call for call, _ in hub.calls}
    # One that the Hub has just made is nobody's.
    hub.files[f"{ORG}/{name}"] = {".gitattributes": b"", **({"README.md": b""} if kind == "space" else {})}
    assert push(f"--{'benchmark' if kind == 'dataset' else 'metric'}", name, *SAMPLE, "--yes") == 0


def answered(status, error=HfHubHTTPError):
    return error("hf_" + "secret" * 5, response=SimpleNamespace(status_code=status, headers={}, request=None))


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        ("whoami", LocalTokenNotFoundError("none"), "HF_TOKEN"),
        ("whoami", answered(401), "401"),
        ("create_repo", answered(403), "403"),
        ("upload_folder", answered(404, RepositoryNotFoundError), "404"),
        ("upload_folder", answered(409), "409"),
        ("list_repo_files", answered(503), "503"),
        ("upload_folder", ConnectionError("refused"), "refused"),
        ("upload_folder", TimeoutError(), "TimeoutError"),
        ("list_repo_files", ValueError("no such name"), "no such name"),
        ("whoami", ConnectionError("https://ann:secret@hub/api"), "https://***@hub/api"),
    ],
)
def test_what_fails_is_one_line_without_the_token(hub, capsys, call, error, named):
    hub.fails[call] = error
    assert push("--metric", "rgb_accuracy", "--yes") == 2
    err = capsys.readouterr().err.splitlines()
    assert named in err[-1] and "secret" not in "".join(err)


@pytest.mark.pure
def test_what_cannot_be_meant_pushes_nothing(hub):
    """As of a shell's variable that is not set: not all of the benchmarks in its place."""
    wrong = ["--results ''", "--results '' --run a", "--results ann/model", "--results model --run a", "--run a"]
    for words in (*wrong, "--benchmark rgbb", "--metric rgb_acuracy"):
        assert push("--yes", *shlex.split(words)) == 2, words
    for org in ("a/b", "", "-a", "mü"):
        assert main(["push", "--yes", "--metric", "rgb_accuracy", "--", org]) == 2, org
    assert hub.calls == []
