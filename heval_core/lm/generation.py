"""Greedy continuations of prompts, by the unmodified model."""

from collections.abc import Sequence
from typing import Any

import torch

from heval_core.lm.chat import turn_end
from heval_core.lm.facts import ModelFacts


def ends_of(model: Any, tokenizer: Any) -> list[int] | None:
    """Return the tokens that end a model's turn, whichever of its files names them: generation settings, configuration,
    tokenizer, and chat template, behind what an assistant says. None where none does.
    """
    files = (model.generation_config, model.config, model.config.get_text_config(), tokenizer)
    named = [*(getattr(file, "eos_token_id", None) for file in files), turn_end(tokenizer)]
    ends = [end for value in named for end in (value if isinstance(value, list | tuple) else [value])]
    return list(dict.fromkeys(end for end in ends if end is not None)) or None


class Generation:
    """Continuations by one model."""

    def __init__(self, facts: ModelFacts):
        self._facts = facts

    @property
    def end_ids(self) -> set[int]:
        """The tokens that end the model's text."""
        return set(self._facts.model.generation_config.eos_token_id or ())

    @torch.no_grad()
    def greedy(self, prompts: Sequence[tuple[int, ...]], tokens: int) -> list[tuple[int, ...]]:
        """Generate greedy continuations of at most `tokens` tokens, up to and including the end-of-text token, one per prompt.

        Prompts of similar length are padded on the left and run together, within the budget of tokens. A prompt that fills
        all positions gets (). Raises NotEnoughMemory.
        """
        positions, budget = self._facts.positions, self._facts.budget
        out: list[tuple[int, ...]] = [()] * len(prompts)
        askable = (i for i, ids in enumerate(prompts) if 0 < len(ids) < positions)
        waiting = sorted(askable, key=lambda i: len(prompts[i]), reverse=True)
        while waiting:
            width = len(prompts[waiting[0]])
            room = min(tokens, positions - width)

            def ask(waiting: list[int] = waiting, width: int = width, room: int = room) -> list[tuple[int, ...]]:
                # A prompt that reaches the last position runs alone: it would cut the others short.
                size = budget.batch_size(width + tokens) if room == tokens else 1
                return self._continue([prompts[i] for i in waiting[:size]], width, room)

            continuations = budget.within(width + tokens, ask)
            for index, ids in zip(waiting, continuations, strict=False):
                out[index] = ids
            waiting = waiting[len(continuations) :]
        return out

    def _continue(self, prompts: list[tuple[int, ...]], width: int, tokens: int) -> list[tuple[int, ...]]:
        pad, device = self._facts.pad_id, self._facts.device
        ids = [[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        written = self._facts.model.generate(
            torch.tensor(ids, device=device),
            attention_mask=torch.tensor(mask, device=device),
            max_new_tokens=tokens,
            pad_token_id=pad,
        )
        return [_up_to_end(row[width:], self.end_ids) for row in written.tolist()]


def _up_to_end(ids: list[int], ends: set[int]) -> tuple[int, ...]:
    """Return the ids up to the row's end-of-text token; generation pads after it."""
    end = next((index for index, token_id in enumerate(ids) if token_id in ends), len(ids) - 1)
    return tuple(ids[: end + 1])
