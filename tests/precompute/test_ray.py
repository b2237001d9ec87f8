"""One Ray cluster, with a job of each kind: searched, trained and explained. A worker of it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
import torch

from heval_core.evaluation.publishing import publish
from heval_core.store.shards import ShardStore
from precompute.grid import GRIDS
from precompute.run import run
from tests.precompute.kills import contents
from tests.precompute.test_fine_tuning import KEY

pytestmark = pytest.mark.slow

GRID = replace(
    GRIDS["cub-smoke"], limit=48, regimes=("conflicting",), explainers=("attn",), techniques=("coiecd", KEY), device="cpu"
)


def ray_command(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "ray.scripts.scripts", *arguments], capture_output=True, text=True)


def workers() -> list[int]:
    """Processes of our actors on this machine."""
    found = subprocess.run(["pgrep", "-f", "ray::Worker"], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def test_the_results_are_the_same_and_a_dead_worker_costs_its_task_only(model_folders, tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from precompute.worker import on_ray

    here, there, killed = tmp_path / "here", tmp_path / "there", []
    grid = replace(GRID, models=(*GRID.models, str(model_folders["gpt2"])))
    quiet = run(grid, here)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    how = "--head --num-cpus=2 --num-gpus=2 --include-dashboard=false --disable-usage-stats --port=0"
    cluster = ray_command("start", *how.split())
    assert cluster.returncode == 0, cluster.stderr

    def shoot():
        """Kill the process of one worker as soon as the first job has begun."""
        while not any(line["event"] == "began" and "0-" in line["name"] for line in ShardStore(there).events()):
            time.sleep(0.02)
        killed.extend(workers()[:1])
        for process in killed:
            os.kill(process, signal.SIGKILL)

    try:
        shooter = threading.Thread(target=shoot)
        shooter.start()
        # As many threads as here: sums in another order end in other bits.
        outcome = run(grid, there, on_ray("auto", cpus_per_worker=torch.get_num_threads()))
        shooter.join(timeout=60)
        assert killed
        assert (outcome.computed, outcome.failed, outcome.left) == (quiet.computed, 0, 0)
        assert {entry.kind for entry in ShardStore(there).entries().values()} > {"trial", "instance", "attribution"}
        assert contents(there) == contents(here)
        assert publish(there).name == publish(here).name
    finally:
        ray.shutdown()
        ray_command("stop", "--force")
