"""What explainers that look into a model have in common: what most of them declare, and the clock that times them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from heval_core.lm import rules as backward
from heval_core.lm.shared_passes import CLEAN, HEADS
from heval_core.records import Attribution, Cost, HEvalError, Target

if TYPE_CHECKING:
    from heval_core.lm import clean_pass

# What explainers are given, named without importing torch.
CleanPass: TypeAlias = "clean_pass.CleanPass"


class Base:
    """An explainer declares the rest (`heval_core.plugins.protocols.Method`), and has `scored`, or an `explain` of its own."""

    key: str
    signed = True
    control = False
    default = False
    # Whether `scored` reads nothing but the prompts' last positions, so that prompts of unequal length may share its passes.
    padded = False
    # An option with few values, what it is called, and the values.
    choices: tuple[tuple[str, str, Sequence[str]], ...] = ()

    def __post_init__(self) -> None:
        """Raise NotImplementedError for an explainer that has no scores."""
        if type(self).scored is Base.scored and type(self).explain is Base.explain:
            raise NotImplementedError("it has neither `scored` nor `explain`")

    def check(self) -> None:
        """Raise HEvalError for options that it cannot have."""
        for name, what, known in self.choices:
            if getattr(self, name) not in known:
                key = self.key.partition("(")[0]
                raise HEvalError(f"{key} has no {what} {getattr(self, name)!r}; there are: {', '.join(known)}.")

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        """Return scores, (B, n) float32, a row for each prompt of the pass: a tensor or an array.

        An explainer that has more to tell gives a pair: these, and for each prompt what else its `Attribution` has, by name.
        """
        raise NotImplementedError

    def explain(self, clean: CleanPass, targets: Sequence[Target]) -> list[Attribution]:
        self.check()
        clock = clean.clock()
        result = self.scored(clean, targets)
        scores, extras = result if isinstance(result, tuple) else (result, [{}] * clean.size)
        rows = scores.cpu().numpy() if hasattr(scores, "cpu") else scores
        seconds = clock.stop()
        return [
            Attribution(self.key, row[: len(prompt.ids)], seconds, repr(self), **extra)
            for prompt, row, extra in zip(clean.prompts, rows, extras, strict=True)
        ]


class ReadsHeads(Base):
    """An explainer that reads attention heads at the target's positions; it explains a whole answer token by token."""

    needs: tuple[str, ...] = ("softmax attention", "heads")
    answers = "token"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: the clean pass, and one over the last token with hooks."""
        return Cost(2, tokens + 1, (CLEAN, HEADS))


class ByRules(Base):
    """Embedding times gradient in a copy of the model with other backward rules (`lm.changed_backward`).

    rules: which. contrast: whether of the answer's lead over its competitor, where a target has one, in place of its logit.
    """

    rules: backward.Rules
    contrast: bool
    family = "gradient"
    padded = True
    needs: tuple[str, ...] = ("gradients", "softmax attention")
    answers = "sentence"
    cost = staticmethod(backward.cost)

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        return clean.relevance(self.rules, targets, self.contrast)
