"""`python -m tests.citations.speed --folder NEW`: how long the study of citations takes to evaluate and to show. No test.

1,350 claims with 8 passages, explained by three writers in 6 sentences each, every citation masked, three controls:
97,200 rows.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heval_core.evaluation.citations import tables
from heval_core.evaluation.citations.answered import CELL, answers_of, explanations_of, recoveries_of
from heval_core.evaluation.citations.measures import resamples_of
from heval_core.evaluation.citations.standing import standing
from heval_core.evaluation.publishing import publish
from heval_core.store.kinds import CLAIM
from heval_core.store.shards import ShardRows, ShardStore
from precompute.cli import main as command
from tests.datasets.samples import write_lines

CLAIMS, PASSAGES, SENTENCES, WRITERS = 1350, 8, 6, 3


def lines() -> list[dict[str, Any]]:
    words = np.random.default_rng(0)

    def text(count: int) -> str:
        return " ".join(f"word{number}" for number in words.integers(0, 5000, count))

    made = []
    for number in range(CLAIMS):
        claim = {"id": f"c{number}", "claim": text(12), "verdict": "supported"}
        claim |= {"passages": [text(20) for _ in range(PASSAGES)]}
        for writer in range(WRITERS):
            cited = words.integers(1, PASSAGES + 1, SENTENCES)
            made.append(claim | {"writer": f"w{writer}", "explanation": [f"{text(10)} [{passage}]." for passage in cited]})
    return made


def seconds(work: Callable[[], object], times: int = 3) -> list[float]:
    found = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        found.append(round(time.perf_counter() - started, 2))
    return found


def evaluated(folder: Path) -> None:
    store = ShardStore(folder)
    found = standing(store)
    claims = ShardRows(store, found.entries, CLAIM, CLAIM.schema.names).rows
    explanations = explanations_of(store, found.entries, claims)
    recovery = recoveries_of(store, found.entries, explanations, None)
    answers = {names: answers_of(own) for names, own in recovery.groupby(CELL, sort=False)}
    resamples = resamples_of(explanations[["dataset", "claim_id"]].itertuples(index=False, name=None))
    print(f"rows {len(recovery):,}")
    print("metrics", seconds(lambda: list(tables.cells(explanations, answers, resamples))))
    print("agreement", seconds(lambda: list(tables.agreement(answers, resamples)), 1))
    print("publish", seconds(lambda: publish(folder), 1))


def shown(folder: Path) -> None:
    from tests.pages.opening import open_page

    os.environ["HEVAL_STORE"] = str(folder)
    print("one claim", seconds(lambda: open_page("citations", tab="claim"), 5))
    print("overview", seconds(lambda: open_page("citations"), 3))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.citations.speed")
    parser.add_argument("--folder", type=Path, required=True)
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    claims = write_lines(folder / "speed.jsonl", lines())
    asked = f"--claims {claims} --writers shipped --annotators random,lexical,position --masking full --shard-size {CLAIMS}"
    print("run", seconds(lambda: command(["citations", "run", "--store", str(folder / "store"), *asked.split()]), 1))
    evaluated(folder / "store")
    shown(folder / "store")


if __name__ == "__main__":
    main()
