"""The first word of an answer as every explainer scores it: what the worker sends, and *Answer in a word* draws and keeps."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

from heval_core.records import HEvalError
from heval_core.records.stored_instances import StoredAttribution, StoredInstance


@dataclass(frozen=True, eq=False)
class WordAnswer:
    """A prompt with its answer's first token. refused: explainer ▶ why it has no scores. target_text, foil: the token that is
    explained, and against what. layers: of the model. by_itself: the token that the model would write, where that is none
    of the named answers, of which the likeliest is explained then."""

    instance: StoredInstance
    attributions: dict[str, StoredAttribution]
    refused: dict[str, str]
    target_text: str
    foil: str
    layers: int
    by_itself: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordAnswer) and asdict(self) == asdict(other)


@functools.cache
def _reader() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(WordAnswer)


def read_word(content: Any) -> WordAnswer:
    """Return an answer from what JSON holds of it. Raises HEvalError for one that is broken, or that no page could draw."""
    try:
        answer: WordAnswer = _reader().validate_python(content)
        _check(answer)
    except ValueError as error:
        raise HEvalError(f"The saved answer is broken: {str(error).splitlines()[0]}.") from error
    return answer


def _check(answer: WordAnswer) -> None:
    """Raise ValueError for scores that are not one a token, or not finite, and for parts that no script could draw."""
    instance, n = answer.instance, len(answer.instance.tokens)
    if not (0 <= instance.first_ranked < instance.ranked.stop <= n and answer.layers >= 1):
        raise ValueError(f"ranked tokens from {instance.first_ranked} to {instance.ranked.stop} of {n}")
    for key, one in answer.attributions.items():
        heads = one.head_scores or ()
        if len(one.scores) != n or len(heads) % answer.layers or (key == "mechlight" and one.head_name and not heads):
            raise ValueError(f"scores of {key}")
        if not all(map(isfinite, (*one.scores, *heads, one.tied))):
            raise ValueError(f"scores of {key}, which are not finite")
    likely = [number for one in instance.candidates for number in (one.logit, one.probability)]
    if not all(map(isfinite, (instance.predicted_probability, *likely))):
        raise ValueError("probabilities, which are not finite")
    for part in (*instance.documents, instance.question_span):
        if not 0 <= part.start <= part.end <= n:
            raise ValueError(f"part from {part.start} to {part.end} of {n} tokens")
    if any(left.end > right.start for left, right in pairwise(instance.documents)):
        raise ValueError("documents, which overlap")
    if not all(0 <= token < n for token in instance.answer_tokens):
        raise ValueError("tokens of an answer, which are not there")
