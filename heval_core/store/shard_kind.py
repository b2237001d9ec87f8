"""What a kind of shard is."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class ShardKind:
    """name: in the manifest and in file names. key: the columns that identify a row.

    split: float columns stored byte by byte (byte stream split), because their exponents compress far better together.
    beside: whether an explainer has such rows in addition to its attributions. of_regime: whether its rows belong to one
    regime.
    """

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    split: tuple[str, ...] = ()
    beside: bool = False
    of_regime: bool = True


TEXT, TEXTS, INTS = pa.string(), pa.list_(pa.string()), pa.list_(pa.int32())
FLOATS = pa.list_(pa.float32())
