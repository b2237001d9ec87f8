"""A request explained, as the one JSON object that the command line prints and the sidebar draws (design.md)."""

from __future__ import annotations

from typing import Any

from heval_core import catalogue
from heval_core.pipeline import Explained
from heval_core.records import Attribution, head_name
from heval_core.statistics.scores import normalise, tied


def to_json(explained: Explained) -> dict[str, Any]:
    """Token indices count from 0, ends are exclusive; scores are one float per token, those before first_ranked a BOS's."""
    prompt, behaviour = explained.prompt, explained.behaviour
    return {
        "model": explained.model,
        "prompt": prompt.text,
        "tokens": list(prompt.tokens),
        "token_ids": list(prompt.ids),
        "first_ranked": prompt.first_ranked,
        "documents": [
            {"start": span.start, "end": span.end, "answer": answer, "answer_tokens": list(tokens)}
            for span, answer, tokens in zip(prompt.documents, explained.answers, prompt.answer_tokens, strict=True)
        ],
        "question": {"start": prompt.question.start, "end": prompt.question.end},
        "answer": {
            "text": behaviour.text,
            "token_id": behaviour.token_id,
            "probability": behaviour.probability,
            "group": behaviour.group,
            "first_group": behaviour.first_group,
            "answer_text": behaviour.answer_text,
            "text_group": behaviour.text_group,
            "memory_answer": behaviour.memory_answer,
            "candidates": [
                {
                    "group": c.group,
                    "text": c.text,
                    "token_id": c.token_id,
                    "logit": c.logit,
                    "probability": c.probability,
                }
                for c in behaviour.candidates
            ],
        },
        "target": explained.target,
        "target_text": explained.target_text,
        "foil": explained.foil,
        "explainers": {a.explainer: _attribution(a, prompt.first_ranked) for a in explained.attributions},
    }


def _attribution(attribution: Attribution, first_ranked: int) -> dict[str, Any]:
    signed = catalogue.find("explainer", attribution.explainer).signed
    out: dict[str, Any] = {
        "scores": attribution.scores.tolist(),
        "normalised": normalise(attribution.scores, signed).tolist(),
        "tied": tied(attribution.scores[first_ranked:]),
        "seconds": attribution.seconds,
        "settings": attribution.settings,
        **dict(attribution.details),
    }
    if attribution.layer is not None and attribution.head is not None:
        out["head"] = head_name(attribution.layer, attribution.head)
    if attribution.head_scores is not None:
        out["head_scores"] = attribution.head_scores.tolist()
    return out
