"""The rows of one kind in several shards: their keys, and some of the rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from heval_core.store.shard_kind import ShardKind
from heval_core.store.shards import Entry, ShardStore


class ShardRows:
    """Of rows with the same key only the newest.

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
        """Whole rows, in the order of some of `rows`. The shards of the last call stay open: the next one often needs them."""
        shards = rows["shard"].unique()
        self._open = {n: self._open[n] if n in self._open else self._store.read(self._entries[n]) for n in shards}
        if not self._open:
            return self._kind.schema.empty_table()
        sizes = pd.Series({number: table.num_rows for number, table in self._open.items()})
        before = sizes.cumsum() - sizes
        places = rows["shard"].map(before) + rows["row"]
        return pa.concat_tables(self._open.values()).take(pa.array(places.to_numpy(dtype="int64")))
