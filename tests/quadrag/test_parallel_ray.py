"""A Ray cluster of three nodes on this machine, one of which is killed in the middle; skipped where Ray is lacking."""

import os
import sys

import pytest
from parallel_parts import slow_square, square

from quadrag import parallel
from quadrag.errors import QuadragError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ray_utils = pytest.importorskip("ray.cluster_utils", reason="ray is not installed (extra: ray)")


@pytest.fixture
def nodes(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # a node's workers import what this process does
    cluster = ray_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    yield cluster
    cluster.shutdown()


def test_a_node_that_is_lost_changes_nothing_and_an_error_comes_at_its_turn(nodes):
    with parallel.use("ray"):
        assert parallel.workers() == 3
        made = parallel.each(slow_square, range(40))
        first = [next(made) for _ in range(6)]
        nodes.remove_node(nodes.worker_nodes.copy().pop(), allow_graceful=False)
        assert [*first, *made] == [number * number for number in range(40)]
        found = []
        with pytest.raises(QuadragError, match=r"^thirteen$"):
            found.extend(number for number, _ in parallel.each(square, range(20)))
        assert found == [number * number for number in range(13)]
