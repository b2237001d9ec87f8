"""What a shortcut costs in truth: fa with a screen, and every explainer in bfloat16, beside exact scores in float32.

Both are asked of a real model on the same prompts: two documents about a capital, filled up with sentences about nothing
that is asked. *Top token*: the share of prompts whose highest token is the same. *Best five*: the share of the five highest
that are among the shortcut's. Spearman's correlation is over the ranked tokens. In a run both ways take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import torch

from benchmarks.timing import SMALL, Figure, explain, prompts_of, random_model
from heval_core import catalogue
from heval_core.datasets.world_capital import statement
from heval_core.explainers import attn, fa, ig, mechlight
from heval_core.generated import matrix_of, tokenised
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.pipeline import Request
from heval_core.prompt_styles import style_of
from heval_core.records import HEvalError, Target, TokenisedPrompt
from heval_core.sources import neutral_sentences
from heval_core.statistics.correlation import spearman
from precompute.questions import load_questions

SCREENS = ("sentences:3", "sentences:2", "cgim:16")
BEST = 5
# Below this correlation with float32 an explainer is not offered in bfloat16.
LEAST = 0.95


def prompts(lm: LanguageModel, tokens: int, count: int) -> list[TokenisedPrompt]:
    """Questions of World Capital with two documents, each about as long as half of `tokens`."""
    facts = load_questions("world_capital", count, 0, style_of(lm)).facts
    found, fillers = [], cycle(neutral_sentences())
    for place, fact in enumerate(facts):
        others = [facts[place - step].answer for step in (1, 2)]
        documents = [statement(fact.subject, other).text for other in others]
        prompt = tokenised(lm, Request(tuple(documents), fact.question))
        while len(prompt.ids) < tokens:
            documents = [f"{text} {next(fillers)}" for text in documents]
            prompt = tokenised(lm, Request(tuple(documents), fact.question))
        found.append(prompt)
    return found


def screened(name: str, tokens: int, count: int) -> Iterator[dict[str, Any]]:
    """A row for each screen: how often it agrees with all tokens' scores, and how many times faster it is."""
    lm = load(name, "cpu", "float32")
    keys = ["fa", *(f"fa(screen={screen})" for screen in SCREENS)]
    same: dict[str, list[tuple[bool, float]]] = {key: [] for key in keys}
    seconds = dict.fromkeys(keys, 0.0)
    for prompt in prompts(lm, tokens, count):
        exact = np.zeros(len(prompt.ids))
        for key in keys:
            clean = CleanPass(lm, [prompt])
            target = Target.next_token(int(clean.logits.argmax()))
            started = time.perf_counter()
            found = matrix_of(catalogue.method(key), clean, target, [range(1)])
            seconds[key] += time.perf_counter() - started
            single = {
                unit.start: value
                for unit, value in zip(found.units, found.values[:, 0], strict=True)
                if len(unit.indices) == 1
            }
            if key == "fa":
                exact = np.array([single.get(index, -np.inf) for index in range(len(prompt.ids))])
            best, seen = exact.argsort()[::-1][:BEST], sorted(single, key=lambda index: -single[index])[:BEST]
            same[key].append((seen[0] == best[0], len(set(seen) & set(best.tolist())) / BEST))
    for key in keys[1:]:
        top, five = np.mean(same[key], axis=0)
        ratio = seconds["fa"] / seconds[key]
        yield {"model": lm.key, "tokens": tokens, "n": count, "what": key, "top": top, "five": five, "ratio": ratio}


def coarse(name: str, tokens: int, count: int) -> Iterator[dict[str, Any]]:
    """A row for each explainer: its scores in bfloat16 beside those in float32, and how many times faster they are."""
    models = {dtype: load(name, "cpu", dtype) for dtype in ("float32", "bfloat16")}
    asked = prompts(models["float32"], tokens, count)
    for key in catalogue.explainers():
        explainer, pairs, seconds = catalogue.method(key), [], dict.fromkeys(models, 0.0)
        if catalogue.needs_fit(explainer):
            continue
        try:
            for prompt in asked:
                scores, pair = dict[str, np.ndarray](), list[int]()
                for dtype, lm in models.items():
                    clean = CleanPass(lm, [prompt])
                    # float32 comes first: its answer and the runner-up are explained in both.
                    pair = pair if scores else clean.logits[0].topk(2).indices.tolist()
                    started = time.perf_counter()
                    (found,) = explainer.explain(clean, [Target.next_token(*pair)])
                    seconds[dtype] += time.perf_counter() - started
                    scores[dtype] = found.scores[prompt.ranked.start : prompt.ranked.stop]
                pairs.append(scores)
        except HEvalError as error:
            yield {"model": lm.key, "tokens": tokens, "what": key, "refused": str(error)}
            continue
        alike = [spearman(both["float32"], both["bfloat16"]) for both in pairs]
        top = np.mean([both["float32"].argmax() == both["bfloat16"].argmax() for both in pairs])
        ratio = seconds["float32"] / seconds["bfloat16"]
        row = {"spearman": float(np.mean(alike)), "lowest": float(np.min(alike)), "top": float(top), "ratio": ratio}
        yield {"model": models["float32"].key, "tokens": tokens, "n": count, "what": key, **row}


def figures(names: Sequence[str], lengths: Sequence[int], count: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """All rows; each is said as it is known."""
    for name in names:
        for tokens in lengths:
            for row in (*screened(name, tokens, count), *coarse(name, tokens, count)):
                say(
                    "  ".join(
                        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
                    )
                )
                yield row


def agreement(lm: LanguageModel, clean: CleanPass) -> dict[str, list[float]]:
    """Explainer ▶ per prompt the Spearman correlation of the scores it gets together with others and alone."""
    explainers: tuple[Any, ...] = (fa.PLUGIN, ig.PLUGIN, attn.PLUGIN, mechlight.PLUGIN)
    together = explain(clean, *explainers)
    alone = [explain(CleanPass(lm, [prompt]), *explainers) for prompt in clean.prompts]
    return {
        explainer.key: [
            spearman(in_batch.scores, alone[row][number][0].scores) for row, in_batch in enumerate(together[number])
        ]
        for number, explainer in enumerate(explainers)
    }


def rounding_figures(name: str) -> Iterator[Figure]:
    """In bfloat16, whether the batch a prompt is in changes the order of its tokens; 8 prompts of 40 tokens."""
    lm = random_model(name, SMALL[name](), torch.device("cpu"), torch.bfloat16)
    for key, correlations in agreement(lm, prompts_of(lm, 40, 8)).items():
        what, detail = f"bfloat16, Spearman in a batch / alone, {key}", f"lowest of 8 prompts {min(correlations):.4f}"
        yield Figure(name, 40, what, float(np.mean(correlations)), detail=detail)
