"""Records ▶ rows of shards, as `store/schema.sql` describes their columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from heval_core.faithfulness import Faithful
from heval_core.generated import Wanted, explain_answer
from heval_core.lm.heads import HeadReading
from heval_core.lm.memory import NotEnoughMemory
from heval_core.lm.model import LanguageModel
from heval_core.pipeline import Prepared
from heval_core.protocols import Method
from heval_core.records import Attribution, Behaviour, HEvalError
from heval_core.statistics.scores import round_keeping_ranks, round_mantissa, tied
from heval_core.stored import CANDIDATE_COLUMNS, DOCUMENT_COLUMNS

_OF_DOCUMENTS = ("answer", "kind", "origin", "source")


def instance_row(prepared: Prepared, behaviour: Behaviour | None) -> dict[str, Any]:
    """What the store keeps of an instance, beside the columns that place it. behaviour: None where it was dropped."""
    prompt, instance = prepared.prompt, prepared.instance
    row: dict[str, Any] = {
        "prompt": prompt.text,
        "tokens": list(prompt.tokens),
        "first_ranked": prompt.first_ranked,
        "ranked_end": prompt.ranked_end,
        "document_starts": [span.start for span in prompt.documents],
        "document_ends": [span.end for span in prompt.documents],
        "question_start": prompt.question.start,
        "question_end": prompt.question.end,
        **{DOCUMENT_COLUMNS[name]: [getattr(one, name) for one in instance.documents] for name in _OF_DOCUMENTS},
        "answer_tokens": [list(tokens) for tokens in prompt.answer_tokens],
        "first_mention": [list(tokens) for tokens in prompt.first_mention],
        "memory_answer": prepared.memory_answer,
        "expected_group": instance.expected_group,
        "dropped_because": prepared.dropped_because,
    }
    if behaviour is not None:
        row |= {
            **{column: [getattr(one, name) for one in behaviour.candidates] for name, column in CANDIDATE_COLUMNS.items()},
            "predicted_text": behaviour.text,
            "predicted_id": behaviour.token_id,
            "predicted_probability": behaviour.probability,
            **{name: getattr(behaviour, name) for name in ("answer_text", "first_group", "text_group", "group")},
        }
    return row


def attribution_row(row_id: str, attribution: Attribution, signed: bool, ranked: range) -> dict[str, Any]:
    """signed: whether the explainer's scores have a sign; kept with them, for the explainer may be gone when they are read.

    Scores keep as many bits as their ranks need: half the size, the same order (`round_keeping_ranks`). ranked: the
    tokens whose ties are counted.
    """
    heads = attribution.head_scores
    return {
        "instance_id": row_id,
        **{name: getattr(attribution, name) for name in ("explainer", "seconds", "settings", "layer", "head")},
        "scores": round_keeping_ranks(attribution.scores),
        "tied": tied(attribution.scores[ranked.start : ranked.stop]),
        "signed": signed,
        "head_scores": None if heads is None else round_keeping_ranks(heads.ravel()),
        "details": json.dumps(dict(attribution.details)),
    }


def answer_row(lm: LanguageModel, prepared: Prepared, explainers: Sequence[Method]) -> dict[str, Any]:
    """The whole answer to the prompt of an instance; or why there is none. What it cost stands apart: no hash has it."""
    try:
        *_, (_, found) = explain_answer(lm, prepared.prompt, prepared.instance.question, explainers, Wanted())
    except NotEnoughMemory:
        raise
    except HEvalError as error:
        return {"unavailable": str(error)}
    generated = found.by_sentence().to_json()
    costs = {key: {name: matrix.pop(name) for name in ("seconds", "passes")} for key, matrix in generated["matrix"].items()}
    return {"generated": json.dumps(generated, ensure_ascii=False), "seconds": json.dumps(costs)}


def head_rows(row_id: str, heads: HeadReading, index: int) -> list[dict[str, Any]]:
    """Every head's attention from the last position of one prompt of a pass."""
    return [
        {"instance_id": row_id, "layer": layer, "head": head, "attention": round_keeping_ranks(row)}
        for layer, rows in enumerate(heads.attention[index].cpu().numpy())
        for head, row in enumerate(rows)
    ]


def losses(faithful: Faithful, levels: bool) -> dict[str, Any]:
    """The two means are exact; each K's own loss (levels) is for a closer look, and compresses better when rounded."""
    means = {name: getattr(faithful, name) for name in ("replacement", "comprehensiveness", "sufficiency")}
    return means | ({name: _three_digits(getattr(faithful, name)) for name in ("masked", "kept")} if levels else {})


def _three_digits(losses: tuple[float, ...]) -> list[float]:
    return [float(loss) for loss in round_mantissa(np.array(losses, dtype=np.float32), 10)]
