"""Read this first: one instance from prompt to scores.

The batch job, the command line and the sidebar all come through here, so that a prompt explained in any of them gets
the same scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from heval_core.behaviour import Memory, check_documents, contrast_of, name_candidates, observe, recall
from heval_core.lm.model import CleanPass, LanguageModel
from heval_core.prompts import assemble, prompt_of
from heval_core.records import Attribution, Behaviour, Dropped, HEvalError, Instance, TokenisedPrompt


@dataclass(frozen=True)
class Answered:
    """An instance after the model has answered; without behaviour where it was dropped, for the reason given."""

    prompt: TokenisedPrompt
    behaviour: Behaviour | None
    memory_answer: str
    dropped_because: str | None = None
    clean: CleanPass | None = None


def answer(lm: LanguageModel, instance: Instance, memory: Memory) -> Answered:
    """Prompt, memory check, answer and group of one instance."""
    prompt = lm.tokenise(prompt_of(instance, lm.template), check_length=False)
    try:
        if len(prompt.ids) > lm.positions:
            raise Dropped("prompt too long")
        check_documents(instance, memory)
        names = name_candidates(lm, tuple(d.answer for d in instance.documents), memory)
    except Dropped as dropped:
        return Answered(prompt, None, memory.text, dropped.reason)
    clean = CleanPass(lm, prompt)
    return Answered(prompt, observe(clean, names, memory.text), memory.text, clean=clean)


def explain(answered: Answered, explainers: Iterable[Any]) -> tuple[Attribution, ...]:
    """Every explainer's scores for one answered instance; they share its clean passes."""
    if answered.clean is None or answered.behaviour is None:
        raise HEvalError(f"This instance was dropped ({answered.dropped_because}); there is nothing to explain.")
    contrast = contrast_of(answered.clean, answered.behaviour)
    return tuple(explainer.explain(answered.clean, contrast) for explainer in explainers)


@dataclass(frozen=True)
class Request:
    """A prompt of one's own: one or two documents (or none), a question, and the answers one knows of."""

    documents: tuple[str, ...]
    question: str
    context_answers: tuple[str | None, ...] = ()
    memory_answer: str | None = None


@dataclass(frozen=True)
class Explained:
    """What `explain_request` returns: a request answered, and explained by every method asked for."""

    model: str
    prompt: TokenisedPrompt
    behaviour: Behaviour
    answers: tuple[str | None, ...]
    foil: str
    attributions: tuple[Attribution, ...]


def explain_request(
    lm: LanguageModel,
    request: Request,
    explainers: Iterable[Any],
    progress: Callable[[str], None] = lambda key: None,
) -> Explained:
    """Explain a prompt of one's own by the same code path as the batch.

    `progress` is called with each explainer's key when its scores are there.
    Raises HEvalError for an empty or too long prompt, more than two documents, a context answer that its document does
    not hold, or candidates that begin with the same token.
    """
    answers = _answers_of(request)
    prompt = lm.tokenise(assemble(request.documents, answers, request.question, lm.template))
    given = request.memory_answer
    memory = Memory(given, lm.first_tokens(given)) if given else recall(lm, request.question)
    try:
        names = name_candidates(lm, answers, memory)
    except Dropped:
        if given:
            raise HEvalError(_same_token_message(answers, memory.text)) from None
        # The model's own memory agrees with a document: then there is no memory candidate to tell apart.
        names = tuple(name for name in _context_names(lm, answers))
    clean = CleanPass(lm, prompt)
    behaviour = observe(clean, names, memory.text)
    contrast = contrast_of(clean, behaviour)
    attributions = []
    for explainer in explainers:
        attributions.append(explainer.explain(clean, contrast))
        progress(explainer.key)
    foil = f"{lm.decode([contrast.foil]).strip()} ({contrast.foil_kind})"
    return Explained(lm.key, prompt, behaviour, answers, foil, tuple(attributions))


def _answers_of(request: Request) -> tuple[str | None, ...]:
    if len(request.documents) > 2:
        raise HEvalError(f"A prompt has one or two documents; this one has {len(request.documents)}.")
    if len(request.context_answers) > len(request.documents):
        raise HEvalError(
            f"There are {len(request.context_answers)} context answers for {len(request.documents)} documents; "
            "give one for each document, in order."
        )
    missing = len(request.documents) - len(request.context_answers)
    answers = tuple((answer or "").strip() or None for answer in request.context_answers) + (None,) * missing
    for number, (text, known) in enumerate(zip(request.documents, answers, strict=True), start=1):
        if known and not assemble((text,), (known,), "?").answers[0]:
            raise HEvalError(f"Document {number} does not contain its answer {known!r} as a word of its own.")
    return answers


def _context_names(lm: LanguageModel, answers: tuple[str | None, ...]) -> tuple[Any, ...]:
    """The documents' candidates alone, under a memory that cannot coincide with them."""
    try:
        names = name_candidates(lm, answers, Memory("", (-1,)))
    except Dropped:
        raise HEvalError(_same_token_message(answers, None)) from None
    return names[:-1]


def _same_token_message(answers: tuple[str | None, ...], memory: str | None) -> str:
    known = ", ".join(repr(a) for a in (*answers, memory) if a)
    return f"The candidate answers {known} cannot be told apart by their first tokens; give answers that differ there."
