"""Copies of a model that share its weights: other modules, the same tensors, so that a copy costs no memory."""

import copy

from transformers import PreTrainedModel


def twin_of(model: PreTrainedModel) -> PreTrainedModel:
    """The model once more. Its modules and configuration may be changed; its weights are the model's own."""
    return copy.deepcopy(model, {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())})
