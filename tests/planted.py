"""Stores whose truth is planted: made-up instances, and scores that are drawn as a test wants them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from heval_core.evaluation.publishing import publish
from heval_core.metrics import description_length, probe
from heval_core.metrics._features import Labelled, LearnedMetric
from heval_core.records import DUAL_REGIMES, REGIMES, TECHNIQUE
from heval_core.records.groups import document_of
from heval_core.statistics import bootstrap
from heval_core.statistics.scores import tied
from heval_core.statistics.values import Value
from heval_core.store.reader import Reader
from heval_core.store.shards import Shard, ShardStore

EXPLAINERS = ("fa", "ig", "attn", "mechlight")
HEADS = (4, 8)
QUESTION = 15  # tokens of it, at the end of every prompt
_WORDS = [f" word{number}" for number in range(400)]

Draw = Callable[[dict[str, Any], str, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class _Instances:
    """How the instances of a cell are made. lengths: least and most tokens. rule: the expected group. change: what else is to
    be different of an instance. failed: of which explainers there is no attribution. first_part: the first of two documents'
    share of both. sources: its rows of `source`, if any."""

    explainers: Sequence[str] = EXPLAINERS
    count: int = 100
    lengths: tuple[int, int] = (60, 100)
    rule: Callable[[dict[str, Any]], str | None] = lambda instance: None
    change: Callable[[dict[str, Any]], dict[str, Any]] = lambda instance: instance
    failed: Callable[[dict[str, Any], str], bool] = lambda instance, explainer: False
    first_part: float = 0.5
    sources: Callable[[dict[str, Any]], list[dict[str, Any]]] = lambda instance: []

    def write(self, store: ShardStore, where: dict[str, str], place: str, draw: Draw, rng: np.random.Generator) -> None:
        rows = [instance_row(where, place, number, self.lengths, self.first_part, rng) for number in range(self.count)]
        rows = [self.change(row | {"expected_group": self.rule(row)}) for row in rows]
        for explainer in self.explainers:
            drawn = [_attribution(row, explainer, draw(row, explainer, rng), rng) for row in rows]
            scores = [own for own, row in zip(drawn, rows, strict=True) if not self.failed(row, explainer)]
            if scores:
                store.write(_shard(where, place, "attribution", explainer, self.count), scores)
        store.write(_shard(where, place, "instance", "", self.count), rows)
        if mentions := [{"instance_id": row["instance_id"], **own} for row in rows for own in self.sources(row)]:
            store.write(_shard(where, place, "source", "", self.count), mentions)


def plant(
    folder: Path,
    draw: Draw,
    *,
    models: int = 1,
    datasets: int = 1,
    regimes: Sequence[str] = REGIMES,
    named: str = "",
    technique: str = TECHNIQUE,
    progress: Callable[[str], None] = lambda text: None,
    **how: Any,
) -> None:
    """Write the shards of a store: instances of every model, dataset and regime; what is there already is kept.

    draw: (instance, explainer, generator) ▶ one score per token. named: what comes behind the names of models and datasets.
    technique: how the answers were produced; instances of two techniques have other ids, and other scores. how: see
    `_Instances`."""
    store = ShardStore(folder)
    store.create()
    done, other = store.entries(), "" if technique == TECHNIQUE else technique
    for model in range(models):
        name = f"made-up-{model}{named}"
        store.note("model", {"model": name, "revision": "1", "layers": HEADS[0], "heads": HEADS[1], "parameters": 0})
        for dataset, regime in product(range(datasets), regimes):
            rng = np.random.default_rng([model, dataset, REGIMES.index(regime), *other.encode()])
            where = {"model": name, "revision": "1", "dataset": f"data-{dataset}{named}", "regime": regime}
            place = f"{model}{dataset}{other}"
            if f"{place}{regime}" not in done:
                _Instances(**how).write(store, {**where, "technique": technique}, place, draw, rng)
                progress(f"made {name} {where['dataset']} {regime}")


def _shard(where: dict[str, str], place: str, kind: str, explainer: str, count: int) -> Shard:
    key = f"{place}{where['regime']}{explainer or kind.removeprefix('instance')}"
    return Shard(kind, key, **where, fingerprint="1", explainer=explainer, stop=count)


def instance_row(
    where: dict[str, str], place: str, number: int, lengths: tuple[int, int], first_part: float, rng: np.random.Generator
) -> dict[str, Any]:
    dual = where["regime"] in DUAL_REGIMES
    length = int(rng.integers(lengths[0], lengths[1] + 1))
    tokens = [_WORDS[index] for index in rng.integers(0, len(_WORDS), length)]
    half = int((length - QUESTION) * first_part)
    spans = [(0, half), (half, length - QUESTION)] if dual else [(0, length - QUESTION)]
    groups = ["C1", "C2", "M"] if dual else ["C", "M"]
    gold = [[int(rng.integers(start, end))] for start, end in spans]
    names = groups[:-1] + ["M"]
    return {
        **where, "instance_id": f"{place}{REGIMES.index(where['regime'])}{number:06d}",
        "place": number, "fact_id": f"f{number}", "subject": f"subject {number}",
        "relation": f"relation {number % 7}", "question": "Which word?", "true_answer": "word1", "prompt": "".join(tokens),
        "tokens": tokens, "first_ranked": 0, "ranked_end": len(tokens),
        "document_starts": [s for s, _ in spans], "document_ends": [e for _, e in spans],
        "question_start": length - QUESTION, "question_end": length, "document_answers": ["word"] * len(spans),
        "document_kinds": ["conflicting"] * len(spans), "document_origins": ["shipped"] * len(spans),
        "document_sources": [None] * len(spans), "answer_tokens": gold, "first_mention": gold, "memory_answer": "word1",
        "candidate_groups": names, "candidate_texts": names, "candidate_ids": list(range(len(names))),
        "candidate_logits": [0.0] * len(names), "candidate_probabilities": [0.3] * len(names), "predicted_text": " word",
        "predicted_id": 0, "predicted_probability": float(rng.random()), "group": str(rng.choice(groups)),
        "dropped_because": None,
    }  # fmt: skip


def _attribution(row: dict[str, Any], explainer: str, scores: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    heads = explainer in ("attn", "mechlight")
    return {
        "instance_id": row["instance_id"], "explainer": explainer, "scores": np.asarray(scores, dtype=np.float32).tolist(),
        "seconds": 0.1, "settings": "", "signed": explainer in ("fa", "ig"), "tied": tied(np.asarray(scores)),
        "layer": 1 if heads else None, "head": 2 if heads else None,
        "head_scores": rng.standard_normal(HEADS[0] * HEADS[1]).tolist() if explainer == "mechlight" else None,
        "details": json.dumps({"runner_up": "L0H1", "margin": 0.5, "foil": "candidate M"}),
    }  # fmt: skip


def published(folder: Path) -> Reader:
    """Publish without MDL and the probe, and with twenty halves for NMutInf: else these take most of it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bootstrap, "SPLITS", 10)
        for module in (description_length, probe):
            patched.setattr(type(module.PLUGIN), "of_all", _left_out)
        return Reader(publish(folder))


def _left_out(metric: LearnedMetric, data: Sequence[Labelled]) -> list[list[Value]]:
    return [one.unavailable(metric.parts, "left out of this test") for one in data]


def noise(instance: dict[str, Any], explainer: str, rng: np.random.Generator) -> np.ndarray:
    """Scores in [0, 1) that know nothing."""
    return rng.random(len(instance["tokens"]))


def marking(lift: Callable[[dict[str, Any], str], float]) -> Draw:
    """Noise, and so much more on the answer's tokens in the document that was used. lift: (instance, explainer) ▶ how much."""

    def draw(instance: dict[str, Any], explainer: str, rng: np.random.Generator) -> np.ndarray:
        scores, used = noise(instance, explainer, rng), used_document(instance)
        if used is not None:
            scores[instance["answer_tokens"][used]] += lift(instance, explainer)
        return scores

    return draw


def used_document(instance: dict[str, Any]) -> int | None:
    """Index of the document that the answer came from; None for an answer from memory."""
    return document_of(instance["group"])


def assert_same(one: Path, other: Path) -> None:
    """Two published files hold the same rows in the same order, to the bit."""
    database = duckdb.connect()
    for name, file in (("one", one), ("other", other)):
        database.execute(f"ATTACH '{file}' AS {name} (READ_ONLY)")
    tables = database.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'one' AND schema_name = 'main'"
    ).fetchall()
    different = (
        "SELECT count(*) FROM one.{0} a POSITIONAL JOIN other.{0} b WHERE a IS DISTINCT FROM b",
        "SELECT (SELECT count(*) FROM one.{0}) - (SELECT count(*) FROM other.{0})",
    )
    for (name,) in tables:
        if name != "snapshot":  # when it was published
            assert [database.execute(sql.format(name)).fetchone()[0] for sql in different] == [0, 0], name


def accounting(reader: Reader):
    """Per model, dataset, regime and technique: instances tried, kept and dropped, by reason."""
    return reader.query(
        "SELECT model, dataset, regime, technique, coalesce(dropped_because, 'kept') AS outcome, count(*) AS instances "
        "FROM instance GROUP BY ALL ORDER BY ALL"
    )
