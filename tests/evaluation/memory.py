"""`python -m tests.evaluation.memory --folder NEW`: the most memory that a large store takes, for docs/benchmarks.md. No test.

2,000 made-up prompts of 7,168 to 8,192 tokens with two documents, and 15 explainers: 12 methods and the three controls. The
folder is deleted at the end.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from heval_core.evaluation import live
from heval_core.evaluation.curves import curve
from heval_core.evaluation.publishing import publish
from heval_core.store.filters import Filter
from heval_core.store.kinds import ATTRIBUTION, INSTANCE, ShardKind
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.store.shards import Entry, ShardStore, append_lines, sha256_of
from tests.planted import instance_row

WHERE = {"model": "made-up", "revision": "1", "dataset": "data", "regime": "double_conflicting", "technique": "regular"}
SHARD = 50


def build(folder: Path, methods: int, instances: int, tokens: int) -> None:
    """The shards of a store, with normal scores."""
    store, rng = ShardStore(folder), np.random.default_rng(0)
    store.create()
    store.note("model", {"model": "made-up", "revision": "1", "layers": 4, "heads": 8, "parameters": 0})
    for start in range(0, instances, SHARD):
        stop = min(start + SHARD, instances)
        lengths = (tokens - tokens // 8, tokens)
        rows = [instance_row(WHERE, "00", number, lengths, 0.5, rng) for number in range(start, stop)]
        _write(store, INSTANCE, "", start, pa.Table.from_pylist(rows, schema=INSTANCE.schema))
        ends = np.cumsum([0, *(len(row["tokens"]) for row in rows)], dtype=np.int32)
        for number in range(methods):
            scores = pa.ListArray.from_arrays(ends, rng.standard_normal(ends[-1], dtype=np.float32))
            key = f"made-up-{number:02d}"
            table = pa.table(
                {
                    "instance_id": [row["instance_id"] for row in rows],
                    "explainer": [key] * len(rows),
                    "scores": scores,
                    "signed": [number % 2 == 0] * len(rows),
                }
            )
            missing = [field for field in ATTRIBUTION.schema if field.name not in table.schema.names]
            for field in missing:
                table = table.append_column(field, pa.nulls(len(rows), field.type))
            _write(store, ATTRIBUTION, key, start, table.select(ATTRIBUTION.schema.names))


def _write(store: ShardStore, kind: ShardKind, explainer: str, start: int, table: pa.Table) -> None:
    """Like `ShardStore.write`, without hashing every score."""
    key, count = f"{kind.name}{explainer}{start}", table.num_rows
    path = store.folder / "shards" / f"{key}.parquet"
    pq.write_table(table, path, compression="zstd", compression_level=1, use_dictionary=kind is INSTANCE)
    file = {"path": path.relative_to(store.folder).as_posix(), "rows": count, "sha256": sha256_of(path), "content": key}
    entry = Entry(
        key=key, kind=kind.name, **WHERE, fingerprint="1", explainer=explainer, start=start, stop=start + count, **file
    )
    append_lines(store.folder / "manifest.jsonl", [asdict(entry)])


def slices(folder: Path) -> None:
    """What the Leaderboard computes live."""
    chosen = Filter(relation=tuple(f"relation {number}" for number in range(6)))
    with closing(Reader(current_file(folder))) as reader:
        for name, work in (
            ("a slice of the MRR", lambda: live.cells_of(reader, chosen, "mrr", 0)),
            ("a slice of NMutInf", lambda: live.cells_of(reader, chosen, "nmutinf", 5)),
            ("a curve", lambda: curve(reader, chosen, "mrr", ("balanced",), 0)),
        ):
            started = time.perf_counter()
            work()
            told(name, started)


def told(name: str, started: float) -> None:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6 * 1.024
    print(f"{name}: {time.perf_counter() - started:.0f} s; at most {most:.2f} GB so far", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", choices=("build", "publish", "slices"), help="of the steps, each in its own process")
    for name, default in (("methods", 12), ("instances", 2000), ("tokens", 8192)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    started = time.perf_counter()
    if options.only is None:
        if options.folder.exists():
            parser.error(f"{options.folder} exists; name a new folder")
        try:
            for step in ("build", "publish", "slices"):
                subprocess.run([sys.executable, "-m", "tests.evaluation.memory", *sys.argv[1:], "--only", step], check=True)
        finally:
            shutil.rmtree(options.folder, ignore_errors=True)
    elif options.only == "build":
        build(options.folder, options.methods, options.instances, options.tokens)
        told("building", started)
    elif options.only == "publish":
        publish(options.folder)
        told("publishing", started)
    else:
        slices(options.folder)


if __name__ == "__main__":
    main()
