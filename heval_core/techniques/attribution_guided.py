"""AGD, attribution-guided decoding: of the likely answers the one that rests most on the context.

Formula: candidates are the k likeliest tokens with a probability of at least `least`. Where the entropy of softmax(z_c) (nats)
reaches a bound, the answer is the candidate c with the largest S(c) = sum over the documents' tokens of the relevance, signed,
that the explainer gives them for z_c[c] alone. Of equal S the likelier candidate is the answer. Below the bound, with one
candidate, with k = 1, and without documents the answer is Regular's.
Reference: Komorowski et al., ICLR 2026, arXiv 2509.26307; its formulas as others cite them. Not among CUB's techniques.
Departure: the paper itself could not be fetched. k = 5, least = .05 and AttnLRP are its values, and so is the bound 1.734,
whose unit we take to be nats; here the bound is searched, by the mean BCU over kinds of context, from Regular outwards. The
paper only selects: here the answer and the likeliest token exchange their logits, so that all other probabilities stay. It
selects while it writes on; here the next token alone.
Options: `explainer` (attnlrp, cgim, cdla or mechlight; may stand without its name): mechlight's scores are one head's
attention, which has no sign; without a competitor cgim's and cdla's are of the logit. `entropy`: with a bound, nothing is
searched. `k`, `least`.
Cost: Regular's pass, whose logits, keys and values all candidates share, and at most k explanations: with attnlrp and cgim two
passes each (forward and back), with cdla and mechlight one over the last token, whatever k is. Below the bound nothing more.
The search explains every development question with several candidates, once for all bounds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Any

from heval_core.explainers import attnlrp, cdla, cgim, mechlight
from heval_core.prompting.prompts import prompt_of
from heval_core.records import Cost, HEvalError, Target
from heval_core.techniques.shared.base import NOTHING, Base, Development, Looked, Setting, Tensor

if TYPE_CHECKING:
    from heval_core.lm.clean_pass import CleanPass

EXPLAINERS: dict[str, Any] = {module.PLUGIN.key: module.PLUGIN for module in (attnlrp, cgim, cdla, mechlight)}
# From Regular, which no entropy reaches.
NEVER = "never"
BOUNDS = (NEVER, 2.5, 1.734, 1.0, 0.5, 0.0)
# A prompt that the price of an answer is told for; only one above 1,024 tokens costs more passes.
USUAL = 100


@dataclass(frozen=True)
class Agd(Base):
    explainer: str = "attnlrp"
    entropy: float | None = None
    k: int = 5
    least: float = 0.05

    first = "explainer"
    key = "agd"
    family = "decoding"
    order = 11
    preparation = "tuned"
    reference = "Komorowski et al. 2026 (arXiv 2509.26307)"

    @property
    def title(self) -> str:
        options = {"entropy": self.entropy, "k": self.k, "least": self.least}
        changed = [f"{name} {value:g}" for name, value in options.items() if value not in (None, getattr(Agd, name))]
        title = "direct logits" if self.explainer == "cdla" else EXPLAINERS[self.explainer].title.removesuffix(" (ours)")
        return ", ".join((f"AGD by {title}", *changed))

    @property
    def passes(self) -> float:
        return 1 + self.looking(USUAL).passes

    @property
    def needs(self) -> tuple[str, ...]:
        needs: tuple[str, ...] = EXPLAINERS[self.explainer].needs
        return needs

    def check(self) -> None:
        """Raise HEvalError for an unknown explainer, and for a number out of range."""
        if self.explainer not in EXPLAINERS:
            raise HEvalError(f"agd has no explainer {self.explainer!r}; there are: {', '.join(EXPLAINERS)}.")
        if self.k < 1 or not 0 <= self.least <= 1 or (self.entropy or 0) < 0:
            raise HEvalError("agd needs a k of at least 1, a least probability from 0 to 1, and an entropy of at least 0.")

    @property
    def preparing(self) -> float:
        """Return both passes, unless the bound is given."""
        return 0.0 if self.entropy is not None else super().preparing

    def settings(self, development: Development) -> Sequence[Setting]:
        """List bounds, from Regular outwards. Raises HEvalError for a model that the explainer cannot explain."""
        if self.entropy is not None:
            self._try(development)
            return (NOTHING,)
        return [Setting(json.dumps({"entropy": bound})) for bound in BOUNDS]

    def _try(self, development: Development) -> None:
        """Explain one answer, as the search would where bounds are compared."""
        from heval_core.lm.clean_pass import CleanPass

        lm, (question, *_) = development.lm, next(iter(development.questions.values()))
        clean = CleanPass(lm, [lm.tokenise(prompt_of(question.instance, lm.template))])
        EXPLAINERS[self.explainer].explain(clean, [Target.next_token(int(clean.logits[0].argmax()))])

    def looking(self, tokens: float) -> Cost:
        """Return the cost of k explanations that share a clean pass."""
        from heval_core.lm.shared_passes import CLEAN, added

        costs = [Cost(1, tokens, (CLEAN,)), *[EXPLAINERS[self.explainer].cost(tokens)] * (self.k if self.k > 1 else 0)]
        _, *beyond = added(costs, tokens)
        return Cost(sum(cost.passes for cost in beyond), sum(cost.tokens for cost in beyond))

    def seeing(self, clean: CleanPass, settings: Sequence[Setting]) -> Looked:
        relevance = self.relevance(clean, min(map(self._bound, settings)))
        return Looked(lambda z_c, z_0, setting: chosen(z_c, relevance, self._bound(setting)))

    def relevance(self, clean: CleanPass, bound: float) -> Tensor:
        """Compute S of the candidates: (B, V) float64, minus infinity where nothing is compared.

        bound: in nats. A prompt whose entropy is below it, or that has one candidate, is not explained.
        """
        import torch

        explainer = EXPLAINERS[self.explainer]
        probabilities, tokens = clean.logits.double().softmax(-1).sort(dim=-1, descending=True, stable=True)
        counts = (probabilities[:, : self.k] >= self.least).sum(-1).tolist()
        reached = (entropy_of(clean.logits) >= bound).tolist()
        relevance = torch.full_like(clean.logits, -inf, dtype=torch.float64)
        compared = [row for row in range(clean.size) if counts[row] > 1 and reached[row] and clean.prompts[row].documents]
        # Prompts with as many candidates are explained together, and their heads are read once.
        for count, group in groupby(sorted(compared, key=counts.__getitem__), counts.__getitem__):
            rows = list(group)
            part = clean.rows(rows)
            for rank in range(count):
                ids = tokens[rows, rank].tolist()
                attributions = explainer.explain(part, [Target.next_token(token) for token in ids])
                for row, token, attribution in zip(rows, ids, attributions, strict=True):
                    spans = clean.prompts[row].documents
                    relevance[row, token] = sum(float(attribution.scores[one.start : one.end].sum()) for one in spans)
        return relevance

    def _bound(self, setting: Setting) -> float:
        bound: Any = json.loads(setting.text)["entropy"] if setting.text else self.entropy
        return inf if bound == NEVER else float(bound)


def entropy_of(logits: Tensor) -> Tensor:
    """Compute the entropy of softmax(logits), (…, V) ▶ (…,) float64, in nats."""
    p = logits.double().softmax(-1)
    return -p.xlogy(p).sum(-1)


def chosen(z_c: Tensor, relevance: Tensor, bound: float) -> Tensor:
    """Exchange the logits of the likeliest token and of the candidate with the largest relevance: (B, V).

    relevance: (B, V), minus infinity for what is no candidate; without any the likeliest token stays, and so it does where
    the entropy is below the bound.
    """
    best = z_c.masked_fill(relevance < relevance.amax(-1, keepdim=True), -inf).argmax(-1, keepdim=True)
    likeliest = z_c.argmax(-1, keepdim=True)
    best = best.where(entropy_of(z_c)[..., None] >= bound, likeliest)
    return z_c.scatter(-1, best, z_c.gather(-1, likeliest)).scatter(-1, likeliest, z_c.gather(-1, best))


PLUGIN = Agd()
