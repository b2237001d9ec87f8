"""The kinds of shards: what their rows hold, and how they are written; and the columns of every table, as schema.sql has them.

A column is declared once, with its comment, in schema.sql. Of kinds without a table, and of what only shards keep, it is here.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa


@dataclass(frozen=True)
class ShardKind:
    """name: in the manifest and in file names. key: the columns that identify a row. split: float columns stored byte by byte
    (byte stream split), because their exponents compress far better together. beside: whether an explainer has such rows in
    addition to its attributions. of_regime: whether its rows belong to one regime."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    split: tuple[str, ...] = ()
    beside: bool = False
    of_regime: bool = True


# The statements that create the tables.
SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
TEXT, TEXTS, INTS, FLOATS = pa.string(), pa.list_(pa.string()), pa.list_(pa.int32()), pa.list_(pa.float32())
_TYPES = {
    "VARCHAR": TEXT,
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}


def _type_of(name: str, lists: str) -> pa.DataType:
    """Return a column's type. lists: a `[]` for each level."""
    return pa.list_(_type_of(name, lists[2:])) if lists else _TYPES[name]


TABLES = {
    table: pa.schema(
        [(name, _type_of(kind, lists)) for name, kind, lists in re.findall(r'(?m)^    "?(\w+)"? ([A-Z]+)((?:\[\])*)', columns)]
    )
    for table, columns in re.findall(r"(?s)CREATE TABLE (\w+) \((.*?)\n\);", SCHEMA)
}


def _of_table(table: str, *computed: str, **behind: pa.Field) -> pa.Schema:
    """Return a table's columns.

    computed: those that publishing adds. behind: what only shards keep, by the column before it.
    """
    schema = pa.schema([field for field in TABLES[table] if field.name not in computed])
    for before, field in behind.items():
        schema = schema.insert(schema.get_field_index(before) + 1, field)
    return schema


INSTANCE = ShardKind("instance", _of_table("instance"), ("instance_id",))
ATTRIBUTION = ShardKind("attribution", _of_table("attribution"), ("instance_id", "explainer"), ("scores.list.element",))
CONTEXT_ATTRIBUTION = replace(ATTRIBUTION, name="context_attribution", beside=True)
HEAD_ATTENTION = ShardKind(
    "head_attention", _of_table("head_attention"), ("instance_id", "layer", "head"), ("attention.list.element",)
)
HEAD_NEED = ShardKind("head_need", _of_table("head_need"), ("instance_id",), ("lost.list.element",))
SOURCE = ShardKind("source", _of_table("source", "agreed"), ("instance_id", "mention"))
# A whole answer to the prompt of an instance, explained.
ANSWER = ShardKind("answer", _of_table("answer"), ("instance_id",))
# What an explainer, or a control, says of an answer that a person wrote.
QUOTED = ShardKind(
    "quoted",
    _of_table("quoted", model=pa.field("revision", TEXT)),
    ("model", "dataset", "answer_id", "explainer", "part", "place"),
    ("scores.list.element",),
    beside=True,
)
# A row of a log, as a model read it. answer: a `WholeAnswer` as JSON has it; read, unread: its passages' numbers, and why.
TRACED = ShardKind(
    "traced",
    pa.schema(
        [
            *((name, TEXT) for name in ("model", "revision", "content")),
            ("read", INTS),
            *((name, TEXT) for name in ("unread", "answer", "problem")),
            ("seconds", pa.float32()),
        ]
    ),
    ("model", "content"),
    of_regime=False,
)
MEMORY = ShardKind("memory", pa.schema([("question", TEXT), ("ids", INTS), ("text", TEXT)]), ("question",), of_regime=False)
SAMPLE = ShardKind("sample", pa.schema([("fact_id", TEXT)]), ("fact_id",))
_REPLACED, _MEANS = ("instance_id", "explainer", "replacement"), ("comprehensiveness", "sufficiency")
_LOST = [*((name, TEXT) for name in _REPLACED), *((name, pa.float32()) for name in _MEANS)]
FAITHFULNESS = ShardKind(
    "faithfulness",
    pa.schema([*_LOST, ("masked", FLOATS), ("kept", FLOATS), ("settings", TEXT)]),
    _REPLACED,
    (*_MEANS, "masked.list.element", "kept.list.element"),
    beside=True,
)
# With the question protected: how much is lost, without the single levels of K.
FAITHFULNESS_PROTECTED = replace(
    FAITHFULNESS, name="faithfulness_protected", schema=pa.schema([*_LOST, ("settings", TEXT)]), split=_MEANS
)
# Explainers compared with themselves, on the same model with shuffled weights: a rank correlation for each of DEPTHS.
RANDOMISED = ShardKind(
    "randomised",
    pa.schema([*((name, TEXT) for name in ("instance_id", "explainer", "part")), ("randomised", pa.float32())]),
    ("instance_id", "explainer", "part"),
    beside=True,
)
# What is lost when the documents' tokens are taken out in an explainer's order, beside the least and the most: ORDERS.
BOUNDS = replace(
    RANDOMISED,
    name="bounds",
    schema=pa.schema([*RANDOMISED.schema][:-1] + [(name, pa.float32()) for name in ("aopc", "naopc")]),
)
# One answer under a technique. Of the instance: its kind of context is its regime.
BEHAVIOUR = ShardKind(
    "behaviour", _of_table("behaviour", "bcu", "ccu", "correct", "memory_kept", "neither"), ("instance_id",), beside=True
)
# A search: one row per setting and context kind; the adapter that was trained, in the first row of the chosen setting.
TRIAL = ShardKind(
    "trial",
    _of_table("technique_trial", model=pa.field("revision", TEXT), unavailable=pa.field("weights", pa.binary())),
    ("model", "dataset", "technique", "setting", "regime"),
)
# What explainers take by themselves, in turns on the same prompts in one batch; fa, the yardstick, is always among them.
TIMING = ShardKind(
    "timing", _of_table("timing", model=pa.field("revision", TEXT)), ("model", "dataset", "regime", "technique", "explainer")
)
# Of the study of citations an entry's model is the writer, its explainer the annotator, its technique the selector.
CLAIM = ShardKind("claim", _of_table("claim", chains=pa.field("written", TEXT)), ("dataset", "claim_id"), of_regime=False)
EXPLANATION = ShardKind(
    "explanation",
    _of_table("explanation", "precision", "recall", "f1", unavailable=pa.field("seconds", pa.float32())),
    ("explanation_id",),
    of_regime=False,
)
RECOVERY = ShardKind(
    "recovery",
    _of_table("recovery", "gold", "precision", "recall", "f1", "chance", "sampled", "helpfulness"),
    ("explanation_id", "passage", "annotator"),
    ("scores.list.element",),
    of_regime=False,
)
_EXPLAINED = (ATTRIBUTION, CONTEXT_ATTRIBUTION, HEAD_ATTENTION, HEAD_NEED, SOURCE, FAITHFULNESS, FAITHFULNESS_PROTECTED)
_OF_INSTANCES = (INSTANCE, *_EXPLAINED, RANDOMISED, BOUNDS, BEHAVIOUR, TRIAL, MEMORY, SAMPLE, TIMING, ANSWER, QUOTED, TRACED)
KINDS = {kind.name: kind for kind in (*_OF_INSTANCES, CLAIM, EXPLANATION, RECOVERY)}
