"""What an answer depends on: its mentions are replaced by other answers, and the answer stays or not.

Gold: for an answer given to documents, every mention of it in them and in padding, as `mentions` finds them, is replaced in
the text by a fresh answer; the prompt is put together and tokenised again. Each mention alone by two fresh answers in turn,
and all of them together by the first. The next token is still one of the answer's first tokens (`stays`), one of the fresh
answer's (`follows`), or another (`moves`). With `--match text` that is the same token; with `within` it is the one after the
words before the answer, which stay as the model wrote them. A document that gives its answer under another name (d3) mentions
that one. Of an answer from memory beside one document, the document's own answer is replaced: where that moves it, the answer
was not from memory alone (a label that no deletion makes). An answer of no candidate, such as the other city of a passage, is
the only one of its relation that begins as the model's and stands in a document.
Fresh answers are of the same relation, in an order fixed by seed and question: with the same case of the first letter, as many
digits and words; neither true nor mentioned in the prompt; none of their first tokens is a candidate's, nor the one in running
text a token of the prompt.
Beside it, where there are several mentions, attention to each is hidden (`lm.hidden_attention`): from all later tokens, an
independent gold, and from the last token alone, the route. Both as far as the model's attention can be hidden.
Reference: ours; a relative of ablation. The hidden attention: Geva et al. 2023 (arXiv 2304.14767).
Cost: 2 M + 1 passes for M mentions, 2 for one, from the first mention on; M more for hidden attention, and M over one token.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import TYPE_CHECKING

from heval_core.explainers.shared.left_out import logprobs_in
from heval_core.explaining.pipeline import Answered, Prepared
from heval_core.lm.model import LanguageModel
from heval_core.prompting.prompts import alike, mentions, prompt_of
from heval_core.records import Behaviour, Instance, Span, Target, TokenisedPrompt
from heval_core.records.groups import MEMORY, document_of
from heval_core.records.sources import AnswerSource, Hidden, MentionOutcome, verdict

if TYPE_CHECKING:
    import torch

# In the keys of shards: raise it whenever these rules change.
RULES = "answers replaced, 3"
# Why an answer has no source.
NO_DOCUMENT = "the answer is of no document"
BEGINS_ALIKE = "the answer's first token is not its alone"
NOT_STATED = "the document states no answer"
OTHER_PROMPT = "the prompt is not what the layout makes of the documents"
NO_MENTION = "the answer is not mentioned"
INSIDE = "the answer stands only inside other words"
TOO_FEW = "too few fresh answers of its relation"
SHARED = "fresh answers begin with tokens of the prompt or of a candidate"
TOO_LONG = "the prompt with a fresh answer is too long"


class _Unavailable(Exception):
    """An answer has no source, for one of these reasons."""


@dataclass(frozen=True)
class _Mention:
    """A mention of the answer. text: the number of its text, of documents and then padding; span: of characters there."""

    text: int
    span: Span


@dataclass(frozen=True)
class _Replacing:
    """What is to be run for an answer. accepted: its first tokens. fresh: two answers in place of it ▶ their first tokens.

    spans: of the mentions, in tokens. documents: in which each stands. prompts: ids with each mention replaced by both fresh
    answers, then with all of them by the first.
    """

    accepted: tuple[int, ...]
    fresh: dict[str, tuple[int, ...]]
    spans: tuple[Span, ...]
    documents: tuple[int, ...]
    prompts: tuple[tuple[int, ...], ...]


def fresh_pool(answers: Iterable[str], seed: int, fact_id: str) -> tuple[str, ...]:
    """Order a relation's answers as they are tried in place of a question's."""
    ordered = sorted(answers)
    random.Random(f"{seed}|{fact_id}|fresh").shuffle(ordered)
    return tuple(ordered)


def sources_of(answered: Answered, pools: Sequence[Sequence[str]]) -> list[AnswerSource | str]:
    """Find what each answer of a pass depends on; why there is nothing to find, where there is not.

    pools: for each instance the answers that may stand in for its own, in the order in which they are tried. Instances need
    their documents. Raises HEvalError where logits are not finite.
    """
    clean, planned = answered.clean, dict[int, _Replacing]()
    results = dict[int, AnswerSource | str]()
    for row, (prepared, behaviour, pool) in enumerate(zip(answered.prepared, answered.behaviours, pools, strict=True)):
        try:
            planned[row] = _replacing(clean.lm, prepared, behaviour, pool)
        except _Unavailable as why:
            results[row] = str(why)
    targets = [Target.next_token(behaviour.token_id) for behaviour in answered.behaviours]
    variants = [[(ids, (-1,)) for ids in planned[row].prompts] if row in planned else [] for row in range(clean.size)]
    hidden = _hidden(answered, planned, targets)
    logprobs, before = logprobs_in(clean, targets, variants), _logprobs(clean.logits, targets).tolist()
    for row, plan in planned.items():
        lost = [before[row] - value for value in logprobs[row].logprobs[:, 0, 0].tolist()]
        results[row] = _judged(plan, logprobs[row].likeliest[:, 0].tolist(), lost, hidden.get(row, ()))
    return [results[row] for row in range(clean.size)]


def _judged(plan: _Replacing, tokens: list[int], lost: list[float], hidden: Sequence[tuple[Hidden, Hidden]]) -> AnswerSource:
    """Judge the next token of each prompt. lost: nats that the answer's first token loses there. hidden: may be empty."""
    outcomes = [
        "stays" if token in plan.accepted else "follows" if token in fresh else "moves"
        for token, fresh in zip(tokens, cycle(plan.fresh.values()), strict=False)
    ]
    results = []
    for index, (span, document) in enumerate(zip(plan.spans, plan.documents, strict=True)):
        first, second = 2 * index, 2 * index + 1
        both, nats = (outcomes[first], outcomes[second]), (lost[first] + lost[second]) / 2
        results.append(MentionOutcome(document, span.start, span.end, both, nats, *(hidden[index] if hidden else ())))
    together = outcomes[-1] if len(results) > 1 else outcomes[0]
    one, other = plan.fresh
    return AnswerSource((one, other), tuple(results), together, verdict(results, together))


def _replacing(lm: LanguageModel, prepared: Prepared, behaviour: Behaviour, pool: Sequence[str]) -> _Replacing:
    """Plan what is to be run for an answer. Raises _Unavailable."""
    instance, prompt = prepared.instance, prepared.prompt
    written, accepted = _given(lm, prepared, behaviour, pool)
    located, plain = _mentions(lm, prepared, written)
    fresh = _fresh(lm, prepared, written, accepted, pool)
    alone = [((mention,), answer) for mention in located for answer in fresh]
    together = [(located, next(iter(fresh)))] if len(located) > 1 else []
    generated = prompt.ids[len(plain.ids) :]
    replaced = (prompt_of(_replaced(instance, some, answer), lm.template) for some, answer in (*alone, *together))
    prompts = tuple(lm.tokenise(changed, check_length=False).ids + generated for changed in replaced)
    if max(map(len, prompts)) > lm.positions:
        raise _Unavailable(TOO_LONG)
    documents = tuple(mention.text if mention.text < len(instance.documents) else -1 for mention in located)
    spans = tuple(Span(tokens[0], tokens[-1] + 1) for tokens in plain.answer_tokens)
    return _Replacing(accepted, fresh, spans, documents, prompts)


def _given(lm: LanguageModel, prepared: Prepared, behaviour: Behaviour, pool: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Return the answer that is replaced, as documents write it, and its first tokens. Raises _Unavailable."""
    documents, group = prepared.instance.documents, behaviour.explained_group
    if group == "other":
        return _another(lm, prepared, behaviour, pool)
    number = 0 if group == MEMORY and len(documents) == 1 else document_of(group)
    if number is None or number >= len(documents):
        raise _Unavailable(NO_DOCUMENT)
    document = documents[number]
    if not document.stated:
        raise _Unavailable(NOT_STATED)
    return document.alias or document.answer, next(name.first_tokens for name in prepared.names if name.group == group)


def is_another(lm: LanguageModel, prepared: Prepared, behaviour: Behaviour, pool: Sequence[str]) -> bool:
    """Return whether an answer of no candidate is one of its relation that stands in a document, so that one may ask for its
    source.
    """
    try:
        return bool(_another(lm, prepared, behaviour, pool))
    except _Unavailable:
        return False


def _another(lm: LanguageModel, prepared: Prepared, behaviour: Behaviour, pool: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Find the answer of a relation that begins as the model's, is no candidate, and stands in a document."""
    if any(behaviour.token_id in name.first_tokens for name in prepared.names):
        raise _Unavailable(BEGINS_ALIKE)
    texts, known = [document.text for document in prepared.instance.documents], {alike(name.text) for name in prepared.names}
    others = (answer for answer in pool if alike(answer) not in known and any(mentions(answer, text) for text in texts))
    given = {answer: tokens for answer in others if behaviour.token_id in (tokens := lm.first_tokens(answer))}
    if behaviour.answer_text is not None:
        given = {answer: tokens for answer, tokens in given.items() if mentions(answer, behaviour.answer_text)}
    if len(given) != 1:
        raise _Unavailable(BEGINS_ALIKE if given else NO_DOCUMENT)
    return next(iter(given.items()))


def _mentions(lm: LanguageModel, prepared: Prepared, written: str) -> tuple[tuple[_Mention, ...], TokenisedPrompt]:
    """Find the mentions in the order of the prompt; and the prompt, whose answer tokens are those of each.

    Raises _Unavailable.
    """
    prompt = prompt_of(prepared.instance, lm.template)
    passages = [*prompt.documents, *prompt.padding]  # as texts of an instance are numbered
    texts = [prompt.text[span.start : span.end] for span in passages]
    located = [
        (passages[number].start, _Mention(number, span))
        for number, text in enumerate(texts)
        for span in mentions(written, text)
    ]
    if not located:
        raise _Unavailable(INSIDE if any(alike(written) in alike(text) for text in texts) else NO_MENTION)
    located.sort(key=lambda one: one[0] + one[1].span.start)
    # A mention each in place of a document's answers, so that what counts tokens finds those of each mention.
    answers = tuple((mention.span.moved(start),) for start, mention in located)
    tokenised = lm.tokenise(replace(prompt, answers=answers), check_length=False)
    if prepared.prompt.ids[: len(tokenised.ids)] != tokenised.ids:
        raise _Unavailable(OTHER_PROMPT)
    return tuple(mention for _, mention in located), tokenised


def _replaced(instance: Instance, some: Sequence[_Mention], answer: str) -> Instance:
    """Write another answer in some mentions, which are in the order of their texts."""
    texts = [*(document.text for document in instance.documents), *instance.padding]
    for mention in reversed(some):
        text, span = texts[mention.text], mention.span
        texts[mention.text] = text[: span.start] + answer + text[span.end :]
    count = len(instance.documents)
    documents = (replace(document, text=text) for document, text in zip(instance.documents, texts, strict=False))
    return replace(instance, documents=tuple(documents), padding=tuple(texts[count:]))


def _fresh(
    lm: LanguageModel, prepared: Prepared, written: str, accepted: tuple[int, ...], pool: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Choose the first two of the pool that will do, with their first tokens. accepted: those of `written`.

    Raises _Unavailable.
    """
    instance, prompt, chosen, shared = prepared.instance, prepared.prompt, dict[str, tuple[int, ...]](), False
    known = {alike(answer) for answer in (instance.true_answer, *instance.accepted)}
    of_candidates = {*accepted, *(token for name in prepared.names for token in name.first_tokens)}
    for answer in pool:
        if _form(answer) != _form(written) or alike(answer) in known:
            continue
        if mentions(answer, prompt.text) or mentions(written, answer):
            continue
        tokens = lm.first_tokens(answer)
        if not tokens or tokens[0] in prompt.ids or of_candidates & {*tokens}:
            shared = True
            continue
        chosen[answer] = tokens
        if len(chosen) == 2:
            return chosen
    raise _Unavailable(SHARED if shared else TOO_FEW)


def _form(answer: str) -> tuple[bool, bool, int, int]:
    """Return what a fresh answer must have alike: case of the first letter, number of digits, number of words."""
    first = answer[:1]
    return first.isupper(), first.islower(), sum(char.isdigit() for char in answer), len(answer.split())


def _hidden(
    answered: Answered, planned: dict[int, _Replacing], targets: Sequence[Target]
) -> dict[int, list[tuple[Hidden, Hidden]]]:
    """Hide attention to each mention of the answers that have several: from all later tokens, and from the last.

    Empty for a model whose attention cannot be hidden.
    """
    clean, last = answered.clean, answered.clean.length - 1
    several = [(row, span) for row, plan in planned.items() if len(plan.spans) > 1 for span in plan.spans]
    if not several or clean.lm.hidden_attention.refusal is not None:
        return {}
    results, together = [list[Hidden](), list[Hidden]()], clean.lm.budget.batch_size(clean.length)
    by_end = [(row, span, min(span.end, last)) for row, span in several], [(row, span, last) for row, span in several]
    for queries, hidden in zip(by_end, results, strict=True):
        for batch in (queries[start : start + together] for start in range(0, len(queries), together)):
            logits, rows = clean.lm.hidden_attention.last_logits(clean.prefix, clean.ids, batch), [row for row, *_ in batch]
            of_rows = [targets[row] for row in rows]
            lost = (_logprobs(clean.logits[rows], of_rows) - _logprobs(logits, of_rows)).tolist()
            for row, token, nats in zip(rows, logits.argmax(-1).tolist(), lost, strict=True):
                hidden.append(Hidden(token not in planned[row].accepted, nats))
    both = zip(*results, strict=True)
    return {row: list(islice(both, len(planned[row].spans))) for row in dict.fromkeys(row for row, _ in several)}


def _logprobs(logits: torch.Tensor, targets: Sequence[Target]) -> torch.Tensor:
    """Compute log p of each target's token: (b, V) logits ▶ (b,) float64."""
    from heval_core.lm.targets import in_float64, values

    return values(in_float64(logits)[:, None], targets, "logprob")
