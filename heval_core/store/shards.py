"""Parquet shards and their manifest: the batch job's only output, written so that no interruption can harm them.

A shard is written under a temporary name, synced and renamed, and then listed in `manifest.jsonl` with its row count
and hash: a shard counts once it is listed. Lines are appended; an incomplete last line (after a crash) is ignored. `packing`
moves shards from files of their own into row groups of larger ones. `journal.jsonl` keeps runs, models and failures in the
same way.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from heval_core.folders import program
from heval_core.records import CellKey, HEvalError
from heval_core.records.json_lines import append_lines, read_lines
from heval_core.store.kinds import FLOATS, KINDS, ShardKind
from heval_core.store.row_groups import RowGroups

FORMAT = 2
# The format of the published results file (schema.sql).
PUBLISHED_FORMAT = 18
POINTER = "current.json"
EVENTS = "events.jsonl"
MANIFEST = "manifest.jsonl"
# Folders of files that hold one shard, and of files that hold many.
SHARDS, PACKED = "shards", "packed"

_UNHASHED = ("seconds",)
# Came later: hashed only where it holds something, so that rows without it keep their hash.
_LATER = ("ranked_end",)


@dataclass(frozen=True)
class Shard:
    """A shard to make.

    kind: the name of a ShardKind. key: hash of everything the shard depends on. fingerprint: of the dataset as it was read.
    technique: how the answers were produced; "" if the shard has no regime. settings: hash of how the model was asked (dtype,
    style, template, memory, seed), and of a technique's setting; instances of two settings have the same ids and must never be
    published together. Of citations model is the writer, technique the selector, and explainer the annotator.
    """

    kind: str
    key: str
    model: str
    revision: str
    dataset: str
    fingerprint: str = ""
    settings: str = ""
    regime: str = ""
    technique: str = ""
    explainer: str = ""
    start: int = 0
    stop: int = 0

    @property
    def cell(self) -> CellKey:
        """The shard's cell; explainer, regime and technique are empty if its kind has none."""
        return CellKey(self.model, self.dataset, self.regime, self.technique, self.explainer)


@dataclass(frozen=True, kw_only=True)
class Entry(Shard):
    """A shard that was made: one line of the manifest. content: hash of its rows without timings. failed: number of instances
    whose failure is in the journal; a later run tries such a shard again. group: the row group of a packed file that holds it,
    and first: its first row there; None and 0 if it has a file of its own. sha256: of that file, or of the row group."""

    path: str
    rows: int
    sha256: str
    content: str
    failed: int = 0
    group: int | None = None
    first: int = 0

    @property
    def where(self) -> str:
        """The file that holds the shard, with its row group."""
        return self.path if self.group is None else f"{self.path}, row group {self.group}"

    def line(self) -> dict[str, Any]:
        """Return the shard's line of the manifest."""
        return {
            name: value for name, value in asdict(self).items() if self.group is not None or name not in ("group", "first")
        }


def plugin_keys(shards: Iterable[Shard]) -> dict[str, set[str]]:
    """Return kind of plug-in ▶ the keys of those that make some shards."""
    used = defaultdict[str, set[str]](set)
    for shard in shards:
        of_regime = KINDS[shard.kind].of_regime
        used["explainer" if of_regime else "annotator"].add(shard.explainer)
        used["technique" if of_regime else "selector"].add(shard.technique)
    return used


class ShardStore:
    """A folder of shards. Raises HEvalError if an older or newer version wrote it, or if it cannot be written."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.row_groups = RowGroups(folder)
        # Newest entries, as they were when a shard was not where a reader sought it.
        self._moved: dict[str, Entry] = {}
        format_file = folder / "format.json"
        if format_file.is_file():
            version = json.loads(format_file.read_text())["format"]
            if version > FORMAT:
                raise HEvalError(
                    f"The store {folder} has format {version}; this program reads format {FORMAT}. Update the program."
                )
            if version < FORMAT:
                raise HEvalError(
                    f"The store {folder} has format {version}; the rules for its numbers have changed since. Run again into "
                    f"another folder: {program()} run --store NEW … (nothing in the old one is deleted)."
                )

    def create(self) -> None:
        try:
            (self.folder / SHARDS).mkdir(parents=True, exist_ok=True)
            if not (self.folder / "format.json").is_file():  # whole or not at all: whoever reads the store may look now
                self.keep("format.json", lambda path: path.write_text(json.dumps({"format": FORMAT}) + "\n"))
        except OSError as error:
            raise HEvalError(f"The store {self.folder} cannot be written: {error.strerror}.") from error

    def entries(self) -> dict[str, Entry]:
        """Return the newest entry of every key whose file exists, unless it was withdrawn since."""
        while True:
            before, entries = self._manifest(), self._entries()
            # A manifest that was packed while it was read names files that are gone.
            if before == self._manifest():
                return entries

    def _manifest(self) -> int | None:
        """Return what tells the file of the manifest from one in its place; None where there is none."""
        try:
            return (self.folder / MANIFEST).stat().st_ino
        except FileNotFoundError:
            return None

    def _entries(self) -> dict[str, Entry]:
        newest = dict[str, Entry | None]()
        exists = cache(lambda path: (self.folder / path).is_file())
        for line in read_lines(self.folder / MANIFEST):
            if "withdrawn" in line:
                newest[line["withdrawn"]] = None
            elif exists(line["path"]):
                newest[line["key"]] = Entry(**line)
        return {key: entry for key, entry in newest.items() if entry is not None}

    def write(self, shard: Shard, rows: list[dict[str, Any]], failed: int = 0) -> Entry:
        table = pa.Table.from_pylist(rows, schema=KINDS[shard.kind].schema)
        return self._add(shard, table, _content_hash(table), failed)

    def copy(self, entry: Entry, source: ShardStore) -> None:
        """List a shard of another store in this one, with a file of its own."""
        self._add(entry, source.read(entry), entry.content, entry.failed)

    def _add(self, shard: Shard, table: pa.Table, content: str, failed: int) -> Entry:
        name = "-".join(part for part in (f"{shard.start:06d}", shard.kind, shard.explainer, shard.key[:10]) if part)
        folders = [re.sub(r"[^\w.-]", "_", part) for part in shard.cell.of_regime if part]
        path = Path(SHARDS, *folders, f"{name}.parquet").as_posix()
        _, hashed = self.keep(path, partial(_write_table, KINDS[shard.kind], table))
        of_shard = {field.name: getattr(shard, field.name) for field in fields(Shard)}
        entry = Entry(**of_shard, path=path, rows=table.num_rows, sha256=hashed, content=content, failed=failed)
        append_lines(self.folder / MANIFEST, [entry.line()])
        return entry

    def list_anew(self, entries: Iterable[Entry]) -> None:
        """Write the manifest anew, whole or not at all."""
        lines = [entry.line() for entry in entries]
        self.keep(MANIFEST, lambda path: append_lines(path, lines))

    def keep(self, path: str, write: Callable[[Path], Any], by_hash: bool = False) -> tuple[str, str]:
        """Write a file, whole or not at all. by_hash: whether its name ends with its hash. Returns its path and its hash."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)  # a killed run left it
        try:
            write(temporary)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            hashed = sha256_of(temporary)
            target = target.with_stem(f"{target.stem}-{hashed[:10]}") if by_hash else target
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)  # for instance if the disk is full
            raise
        return target.relative_to(self.folder).as_posix(), hashed

    def remove_unfinished(self) -> None:
        """Remove files that a killed run left unfinished. Call it only while holding the store."""
        (self.folder / MANIFEST).with_suffix(".tmp").unlink(missing_ok=True)
        for name in (SHARDS, PACKED):
            for unfinished in (self.folder / name).rglob("*.tmp"):
                unfinished.unlink(missing_ok=True)

    def event(self, what: str, **fields: Any) -> None:
        """Add a line to the log of a run's events (`progress` reads it)."""
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
        append_lines(self.folder / EVENTS, [{"at": now, "event": what, **fields}])

    def events(self) -> list[dict[str, Any]]:
        return list(read_lines(self.folder / EVENTS))

    def read(self, entry: Entry, columns: list[str] | None = None) -> pa.Table:
        """Return a shard's rows; by default all columns. Those that an older file lacks are null."""
        entry, schema = self._now(entry), KINDS[entry.kind].schema
        if entry.group is not None:
            return self.row_groups.rows(entry.path, entry.group, schema, columns).slice(entry.first, entry.rows)
        path = self.folder / entry.path
        # Half the time of `read_table`, which is needed for files of another version.
        with pq.ParquetFile(path) as file:
            if file.schema_arrow.equals(schema):
                return file.read(columns, use_threads=False).select(columns or schema.names)
        return pq.read_table(path, schema=schema, columns=columns)

    def _now(self, entry: Entry) -> Entry:
        """Return where a shard is now: it may have been packed since the manifest was read."""
        if (self.folder / entry.path).is_file():
            return entry
        moved = self._moved.get(entry.key)
        if moved is None or not (self.folder / moved.path).is_file():
            self._moved = self.entries()
            moved = self._moved.get(entry.key)
        return moved if moved is not None and moved.content == entry.content else entry

    def size(self, entries: Iterable[Entry]) -> int:
        """Return the bytes of some shards; of a packed one its rows' share of the row group."""
        return sum(map(self._size, map(self._now, entries)))

    def _size(self, entry: Entry) -> int:
        if entry.group is None:
            return (self.folder / entry.path).stat().st_size
        size, rows = self.row_groups.size(entry.path, entry.group)
        return size * entry.rows // max(1, rows)

    def intact(self, entry: Entry) -> bool:
        """Return whether a shard's file, or its row group, has the hash that the manifest lists."""
        entry = self._now(entry)
        path = self.folder / entry.path
        if not path.is_file():
            return False
        return entry.sha256 == (sha256_of(path) if entry.group is None else self.row_groups.sha256(entry.path, entry.group))

    def set_aside(self, entry: Entry) -> str:
        """Move a bad shard out of the way, so that the next run makes it again. Returns what was done with it."""
        if entry.group is not None:
            self.remove(entry)
            return "not listed any more"
        path = self.folder / entry.path
        aside = path.with_suffix(".bad")
        os.replace(path, aside)
        return f"set aside as {aside.name}"

    def remove(self, entry: Entry) -> None:
        """Remove a shard. A packed one is in its file until that is packed again."""
        if entry.group is None:
            (self.folder / entry.path).unlink()
        else:
            append_lines(self.folder / MANIFEST, [{"withdrawn": entry.key}])

    def note(self, kind: str, *lines: dict[str, Any]) -> None:
        """Add lines about a run, a model or failures to the journal, all written and synced together."""
        append_lines(self.folder / "journal.jsonl", [{"kind": kind, **line} for line in lines])

    def failures(self) -> list[dict[str, Any]]:
        """Return failures that still hold: of instances whose shards were not made again without, and of models not loaded
        since.
        """
        entries = self.entries()
        unmended = {entry.cell for entry in entries.values() if entry.failed}
        regimes = {cell.of_regime for cell in unmended}
        explained = {(entry.model, entry.dataset, entry.explainer) for entry in entries.values()}
        loaded = {line["model"]: line["happened"] for line in self.journal("loaded")}
        standing = {}
        for line in self.journal("failure"):
            cell = CellKey(*(line[name] for name in CellKey._fields))
            if "keys" in line:  # shards that were not made at all
                stands = any(key not in entries for key in line["keys"])
            else:
                stands = cell in unmended or (not cell.explainer and cell.of_regime in regimes)
                # Of a dataset or a model as a whole; a search has no regime either, but a shard that may be made again.
                stands = stands or not (cell.regime or (cell.dataset and cell.technique))
                # Of an explainer that could not be used there: until it was.
                stands = stands and not (cell.explainer and not cell.regime and cell[:2] + cell[4:] in explained)
            if stands and not (line.get("at_loading") and line["happened"] < loaded.get(line["model"], "")):
                standing[cell, line["place"]] = line
        return list(standing.values())

    def take_plugins(self, source: ShardStore) -> None:
        """Take over what another store noted of plug-ins that this one has no line of."""
        known = {(line["of"], line["key"]) for line in self.journal("plugin")}
        self.note("plugin", *(line for line in source.journal("plugin") if (line["of"], line["key"]) not in known))

    def journal(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in read_lines(self.folder / "journal.jsonl") if line.pop("kind") == kind]


class ShardRows:
    """The rows of one kind in several shards: their keys, and some of the rows at a time.

    Of rows with the same key only the newest.

    rows: the kind's key, the other columns asked for, and shard and row, where the row stands. Of tokens only their number is
    given: their texts would take more memory than everything else.
    """

    def __init__(self, store: ShardStore, entries: Iterable[Entry], kind: ShardKind, columns: Sequence[str] = ()):
        self._store, self._kind = store, kind
        self._entries = [entry for entry in entries if entry.kind == kind.name]
        self._open: dict[int, pa.Table] = {}
        names = [*kind.key, *(name for name in columns if name not in kind.key)]
        frames = [self._light(entry, names).assign(shard=shard) for shard, entry in enumerate(self._entries)]
        rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*names, "row", "shard"])
        self.rows = rows.drop_duplicates(list(kind.key), keep="last", ignore_index=True)

    def _light(self, entry: Entry, names: list[str]) -> pd.DataFrame:
        table = self._store.read(entry, names)
        if "tokens" in names:
            table = table.set_column(names.index("tokens"), "tokens", pc.list_value_length(table["tokens"]).fill_null(0))
        return table.to_pandas().assign(row=range(table.num_rows))

    def take(self, rows: pd.DataFrame) -> pa.Table:
        """Return whole rows, in the order of some of `rows`.

        The shards of the last call stay open: the next one often needs them.
        """
        shards = rows["shard"].unique()
        self._open = {n: self._open[n] if n in self._open else self._store.read(self._entries[n]) for n in shards}
        if not self._open:
            return self._kind.schema.empty_table()
        sizes = pd.Series({number: table.num_rows for number, table in self._open.items()})
        before = sizes.cumsum() - sizes
        positions = rows["shard"].map(before) + rows["row"]
        return pa.concat_tables(self._open.values()).take(pa.array(positions.to_numpy(dtype="int64")))


def encoding_of(kind: ShardKind) -> dict[str, Any]:
    """Return how a kind's rows are written, as arguments of pyarrow's writers."""
    # A column is either byte-split or dictionary-encoded, and lists of floats gain nothing from a dictionary.
    dictionary = [field.name for field in kind.schema if field.type not in (FLOATS, pa.float32())]
    return {
        "compression": "zstd",
        "compression_level": 15,
        "use_dictionary": dictionary or False,
        "column_encoding": None,
        "use_byte_stream_split": list(kind.split) or False,
        # Both make a small file larger by a fifth, and tell nothing that the columns' own types do not.
        "store_schema": False,
        "write_statistics": False,
    }


def _write_table(kind: ShardKind, table: pa.Table, where: Any) -> None:
    pq.write_table(table, where, **encoding_of(kind))


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content_hash(table: pa.Table) -> str:
    unused = {name for name in _LATER if name in table.column_names and table[name].null_count == table.num_rows}
    hashed = [name for name in table.column_names if name not in _UNHASHED and name not in unused]
    digest = hashlib.sha256()
    for row in table.select(hashed).to_pylist():
        text = json.dumps(row, ensure_ascii=False, allow_nan=True, default=bytes.hex)  # weights are bytes
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:24]
