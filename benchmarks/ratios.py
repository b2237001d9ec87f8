"""The explainers beside captum and inseq, each other, and the least that they could take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from benchmarks.relevance import in_a_process, memory_above_forward
from benchmarks.timing import Figure, best, explain, inseq_of, matrix_rate, parameters_of_layers, prompts_of
from heval_core import catalogue
from heval_core.explainers import attn, fa, ig, mechlight
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.fits import Fit
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.protocols import Method
from heval_core.records import HEvalError, Span, Target

SAMPLED = 16
# Longer prompts are not given to inseq, nor is fa timed twice more for "all four": minutes for the same ratio.
LONGEST_OF_ALL = 100
PER_EVAL = (1, 4, 16)
SHORT, SHORT_TOKENS = 200, 25


def figures(name: str, lm: LanguageModel, tokens: int) -> Iterator[Figure]:
    """All ratios of one model at one prompt length."""
    clean = prompts_of(lm, tokens, 1)
    target = int(clean.logits[0].argmax())
    yield from _fa_figures(name, lm, clean, target)
    yield from _ig_figures(name, lm, clean, target)
    heads, forward = best(lambda: explain(clean, attn.PLUGIN, mechlight.PLUGIN), lambda: lm.model(clean.ids), rounds=8)
    yield Figure(name, tokens, "attn + mechlight / one plain forward", heads / forward, 1.3, True, f"{1e3 * forward:.0f} ms")
    if tokens > LONGEST_OF_ALL:
        return
    four, both = best(
        lambda: explain(clean, fa.PLUGIN, ig.PLUGIN, attn.PLUGIN, mechlight.PLUGIN),
        lambda: (explain(clean, fa.PLUGIN), explain(clean, ig.PLUGIN)),
        rounds=1,
    )
    yield Figure(name, tokens, "all four / (fa + ig)", four / both, 1.15, True, f"{four:.2f} s")


def _fa_figures(name: str, lm: LanguageModel, clean: CleanPass, target: int) -> Iterator[Figure]:
    from captum.attr import FeatureAblation

    tokens = clean.length
    # The first positions are features of their own, all others are one: every evaluation runs the whole prompt.
    mask = torch.arange(tokens, device=lm.device).clamp(max=SAMPLED)[None]
    engine = FeatureAblation(lambda ids: lm.model(ids).logits[:, -1, target])

    def captum(per_eval: int) -> torch.Tensor:
        return engine.attribute(clean.ids, baselines=lm.baseline(), feature_mask=mask, perturbations_per_eval=per_eval)

    ours, *theirs = best(lambda: explain(clean, fa.PLUGIN), *(partial(captum, p) for p in PER_EVAL), rounds=1)
    scale = tokens / min(SAMPLED + 1, tokens)
    fastest = min(theirs) * scale
    ((found,),) = explain(clean, fa.PLUGIN)
    count = min(SAMPLED, tokens)
    gap = float(np.abs(found.scores[:count] - captum(1)[0, :count].float().cpu().numpy()).max())
    aim = 3.0 if tokens <= 100 else 4.0
    per_eval = PER_EVAL[theirs.index(min(theirs))]
    detail = f"{ours:.2f} s against {fastest:.1f} s at {per_eval} per eval; largest difference {gap:.0e}"
    yield Figure(name, tokens, "captum FeatureAblation / fa", fastest / ours, aim, detail=detail)
    bound = (
        tokens * (tokens + 1) / 2 * 2 * parameters_of_layers(lm.model) / matrix_rate(lm.device, lm.model.dtype, width=lm.width)
    )
    yield Figure(name, tokens, "matrix-product bound / fa", bound / ours, 0.75, detail=f"bound {bound:.2f} s")
    if tokens <= LONGEST_OF_ALL and (occluding := inseq_of(clean, "occlusion")):
        (seconds,) = best(occluding, rounds=1)
        yield Figure(name, tokens, "inseq occlusion / fa", seconds / ours, 2.0, detail=f"{seconds:.1f} s")


def _ig_figures(name: str, lm: LanguageModel, clean: CleanPass, target: int) -> Iterator[Figure]:
    from captum.attr import LayerIntegratedGradients

    engine = LayerIntegratedGradients(lambda ids: lm.model(ids).logits[:, -1, target], lm.gradients.embedding_layer)
    baselines = torch.full_like(clean.ids, lm.baseline())

    def usual() -> torch.Tensor:
        return engine.attribute(clean.ids, baselines, n_steps=10, method="riemann_right")

    ours, theirs = best(lambda: explain(clean, ig.PLUGIN), usual)
    ((found,),) = explain(clean, ig.PLUGIN)
    gap = float(np.abs(found.scores - usual()[0].sum(-1).detach().float().cpu().numpy()).max())
    detail = f"{ours:.2f} s against {theirs:.2f} s; largest difference {gap:.0e}"
    yield Figure(name, clean.length, "captum IntegratedGradients / ig", theirs / ours, 1.3, detail=detail)


def short_figure(name: str, lm: LanguageModel) -> Figure:
    """Many short prompts together, against captum one prompt and one position at a time (timed over 10, and scaled)."""
    from captum.attr import FeatureAblation

    clean = prompts_of(lm, SHORT_TOKENS, SHORT)
    size = lm.budget.holds(SHORT_TOKENS)

    def ours() -> None:
        for start in range(0, SHORT, size):
            explain(CleanPass(lm, clean.prompts[start : start + size]), fa.PLUGIN)

    def theirs() -> None:
        for row in clean.ids[:10]:
            target = int(lm.model(row[None]).logits[0, -1].argmax())
            engine = FeatureAblation(lambda ids, t=target: lm.model(ids).logits[:, -1, t])
            engine.attribute(row[None], baselines=lm.baseline())

    one, other = best(ours, theirs, rounds=1)
    other *= SHORT / 10
    detail = f"{SHORT} prompts in {one:.1f} s against {other:.0f} s"
    return Figure(name, SHORT_TOKENS, "captum one at a time / fa, 200 short prompts", other / one, 5.0, detail=detail)


def memory_figure(name: str) -> Figure:
    """MiB that attn and mechlight add to the peak of a plain forward of 1,024 tokens."""
    mebibytes = in_a_process(memory_above_forward, name, 1024, ["attn", "mechlight"])
    return Figure(name, 1024, "MiB above a plain forward's peak, attn + mechlight", mebibytes, 50, at_most=True)


def method_figures(name: str, lm: LanguageModel, tokens: int) -> Iterator[Figure]:
    """How many forward passes each explainer takes for a prompt, by the clock and as declared; its clean pass is among them.

    An explainer that cannot be used with the model is left out.
    """
    clean = _in_documents(prompts_of(lm, tokens, 1))
    for method in catalogue.explainers().values():
        try:
            require(lm, method.needs)
            _fit(method, clean)
            own, forward = best(lambda method=method: explain(clean, method), lambda: lm.model(clean.ids), rounds=2)  # type: ignore[misc]
        except HEvalError:
            continue
        declared = method.cost(tokens).tokens / tokens
        detail = f"{1e3 * own:.0f} ms; declared {declared:.1f}"
        yield Figure(name, tokens, f"{method.key} / one plain forward", own / forward, at_most=True, detail=detail)


def _in_documents(clean: CleanPass) -> CleanPass:
    """The same prompts with two documents and a question, which some explainers look at."""
    n = clean.length
    documents, question = (Span(0, n // 3), Span(n // 3, 2 * n // 3)), Span(2 * n // 3, n)
    prompts = [
        replace(
            prompt,
            tokens=tuple(clean.lm.decode([token]) for token in prompt.ids),
            documents=documents,
            question=question,
            answer_tokens=((), ()),
            first_mention=((), ()),
        )
        for prompt in clean.prompts
    ]
    return CleanPass(clean.lm, prompts)


def _fit(method: Method, clean: CleanPass) -> None:
    """Parameters for an explainer that has some, from the prompt itself: they cost what others do."""
    if not catalogue.needs_fit(method):
        return
    targets = [Target.next_token(*row.topk(2).indices.tolist()) for row in clean.logits]
    array = method.fitted(method.observed(clean, targets))
    parameters = tuple(float(value) for value in array.ravel())
    lm = clean.lm
    lm.fits.give([Fit(method.key, repr(method), lm.key, lm.revision, "", (), tuple(array.shape), parameters)])
