"""A RAG system as a function, killed: nothing is asked twice, and the files are the same to the byte.

The system is BM25 over CRUD-RAG's corpus and a model behind a server.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_server import ChatServer

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


def contents(folder):
    return {name: Path(folder, name).read_bytes() for name in FILES}


@pytest.mark.slow
def test_killed_twice_the_models_server_is_asked_nothing_twice(my_rag, model):
    quadrag.evaluate(*PLACE, my_rag, data_dir="sample", name="mine", out="whole")
    model.calls.clear()
    model.latency = 0.2
    measure = f"{system_of(model)}\nquadrag.evaluate(*{PLACE}, my_rag, data_dir='sample', name='mine', out='again')"
    command = ["-c", measure]
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
