"""The chat client over a server it was not written with: the genuine `transformers serve`, with SmolLM2."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from quadrag.chat.client import ChatClient
from quadrag.chat.ledger import Ledger
from quadrag.chat.reply import Reply

torch = pytest.importorskip("torch", reason="torch is not installed (extra: local)")
transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra: local)")
pytestmark = [pytest.mark.serve, pytest.mark.timeout(300)]
COMMAND = Path(sys.executable).with_name("transformers")
START_SECONDS = 120
SYSTEM = {"role": "system", "content": "Be brief."}
CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Germany": "Berlin", "China": "Beijing"}
CHATS = [[SYSTEM, {"role": "user", "content": f"What is the capital of {country}?"}] for country in CAPITALS]


@pytest.fixture(scope="module")
def server(smollm2_folder, tmp_path_factory):
    if not COMMAND.is_file():
        pytest.skip(f"{COMMAND.name} has no command line here")
    pytest.importorskip("fastapi", reason="fastapi is not installed (transformers[serving])")
    pytest.importorskip("uvicorn", reason="uvicorn is not installed (transformers[serving])")
    folder = smollm2_folder
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "serve.log"
    command = [str(COMMAND), "serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environment) as process:
        try:
            deadline = time.monotonic() + START_SECONDS
            while True:
                assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                        break
                except (urllib.error.URLError, OSError):
                    time.sleep(0.3)
            yield f"http://127.0.0.1:{port}/v1", str(folder), process
        finally:
            process.kill()


def test_replies_are_counted_and_outlive_the_server(server, tmp_path):
    url, model, process = server
    options = {"parameters": {"temperature": 0.0, "max_tokens": 12}, "concurrency": 4}
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        with ChatClient(f"{url}#{model}", ledger=ledger, **options) as client:
            replies = client.complete(CHATS)
        assert all(isinstance(reply, Reply) for reply in replies), replies
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        for chat, reply, capital in zip(CHATS, replies, CAPITALS.values(), strict=True):
            assert capital in reply.text and reply.finish_reason in ("stop", "length")
            prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"]
            assert reply.usage["prompt_tokens"] == len(prompt)
            assert 0 < reply.usage["completion_tokens"] <= 12
            assert (reply.finish_reason == "length") == (reply.usage["completion_tokens"] == 12)
        process.kill()
        process.wait()
        replay = ChatClient(f"{url}#{model}", ledger=ledger, replay=True, **options)
        again = replay.complete(CHATS)
    assert [(reply.text, reply.usage, reply.latency) for reply in again] == [
        (reply.text, reply.usage, reply.latency) for reply in replies
    ]
