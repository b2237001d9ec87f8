"""What the model itself used: which passage weighs most when it writes a sentence.

A reader says whether a passage supports a sentence. An explainer says whether the model's own computation rests on it. The two
may part: a sentence may be true to a passage that the model never looked at.

Formula: the model reads the writer's prompt with the passages, then the whole explanation without any marker. The target is a
sentence's tokens, units are the passages, phi_k(sentence) is passage k's weight:
- `loo`: log p(sentence | all passages) - log p(sentence | without passage k).
- `contextcite`: 64 masks keep each passage with chance 1/2 (or all subsets, if fewer); Lasso (alpha .01) of the sentence's
  log-odds on the masks; phi are its coefficients.
- `gradient`: the length of the gradient of log p(sentence) at the embeddings, summed over the passage's tokens. Of two
  documents it finds the one that a demo model answers from in 1.00, .95 and .80 of 40 prompts (qwen2, gpt2, neox); gradient
  times embedding, which was tried too, in .42, .90 and .72; loo in all, attention in 1.00, .98 and 1.00.
- `attention`: of the rows that predict the sentence's tokens to the passage's tokens, the mean over layers and heads, summed.
Sentence i is chosen for passage k where k is its best passage and beats the random level (`shared/choice.py`). For loo and
contextcite phi is compared as a share of the sentence's surprise (of its log-odds), which must also exceed 1/(K + 1): an even
share of the K passages and of all else that the model knows. Scores are phi.
Reference: Cohen-Wang et al. 2024 (ContextCite, arXiv 2409.00729); Zeiler & Fergus 2014 (occlusion); Simonyan et al. 2014
(gradients). Protocol: Xing et al., arXiv 2406.12645.
Departure: it explains for itself which of the claim's passages a sentence is from; the masked markers play no part.
ContextCite's code standardises the masks and divides the log-odds by the number of tokens; here the fit is as written above.
Where passages give no random level (see there), gradient and attention choose nothing, and say so; others: the even share.
Cost, for K passages, whatever the number of sentences S: loo K + 1 passes, contextcite at most 64, gradient one forward pass
and S backward passes, attention two. An explanation that is too long for the model is named in one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.citations.annotators.shared import read_with, weights
from heval_core.citations.annotators.shared.choice import Weights, choices
from heval_core.citations.records import Choice, Explained, Question
from heval_core.records import HEvalError

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel

WAYS = {
    "loo": ("Leave-one-out", weights.left_one_out),
    "contextcite": ("ContextCite", weights.contextcite),
    "gradient": ("Gradient", weights.by_gradient),
    "attention": ("Attention", weights.by_attention),
}


@dataclass(frozen=True)
class Explainer:
    """An annotator that reads what an explainer says of the explanation.

    way: one of WAYS. model: "" for the writer's own. By itself, without a way, it is refused.
    """

    way: str = ""
    model: str = ""

    first = "way"
    key = "explainer"
    family = "explainer"
    control = False
    reads = "model"
    reference = "Cohen-Wang et al. 2024 (arXiv 2409.00729); Xing et al. 2024 (arXiv 2406.12645)"

    @property
    def title(self) -> str:
        return read_with(WAYS[self.way][0] if self.way in WAYS else "Explainer", self.model)

    @property
    def order(self) -> int:
        return 3 + list(WAYS).index(self.way) if self.way in WAYS else 3

    def check(self) -> None:
        """Raise HEvalError for an unknown way."""
        if self.way not in WAYS:
            raise HEvalError(
                f"explainer has no way {self.way!r}; there are: {', '.join(f'explainer({way})' for way in WAYS)}."
            )

    def annotate(self, questions: Sequence[Question], reader: LanguageModel) -> list[Choice]:
        """Answer questions; those about one explanation share its passes. Raises HEvalError for an unknown way."""
        self.check()

        def weigh(explained: Explained) -> Weights:
            weighed = WAYS[self.way][1](reader, explained)
            if not np.isfinite(weighed.phi).all():
                raise HEvalError(f"{reader.key} gave weights that are not finite; try another dtype.")
            return weighed

        return choices(self.key, questions, weigh)


PLUGIN = Explainer()
