"""What it will cost to explain an answer, said before it begins: in passes over the whole prompt.

Source: what explainers declare (`cost`), with passes that several share counted once. It is an estimate: of a whole answer
nobody knows yet how many sentences it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from heval_core.explainers.shared.left_out import units
from heval_core.lm.shared_passes import added

if TYPE_CHECKING:
    from heval_core.explaining.whole_answer import Wanted
    from heval_core.plugins.protocols import Method
    from heval_core.records import TokenisedPrompt

# By default an explainer of so many passes is left out; and how long a sentence of an answer is taken to be, in tokens.
DEAR, SENTENCE_TOKENS = 10, 20


def passes_of(prompt: TokenisedPrompt, explainers: Iterable[Method], wanted: Wanted | None = None) -> float:
    """Estimate how many passes over the whole prompt it takes to explain an answer's first token; or a whole answer, beside
    writing it: one that lacks something runs from there on, half of the prompt in the mean.
    """
    n, known = len(prompt.ids), list(explainers)
    tokens = float(sum(cost.tokens for cost in added([explainer.cost(n) for explainer in known], n)))
    if wanted is not None:
        again = [one for one in known if getattr(one, "answers", "") == "sentence" and not hasattr(one, "matrix")]
        tokens += max(0, wanted.generate // SENTENCE_TOKENS - 1) * sum(explainer.cost(n).tokens for explainer in again)
        left_out = len(units(prompt)) + 1 + len(units(prompt, "sentence")) + wanted.draws
        tokens += n * (1 + left_out / 2) if prompt.documents else n
    return 1 + tokens / n


def too_dear(prompt: TokenisedPrompt, explainers: Iterable[Method]) -> dict[str, str]:
    """Return the explainers that explain no whole answer unless they are named, and why: key ▶ what it costs."""
    passes = {explainer.key: explainer.cost(len(prompt.ids)).tokens / len(prompt.ids) for explainer in explainers}
    message = "it takes about {:.0f} passes; it explains a whole answer where it is named among the explainers."
    return {key: message.format(count) for key, count in passes.items() if count >= DEAR}
