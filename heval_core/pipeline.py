"""Read this first: one instance from prompt to scores.

The batch job, the command line and the sidebar all come through here, so that a prompt explained in any of them gets
the same scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from heval_core.behaviour import (
    Memory,
    Names,
    answers_one_of_both,
    check_documents,
    context_contrast,
    contrast_of,
    greedy_texts,
    name_candidates,
    observe,
    recall,
)
from heval_core.catalogue import Method
from heval_core.lm.model import CleanPass, LanguageModel, out_of_memory
from heval_core.lm.needs import require
from heval_core.prompts import assemble, prompt_of
from heval_core.records import Attribution, Behaviour, Contrast, Dropped, HEvalError, Instance, TokenisedPrompt
from heval_core.scores import check


@dataclass(frozen=True)
class Prepared:
    """An instance as one model is to be asked it; or dropped, for the reason given."""

    instance: Instance
    prompt: TokenisedPrompt
    memory_answer: str
    names: tuple[Names, ...] = ()
    dropped_because: str | None = None


@dataclass(frozen=True, eq=False)
class Answered:
    """Prepared instances of equal length after the model has answered them, in one clean pass that explainers share."""

    clean: CleanPass
    prepared: tuple[Prepared, ...]
    behaviours: tuple[Behaviour, ...]
    contrasts: tuple[Contrast, ...]


def prepare(lm: LanguageModel, instance: Instance, memory: Memory) -> Prepared:
    """Prompt, memory check and candidates of one instance."""
    prompt = lm.tokenise(prompt_of(instance, lm.template), check_length=False)
    try:
        if len(prompt.ids) > lm.positions:
            raise Dropped("prompt too long")
        if not memory.text:
            raise Dropped("no memory answer")
        check_documents(instance, memory)
        names = name_candidates(lm, tuple(d.answer for d in instance.documents), memory)
    except Dropped as dropped:
        return Prepared(instance, prompt, memory.text, dropped_because=dropped.reason)
    return Prepared(instance, prompt, memory.text, names)


def answer(lm: LanguageModel, prepared: Sequence[Prepared], match: str = "first") -> Answered:
    """Answer instances of equal length, none of them dropped, in one pass. Raises HEvalError where logits are not finite.

    match: what decides an answer's group, one of MATCHES; for its text some more tokens are generated, all prompts together.
    """
    clean = CleanPass(lm, [one.prompt for one in prepared])
    behaviours = tuple(
        observe(lm, logits, one.names, one.memory_answer, text)
        for one, logits, text in zip(prepared, clean.logits, _texts(clean, match), strict=True)
    )
    contrasts = tuple(
        contrast_of(logits, behaviour) for behaviour, logits in zip(behaviours, clean.logits, strict=True)
    )
    return Answered(clean, tuple(prepared), behaviours, contrasts)


def _texts(clean: CleanPass, match: str) -> Sequence[str | None]:
    return greedy_texts(clean.lm, clean.prompts, clean.logits) if match == "text" else [None] * clean.size


def explain(answered: Answered, explainer: Method) -> list[Attribution]:
    """One explainer's scores for every answered instance. Raises HEvalError for a model that lacks what the explainer
    needs, and, naming the instance, for scores that cannot be ranked."""
    require(answered.clean.lm, explainer.needs)
    attributions = explainer.explain(answered.clean, answered.contrasts)
    for one, attribution in zip(answered.prepared, attributions, strict=True):
        check(attribution.scores, f"Instance {one.instance.id}, explainer {explainer.key}")
    return attributions


def towards_context(answered: Answered) -> Answered | None:
    """The same answers, to be explained as if the first document's had been given; None where there are none of these.

    Of instances whose usual contrast this is already nothing has to be explained again, and those that answer something
    else than the two answers of this contrast take no part in metrics: both are left out.
    """
    chosen: dict[int, Contrast] = {}
    for index, (behaviour, usual) in enumerate(zip(answered.behaviours, answered.contrasts, strict=True)):
        wanted = context_contrast(behaviour)
        if wanted and answers_one_of_both(behaviour) and (wanted.target, wanted.foil) != (usual.target, usual.foil):
            chosen[index] = wanted
    if not chosen:
        return None
    return replace(part_of(answered, list(chosen)), contrasts=tuple(chosen.values()))


def part_of(answered: Answered, chosen: Sequence[int]) -> Answered:
    """Some of the instances of a pass; all of them are the pass itself, with what it has computed."""
    if len(chosen) == answered.clean.size:
        return answered
    clean = CleanPass(answered.clean.lm, [answered.clean.prompts[index] for index in chosen])
    return Answered(
        clean,
        tuple(answered.prepared[index] for index in chosen),
        tuple(answered.behaviours[index] for index in chosen),
        tuple(answered.contrasts[index] for index in chosen),
    )


def in_batches(lm: LanguageModel, prepared: Iterable[Prepared], work: Callable[[list[Prepared]], None]) -> None:
    """Do `work` on batches of instances of equal length, as many as the budget of tokens holds.

    Where memory does not suffice the budget is halved and the batch done again, in parts; work must keep nothing of what
    it could not finish.
    """
    waiting = sorted(prepared, key=lambda one: len(one.prompt.ids))
    while waiting:
        length = len(waiting[0].prompt.ids)
        most = max(1, lm.batch_tokens // length)
        batch = [one for one in waiting[:most] if len(one.prompt.ids) == length]
        try:
            work(batch)
        except Exception as error:
            if not (out_of_memory(error) and lm.shrink_budget(length)):
                raise
            continue
        lm.grow_budget(len(batch) * length)
        waiting = waiting[len(batch) :]


@dataclass(frozen=True)
class Request:
    """A prompt of one's own: one or two documents (or none), a question, and the answers one knows of."""

    documents: tuple[str, ...]
    question: str
    context_answers: tuple[str | None, ...] = ()
    memory_answer: str | None = None


@dataclass(frozen=True)
class Explained:
    """What `explain_request` returns: a request answered, and explained by every method asked for.

    target: what was explained, one of TARGETS; target_text: its first token.
    """

    model: str
    prompt: TokenisedPrompt
    behaviour: Behaviour
    answers: tuple[str | None, ...]
    target: str
    target_text: str
    foil: str
    attributions: tuple[Attribution, ...]


def explain_request(
    lm: LanguageModel,
    request: Request,
    explainers: Iterable[Method],
    progress: Callable[[str], None] = lambda key: None,
    match: str = "first",
    target: str = "answer",
) -> Explained:
    """Explain a prompt of one's own by the same code path as the batch.

    `progress` is called with each explainer's key when its scores are there. match: see `answer`. target: what is explained,
    the `answer` given, or the first document's against its competitor (`context`).
    Raises HEvalError for a model that lacks what an explainer needs, an empty or too long prompt, more than two documents, a
    context answer that its document does not hold, candidates that begin with the same token, or a target that is not known.
    """
    explainers = tuple(explainers)
    require(lm, dict.fromkeys(need for explainer in explainers for need in explainer.needs))
    answers = _answers_of(request)
    prompt = lm.tokenise(assemble(request.documents, answers, request.question, lm.template))
    given = request.memory_answer
    memory = Memory(given, lm.first_tokens(given)) if given else recall(lm, request.question)
    try:
        names = name_candidates(lm, answers, memory) if memory.text else _context_names(lm, answers)
    except Dropped as dropped:
        if given or dropped.reason != "same first token":
            raise HEvalError(_candidates_message(dropped, answers, memory.text)) from None
        # The model's own memory agrees with a document: then there is no memory candidate to tell apart.
        names = _context_names(lm, answers)
    clean = CleanPass(lm, [prompt])
    behaviour = observe(lm, clean.logits[0], names, memory.text, _texts(clean, match)[0])
    contrast = context_contrast(behaviour) if target == "context" else contrast_of(clean.logits[0], behaviour)
    if contrast is None:
        raise HEvalError(_MISSING_TARGET[len(answers) > 1])
    attributions = []
    for explainer in explainers:
        attributions += _within_memory(lm, explainer, clean, contrast)
        check(attributions[-1].scores, f"The prompt, explainer {explainer.key}")
        progress(explainer.key)
    foil = f"{lm.decode([contrast.foil]).strip()} ({contrast.foil_kind})"
    explained = lm.decode([contrast.target])
    return Explained(lm.key, prompt, behaviour, answers, target, explained, foil, tuple(attributions))


_MISSING_TARGET = (
    "--target context explains the document's answer against the memory's: give --context and --context-answer, and "
    "--memory-answer where the model remembers nothing or the same.",
    "--target context explains the first document's answer against the second one's: give --context-answer for both.",
)


def _within_memory(lm: LanguageModel, explainer: Method, clean: CleanPass, contrast: Contrast) -> list[Attribution]:
    while True:
        try:
            return explainer.explain(clean, (contrast,))
        except Exception as error:
            if not out_of_memory(error):
                raise
            if not lm.shrink_budget(clean.length):
                raise HEvalError(
                    f"{explainer.key} needs more memory than {lm.device} has for {clean.length} tokens; take a shorter prompt."
                ) from error


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


def _context_names(lm: LanguageModel, answers: tuple[str | None, ...]) -> tuple[Names, ...]:
    """The documents' candidates alone, under a memory that cannot coincide with them."""
    try:
        names = name_candidates(lm, answers, Memory("", (-1,)))
    except Dropped as dropped:
        raise HEvalError(_candidates_message(dropped, answers, None)) from None
    return names[:-1]


def _candidates_message(dropped: Dropped, answers: tuple[str | None, ...], memory: str | None) -> str:
    known = ", ".join(repr(a) for a in (*answers, memory) if a)
    if dropped.reason == "answer has no token":
        return f"One of the candidate answers {known} is nothing in the model's tokens; give answers it can write."
    return f"The candidate answers {known} cannot be told apart by their first tokens; give answers that differ there."
