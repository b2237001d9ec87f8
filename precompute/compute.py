"""One job ▶ the rows of its shards. Failures of single instances are collected, and cost nothing but themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heval_core import catalogue, pipeline, regimes
from heval_core.records import TECHNIQUE, Attribution, Dropped, Fact, Instance
from heval_core.scores import check, round_keeping_ranks
from precompute.grid import Job, Questions, Shard, instance_id
from precompute.memory import Memories


@dataclass(frozen=True)
class Failure:
    """An instance that could not be answered or explained, and why."""

    explainer: str
    place: str
    error: str


@dataclass
class Result:
    """The rows of each shard, by its key, and what failed."""

    rows: dict[str, list[dict[str, Any]]]
    failures: list[Failure]


def compute(
    job: Job,
    wanted: tuple[Shard, ...],
    questions: Questions,
    memories: Memories,
    progress: Callable[[], None] = lambda: None,
) -> Result:
    """The rows of a job's wanted shards. `progress` is called after each instance."""
    result = Result({shard.key: [] for shard in wanted}, [])
    for place in job.places:
        _compute_instance(job, wanted, questions.facts[place], place, questions.pool, memories, result)
        progress()
    return result


def _compute_instance(
    job: Job, wanted: tuple[Shard, ...], fact: Fact, place: int, pool: regimes.Pool, memories: Memories, result: Result
) -> None:
    lm = memories.lm
    row_id = instance_id(job, lm.style.key, fact.id)
    row = {
        "instance_id": row_id, "model": job.model, "revision": job.revision, "dataset": job.dataset,
        "regime": job.regime, "technique": TECHNIQUE, "place": place, "fact_id": fact.id, "subject": fact.subject,
        "relation": fact.relation, "question": fact.question, "true_answer": fact.answer,
    }  # fmt: skip
    instance_shards = [shard for shard in wanted if shard.kind == "instance"]
    try:
        instance = regimes.build(fact, job.regime, pool, job.seed, lm.style, place)
        answered = pipeline.answer(lm, instance, memories.of(fact))
    except Dropped as dropped:
        for shard in instance_shards:
            result.rows[shard.key].append({**row, "dropped_because": dropped.reason})
        return
    except Exception as error:  # whatever one instance does, the others go on
        result.failures.append(_failure("", fact.id, error))
        return
    for shard in instance_shards:
        result.rows[shard.key].append(row | instance_row(instance, answered))
    if answered.dropped_because is None:
        for shard in wanted:
            _compute_scores(shard, answered, row_id, place < job.keep_heads, fact.id, result)


def _compute_scores(
    shard: Shard, answered: pipeline.Answered, row_id: str, keep_heads: bool, place: str, result: Result
) -> None:
    try:
        if shard.kind == "attribution":
            (attribution,) = pipeline.explain(answered, [catalogue.find("explainer", shard.explainer)])
            check(attribution.scores, f"Instance {row_id}, explainer {shard.explainer}")
            result.rows[shard.key].append(attribution_row(row_id, attribution))
        elif shard.kind == "head_attention" and keep_heads:
            result.rows[shard.key] += head_rows(row_id, answered)
    except Exception as error:  # as above
        result.failures.append(_failure(shard.explainer, place, error))


def _failure(explainer: str, place: str, error: Exception) -> Failure:
    return Failure(explainer, place, f"{type(error).__name__}: {error}"[:1000])


def instance_row(instance: Instance, answered: pipeline.Answered) -> dict[str, Any]:
    """What the store keeps of an answered instance, beside the columns that place it."""
    prompt, behaviour = answered.prompt, answered.behaviour
    row: dict[str, Any] = {
        "prompt": prompt.text,
        "tokens": list(prompt.tokens),
        "first_ranked": prompt.first_ranked,
        "document_starts": [span.start for span in prompt.documents],
        "document_ends": [span.end for span in prompt.documents],
        "question_start": prompt.question.start,
        "question_end": prompt.question.end,
        "document_answers": [d.answer for d in instance.documents],
        "document_kinds": [d.kind for d in instance.documents],
        "document_origins": [d.origin for d in instance.documents],
        "document_sources": [d.source for d in instance.documents],
        "answer_tokens": [list(tokens) for tokens in prompt.answer_tokens],
        "first_mention": [list(tokens) for tokens in prompt.first_mention],
        "memory_answer": answered.memory_answer,
        "expected_group": instance.expected_group,
        "dropped_because": answered.dropped_because,
    }
    if behaviour is not None:
        row |= {
            "candidate_groups": [c.group for c in behaviour.candidates],
            "candidate_texts": [c.text for c in behaviour.candidates],
            "candidate_ids": [c.token_id for c in behaviour.candidates],
            "candidate_logits": [c.logit for c in behaviour.candidates],
            "candidate_probabilities": [c.probability for c in behaviour.candidates],
            "predicted_text": behaviour.text,
            "predicted_id": behaviour.token_id,
            "predicted_probability": behaviour.probability,
            "group": behaviour.group,
        }
    return row


def attribution_row(row_id: str, attribution: Attribution) -> dict[str, Any]:
    """Scores keep as many bits as their ranks need: half the size, the same order (`round_keeping_ranks`)."""
    heads = attribution.head_scores
    return {
        "instance_id": row_id,
        "explainer": attribution.explainer,
        "scores": round_keeping_ranks(attribution.scores),
        "seconds": attribution.seconds,
        "settings": attribution.settings,
        "layer": attribution.layer,
        "head": attribution.head,
        "head_scores": None if heads is None else round_keeping_ranks(heads.ravel()),
        "details": json.dumps(dict(attribution.details)),
    }


def head_rows(row_id: str, answered: pipeline.Answered) -> list[dict[str, Any]]:
    """Every head's attention from the last prompt position."""
    assert answered.clean is not None
    attention = answered.clean.heads.attention.cpu().numpy()
    return [
        {"instance_id": row_id, "layer": layer, "head": head, "attention": round_keeping_ranks(row)}
        for layer, rows in enumerate(attention)
        for head, row in enumerate(rows)
    ]
