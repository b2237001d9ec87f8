"""Every installed explainer beside one forward pass; none is named here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.models import prompts_of
from benchmarks.timing import Figure, best, explain
from heval_core import catalogue
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.fits import Fit
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.protocols import Method
from heval_core.records import HEvalError, Span, Target


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
