"""A model made by hand that copies: after a word it expects what followed that word before. So it is known what it uses.

Two layers of one head each (an induction circuit). The first looks at the token before and notes which one that was; the
second looks for places that noted the current token, and expects the token there. Noise on all weights makes it as untidy as a
trained one. Passages are `river Heron .`; the sentence `river Heron .` is copied from one, `weather mild .` from nothing."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from heval_core.citations.records import CitedSentence, Claim, Explained, Passage

KEYS = tuple(f"thing{number}" for number in range(60))
VALUES = tuple(f"Value{number}" for number in range(60))
WORDS = ("<end>", ".", ":", "[", "]", *map(str, range(10)), "the", "is", *KEYS, *VALUES)
POSITIONS = 256


def told(number: int) -> str:
    """A document that names its value, as the model knows documents."""
    return f"thing{number} Value{number} ."


def copier(folder: Path, noise: float = 0.02, seed: int = 0) -> str:
    """Saves the model into a folder, and returns its name."""
    words = {word: place for place, word in enumerate((*WORDS, "<unknown>"))}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", unk_token="<unknown>").save_pretrained(folder)
    count = len(words)
    width = 2 * count + POSITIONS
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=count, n_positions=POSITIONS, n_embd=width, n_layer=2, n_head=1, n_inner=4, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel(config)
    for name, weight in model.named_parameters():
        if "ln_" not in name:
            torch.nn.init.zeros_(weight)
    own, before, place = (slice(0, count), slice(count, 2 * count), slice(2 * count, width))
    with torch.no_grad():
        model.transformer.wte.weight[:, own] = torch.eye(count)
        model.transformer.wpe.weight[:, place] = torch.eye(POSITIONS)
        first, second = (block.attn for block in model.transformer.h)
        query, key, value = (slice(part * width, (part + 1) * width) for part in range(3))
        # Positions ask for the one before; what is there is noted in `before`.
        first.c_attn.weight[place, query][1:, place.start : place.start + POSITIONS - 1] = 8 * torch.eye(POSITIONS - 1)
        first.c_attn.weight[place, key][:, place] = torch.eye(POSITIONS)
        first.c_attn.weight[own, value][:, own] = torch.eye(count)
        first.c_proj.weight[own, before] = torch.eye(count) / 10
        # A token asks for places that noted it, and expects the token that stands there.
        second.c_attn.weight[own, query][:, own] = 4 * torch.eye(count)
        second.c_attn.weight[before, key][:, own] = torch.eye(count)
        second.c_attn.weight[own, value][:, own] = torch.eye(count)
        second.c_proj.weight[own, own] = torch.eye(count)
        for name, weight in model.named_parameters():
            if "ln_" not in name:
                weight.add_(noise * torch.randn_like(weight))
    model.save_pretrained(folder)
    return str(folder)


def explained(seed: int, passages: int = 8, copied: int = 4, nothing: int = 2) -> Explained:
    """An explanation with sentences copied from passages and sentences from nothing, and where each is from."""
    rng = random.Random(seed)
    keys, values = rng.sample(KEYS, passages + nothing), rng.sample(VALUES, passages + nothing)
    told = tuple(f"{key} {value} ." for key, value in zip(keys, values, strict=True))
    order = [*rng.sample(range(passages), copied), *range(passages, passages + nothing)]
    rng.shuffle(order)
    claim = Claim(f"planted-{seed}", "the", "is", tuple(Passage(k + 1, told[k]) for k in range(passages)))
    sources = tuple((k + 1,) if k < passages else () for k in order)
    sentences = tuple(CitedSentence(told[k], told[k], ()) for k in order)
    return Explained(claim, "copier", "all", tuple(range(1, passages + 1)), sentences, sources=sources)
