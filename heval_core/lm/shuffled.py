"""A model whose weights are shuffled from the last block down, to see whether an explainer looks at the model at all.

Each tensor of a block keeps its values, in an order drawn by the block's number and the tensor's name; embeddings, the final
norm and the read-out stay. Reference: Adebayo et al. 2018 (arXiv 1810.03292), cascading randomisation. Departure: weights are
shuffled and not drawn anew, so that they keep their size; in three steps, not one for each block. Cost: one copy of the model.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator

import torch

from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import lacks
from heval_core.records import DEPTHS


def shuffled(lm: LanguageModel) -> Iterator[tuple[str, LanguageModel]]:
    """Yield each of DEPTHS with a model in which so many of the last blocks are shuffled.

    All are one copy, which is changed in place: each is gone when the next is asked for. Raises HEvalError for a model without
    a list of blocks.
    """
    model = copy.deepcopy(lm.model)
    blocks = next((part for part in model.modules() if isinstance(part, torch.nn.ModuleList) and len(part) == lm.layers), None)
    if blocks is None:
        raise lacks(lm, "shuffled weights", "has no list of blocks")
    left = lm.layers
    for depth, first in zip(DEPTHS, (lm.layers - 1, lm.layers // 2, 0), strict=True):
        for number in range(first, left):
            _shuffle(blocks[number], number)
        left = min(left, first)
        changed = LanguageModel(lm.key, model, lm.tokenizer, lm.style, lm.revision, lm.template, lm.budget)
        changed.fits.give(lm.fits.given)  # they may lie in a store that nothing else tells of
        yield depth, changed


def _shuffle(block: torch.nn.Module, number: int) -> None:
    with torch.no_grad():
        for name, weight in block.named_parameters():
            generator = torch.Generator().manual_seed(zlib.crc32(f"{number} {name}".encode()))
            order = torch.randperm(weight.numel(), generator=generator).to(weight.device)
            weight.copy_(weight.flatten()[order].view_as(weight))
