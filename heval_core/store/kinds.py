"""The kinds of shards: what their rows hold, and how they are written."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from heval_core.store import citation_kinds
from heval_core.store.shard_kind import FLOATS, INTS, TEXT, TEXTS, ShardKind

INSTANCE = ShardKind(
    "instance",
    pa.schema(
        [
            *((name, TEXT) for name in ("instance_id", "model", "revision", "dataset", "regime", "technique")),
            ("place", pa.int32()),
            *((name, TEXT) for name in ("fact_id", "subject", "relation", "question", "true_answer", "prompt")),
            ("tokens", TEXTS),
            ("first_ranked", pa.int32()),
            ("ranked_end", pa.int32()),
            ("document_starts", INTS),
            ("document_ends", INTS),
            ("question_start", pa.int32()),
            ("question_end", pa.int32()),
            *((f"document_{name}", TEXTS) for name in ("answers", "kinds", "origins", "sources")),
            ("answer_tokens", pa.list_(INTS)),
            ("first_mention", pa.list_(INTS)),
            ("memory_answer", TEXT),
            ("candidate_groups", TEXTS),
            ("candidate_texts", TEXTS),
            ("candidate_ids", INTS),
            ("candidate_leading", INTS),
            ("candidate_logits", FLOATS),
            ("candidate_probabilities", FLOATS),
            ("predicted_text", TEXT),
            ("predicted_id", pa.int32()),
            ("predicted_probability", pa.float32()),
            *((name, TEXT) for name in ("answer_text", "first_group", "text_group")),
            *((name, TEXT) for name in ("group", "expected_group", "dropped_because")),
        ]
    ),
    ("instance_id",),
)
ATTRIBUTION = ShardKind(
    "attribution",
    pa.schema(
        [
            ("instance_id", TEXT),
            ("explainer", TEXT),
            ("scores", FLOATS),
            ("tied", pa.float32()),
            ("seconds", pa.float32()),
            ("settings", TEXT),
            ("signed", pa.bool_()),
            ("layer", pa.int32()),
            ("head", pa.int32()),
            ("head_scores", FLOATS),
            ("details", TEXT),
        ]
    ),
    ("instance_id", "explainer"),
    ("scores.list.element",),
)
HEAD_ATTENTION = ShardKind(
    "head_attention",
    pa.schema([("instance_id", TEXT), ("layer", pa.int32()), ("head", pa.int32()), ("attention", FLOATS)]),
    ("instance_id", "layer", "head"),
    ("attention.list.element",),
)
MEMORY = ShardKind("memory", pa.schema([("question", TEXT), ("ids", INTS), ("text", TEXT)]), ("question",), of_regime=False)
SAMPLE = ShardKind("sample", pa.schema([("fact_id", TEXT)]), ("fact_id",))
FAITHFULNESS = ShardKind(
    "faithfulness",
    pa.schema(
        [
            ("instance_id", TEXT),
            ("explainer", TEXT),
            ("replacement", TEXT),
            ("comprehensiveness", pa.float32()),
            ("sufficiency", pa.float32()),
            ("masked", FLOATS),
            ("kept", FLOATS),
            ("settings", TEXT),
        ]
    ),
    ("instance_id", "explainer", "replacement"),
    ("comprehensiveness", "sufficiency", "masked.list.element", "kept.list.element"),
    beside=True,
)
# With the question protected: how much is lost, without the single levels of K.
FAITHFULNESS_PROTECTED = ShardKind(
    "faithfulness_protected",
    pa.schema([field for field in FAITHFULNESS.schema if field.name not in ("masked", "kept")]),
    FAITHFULNESS.key,
    ("comprehensiveness", "sufficiency"),
    beside=True,
)
# One answer under a technique. Of the instance: its kind of context is its regime.
BEHAVIOUR = ShardKind(
    "behaviour",
    pa.schema(
        [
            ("instance_id", TEXT),
            ("split", TEXT),
            ("accepted", INTS),
            ("true_ids", INTS),
            ("memory_id", pa.int32()),
            ("alone_id", pa.int32()),
            ("target_id", pa.int32()),
            ("probability", pa.float64()),
            ("alone_probability", pa.float64()),
            ("knew", pa.bool_()),
            ("setting", TEXT),
            ("trace", TEXT),
        ]
    ),
    ("instance_id",),
    beside=True,
)
# A search: one row per setting and context kind; the adapter that was trained, in the first row of the chosen setting.
TRIAL = ShardKind(
    "trial",
    pa.schema(
        [
            *((name, TEXT) for name in ("model", "revision", "dataset", "technique", "setting", "regime")),
            ("bcu", pa.float64()),
            ("n", pa.int32()),
            ("chosen", pa.bool_()),
            ("tied", pa.bool_()),
            ("unavailable", TEXT),
            ("weights", pa.binary()),
        ]
    ),
    ("model", "dataset", "technique", "setting", "regime"),
)
# What explainers take by themselves, in turns on the same prompts in one batch; fa, the yardstick, is always among them.
TIMING = ShardKind(
    "timing",
    pa.schema(
        [
            *((name, TEXT) for name in ("model", "revision", "dataset", "regime", "technique", "explainer")),
            ("batch", pa.int32()),
            ("length", pa.int32()),
            ("seconds", pa.float64()),
            ("passes", pa.float64()),
            ("yardstick", pa.float64()),
            ("device", TEXT),
            ("measured", TEXT),
        ]
    ),
    ("model", "dataset", "regime", "technique", "explainer"),
)
CONTEXT_ATTRIBUTION = replace(ATTRIBUTION, name="context_attribution", beside=True)
_EXPLAINED = (ATTRIBUTION, CONTEXT_ATTRIBUTION, HEAD_ATTENTION, FAITHFULNESS, FAITHFULNESS_PROTECTED)
_OF_INSTANCES = (INSTANCE, *_EXPLAINED, BEHAVIOUR, TRIAL, MEMORY, SAMPLE, TIMING)
KINDS = {kind.name: kind for kind in (*_OF_INSTANCES, *citation_kinds.KINDS)}
