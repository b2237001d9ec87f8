"""Many shards in few files: one Parquet file a kind, where row groups stand in for files.

A row group holds shards of one model and dataset, and the manifest says at which group and row a shard begins. Shards that
come later lie beside it and win; packing again merges them with files that are not full. First the packed files are written,
then the manifest is written anew, whole or not at all, then what it lists no more is removed. So a kill at any step loses
nothing, and the next packing removes what it left.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from heval_core.store.kinds import KINDS, ShardKind
from heval_core.store.shards import PACKED, SHARDS, Entry, ShardStore, encoding_of

# Bytes of rows in memory, of a row group; and bytes of a file that takes no more shards (a forge refuses files of 100 MB).
GROUP, FULL = 16 * 2**20, 64 * 2**20
# A run packs by itself where more shards than these have a file of their own.
MOST_LOOSE = 2000
# Scores take a twelfth less than by zstd, whatever its level; 11 takes twice the time for a fiftieth of that.
_CODEC = {"compression": "brotli", "compression_level": 10}
_Unpacked = tuple[Entry, pa.Table]


def loose(store: ShardStore) -> list[Entry]:
    """Return the shards that have a file of their own."""
    return [entry for entry in store.entries().values() if entry.group is None]


def pack(store: ShardStore) -> int:
    """Pack a store. Call it only while holding the store. Returns how many shards were in files of their own.

    Damaged shards stay as they are. The hash of a shard's rows and the order of shards stay, and so does what is published.
    """
    entries, packed = store.entries(), dict[str, Entry]()
    for kind in KINDS.values():
        merged = _merged(store, [entry for entry in entries.values() if entry.kind == kind.name])
        packed |= {entry.key: entry for entry in _written(store, kind, merged)}
    if packed:
        store.list_anew([packed.get(key, entry) for key, entry in entries.items()])
    _remove_unlisted(store)
    return sum(entries[key].group is None for key in packed)


def _merged(store: ShardStore, entries: list[Entry]) -> list[Entry]:
    """Select the shards of a kind that get a new file: none if all are packed."""
    if all(entry.group is not None for entry in entries):
        return []
    full = {path for path in {entry.path for entry in entries} if (store.folder / path).stat().st_size >= FULL}
    return [entry for entry in entries if (entry.group is None or entry.path not in full) and store.intact(entry)]


def _written(store: ShardStore, kind: ShardKind, entries: list[Entry]) -> Iterator[Entry]:
    """Write packed files of some shards of a kind, and yield their new entries."""
    groups = _groups(store, entries)
    for first in groups:
        written: list[list[Entry]] = []
        write = partial(_write_file, kind, chain([first], groups), written)
        path, _ = store.keep(f"{PACKED}/{kind.name}.parquet", write, by_hash=True)
        for number, group in enumerate(written):
            before, hashed = 0, store.row_groups.sha256(path, number)
            for entry in group:
                yield dataclasses.replace(entry, path=path, group=number, first=before, sha256=hashed)
                before += entry.rows


def _groups(store: ShardStore, entries: list[Entry]) -> Iterator[list[_Unpacked]]:
    """Yield row groups, of one model and dataset each. Shards of a regime stand in as few groups as can be.

    In a group those of an explainer stand together: scores that are alike compress better.
    """
    for _, of_pair in groupby(
        sorted(entries, key=lambda entry: (*entry.cell.of_regime, entry.start)), lambda one: one.cell[:2]
    ):
        group, size = list[_Unpacked](), 0
        for entry in of_pair:
            table = store.read(entry)
            if group and size + table.nbytes > GROUP:
                yield group
                group, size = [], 0
            group.append((entry, table))
            size += table.nbytes
        yield group


def _write_file(kind: ShardKind, groups: Iterable[list[_Unpacked]], written: list[list[Entry]], where: Path) -> None:
    """Write row groups until the file is full. written: gets the shards of each, in their order."""
    with where.open("wb") as file, pq.ParquetWriter(file, kind.schema, **encoding_of(kind) | _CODEC) as writer:
        for group in groups:
            ordered = sorted(group, key=lambda rows: (rows[0].explainer, *rows[0].cell, rows[0].start))
            table = pa.concat_tables([rows for _, rows in ordered]).combine_chunks()
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            written.append([entry for entry, _ in ordered])
            if file.tell() >= FULL:
                return


def _remove_unlisted(store: ShardStore) -> None:
    """Remove packed files that no shard is in, and the files of shards that are packed now."""
    entries = store.entries().values()
    listed, ends = {store.folder / entry.path for entry in entries}, {f"-{entry.key[:10]}" for entry in entries}
    for file in (store.folder / PACKED).glob("*.parquet"):
        if file not in listed:
            file.unlink()
    for file in (store.folder / SHARDS).rglob("*.parquet"):
        if file not in listed and file.stem[-11:] in ends:
            file.unlink()
    for folder, _, _ in os.walk(store.folder / SHARDS, topdown=False):
        if not os.listdir(folder):
            os.rmdir(folder)
