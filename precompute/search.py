"""The search for a technique's setting, on development questions only. Each technique chooses by its own rule."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from heval_core import pipeline, regimes
from heval_core.behaviour import accepted_tokens
from heval_core.lm.batches import last_logits, next_ids
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.prompt_styles import style_of
from heval_core.prompts import memory_prompt
from heval_core.protocols import Technique
from heval_core.records import FOLLOWED, Dropped, HEvalError
from heval_core.techniques.shared.base import prompt_with
from heval_core.techniques.shared.development import Development, Question, Setting, Trial
from precompute.memories import Memories
from precompute.questions import Questions
from precompute.techniques import plain

# Fewer questions of a kind tell settings apart by luck.
FEWEST = 5
# Rows of logits that are combined together.
ROWS = 16


def memory_ids(lm: LanguageModel, questions: Sequence[str]) -> list[int]:
    """Regular's own next token after each question without documents; each question is asked once."""
    distinct = list(dict.fromkeys(questions))
    prompts = [lm.tokenise(memory_prompt(question, lm.template), check_length=False) for question in distinct]
    known = dict(zip(distinct, next_ids(lm, prompts), strict=True))
    return [known[question] for question in questions]


def development_of(
    lm: LanguageModel, questions: Questions, places: Sequence[int], kinds: Sequence[str], seed: int, memories: Memories
) -> Development:
    """The development questions of a dataset, by context kind. Raises HEvalError where there are too few of every kind."""
    found: dict[str, tuple[Question, ...]] = {}
    for kind in kinds:
        kept = []
        for place in places:
            fact = questions.facts[place]
            try:
                instance = regimes.build(fact, kind, questions.pool, seed, style_of(lm), place)
                if pipeline.prepare(lm, instance, memories.of(lm, fact, questions.pool)).dropped_because is None:
                    kept.append(instance)
            except Dropped:
                continue
        remembered = memory_ids(lm, [instance.question for instance in kept])
        if len(kept) >= FEWEST:
            found[kind] = tuple(
                Question(instance, accepted_tokens(lm, instance), memory_id)
                for instance, memory_id in zip(kept, remembered, strict=True)
            )
    if not found:
        raise HEvalError(
            f"{questions.dataset} has fewer than {FEWEST} development questions of every kind of context; a search needs "
            "more: raise --limit."
        )
    return Development(lm, questions.dataset, found, seed)


def search(technique: Technique, development: Development) -> tuple[list[Trial], tuple[int, ...]]:
    """What was tried, and the indices of the best settings, the one to use first.

    With one setting there is nothing to try, and it has no trial's numbers. Raises HEvalError where the technique cannot be
    applied to the model.
    """
    require(development.lm, technique.needs)
    settings = technique.settings(development)
    if len(settings) == 1:
        return [Trial(settings[0], {}, {})], (0,)
    answer = _decoded if technique.family == "decoding" else _answered
    trials = answer(technique, development, settings)
    return trials, technique.best(trials)


def _decoded(technique: Technique, development: Development, settings: Sequence[Setting]) -> list[Trial]:
    """The two passes are run once, whatever the number of settings; only one kind's logits are held at a time."""
    lm = development.lm
    predicted: list[dict[str, list[int]]] = [{} for _ in settings]
    for kind, asked in development.questions.items():
        instances = [question.instance for question in asked]
        with_context = [lm.tokenise(prompt_with(instance, lm.template)) for instance in instances]
        alone = [lm.tokenise(memory_prompt(instance.question, lm.template)) for instance in instances]
        both = torch.stack(last_logits(lm, with_context)), torch.stack(last_logits(lm, alone))
        for setting, tokens in zip(predicted, greedy_tokens(technique, *both, settings), strict=True):
            setting[kind] = tokens
    return [_trial(development, *each) for each in zip(settings, predicted, strict=True)]


def greedy_tokens(
    technique: Technique, with_context: torch.Tensor, alone: torch.Tensor, settings: Sequence[Setting]
) -> list[list[int]]:
    """(N, V) logits of both passes ▶ for each setting the N answers. A few rows at a time, whose scores need little memory."""
    found: list[list[int]] = [[] for _ in settings]
    for rows in zip(with_context.split(ROWS), alone.split(ROWS), strict=True):
        for tokens, scores in zip(found, technique.combined_by(*rows, settings), strict=True):
            # On a CPU, NumPy finds the largest of a row ten times as fast as torch.
            tokens += (scores.numpy() if scores.device.type == "cpu" else scores).argmax(-1).tolist()
    return found


def _answered(technique: Technique, development: Development, settings: Sequence[Setting]) -> list[Trial]:
    """One pass for each setting that no variant of the technique has tried on these questions."""

    def tried(setting: Setting) -> Trial:
        predicted = {}
        with technique.applied(development.lm, setting) as lm:
            for kind, asked in development.questions.items():
                prompts = technique.asked(lm, [question.instance for question in asked], setting)
                logits = last_logits(lm, [lm.tokenise(one.prompt) for one in prompts])
                predicted[kind] = [int(one.argmax()) for one in logits]
        return _trial(development, setting, predicted)

    return [development.once((plain(technique.key), setting), partial(tried, setting)) for setting in settings]


def _trial(development: Development, setting: Setting, predicted: dict[str, list[int]]) -> Trial:
    hits = {
        kind: [
            token in question.accepted if kind in FOLLOWED else token == question.memory_id
            for question, token in zip(development.questions[kind], tokens, strict=True)
        ]
        for kind, tokens in predicted.items()
    }
    n = {kind: len(each) for kind, each in hits.items()}
    return Trial(setting, {kind: sum(each) / n[kind] for kind, each in hits.items()}, n)


def trial_rows(where: dict[str, Any], trials: Sequence[Trial], best: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of a trial shard: one for each setting and kind. where: the columns that say whose they are."""
    return [
        where
        | {
            "setting": trial.setting.text,
            "regime": kind,
            "bcu": trial.bcu.get(kind),
            "n": trial.n.get(kind, 0),
            "chosen": index == best[0],
            "tied": index in best,
            "weights": trial.setting.weights or None if index == best[0] else None,
        }
        for index, trial in enumerate(trials)
        for kind in (trial.bcu or ("",))
    ]


def unavailable_row(where: dict[str, Any], reason: str) -> dict[str, Any]:
    """The one row of a search that could not be made."""
    return where | {"setting": "", "regime": "", "n": 0, "chosen": False, "tied": False, "unavailable": reason}
