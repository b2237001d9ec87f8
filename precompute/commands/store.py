"""Commands about one store: `status`, `verify`, `pack` and `publish`; `export` and `report` of what is published."""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from heval_core.evaluation.publishing import PublishProgress, is_outdated, left_out, publish
from heval_core.evaluation.usable import notes, source_notes
from heval_core.folders import program
from heval_core.present.table import Table
from heval_core.records import TECHNIQUE, HEvalError
from heval_core.store.packing import pack
from heval_core.store.progress import CellProgress, Progress, only_writer, progress
from heval_core.store.published import check_published
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from precompute.commands.options import Commands, add_command, existing, print_json, words, workers
from precompute.messages import say_progress

# More than anyone reads on a terminal.
SHOWN_FAILURES = 100
STATUS = (
    "done and missing (shards), process (of the run that is active, or null), seconds_left, cells (model, dataset, regime, "
    "technique, shards by state, rows by explainer), failures, notes, and outdated (whether to publish again)"
)
IDENTITY = ("model", "dataset", "technique", "explainer")


def add(commands: Commands) -> None:
    add_checks(commands)
    add_command(commands, "pack", _pack, "move a store's shards into one Parquet file a kind", store=True)
    publishing = add_command(commands, "publish", _publish, "build the results file and swap it in", store=True)
    publishing.add_argument("--workers", type=workers, help="processes that evaluate; auto, the default: as many as pay")
    exporting = add_command(commands, "export", _export, "the published tables as Parquet and CSV", store=True)
    exporting.add_argument("--formats", type=words, default=("parquet", "csv"), help="comma-separated; both by default")
    reporting = add_command(
        commands, "report", _report, "the paper's tables, figures and findings from published results", True
    )
    outs = ((exporting, "the folder to write into"), (reporting, "folder for report.html, results.json, tables and figures"))
    for parser, text in outs:
        parser.add_argument("--out", type=Path, required=True, help=text)


def add_checks(commands: Commands) -> None:
    """Add `status` and `verify`, which are the same for all studies of a store."""
    status = add_command(commands, "status", _status, "what is done, and what failed", store=True, keys=STATUS)
    status.add_argument("--watch", type=float, metavar="SECONDS", help="repeat until the run ends")
    add_command(commands, "verify", _verify, "check every shard, and the published file", store=True)


def _status(options: argparse.Namespace) -> int:
    existing(options.store)
    while True:
        state = progress(options.store)
        if options.json:
            return _status_json(state, options.store)
        note_lines = (f"note: {line}" for line in notes(ShardStore(options.store)))
        text = "\n".join([*_status_lines(state), *note_lines, *_outdated_line(options.store)])
        again = options.watch and state.process is not None
        print(f"\033[H\033[2J{text}" if again and sys.stdout.isatty() else text, flush=True)
        if not again:
            return 1 if state.failures else 0
        time.sleep(options.watch)


def _status_json(state: Progress, store: Path) -> int:
    cells = [cell.key._asdict() | {"shards": cell.shards, "rows": cell.rows} for cell in state.cells]
    whole = vars(state) | {"cells": cells, "notes": notes(ShardStore(store)), "outdated": is_outdated(store)}
    print_json(whole)
    return 1 if state.failures else 0


def _status_lines(state: Progress) -> Iterator[str]:
    if state.process is None:
        yield f"no run is active; {state.done} shards done, {state.missing} missing"
    else:
        left = "" if state.seconds_left is None else f", about {state.seconds_left / 60:.1f} min left"
        yield f"a run is active (process {state.process}): {state.done} shards done, {state.missing} missing{left}"
    if state.cells:
        yield Table.of(pd.DataFrame(map(_cell_line, state.cells))).text()
    yield from failure_lines(state.failures)


def _cell_line(cell: CellProgress) -> dict[str, Any]:
    model, dataset, regime, technique = cell.key
    regime = regime if technique == TECHNIQUE else f"{regime}, {technique}"
    counts = {name: cell.shards[name] for name in ("done", "running", "failed", "missing")}
    rows = ", ".join(f"{name} {count}" for name, count in sorted(cell.rows.items()))
    return {"model": model, "dataset": dataset, "regime": regime, **counts, "rows": rows}


def failure_lines(failures: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield one line for each of the first failures.

    What failed for many instances alike, such as a refused explainer, is one.
    """
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for failure in failures:
        alike.setdefault(tuple(failure[name] for name in (*IDENTITY, "error")), []).append(failure)
    kinds = list(alike.values())
    for first, *more in kinds[:SHOWN_FAILURES]:
        if more:
            what = f"{len(more) + 1:,} times, first at {_joined(first, ('regime', 'place'))}"
            where = " · ".join(filter(None, (_joined(first, IDENTITY), what)))
        else:
            where = _joined(first, ("model", "dataset", "regime", "technique", "explainer", "place"))
        yield f"failed: {where}: {first['error']}"
    if left := sum(map(len, kinds[SHOWN_FAILURES:])):
        yield f"failed: {left:,} more; publish to see them in the table `failure`"


def _joined(failure: dict[str, Any], names: Sequence[str]) -> str:
    return " · ".join(failure[name] for name in names if failure[name])


def _outdated_line(store: Path) -> Iterator[str]:
    if is_outdated(store):
        command = f"{program()} publish --store {store}"
        yield f"another version of this program evaluated the published results; run: {command}"


def _verify(options: argparse.Namespace) -> int:
    store = existing(options.store)
    entries = store.entries().values()
    bad = [entry for entry in entries if not store.intact(entry)]
    damaged = defaultdict[str, list[str]](list)
    for entry in bad:
        damaged[entry.where].append(store.set_aside(entry))
    for where, (done, *more) in damaged.items():
        count = f" ({len(more) + 1} shards)" if more else ""
        print(f"damaged: {where}{count}, {done}; the next run makes it again")
    print(f"{len(entries) - len(bad)} shards match the manifest, {len(bad)} do not")
    for line in _outdated_line(options.store):
        print(line)
    if published := check_published(options.store):
        print(f"published results: {published}; run: {program()} publish --store {options.store}")
    return 1 if bad or published else 0


def _pack(options: argparse.Namespace) -> int:
    store = existing(options.store)
    with only_writer(options.store):
        store.remove_unfinished()
        count = pack(store)
    entries = store.entries().values()
    files = len({entry.path for entry in entries})
    print(f"{count:,} shards packed; {len(entries):,} shards are in {files:,} files of {store.size(entries) / 1e6:,.1f} MB")
    return 0


def _line(state: PublishProgress) -> str:
    left = "" if state.seconds_left is None else f"{state.seconds_left:.0f} s left"
    return ", ".join(part for part in (state.phase, state.part, left) if part)


def _publish(options: argparse.Namespace) -> int:
    for line in left_out(existing(options.store)):
        print(line, file=sys.stderr)
    published = publish(options.store, on_progress=lambda state: say_progress(_line(state)), workers=options.workers)
    with closing(Reader(published)) as results:
        for line in source_notes(results):
            print(f"note: {line}", file=sys.stderr)
    print(published)
    return 0


def _export(options: argparse.Namespace) -> int:
    from heval_core.store.export import FORMATS, export

    for kind in options.formats:
        if kind not in FORMATS:
            raise HEvalError(f"There is no format {kind!r}; there are: {', '.join(FORMATS)}.")
    export(options.store, options.out, options.formats, print)
    return 0


def _report(options: argparse.Namespace) -> int:
    from heval_core.report.write import write

    write(options.store, options.out, print)
    return 0
