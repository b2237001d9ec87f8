"""An explainer of one's own is tried on a few small prompts, before a grid spends minutes on it.

The prompts have equal length, so that they make one batch; and each of them is explained alone too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.memory import first_line
from heval_core.lm.model import LanguageModel
from heval_core.prompts import assemble
from heval_core.protocols import Method
from heval_core.records import Attribution, HEvalError, Target, TokenisedPrompt

DOCUMENTS = ("The capital of Kenya is Lisbon.", "The capital of Peru is Lima.")
ANSWERS = ("Lisbon", "Lima")
QUESTION = "What is the capital of Kenya?"
PROMPTS = 3
# Scores alone and in a batch may differ by rounding: by so much, relative to the largest score of the prompt.
TOLERANCE = 1e-3


def try_out(lm: LanguageModel, explainer: Method) -> None:
    """Raises HEvalError, whose message goes on from the explainer's name, for one whose scores cannot stand on a board.

    It raises; it gives no attribution for each prompt, or not one finite score for each token; scores below 0 that it says it
    has not; or other scores in a batch than alone.
    """
    prompts = _prompts(lm)
    together = _scores(lm, explainer, prompts)
    for number, prompt in enumerate(prompts):
        (alone,) = _scores(lm, explainer, [prompt])
        room = TOLERANCE * max(float(np.abs(alone).max()), 1e-6)
        apart = float(np.abs(together[number] - alone).max())
        if apart > room:
            raise HEvalError(
                f"gives a prompt other scores in a batch of {PROMPTS} than alone: they differ by up to {apart:.2g}"
            )


def _prompts(lm: LanguageModel) -> list[TokenisedPrompt]:
    """A prompt, and the same with what is ranked of it turned by a token or two: of equal length, whatever the tokenizer."""
    prompt = lm.tokenise(assemble(DOCUMENTS, ANSWERS, QUESTION, lm.template))
    ids, ranked = prompt.ids, prompt.ranked
    inner = ids[ranked.start : ranked.stop]
    turned = (inner[by:] + inner[:by] for by in range(PROMPTS))
    return [replace(prompt, ids=ids[: ranked.start] + part + ids[ranked.stop :]) for part in turned]


def _scores(lm: LanguageModel, explainer: Method, prompts: Sequence[TokenisedPrompt]) -> list[np.ndarray]:
    """The scores of prompts explained together, each (n,)."""
    clean = CleanPass(lm, prompts)
    best = [row.topk(2).indices.tolist() for row in clean.logits]
    targets = [Target.next_token(answer, foil, "runner-up token") for answer, foil in best]
    try:
        found: Any = explainer.explain(clean, targets)
    except Exception as error:  # whatever somebody's code raises
        raise HEvalError(f"raised {type(error).__name__}: {first_line(error)}") from error
    if not isinstance(found, Sequence) or len(found) != len(prompts) or not all(isinstance(a, Attribution) for a in found):
        told = f"{len(found)} values" if isinstance(found, Sequence) else f"a {type(found).__name__}"
        raise HEvalError(f"returned {told} for {len(prompts)} prompts; return a list with one Attribution for each")
    return [_checked(explainer, attribution, clean.length) for attribution in found]


def _checked(explainer: Method, attribution: Attribution, tokens: int) -> np.ndarray:
    scores: Any = attribution.scores
    if not isinstance(scores, np.ndarray) or scores.dtype.kind != "f":
        raise HEvalError(f"gave scores that are a {_kind(scores)}; give a numpy array of floats")
    if scores.shape != (tokens,):
        raise HEvalError(f"gave scores of shape {scores.shape} for a prompt of {tokens} tokens; give one score for each token")
    if not np.isfinite(scores).all():
        raise HEvalError(f"gave scores that are NaN or infinite, {int((~np.isfinite(scores)).sum())} of {tokens}")
    if not explainer.signed and (scores < 0).any():
        raise HEvalError("gave scores below 0; say signed = True, or give none")
    if attribution.explainer != explainer.key:
        raise HEvalError(f"gave an Attribution of {attribution.explainer!r}; its own key is {explainer.key!r}")
    if attribution.settings != repr(explainer):
        raise HEvalError("gave an Attribution whose settings are not its repr; write Attribution(..., settings=repr(self))")
    return scores


def _kind(scores: Any) -> str:
    return f"numpy array of {scores.dtype}" if isinstance(scores, np.ndarray) else type(scores).__name__
