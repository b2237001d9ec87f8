"""The kinds of shards of the study of citations. An entry's model is the writer, its explainer the annotator."""

from __future__ import annotations

import pyarrow as pa

from heval_core.store.shard_kind import FLOATS, INTS, TEXT, TEXTS, ShardKind

CLAIM = ShardKind(
    "claim",
    pa.schema(
        [
            *((name, TEXT) for name in ("dataset", "claim_id", "claim", "verdict")),
            ("numbers", INTS),
            ("passages", TEXTS),
            ("titles", TEXTS),
            ("chains", TEXT),
            ("written", TEXT),
            ("problems", TEXTS),
            ("unusable", TEXT),
        ]
    ),
    ("dataset", "claim_id"),
    of_regime=False,
)
EXPLANATION = ShardKind(
    "explanation",
    pa.schema(
        [
            *((name, TEXT) for name in ("explanation_id", "dataset", "claim_id", "writer", "selector", "prompt_id")),
            ("selected", INTS),
            ("sentences", TEXTS),
            ("bare", TEXTS),
            ("cited", TEXT),
            ("sources", TEXT),
            ("sampled", pa.int32()),
            ("problems", TEXTS),
            ("unavailable", TEXT),
            ("seconds", pa.float32()),
        ]
    ),
    ("explanation_id",),
    of_regime=False,
)
RECOVERY = ShardKind(
    "recovery",
    pa.schema(
        [
            ("explanation_id", TEXT),
            ("passage", pa.int32()),
            ("annotator", TEXT),
            ("predicted", INTS),
            ("scores", FLOATS),
            ("problem", TEXT),
            ("seconds", pa.float32()),
        ]
    ),
    ("explanation_id", "passage", "annotator"),
    ("scores.list.element",),
    of_regime=False,
)
KINDS = (CLAIM, EXPLANATION, RECOVERY)
