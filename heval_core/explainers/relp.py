"""Relevance patching: relevance of what each token is beyond what might stand in its place.

Formula: phi_i = <e(x_i) - e(x'_i), d (z_a - z_b) / d e_i>, backwards by attnlrp's rules. x' is another prompt of the same
length, which is not run: where a token of x spells the answer's first one, white space aside, it has the competitor's first
one, and everywhere else the baseline token, as fa's. Without a competitor the target is z_a, and x' is baseline tokens alone.
z_a, z_b: of a target of several tokens the sums of their logits.
Reference: ours, after Rezaei Jafari et al. 2025 (RelP, arXiv 2508.21258), which takes relevance's coefficients in place of the
gradients of attribution patching.
Departure: from theirs: at the embeddings alone; x' is put together token by token, where they are given a second prompt; what
the answer would lose counts as positive; attention follows attnlrp's rules.
Cost: as attnlrp's: one pass forward and one backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.lm import rules
from heval_core.records import BASELINE, Target


@dataclass(frozen=True)
class RelevancePatching(Base):
    key = "relp"
    title = "Relevance patching (ours)"
    family = "gradient"
    needs = ("gradients", "softmax attention")
    answers = "sentence"
    order = 19
    reference = "ours, after Rezaei Jafari et al. 2025 (RelP, arXiv 2508.21258)"
    cost = staticmethod(rules.cost)

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        import torch

        baseline = clean.lm.baseline(BASELINE)
        against = torch.full_like(clean.ids, baseline)
        for row, (prompt, target) in enumerate(zip(clean.prompts, targets, strict=True)):
            first = target.positions.index(min(target.positions, key=lambda position: position % clean.length))
            answer = clean.lm.decode(target.ids[first : first + 1]).strip()
            for index, token in enumerate(prompt.tokens if target.foils and answer else ()):
                if token.strip() == answer:
                    against[row, index] = target.foils[first]
        details = (("baseline_id", float(baseline)),)
        return clean.relevance(rules.ATTNLRP, targets, True, against), [{"details": details}] * clean.size


PLUGIN = RelevancePatching()
