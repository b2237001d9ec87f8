"""Techniques as ratios: combining logits beside the two passes, ranking heads, and many prompts beside one by one."""

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from benchmarks.timing import TOKENIZER, Figure, best, prompts_of
from heval_core.lm.batches import last_logits
from heval_core.lm.loading import identify
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Technique
from heval_core.prompting.styles import style_of
from heval_core.techniques.shared.base import NOTHING, Setting
from precompute.compute import JobTask
from precompute.grid import Grid
from precompute.highlights import INSTANCES, job_tasks
from precompute.memory import Memories
from precompute.pair import Pair
from precompute.questions import Questions, load_questions
from precompute.searches import greedy_tokens
from precompute.techniques import Arrangement, Chosen, is_searched
from precompute.worker import Model

# Prompts as world_capital's: with one document, and without.
WITH_DOCUMENT, ALONE = 40, 12
COMBINED = 100
RANKED_TOKENS, RANKED = 25, 100
DATASET, REGIME = "world_capital", "conflicting"
ANSWERED, ONE_BY_ONE = 1000, 20


def technique_figures(name: str, lm: LanguageModel) -> Iterator[Figure]:
    for figure in (decoding_figure, patching_figure, batch_figure):
        yield figure(name, lm)


def decoding() -> dict[Technique, list[Setting]]:
    """List the techniques that only combine logits, each with all settings that its search tries."""
    techniques = [one for one in catalogue.techniques().values() if one.family == "decoding"]
    nothing: Any = None  # their settings do not depend on the development questions
    return {one: list(one.settings(nothing)) if is_searched(one) else [NOTHING] for one in techniques}


def decoding_figure(name: str, lm: LanguageModel) -> Figure:
    """Time Regular's two passes and the answers of all decoding techniques under all settings, against the two passes
    alone.
    """
    with_context, alone = (prompts_of(lm, tokens, COMBINED).prompts for tokens in (WITH_DOCUMENT, ALONE))
    settings = decoding()

    def passes() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.stack(last_logits(lm, with_context)), torch.stack(last_logits(lm, alone))

    def everything() -> None:
        both = passes()
        for technique, tried in settings.items():
            greedy_tokens(technique, *both, tried)

    whole, two = best(everything, passes)
    detail = f"{COMBINED} prompts, {sum(map(len, settings.values()))} settings: {whole:.1f} s against {two:.1f} s"
    return Figure(name, WITH_DOCUMENT, "all decoding techniques / Regular's two passes", whole / two, 1.3, True, detail)


def batch_figure(name: str, lm: LanguageModel, count: int = ANSWERED, sampled: int = ONE_BY_ONE) -> Figure:
    """Time a job of many questions under all decoding techniques, against jobs of one (timed for some, and scaled)."""
    questions = load_questions(DATASET, count, 0, style_of(lm))
    # Random weights remember nothing that could be asked about, so that every question would be dropped.
    recalled = lm.tokenizer([f" {fact.answer}." for fact in questions.facts], add_special_tokens=False).input_ids
    memories = Memories({fact.question: tuple(ids) for fact, ids in zip(questions.facts, recalled, strict=True)})
    count, usable = len(questions.facts), 0
    every = max(1, count // sampled)
    (together,), single = _jobs(name, questions, range(count), count), _jobs(name, questions, range(0, count, every), 1)

    def answered(jobs: list[JobTask]) -> None:
        nonlocal usable
        equipped = (dataclasses.replace(job, memories=memories) for job in jobs)
        shards = (job.do(lm, questions).rows[job.keys[0]] for job in equipped)
        usable = sum(row["dropped_because"] is None for rows in shards for row in rows)

    answered(single[:1])  # the first pass of a model is slower than any other
    one, many = best(partial(answered, single), partial(answered, [together]), rounds=0)
    one *= count / len(single)
    detail = f"{count} prompts, {usable} of them answered, in {many:.1f} s against {one:.0f} s"
    what = "one by one / a batch of 1,000, all decoding techniques"
    return Figure(name, WITH_DOCUMENT, what, one / many, 3.0, detail=detail)


def _jobs(name: str, questions: Questions, indices: range, size: int) -> list[JobTask]:
    chosen = tuple(Chosen(technique.key, tried[-1]) for technique, tried in decoding().items())
    model = Model(name, dataclasses.replace(identify(str(TOKENIZER)), key=name))
    pair = Pair(Grid((name,), (DATASET,), (REGIME,), (), shard_size=size, dtype="float32"), model, questions)
    return list(job_tasks(pair, REGIME, indices, (INSTANCES,), Arrangement(Chosen(), chosen, True)))


def patching_figure(name: str, lm: LanguageModel, count: int = RANKED) -> Figure:
    """Time PH3's effects of all heads, against one plain pass over every prompt for each head (timed for one head, and
    scaled).
    """
    both = prompts_of(lm, RANKED_TOKENS, 2 * count)
    prompts, twins, ids = both.prompts[:count], both.prompts[count:], both.ids[:count]
    token_ids = lm.forward.logits(ids).topk(2).indices

    def ours() -> torch.Tensor:
        clean, other = (lm.path_patching.last_positions(each) for each in (prompts, twins))
        return lm.path_patching.effects(clean, other.outputs, token_ids)

    lm.path_patching.last_positions(prompts[:1])  # makes the model with hooks
    one, whole = best(ours, partial(last_logits, lm, prompts), rounds=0)
    heads = lm.layers * lm.heads_per_layer
    detail = f"{count} prompts, {heads} heads: {one:.1f} s against {heads * whole:.0f} s"
    ratio = one / (heads * whole)
    return Figure(name, RANKED_TOKENS, "path patching / the model again for each head", ratio, 0.25, True, detail)
