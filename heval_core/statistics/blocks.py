"""Long arrays a few rows at a time, so that what is computed on the way stays small."""

from __future__ import annotations

from collections.abc import Iterator

# Numbers in a block: 4 MB as float64.
BLOCK = 2**19


def row_blocks(rows: int, columns: int, numbers: int | None = None) -> Iterator[slice]:
    """Consecutive rows of a (rows, columns) matrix, about `numbers` (BLOCK) at a time. Without rows, one empty block."""
    height = max(1, (numbers or BLOCK) // max(1, columns))
    return (slice(start, min(start + height, rows)) for start in range(0, max(1, rows), height))
