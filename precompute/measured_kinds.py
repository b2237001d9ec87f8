"""The kinds of shards that hold faithfulness, how each is measured, and of which questions a grid asks for it."""

from __future__ import annotations

from heval_core.faithfulness import Faithfulness
from heval_core.store.kinds import FAITHFULNESS, FAITHFULNESS_PROTECTED

# The repr of a value is part of its shards' keys.
MEASURED = {FAITHFULNESS.name: Faithfulness(), FAITHFULNESS_PROTECTED.name: Faithfulness(protect_question=True)}


def asked_for(faithfulness: bool | int, protected: bool | int) -> dict[str, int | None]:
    """Kind ▶ it is measured of the questions before this number, or of all (None). Kinds that are not asked for are left out.

    faithfulness, protected: as in `Grid`.
    """
    wanted = zip(MEASURED, (faithfulness, protected), strict=True)
    return {kind: None if isinstance(own, bool) else own for kind, own in wanted if own}


def keyed(kind: str, before: int | None) -> str:
    """What the key of a shard says of its kind."""
    return f"{MEASURED[kind]!r}" if before is None else f"{MEASURED[kind]!r} first {before}"
