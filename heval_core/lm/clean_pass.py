"""One unmodified pass over prompts, with everything that explainers share of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch

from heval_core.lm.forward import Prefix
from heval_core.lm.heads import HeadReading
from heval_core.lm.model import LanguageModel
from heval_core.records import HEvalError, TokenisedPrompt


class CleanPass:
    """Prompts of equal length, and what their unmodified forward pass gives, each computed when it is first needed.

    prompts: B prompts of n tokens each; B = 1 for a prompt explained by itself.
    """

    def __init__(self, lm: LanguageModel, prompts: Sequence[TokenisedPrompt]):
        if len({len(prompt.ids) for prompt in prompts}) != 1:
            raise HEvalError("The prompts of one pass must have the same number of tokens.")
        self.lm, self.prompts = lm, tuple(prompts)
        self._logits: dict[tuple[int, ...], torch.Tensor] = {}
        self._heads: dict[int, HeadReading] = {}

    @property
    def size(self) -> int:
        """B"""
        return len(self.prompts)

    @property
    def length(self) -> int:
        """n"""
        return len(self.prompts[0].ids)

    @cached_property
    def ids(self) -> torch.Tensor:
        """(B, n)"""
        return torch.tensor([prompt.ids for prompt in self.prompts], device=self.lm.device)

    @cached_property
    def _passed(self) -> tuple[torch.Tensor, Prefix]:
        logits, prefix = self.lm.forward.clean(self.ids)
        return self.lm.forward.checked(logits), prefix

    @property
    def logits(self) -> torch.Tensor:
        """(B, V) float32, of the last position. Raises HEvalError if they are not finite."""
        return self._passed[0]

    @property
    def prefix(self) -> Prefix:
        """The keys and values of the prompts."""
        return self._passed[1]

    def logits_at(self, positions: tuple[int, ...]) -> torch.Tensor:
        """(B, P, V) float32. Raises HEvalError if they are not finite."""
        if positions == (-1,):
            return self.logits[:, None]
        if positions not in self._logits:
            with torch.no_grad():
                self._logits[positions] = self.lm.forward.checked(self.lm.forward.logits_at(self.ids, positions))
        return self._logits[positions]

    def heads_at(self, position: int) -> HeadReading:
        """The heads' attention and outputs at one position."""
        position %= self.length
        if position not in self._heads:
            self._heads[position] = self.lm.heads.read(self.ids, self.prefix, position)
        return self._heads[position]

    @property
    def heads(self) -> HeadReading:
        """The heads' attention and outputs at the last position."""
        return self.heads_at(-1)
