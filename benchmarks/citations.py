"""Explainers of citations as ratios: what `explainer(loo)` costs beside scoring an explanation once per passage."""

from collections.abc import Iterator

import numpy as np

from benchmarks.timing import Figure, best
from heval_core.citations.annotators.shared.weights import left_one_out, sentence_logprobs, tokens_of
from heval_core.citations.questions import explained
from heval_core.citations.records import Claim, Explained, Passage
from heval_core.lm.model import LanguageModel
from heval_core.lm.passes import counting

PASSAGES, SENTENCES = 8, 6
PASSAGE_TOKENS, SENTENCE_TOKENS = 20, 8


def citation_figures(name: str, lm: LanguageModel) -> Iterator[Figure]:
    """Yield figures of a claim with 8 passages, whose explanation has 6 sentences."""
    explained = explanation(lm)
    texts = [tokens_of(lm, explained, left_out) for left_out in ((), *((number,) for number in explained.selected))]
    length, shape = len(texts[0].ids), f"{PASSAGES} passages, {SENTENCES} sentences"
    left_one_out(lm, explained)  # a model that is asked for the first time is checked
    with counting(lm) as counted:
        left_one_out(lm, explained)
    passes, what = counted.passes(1, length), "passes of loo / the explanation once per passage"
    yield Figure(name, length, what, passes / PASSAGES, 1.2, True, f"{shape}: {passes:.1f} against {PASSAGES}")
    together, alone = best(
        lambda: sentence_logprobs(lm, texts), lambda: [sentence_logprobs(lm, [text]) for text in texts], rounds=1
    )
    detail = f"{shape}: {together:.2f} s against {alone:.2f} s"
    yield Figure(name, length, "loo, one text after the other / in a batch", alone / together, 3.0, detail=detail)


def explanation(lm: LanguageModel) -> Explained:
    """Write an explanation in words of the demo models' tokenizer."""
    words = np.random.default_rng(0)

    def text(tokens: int) -> str:
        return lm.decode([int(i) for i in words.integers(300, 2300, size=tokens)]).replace("\n", " ").strip()

    passages = tuple(Passage(number, text(PASSAGE_TOKENS)) for number in range(1, PASSAGES + 1))
    claim = Claim("bench", text(SENTENCE_TOKENS), "supported", passages)
    sentences = [f"{text(SENTENCE_TOKENS)} [{number}]." for number in range(1, SENTENCES + 1)]
    return explained(claim, "bench", "all", [passage.number for passage in passages], sentences)
