"""Row groups of packed files. The last ones stay in memory, since shards that stand in one are read in turn."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

# Bytes of rows that stay in memory: two row groups. With four times as much, publishing reads no fewer.
SAVED = 32 * 2**20


class RowGroups:
    """The row groups of a store's packed files. Paths are relative to the folder."""

    def __init__(self, folder: Path):
        self._folder = folder
        # The one that was read last stands last.
        self._tables: dict[tuple[str, int, tuple[str, ...] | None], tuple[pa.Table, int]] = {}
        self._footers: dict[tuple[str, int], pq.FileMetaData] = {}
        self._hashes: dict[tuple[str, int, int], str] = {}

    def rows(self, path: str, group: int, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a row group; by default all columns. Those of the schema that the file lacks are null."""
        key = path, group, None if columns is None else tuple(columns)
        table, size = self._tables.get(key) or self._read(path, group, schema, columns)
        self._tables.pop(key, None)
        self._tables[key] = table, size
        while len(self._tables) > 1 and sum(size for _, size in self._tables.values()) > SAVED:
            del self._tables[next(iter(self._tables))]
        return table

    def _read(self, path: str, group: int, schema: pa.Schema, columns: Sequence[str] | None) -> tuple[pa.Table, int]:
        """Return some columns of a row group, and their bytes in memory."""
        names = schema.names if columns is None else columns
        with pq.ParquetFile(self._folder / path) as file:
            there = set(file.schema_arrow.names)
            table = file.read_row_group(group, [name for name in names if name in there], use_threads=False)
        fields = [schema.field(name) for name in names]
        arrays = [
            table[one.name].cast(one.type) if one.name in there else pa.nulls(table.num_rows, one.type) for one in fields
        ]
        table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
        return table, table.nbytes

    def size(self, path: str, group: int) -> tuple[int, int]:
        """Return the bytes of a row group, and its number of rows."""
        footer = self._footer(path)
        start, end = _span(footer, group)
        return end - start, footer.row_group(group).num_rows

    def sha256(self, path: str, group: int) -> str:
        """Hash the bytes of a row group and of the file's footer; "" if the footer cannot be read."""
        key = path, group, self._modified(path)
        if key not in self._hashes:
            self._hashes[key] = self._hash(path, group)
        return self._hashes[key]

    def _hash(self, path: str, group: int) -> str:
        file = self._folder / path
        try:
            footer = self._footer(path)
            spans = _span(footer, group), (_span(footer, footer.num_row_groups - 1)[1], file.stat().st_size)
        except (pa.ArrowException, OSError, IndexError):
            return ""
        digest = hashlib.sha256()
        with file.open("rb") as stream:
            for start, end in spans:
                stream.seek(start)
                digest.update(stream.read(end - start))
        return digest.hexdigest()

    def _footer(self, path: str) -> pq.FileMetaData:
        key = path, self._modified(path)
        if key not in self._footers:
            self._footers[key] = pq.read_metadata(self._folder / path)
        return self._footers[key]

    def _modified(self, path: str) -> int:
        return (self._folder / path).stat().st_mtime_ns


def _span(metadata: pq.FileMetaData, group: int) -> tuple[int, int]:
    """Return where a row group's bytes begin and end: its columns stand one after another."""
    columns = [metadata.row_group(group).column(index) for index in range(metadata.num_columns)]
    starts = [min(one.data_page_offset, one.dictionary_page_offset or one.data_page_offset) for one in columns]
    return min(starts), max(start + one.total_compressed_size for start, one in zip(starts, columns, strict=True))
