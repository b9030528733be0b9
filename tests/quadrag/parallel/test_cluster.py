"""A Ray cluster of three nodes on this machine, one of which is killed in the middle; skipped where Ray is lacking."""

import pytest
from parallel_parts import slow_square

from quadrag import parallel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ray_utils = pytest.importorskip("ray.cluster_utils", reason="ray is not installed (extra: ray)")


def test_a_node_that_is_lost_changes_nothing(monkeypatch):
    nodes = ray_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    for _ in range(2):
        nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    try:
        with parallel.use("ray"):
            assert parallel.workers() == 3
            made = parallel.each(slow_square, range(40))
            first = [next(made) for _ in range(6)]
            nodes.remove_node(nodes.worker_nodes.copy().pop(), allow_graceful=False)
            assert [*first, *made] == [number * number for number in range(40)]
    finally:
        nodes.shutdown()
