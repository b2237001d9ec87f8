"""Many prompts of different lengths, read at their last position; those of equal length run together."""

from collections.abc import Sequence

import torch

from heval_core.lm.model import LanguageModel
from heval_core.records import TokenisedPrompt


def last_logits(lm: LanguageModel, prompts: Sequence[TokenisedPrompt]) -> list[torch.Tensor]:
    """(V,) float32 of each prompt's last position, in the order of the prompts."""
    found: dict[int, torch.Tensor] = {}

    def work(indices: list[int]) -> None:
        ids = torch.tensor([prompts[index].ids for index in indices], device=lm.device)
        found.update(zip(indices, lm.forward.logits(ids), strict=True))

    by_length: dict[int, list[int]] = {}
    for index, prompt in enumerate(prompts):
        by_length.setdefault(len(prompt.ids), []).append(index)
    for length, indices in by_length.items():
        lm.budget.in_batches(indices, length, work)
    return [found[index] for index in range(len(prompts))]


def next_ids(lm: LanguageModel, prompts: Sequence[TokenisedPrompt]) -> list[int]:
    """The greedy next token of each prompt."""
    found: list[int] = []
    for start in range(0, len(prompts), SOME):
        found += [int(logits.argmax()) for logits in last_logits(lm, prompts[start : start + SOME])]
    return found


# So many prompts' logits are kept together.
SOME = 500
