"""The cost of an instance, and the number of questions in a shard.

A shard takes a minute or two, so that an interruption costs little and the progress bar moves.

The first run of a model on a dataset sets the number, by arithmetic and not by timing: two runs on similar machines make the
same shards. The store notes the number, and later runs keep to it, so that finished shards stay valid.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from statistics import mean
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from heval_core import catalogue, regimes
from heval_core.behaviour import TEXT_TOKENS
from heval_core.faithfulness import LEVELS
from heval_core.lengths import fitted
from heval_core.lm.batches import last_logits
from heval_core.lm.loading import Identity, cannot_load, choose_device, tokenizer_of
from heval_core.lm.spans import tokenise
from heval_core.prompt_styles import style_of
from heval_core.prompts import prompt_of
from heval_core.records import Cost, Dropped, HEvalError, Instance, TokenisedPrompt
from heval_core.regime_keys import read_key
from heval_core.replacements import REPLACEMENTS
from heval_core.shared_passes import CLEAN, HEADS, added
from heval_core.store.kinds import BEHAVIOUR, INSTANCE
from heval_core.store.shards import ShardStore
from precompute.grid import Grid, Job, Shard, dtype_of, settings_of
from precompute.measured_kinds import MEASURED, asked_for
from precompute.models import Loading, Model
from precompute.questions import Questions

SIZES = (5, 10, 20, 50, 100, 200)
SECONDS = 150.0
# Floating-point operations per second of a device in forward passes; only the order of magnitude matters.
RATES = {"cpu": 5e10, "mps": 2e12, "cuda": 1e14}
# In stores from before sizes were noted.
OLD_SIZE = 50
SAMPLE = 20
# How long a question without documents is, in prompts with them.
QUESTION_SHARE = 0.2
# Writing out the answer's text if it decides the group.
WRITTEN = "written answer"


def shard_size(grid: Grid, model: Identity, questions: Questions, store: ShardStore) -> int:
    """The grid's own number if it has one, else the store's, else by arithmetic.

    Raises HEvalError for a model whose tokenizer or configuration cannot be read.
    """
    if grid.shard_size is not None:
        return grid.shard_size
    asked = (model.key, questions.dataset, model.revision, questions.fingerprint, settings_of(grid, model, dtype_of(grid)))
    for line in reversed(store.journal("state")):
        if tuple(line[name] for name in ("model", "dataset", "revision", "fingerprint", "settings")) == asked:
            return int(line.get("shard_size", OLD_SIZE))
    try:
        tokens = max(mean_tokens(questions, regime, grid.seed, model) for regime in grid.regimes)
        work = sum(cost(key, tokens).tokens for key in kinds(grid)) * 2 * body_parameters(model)
    except HEvalError:
        raise
    except Exception as error:  # from_pretrained raises nearly every class there is, for many reasons
        raise cannot_load(model.key, error) from error
    device = torch.device(grid.device).type if grid.device != "auto" else choose_device("auto").type
    fitting = [size for size in SIZES if size * work / RATES.get(device, RATES["cpu"]) <= SECONDS]
    return fitting[-1] if fitting else SIZES[0]


def kinds(grid: Grid) -> tuple[str, ...]:
    """The most that is computed for an instance: the answer, each explainer's scores for it and for the first document's
    answer (if the grid asks for these), and the faithfulness of the scores."""
    every = len(grid.explainers) + len(catalogue.explainers(control=True))
    measured = tuple(asked_for(grid.faithfulness, grid.faithfulness_protected)) * every
    answers = (INSTANCE.name, WRITTEN) if grid.match == "text" else (INSTANCE.name,)
    attributions = grid.explainers * (2 if grid.target == "context" else 1)
    behaviours = (BEHAVIOUR.name,) if grid.techniques else ()
    return (*answers, *behaviours, *attributions, *measured)


def together(kinds: Iterable[str], tokens: float) -> Cost:
    """The cost of several, done for one instance in one go: a shared pass counts for the first of them alone."""
    each = added((cost(kind, tokens) for kind in kinds), tokens)
    return Cost(sum(one.passes for one in each), sum(one.tokens for one in each))


def cost(what: str, tokens: float) -> Cost:
    """what: a kind of shard, or the key of an explainer, which declares it."""
    if what == WRITTEN:
        count = 1 + TEXT_TOKENS / max(tokens, 1.0)
        return Cost(count, count * tokens)
    # The passes that keep only the best tokens, without replacing the others, are too short to count.
    if what == BEHAVIOUR.name:
        return Cost(1.0, QUESTION_SHARE * tokens)
    whole = {"instance": 2, "head_attention": 1, **dict.fromkeys(MEASURED, (2 * len(REPLACEMENTS) - 1) * LEVELS)}
    shared = {"instance": (CLEAN,), "head_attention": (HEADS,)}
    if what in whole:
        return Cost(whole[what], whole[what] * tokens, shared.get(what, ()))
    return catalogue.method(what).cost(tokens)


def times(job: Job, shard: Shard) -> float:
    """How often a shard of answers costs what Regular's does: nothing for a technique that only combines its logits."""
    if shard.technique == job.arrangement.main.key:
        return job.arrangement.main.technique.passes
    return 0.0


def configuration(model: Identity) -> Any:
    """Of a model whose weights are not loaded."""
    return AutoConfig.from_pretrained(**model.where)


@lru_cache(maxsize=64)
def body_parameters(model: Identity) -> int:
    """The parameters of the layers, without embeddings; no weights are loaded."""
    config = configuration(model)
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config)
    total = sum(p.numel() for p in empty.parameters())
    return int(total - sum(p.numel() for p in empty.get_input_embeddings().parameters()))


def readable(grid: Grid, model: Identity, say: Callable[[str], None]) -> Grid:
    """The grid without the lengths that are beyond a model's positions; they are said, in one line.

    Raises HEvalError for a configuration that cannot be read.
    """
    lengths = {regime: read_key(regime).length or 0 for regime in grid.regimes}
    if not any(lengths.values()):
        return grid
    try:
        most = getattr(configuration(model), "max_position_embeddings", None)
    except Exception as error:  # as below
        raise cannot_load(model.key, error) from error
    beyond = [regime for regime, length in lengths.items() if most and length > most]
    if beyond:
        say(f"{model.key} reads {most:,} tokens at most; left out: {', '.join(beyond)}")
    return dataclasses.replace(grid, regimes=tuple(regime for regime in grid.regimes if regime not in beyond))


def mean_tokens(questions: Questions, regime: str, seed: int, model: Identity) -> float:
    """The mean length of a regime's first prompts; 0 if none can be made."""
    prompts = first_prompts(questions, regime, seed, model)
    return mean(len(prompt.ids) for prompt in prompts) if prompts else 0.0


def first_prompts(questions: Questions, regime: str, seed: int, model: Identity) -> list[TokenisedPrompt]:
    """The prompts of a regime's first SAMPLE questions, without those that are dropped."""
    tokenizer = _tokenizer(model)

    def tokenised(instance: Instance) -> TokenisedPrompt:
        return tokenise(prompt_of(instance, model.template), tokenizer)

    prompts = []
    for place, fact in enumerate(questions.facts[:SAMPLE]):
        try:
            instance = regimes.build(fact, regime, questions.pool, seed, style_of(model), place)
            prompts.append(tokenised(fitted(instance, fact.answer, lambda one: len(tokenised(one).ids))))
        except Dropped:
            continue
    return prompts


def seconds_per_token(grid: Grid, model: Model, questions: Questions) -> float:
    """What a token of a forward pass takes on this machine, with the first prompts of the grid's first regime run together.

    Load and first pass, which is slower than any other, do not count. A backward pass counts as a forward one, so that hours
    are good to a factor of two. Raises HEvalError for a model that cannot be loaded.
    """
    lm = model.load(Loading(grid.device, grid.dtype, grid.batch_tokens))
    prompts = first_prompts(questions, grid.regimes[0], grid.seed, model.identity)
    last_logits(lm, prompts)
    started = time.perf_counter()
    last_logits(lm, prompts)
    return (time.perf_counter() - started) / max(1, sum(len(prompt.ids) for prompt in prompts))


@lru_cache(maxsize=8)
def _tokenizer(model: Identity) -> object:
    return tokenizer_of(model)
