"""Model files of the CRAG challenge, made for tests, what they are asked, and what is known of their processes."""

from __future__ import annotations

import json
import os
import textwrap
import time
from contextlib import closing
from pathlib import Path

from quadrag.baselines.systems.challenge.model import ChallengeModel
from quadrag.chat.reply import Reply

# Every query is answered with itself, but those that name a fault; what was asked is kept in asked.jsonl.
MODEL = """
import json, os, signal, subprocess, sys, time
from pathlib import Path

class Echo:
    def __init__(self):
        with open("loaded.txt", "a") as file:
            file.write(f"{os.getpid()}\\n")

    def get_batch_size(self):
        return 2

    def batch_generate_answer(self, batch):
        with open("asked.jsonl", "a") as file:
            file.write(json.dumps(batch) + "\\n")
        print("at work", flush=True)
        answers = [query.upper() for query in batch["query"]]
        for query in batch["query"]:
            word = query.split()[0]
            if word == "slow":
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
                Path("grandchild.txt").write_text(str(child.pid))
                time.sleep(60)
            if word == "nap":
                time.sleep(0.4)
            if word == "raise":
                raise KeyError("nothing\\nhere")
            if word == "fewer":
                return answers[:1]
            if word == "none":
                return [None if one.startswith("NONE") else one for one in answers]
            if word == "text":
                return "one text"
            if word == "nothing":
                return None
            if word == "exit":
                sys.exit("done here")
            if word == "die":
                print("out of luck", file=sys.stderr)
                os._exit(7)
            if word == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
        return answers
"""
CLASS = "class {}:\n    def get_batch_size(self): return 1\n    def batch_generate_answer(self, batch): return ['{}']\n"


def write(path, code):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


def record(query, number=0, pages=()):
    return {
        "interaction_id": f"id-{number}-{query}",
        "query": query,
        "query_time": "03/19/2024, 23:49:30 PT",
        "search_results": list(pages),
    }


def records(*queries):
    return [record(query, number) for number, query in enumerate(queries)]


def page(number, html="<p>text</p>"):
    return {
        "page_name": f"page {number}",
        "page_url": f"https://example.org/{number}",
        "page_snippet": "",
        "page_result": html,
        "page_last_modified": " Tue, 19 Mar 2024 00:00:00 GMT",
    }


def ask(path, asked, ledger=None, **options):
    with closing(ChallengeModel(str(path), ledger=ledger, **options)) as model:
        return [reply for _, reply in model.answer(asked)]


def texts(replies):
    return [reply.text if isinstance(reply, Reply) else reply.detail for reply in replies]


def asked_of(path):
    """The queries that the model was asked, batch by batch."""
    log = path.parent / "asked.jsonl"
    return [json.loads(line)["query"] for line in log.read_text().splitlines()] if log.exists() else []


def gone(number):
    """Whether a process has ended; a zombie, whom nobody waits for, has."""
    for _ in range(300):
        try:
            os.kill(number, 0)
            if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


def loaded(path):
    return [int(line) for line in (path.parent / "loaded.txt").read_text().split()]
