"""One RAG system as a function and over HTTP, killed: nothing is asked twice, and the files are the same to the byte.

The system is BM25 over CRUD-RAG's corpus and a model behind a server; the service is the same function in ten lines of
the standard library's server.
"""

import json
import os
import signal
import subprocess
import sys
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from chat_server import ChatServer
from small_servers import Quiet, serving

import quadrag

PLACE = ("crud_rag", "summary")
FILES = ("answers.jsonl", "items.jsonl", "scores.json", "questions.jsonl")
SCRIPT = """
import bm25s, quadrag, requests

corpus = list(quadrag.corpus("crud_rag", data_dir="sample", gold="test"))
index = bm25s.BM25()
index.index([list(document.text) for document in corpus], show_progress=False)

def my_rag(question):
    (best,), _ = index.retrieve([list(question.query)], k=8, show_progress=False)
    found = [corpus[place] for place in best]
    shown = "\\n".join(document.text[:500] for document in found)
    messages = [{"role": "user", "content": f"{shown}\\n\\n{question.query}"}]
    body = {"model": "MODEL", "messages": messages, "max_tokens": 400}
    reply = requests.post("URL/chat/completions", json=body, timeout=120)
    reply.raise_for_status()
    return reply.json()["choices"][0]["message"]["content"], found
"""


def system_of(model):
    return SCRIPT.replace("URL", model.url)


@pytest.fixture
def model():
    with ChatServer(models=["MODEL"]) as server:
        yield server


@pytest.fixture
def my_rag(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = {}
    exec(compile(system_of(model), "my_rag.py", "exec"), found)
    return found["my_rag"]


@pytest.fixture
def service(my_rag):
    class Service(Quiet):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer, found = my_rag(SimpleNamespace(query=asked["question"]))
            body = json.dumps({"answer": answer, "passages": [one._asdict() for one in found]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Service)) as address:
        yield f"{address}/rag"


def contents(folder):
    return {name: Path(folder, name).read_bytes() for name in FILES}


@pytest.mark.slow
@pytest.mark.parametrize("route", ["python", "http"])
def test_killed_twice_the_models_server_is_asked_nothing_twice(route, my_rag, service, model, tmp_path):
    quadrag.evaluate(*PLACE, my_rag, data_dir="sample", name="mine", out="whole")
    model.calls.clear()
    model.latency = 0.2
    measure = f"{system_of(model)}\nquadrag.evaluate(*{PLACE}, my_rag, data_dir='sample', name='mine', out='again')"
    run = ["run", *PLACE, "--data-dir", "sample", "--rag", service, "--concurrency", "1", "--ledger", "L"]
    command = {"python": ["-c", measure], "http": ["-m", "quadrag", *run, "--out", "again"]}[route]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *sys.path[:1]]))}
    for goal in (3, 6):
        with subprocess.Popen([sys.executable, *command], env=env, stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 60
            while model.calls.total() < goal and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(model.calls) == 8
    assert model.calls.total() <= 8 + 2, "at most the call in flight at each kill is made again"
    assert contents("again") == contents("whole")
