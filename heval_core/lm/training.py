"""Trains a LoRA adapter on examples, with the library peft; the model itself stays as it is.

Loss: the mean of -log p over the answers' tokens; a prompt's own tokens count nothing. AdamW without weight decay; the rate
rises over the warm-up and falls along half a cosine. After each epoch the loss of held-out examples is measured; training
stops once it has not fallen for some epochs, and the best epoch's adapter is kept.
Departure from usual training: dropout of the adapter only; the model's own stays off.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from heval_core.lm.adapting import Adapter, LowRankPair, linear_layers
from heval_core.lm.facts import ModelFacts
from heval_core.records import HEvalError, NotHere

# A label that has no part in the loss, as torch's cross entropy has it.
IGNORED = -100


@dataclass(frozen=True)
class Example:
    """A prompt with its answer, in tokens.

    ids: the prompt's and the answer's tokens. answer: how many of them, at the end, are the answer's.
    """

    ids: tuple[int, ...]
    answer: int


@dataclass(frozen=True)
class Recipe:
    """How an adapter is trained. batch: examples in a step. patience: epochs without a better one until training stops."""

    learning_rate: float = 5e-5
    epochs: int = 3
    rank: int = 16
    alpha: float = 32.0
    dropout: float = 0.05
    warm_up: float = 0.05
    batch: int = 32
    patience: int = 2


@dataclass(frozen=True)
class Trained:
    """A trained adapter's losses.

    losses: of each epoch, in nats per token. held_out: those of the held-out examples. best: the epoch kept, from 1.
    """

    adapter: Adapter
    losses: tuple[float, ...]
    held_out: tuple[float, ...]
    best: int


def train(facts: ModelFacts, examples: Sequence[Example], held_out: Sequence[Example], recipe: Recipe, seed: int) -> Trained:
    """Train an adapter on examples. The same seed gives the same adapter on the same machine.

    Raises NotHere where peft is not installed, HEvalError for a model without linear layers and if the loss is not finite.
    """
    # Afterwards torch's random numbers go on as if nothing had been drawn.
    with torch.random.fork_rng([facts.device] if facts.device.type == "cuda" else []):
        torch.manual_seed(seed)
        model = _with_adapter(facts, recipe)
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        optimiser = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=0.0)
        steps = recipe.epochs * math.ceil(len(examples) / recipe.batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, partial(rate, steps=steps, warm_up=recipe.warm_up))
        losses: list[float] = []
        held_out_losses: list[float] = []
        best = Adapter("", "", 0.0, {})
        while len(losses) < recipe.epochs and not stops(held_out_losses, recipe.patience):
            losses.append(_epoch(facts, model, examples, recipe.batch, optimiser, schedule))
            held_out_losses.append(_mean_loss(facts, model, held_out))
            if not math.isfinite(losses[-1] + held_out_losses[-1]):
                raise HEvalError(f"The loss of fine_tuning on {facts.key} is not finite; lower learning_rate.")
            if best_epoch(held_out_losses) == len(held_out_losses):
                best = _adapter(facts, model, recipe)
    return Trained(best, tuple(losses), tuple(held_out_losses), best_epoch(held_out_losses))


def rate(step: int, steps: int, warm_up: float) -> float:
    """Return the share of the learning rate at a step, from 0: a line up to 1, then half a cosine down to 0."""
    rising = math.ceil(warm_up * steps)
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))


def best_epoch(losses: Sequence[float]) -> int:
    """Return the epoch with the lowest loss, from 1; of equal ones the first."""
    return min(range(len(losses)), key=losses.__getitem__) + 1


def stops(losses: Sequence[float], patience: int) -> bool:
    """Return whether the last `patience` epochs brought nothing better."""
    return bool(losses) and len(losses) - best_epoch(losses) >= patience


def _with_adapter(facts: ModelFacts, recipe: Recipe) -> torch.nn.Module:
    """Return a twin of the model whose linear layers have a trainable adapter, in float32."""
    try:
        import peft
    except ImportError as error:
        raise NotHere("peft, which trains adapters, is not installed; run: pip install -r requirements-peft.txt") from error
    config = peft.LoraConfig(
        r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout, target_modules=list(linear_layers(facts))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of GPT-2's layers, which are stored the other way round, as peft finds out itself
        model: torch.nn.Module = peft.inject_adapter_in_model(config, facts.twin()).eval()
    for name, module in model.named_modules():
        if name.endswith(("lora_A", "lora_B")):
            module.float()
        if name.endswith("lora_dropout"):
            module.train()
    return model


def _adapter(facts: ModelFacts, model: torch.nn.Module, recipe: Recipe) -> Adapter:
    pairs: dict[str, LowRankPair] = {}
    for name in linear_layers(facts):
        layer: Any = model.get_submodule(name)
        a, b = (getattr(layer, part)["default"].weight.detach().cpu().clone() for part in ("lora_A", "lora_B"))
        pairs[name] = (a, b)
    return Adapter(facts.key, facts.revision, recipe.alpha / recipe.rank, pairs)


def _epoch(
    facts: ModelFacts, model: torch.nn.Module, examples: Sequence[Example], batch: int, optimiser: Any, schedule: Any
) -> float:
    """Take one step for each batch of shuffled examples. Returns the mean of the batches' losses."""
    order, losses = torch.randperm(len(examples)).tolist(), []
    for start in range(0, len(order), batch):
        chosen = [examples[index] for index in order[start : start + batch]]

        def attempt(chosen: list[Example] = chosen) -> float:
            optimiser.zero_grad(set_to_none=True)
            return sum(_shares(facts, model, chosen, backward=True))

        losses.append(facts.budget.within(_longest(chosen), attempt))
        optimiser.step()
        schedule.step()
    return sum(losses) / len(losses)


@torch.no_grad()
def _mean_loss(facts: ModelFacts, model: torch.nn.Module, examples: Sequence[Example]) -> float:
    """Compute the loss without dropout, in nats per token."""
    dropouts = [module for module in model.modules() if module.training]
    for module in dropouts:
        module.eval()
    try:
        return facts.budget.within(_longest(examples), lambda: sum(_shares(facts, model, examples, backward=False)))
    finally:
        for module in dropouts:
            module.train()


def _shares(facts: ModelFacts, model: torch.nn.Module, examples: Sequence[Example], backward: bool) -> Iterator[float]:
    """Yield the mean loss of some examples, in parts that fit into memory and add up to it."""
    tokens, size = sum(example.answer for example in examples), facts.budget.batch_size(_longest(examples))
    for start in range(0, len(examples), size):
        share = loss(model, examples[start : start + size], facts.device) / tokens
        if backward:
            share.backward()
        yield float(share.detach())


def _longest(examples: Sequence[Example]) -> int:
    return max(len(example.ids) for example in examples)


def loss(model: torch.nn.Module, examples: Sequence[Example], device: torch.device) -> torch.Tensor:
    """Sum -log p over the answers' tokens, in nats; gradients flow if enabled."""
    ids, attended, labels = (tensor.to(device) for tensor in padded(examples))
    # The logits at a position are of the token behind it; only those of answers are computed.
    rows = (labels[:, 1:] != IGNORED).any(0).nonzero()[:, 0]
    logits = model(input_ids=ids, attention_mask=attended, use_cache=False, logits_to_keep=rows).logits.float()
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), labels[:, rows + 1].flatten(), ignore_index=IGNORED, reduction="sum"
    )


def padded(examples: Sequence[Example]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pad examples: (b, n) ids, attention mask and labels, which only answers have."""
    pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
    ids = [torch.tensor(example.ids) for example in examples]
    labels = [row.index_fill(0, torch.arange(len(row) - one.answer), IGNORED) for row, one in zip(ids, examples, strict=True)]
    return pad(ids), pad([torch.ones_like(row) for row in ids]), pad(labels, padding_value=IGNORED)
