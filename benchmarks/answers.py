"""All tokens of an answer beside one of them, both by exact feature ablation: what the matrix of a whole answer costs.

A pass for one of n tokens runs those behind it, and the answer's m: about n²/2 + nm tokens for all. The answer's first needs
n²/2, so that beside it all take 1 + 2m/n; its last stands behind the others, and needs as many as all. As profiled, reading
out adds .27 of each of the m (SmolLM2; demo-gpt2 .28), logarithms 4 % of all; the rest is attention to a longer prompt.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.timing import Figure, best, prompts_of
from heval_core.explainers.shared.ablated import falls_of
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.lm.targets import values_of_each
from heval_core.records import Span, Target

# Three documents of 200 tokens with a question, and a short prompt, in which the answer's own tokens weigh most.
PROMPTS, ANSWER = (640, 80), 40
# So many tokens in the prompt's middle are replaced: their passes are as long as the mean, and come in whole blocks.
TIMED = 24


def answer_figures(name: str, lm: LanguageModel) -> Iterator[Figure]:
    """Yield figures of each prompt that the model reads with its answer."""
    for tokens in PROMPTS:
        if tokens + ANSWER <= lm.positions:
            chosen = range(ANSWER), range(1), range(ANSWER - 1, ANSWER)
            every, first, last = best(*(passes(lm, tokens, indices) for indices in chosen))
            detail = f"answer of {ANSWER}, {TIMED} tokens: {every:.2f} s against {first:.2f} s; of its last {every / last:.2f}"
            yield Figure(name, tokens, "fa of all words / of the first one", every / first, 1.3, True, detail)


def passes(lm: LanguageModel, tokens: int, indices: range) -> Callable[[], np.ndarray]:
    """Make a step: what some tokens of the answer lose without each in the prompt's middle.

    The clean pass is run here, untimed.
    """
    prompt, answer = (prompts_of(lm, length, 1).prompts[0] for length in (tokens, ANSWER))
    target = Target.of_text(prompt.ids + answer.ids, tokens, tokens + ANSWER).part(indices)
    clean = CleanPass(lm, [prompt.followed_by(answer.ids[: indices.stop - 1], answer.tokens[: indices.stop - 1])])
    clean.logits_at(target.positions)
    middle = (tokens - TIMED) // 2
    spans = [Span(token, token + 1) for token in range(middle, middle + TIMED)]
    return partial(falls_of, clean, [target], partial(values_of_each, targets=[target], scale="logprob"), spans)
