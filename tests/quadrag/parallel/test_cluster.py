"""A Ray cluster of three nodes on this machine, one of which is killed in the middle; skipped where Ray is lacking.

Run by hand: ``pip install '.[ray]'``, then this file by pytest.
"""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from chat_server import ChatServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ray_utils = pytest.importorskip("ray.cluster_utils", reason="ray is not installed (extra: ray)")

RUN = ("run", "crud_rag", "summary", "--data-dir", "sample", "--samples", "40", "--seed", "7")
FILES = ("retrieved.jsonl", "answers.jsonl", "items.jsonl", "scores.json")


@pytest.fixture
def cluster():
    """Three nodes with a processor each; the first one is the head."""
    nodes = ray_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    for _ in range(2):
        nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    try:
        yield nodes
    finally:
        nodes.shutdown()


def test_a_node_that_is_lost_changes_nothing(cluster, environment, tmp_path):
    with ChatServer(latency=0.3) as server:

        def start(name, **env):
            where = ("--ledger", tmp_path / f"{name}.sqlite", "--out", tmp_path / name, "--concurrency", "4")
            on = ("--on", "ray") if env else ()
            command = [sys.executable, "-m", "quadrag", *RUN, "--llm", f"{server.url}#m", *map(str, where), *on]
            return subprocess.Popen(command, env=environment(tmp_path / f"home-{name}", **env), text=True)

        assert start("alone").wait() == 0
        calls = server.requests
        bodies = len({str(body) for body in server.bodies})
        process = start("cluster", RAY_ADDRESS=cluster.address)
        while server.requests < calls + 24 and process.poll() is None:
            time.sleep(0.02)
        assert process.poll() is None, "it is killed in the middle"
        cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
        assert process.wait() == 0
        for name in FILES:
            assert (tmp_path / "cluster" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
        assert bodies == len({str(body) for body in server.bodies})
        assert server.requests - 2 * calls <= 4, "no more than the calls in flight are repeated"
