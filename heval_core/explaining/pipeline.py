"""Read this first: from a prompt to scores.

A prompt is `Prepared`: tokenised, with the answers that it may get. Prompts of equal length (on a GPU: of similar length) are
answered in one clean pass (`answer`), and each explainer scores that pass (`explain`). The batch job does so with instances
(`prepare`), and `explain_request` with one prompt, so that a prompt gets the same scores in the batch, on the command line and
in the sidebar.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from heval_core.explaining.behaviour import (
    Greedy,
    Memory,
    Named,
    among_named,
    answer_target,
    answers_a_compared_group,
    check_documents,
    check_names,
    context_target,
    greedy_answers,
    name_candidates,
    name_candidates_of,
    observe,
    recall,
    up_to_answers,
)
from heval_core.explaining.greedy_answer import speller
from heval_core.lm.budget import raised
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.plugins.protocols import Method
from heval_core.prompting.prompts import assemble, prompt_of
from heval_core.records import Attribution, Behaviour, Dropped, HEvalError, Instance, Target, TokenisedPrompt
from heval_core.records.groups import MEMORY, competes, document_of
from heval_core.records.regime_keys import read_key
from heval_core.regimes.padding import fitted
from heval_core.statistics.scores import check


@dataclass(frozen=True)
class Prepared:
    """An instance with its prompt for one model; or the reason why it was dropped. A prompt of one's own is an instance of no
    data set, without an id.

    said: with `within`, the answer up to which the prompt goes.
    """

    instance: Instance
    prompt: TokenisedPrompt
    memory_answer: str
    names: tuple[Named, ...] = ()
    dropped_because: str | None = None
    said: Greedy | None = None


@dataclass(frozen=True, eq=False)
class Answered:
    """Prepared instances after the model has answered them, in one clean pass that explainers share.

    Some may be shorter than others (`CleanPass.of_equal_length`).
    """

    clean: CleanPass
    prepared: tuple[Prepared, ...]
    behaviours: tuple[Behaviour, ...]
    targets: tuple[Target, ...]


def prepare(lm: LanguageModel, instance: Instance, memory: Memory, match: str = "first") -> Prepared:
    """Prepare prompt, checks and candidates of one instance. Where memory agrees with gold, memory's rule means gold's.

    match: see `answer`.
    """

    def tokenised(padded: Instance) -> TokenisedPrompt:
        return lm.tokenise(prompt_of(padded, lm.template), check_length=False)

    prompt = tokenised(replace(instance, padding=()))
    try:
        if max(len(prompt.ids), read_key(instance.regime).length or 0) > lm.positions:
            raise Dropped("prompt too long")
        if not memory.text or not memory.is_answer:
            raise Dropped("memory is no answer" if memory.text else "no memory answer")
        check_documents(instance, memory)
        instance = fitted(instance, memory.text, lambda padded: len(tokenised(padded).ids))
        prompt = tokenised(instance) if instance.padding else prompt
        check_names(lm, instance, prompt)
        names = name_candidates_of(lm, instance, memory, match)
    except Dropped as dropped:
        return Prepared(instance, prompt, memory.text, dropped_because=dropped.reason)
    if instance.expected_group == MEMORY and all(name.group != MEMORY for name in names):
        instance = replace(instance, expected_group=names[0].group)
    return Prepared(instance, prompt, memory.text, names)


def going_on(lm: LanguageModel, prepared: Sequence[Prepared]) -> list[Prepared]:
    """Continue the prompts of instances up to the model's answers, for `within`; none of them is dropped."""
    longer = up_to_answers(lm, [instance.prompt for instance in prepared], [instance.names for instance in prepared])
    return [
        replace(instance, prompt=prompt, names=names, said=answered)
        for instance, (prompt, names, answered) in zip(prepared, longer, strict=True)
    ]


def answer(lm: LanguageModel, prepared: Sequence[Prepared], match: str = "first") -> Answered:
    """Answer instances, none of them dropped, in one pass, in which shorter ones are padded behind. Raises HEvalError where
    logits are not finite.

    match: what decides an answer's group, one of MATCHES; `text` generates some more tokens, for all prompts together;
    `within` needs instances that `going_on` gives.
    """
    clean = CleanPass(lm, [instance.prompt for instance in prepared], padded=True)
    names = [instance.names for instance in prepared]
    answers = greedy_answers(lm, clean, names) if match == "text" else [instance.said for instance in prepared]
    memory_answers = [instance.memory_answer for instance in prepared]
    behaviours = tuple(observe(lm, *each) for each in zip(clean.logits, names, memory_answers, answers, strict=True))
    targets = tuple(answer_target(logits, behaviour) for behaviour, logits in zip(behaviours, clean.logits, strict=True))
    return Answered(clean, tuple(prepared), behaviours, targets)


def explain(answered: Answered, explainer: Method) -> list[Attribution]:
    """Compute one explainer's scores for every answered instance.

    Raises HEvalError for a model that lacks what the explainer needs, and, naming the instance, for scores that cannot be
    ranked.
    """
    require(answered.clean.lm, explainer.needs)
    parts = [answered] if getattr(explainer, "padded", False) else of_equal_length(answered)
    attributions = [attribution for part in parts for attribution in explainer.explain(part.clean, part.targets)]
    for prepared, attribution in zip(answered.prepared, attributions, strict=True):
        label = f"Instance {prepared.instance.id}" if prepared.instance.id else "The prompt"
        check(attribution.scores, f"{label}, explainer {explainer.key}")
    return attributions


def towards_context(answered: Answered) -> Answered | None:
    """Return the instances to be explained as if the model had given the first document's answer; None if there are none.

    Left out are those whose usual target is already this one, and those with neither of the two answers, which metrics ignore.
    """
    chosen: dict[int, Target] = {}
    for index, (behaviour, usual) in enumerate(zip(answered.behaviours, answered.targets, strict=True)):
        target = context_target(behaviour)
        if target and answers_a_compared_group(behaviour) and (target.ids, target.foils) != (usual.ids, usual.foils):
            chosen[index] = target
    if not chosen:
        return None
    return replace(part_of(answered, list(chosen)), targets=tuple(chosen.values()))


def part_of(answered: Answered, chosen: Sequence[int]) -> Answered:
    """Return some of the instances of a pass.

    If all are chosen, this is the pass itself, so that nothing is computed again.
    """
    if len(chosen) == answered.clean.size:
        return answered
    clean = CleanPass(answered.clean.lm, [answered.clean.prompts[index] for index in chosen], padded=True)
    return Answered(
        clean,
        tuple(answered.prepared[index] for index in chosen),
        tuple(answered.behaviours[index] for index in chosen),
        tuple(answered.targets[index] for index in chosen),
    )


def of_equal_length(answered: Answered) -> list[Answered]:
    """Return the instances of each length of a pass, in their order; nothing is computed again."""
    parts, start = list[Answered](), 0
    for clean in answered.clean.of_equal_length:
        part = slice(start, start + clean.size)
        start = part.stop
        parts.append(Answered(clean, answered.prepared[part], answered.behaviours[part], answered.targets[part]))
    return parts


def in_batches(
    lm: LanguageModel,
    prepared: Iterable[Prepared],
    work: Callable[[list[Prepared]], None],
    failed: Callable[[Prepared, Exception], None] = raised,
) -> None:
    """Do `work` on batches of instances of equal length, or where padding pays of similar length (`Forward.padding`), the
    shortest first; see `Budget.in_batches`.
    """

    def length(instance: Prepared) -> int:
        return len(instance.prompt.ids)

    waiting = sorted(prepared, key=length)
    while waiting:
        longest = length(waiting[0]) * (1 + lm.forward.padding)
        alike = [instance for instance in waiting if length(instance) <= longest]
        lm.budget.in_batches(alike, length(alike[-1]), work, failed)
        waiting = waiting[len(alike) :]


@dataclass(frozen=True)
class Request:
    """A prompt of one's own: any number of documents, a question, the answers that are known, and the documents' names.

    begun: ids with which the answer begins, of which the next is explained; nothing is then asked without documents.
    """

    documents: tuple[str, ...]
    question: str
    context_answers: tuple[str | None, ...] = ()
    memory_answer: str | None = None
    names: tuple[str, ...] = ()
    begun: tuple[int, ...] = ()


@dataclass(frozen=True)
class ExplainedRequest:
    """A request with the model's answer and the requested explainers' attributions. target: what was explained, one of
    TARGETS; target_text: its first token. attributions: by explainer. refused: each explainer without one, and why. by_itself:
    what the model writes, where that is no candidate and one is explained.
    """

    model: str
    prompt: TokenisedPrompt
    behaviour: Behaviour
    answers: tuple[str | None, ...]
    target: str
    target_text: str
    foil: str
    attributions: dict[str, Attribution]
    refused: dict[str, str]
    by_itself: str = ""


def explain_request(
    lm: LanguageModel,
    request: Request,
    explainers: Iterable[Method],
    match: str = "first",
    target: str = "answer",
    say: Callable[[str], None] = lambda key: None,
) -> ExplainedRequest:
    """Explain a prompt of one's own by the same code path as the batch.

    match: see `answer`. target: `answer` explains the answer given, `context` the first document's against its competitor,
    `named` the answer given where it is a candidate, else the likeliest of them (`among_named`).
    say: called with an explainer's key before it begins.
    An explainer that cannot explain it, such as one that needs what the model lacks, is named with its reason in `refused`.
    Raises HEvalError if none of them can; for an empty or too long prompt, a context answer that its document does not
    contain, candidates that cannot be told apart, or an unknown target.
    """
    answers = _answers_of(request)
    able, refused = able_of(lm, explainers)
    if refused and not able:
        raise _all_refused(refused)
    prompt, memory = _begun(lm, request, answers), _memory(lm, request)
    memory = Memory("", ()) if target == "named" and not request.memory_answer else memory  # nobody has named it
    memory_answer = request.memory_answer
    names = _named(lm, answers, memory if memory.text else None, match, bool(memory_answer))
    prepared = [Prepared(Instance("", "", "", "", "", "", request.question, "", ()), prompt, memory.text, names)]
    prepared = going_on(lm, prepared) if match == "within" else prepared
    length = len(prepared[0].prompt.ids)
    answered = lm.budget.within(length, lambda: answer(lm, prepared, match))
    (given,), logits = answered.behaviours, answered.clean.logits[0]
    behaviour = among_named(given) if target == "named" else given
    explained = context_target(behaviour) if target == "context" else answer_target(logits, behaviour)
    if explained is None:
        raise HEvalError(missing_target(behaviour, answers))
    answered = replace(answered, behaviours=(behaviour,), targets=(explained,))
    attributions = _attributions(answered, able, refused, say)
    if refused and not attributions:
        raise _all_refused(refused)
    by_itself = given.text if behaviour is not given else ""
    text, foil = lm.decode(explained.ids), f"{lm.decode(explained.foils).strip()} ({explained.foil_kind})"
    return ExplainedRequest(
        lm.key, prepared[0].prompt, behaviour, answers, target, text, foil, attributions, refused, by_itself
    )


def _attributions(
    answered: Answered, explainers: Iterable[Method], refused: dict[str, str], say: Callable[[str], None]
) -> dict[str, Attribution]:
    """Return by explainer what it says of one prompt. refused: those that cannot are noted there."""
    lm, attributions = answered.clean.lm, dict[str, Attribution]()
    for explainer in explainers:
        say(explainer.key)
        try:
            length = len(answered.prepared[0].prompt.ids)
            (attributions[explainer.key],) = lm.budget.within(length, partial(explain, answered, explainer))
        except HEvalError as error:
            refused[explainer.key] = str(error)
    return attributions


def _begun(lm: LanguageModel, request: Request, answers: tuple[str | None, ...]) -> TokenisedPrompt:
    """Return the prompt, and behind it how the answer begins."""
    prompt = lm.tokenise(assemble(request.documents, answers, request.question, lm.template))
    return prompt.followed_by(request.begun, speller(lm, prompt)(request.begun)) if request.begun else prompt


def _memory(lm: LanguageModel, request: Request) -> Memory:
    if request.memory_answer:
        return Memory(request.memory_answer, lm.first_tokens(request.memory_answer))
    return Memory("", ()) if request.begun else recall(lm, request.question)


def _all_refused(refused: dict[str, str]) -> HEvalError:
    return HEvalError(" ".join(dict.fromkeys(refused.values())))


def able_of(lm: LanguageModel, explainers: Iterable[Method]) -> tuple[list[Method], dict[str, str]]:
    """Return the explainers whose needs the model meets, and key ▶ reason of the others."""
    able, refused = [], dict[str, str]()
    for explainer in explainers:
        try:
            require(lm, explainer.needs)
            able.append(explainer)
        except HEvalError as error:
            refused[explainer.key] = str(error)
    return able, refused


def _answers_of(request: Request) -> tuple[str | None, ...]:
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


def _named(
    lm: LanguageModel, answers: tuple[str | None, ...], memory: Memory | None, match: str, memory_given: bool
) -> tuple[Named, ...]:
    """Return the candidate answers.

    memory_given: whether somebody said what memory is, who is told where it agrees with a document.

    Raises HEvalError for candidates that cannot be told apart.
    """
    try:
        return name_candidates(lm, answers, memory, match, agreeing=True)
    except Dropped as dropped:
        if memory is None or memory_given or dropped.reason not in ("same first token", "same answer"):
            raise HEvalError(_candidates_message(dropped, answers, memory.text if memory else None)) from None
    # The model's memory agrees with a document, so memory is no candidate of its own.
    return _named(lm, answers, None, match, memory_given)


def _candidates_message(dropped: Dropped, answers: tuple[str | None, ...], memory: str | None) -> str:
    known = ", ".join(repr(a) for a in (*answers, memory) if a)
    if dropped.reason == "answer has no token":
        return (
            f"The model's tokenizer has no token for one of the candidate answers {known}, or it is only punctuation; give "
            "answers that it can write."
        )
    if dropped.reason == "same answer":
        return f"Two of the candidate answers {known} are the same text; give answers that differ."
    return (
        f"The candidate answers {known} cannot be told apart by their first tokens; give answers that differ there, or let "
        "the whole text decide (--match text)."
    )


def missing_target(behaviour: Behaviour, answers: tuple[str | None, ...]) -> str:
    """Return why there is no context answer with a competitor to explain."""
    first, *others = behaviour.candidates or (None,)
    rivals = [other for other in others if first and competes(first.group, other.group)]
    if first and document_of(first.group) == 0 and any(rival.text != first.text for rival in rivals):
        return (
            "The candidate answers begin with the same token, so there is no competitor for --target context; leave it out to "
            "explain the answer given."
        )
    return _OF_SEVERAL_DOCUMENTS if len(answers) > 1 else _OF_ONE_DOCUMENT


_OF_ONE_DOCUMENT, _OF_SEVERAL_DOCUMENTS = (
    "The document's answer is explained against the memory answer: name the document's answer (--context-answer), and "
    "memory's (--memory-answer) if the model remembers nothing or the same answer.",
    "The first document's answer is explained against another document's: name the answers of the first document and of one "
    "more (--context-answer, once for each).",
)
