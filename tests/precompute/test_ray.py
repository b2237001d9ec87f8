"""A cluster of Ray gives what one process gives; a worker, a node, the driver and the head that die cost nothing finished."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from heval_core.evaluation.publishing import publish
from heval_core.store.shards import ShardStore
from precompute.grid import GRIDS
from precompute.on_ray import OnRay, on_ray
from precompute.run import run
from tests.precompute.kills import Deathbed, contents
from tests.precompute.test_cli import grid
from tests.precompute.test_fine_tuning import KEY as TRAINED

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = pytest.mark.slow

# A job of each kind: searched, trained and explained.
ON_RAY = dataclasses.replace(
    GRIDS["cub-smoke"], limit=48, regimes=("conflicting",), explainers=("attn",), techniques=("coiecd", TRAINED), device="cpu"
)


@contextmanager
def ray_cluster(folder: Path) -> Iterator[str]:
    """Start a cluster of its own, and stop no other: `ray stop` would end all that run on this machine. Gives its address."""
    how = "--head --block --port=0 --num-cpus=2 --num-gpus=2 --include-dashboard=false --node-ip-address=127.0.0.1"
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *how.split()]
    # Sockets of a cluster lie in its folder, and their paths may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="ray") as short, (folder / "printed").open("w+") as printed:
        started = subprocess.Popen([*command, f"--temp-dir={short}"], stdout=printed, stderr=subprocess.STDOUT)
        try:
            while not (address := re.search(r"--address='([\d.:]+)'", (folder / "printed").read_text())):
                assert started.poll() is None, (folder / "printed").read_text()
                time.sleep(0.1)
            yield address[1]
        finally:
            started.terminate()
            started.wait()


def test_a_cluster_gives_the_same_results_and_a_dead_worker_costs_its_task_only(model_folders, tmp_path):
    import ray

    here, there, killed = (tmp_path / name for name in ("here", "there", "killed"))
    grid = dataclasses.replace(ON_RAY, models=(*ON_RAY.models, str(model_folders["gpt2"])))
    quiet = run(grid, here)
    # Its workers would be nice, and get a thirtieth of a core beside a busy process.
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0", RAY_AUTH_MODE="disabled")

    def on_a_deathbed(loading):
        # As many threads as here: sums in another order end in other bits.
        made = Deathbed(loading, None, torch.get_num_threads())
        made.killed = killed
        return made

    with ray_cluster(tmp_path) as address:
        try:
            on_ray(address)
            outcome = run(grid, there, on_a_deathbed)
            assert killed.exists()
            assert (outcome.computed, outcome.failed, outcome.left) == (quiet.computed, 0, 0)
            assert {entry.kind for entry in ShardStore(there).entries().values()} > {"trial", "instance", "attribution"}
            assert contents(there) == contents(here)
            assert publish(there).name == publish(here).name
        finally:
            ray.shutdown()


class Nodes:
    """A cluster of a head without processors and two nodes of one each, all on this machine."""

    def __init__(self):
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self.address = self.cluster.address
        self.nodes = [self.cluster.add_node(num_cpus=1) for _ in range(2)]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        import ray

        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def quiet(small_grid, tmp_path_factory):
    """What one process makes of the small grid."""
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0", RAY_AUTH_MODE="disabled")
    store = tmp_path_factory.mktemp("quiet") / "store"
    assert run(small_grid, store).failed == 0
    return store


def test_a_node_that_dies_costs_nothing_for_the_other_one_does_what_is_left(small_grid, quiet, tmp_path):
    removed = []
    with Nodes() as ray_nodes:

        class Losing(OnRay):
            def submit(self, task, questions):
                super().submit(task, questions)
                if task.counts and not removed:
                    removed.append(ray_nodes.nodes[0])
                    ray_nodes.cluster.remove_node(ray_nodes.nodes[0], allow_graceful=False)

        on_ray(ray_nodes.address)
        outcome = run(small_grid, tmp_path, lambda loading: Losing(loading, 2, 1))
    assert removed
    assert (outcome.failed, outcome.left) == (0, 0)
    assert contents(tmp_path) == contents(quiet)


def test_a_killed_driver_and_a_new_head_go_on_from_what_was_finished(small_grid, quiet, tmp_path):
    store, printed = tmp_path / "store", tmp_path / "printed"
    with Nodes() as nodes, printed.open("w") as output:
        where = ["--executor", "ray", "--ray-address", nodes.address, "--workers", "1", "--cpus-per-worker", "1"]
        command = [sys.executable, "-m", "precompute", "run", *grid(small_grid, "--store", str(store), *where)]
        driver = subprocess.Popen(command, stdout=output, stderr=output)
        while driver.poll() is None and len(ShardStore(store).entries()) < 9:
            time.sleep(0.02)
        driver.kill()
        driver.wait()
    finished = contents(store)
    assert 9 <= len(finished) < len(contents(quiet)), printed.read_text()
    with Nodes() as nodes:
        outcome = run(small_grid, store, on_ray(nodes.address, 2, 1))
    assert (outcome.failed, outcome.left) == (0, 0)
    assert finished.items() <= contents(store).items() == contents(quiet).items()
    assert publish(store).name == publish(quiet).name
