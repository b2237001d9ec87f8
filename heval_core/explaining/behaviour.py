"""What the model answers, from memory and in context, and the group that follows.

The memory answer is the model's own greedy answer to the question without context. In context, the greedy first token decides
the group: that of the candidate whose set of first tokens holds it; `other` if no set holds it, `ambiguous` if two do.
If asked for, the text decides instead: the greedy answer of at most TEXT_TOKENS tokens, by the candidate it begins with. Or
the answer is sought within the first sentence of WITHIN_TOKENS tokens: then what the model says before it belongs to the
prompt, never ranked, and the answer's first token is explained where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from heval_core.lm.model import LanguageModel
from heval_core.prompting.answers import answer_in, group_by_text, group_within, normalised
from heval_core.prompting.prompts import alike, memory_prompt, mentions, says_nothing
from heval_core.records import Behaviour, Candidate, Document, Dropped, HEvalError, Instance, Target, TokenisedPrompt
from heval_core.records.groups import GOLD, MEMORY, compared_groups, competes, context_groups, document_of
from heval_core.records.regime_keys import read_key

if TYPE_CHECKING:
    import torch

    from heval_core.lm.clean_pass import CleanPass

MEMORY_TOKENS = 12
TEXT_TOKENS = 10
WITHIN_TOKENS = 20


@dataclass(frozen=True)
class Memory:
    """The model's answer without context: its text (empty if there is none), and the ids that it may begin with.

    is_answer: whether it looks like an answer to the question (`answers.looks_like_answer`).
    """

    text: str
    first_tokens: tuple[int, ...]
    is_answer: bool = True


def ask(lm: LanguageModel, questions: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the model's greedy continuation of each question without context, generated in batches."""
    prompts = [lm.tokenise(memory_prompt(question, lm.template), check_length=False).ids for question in questions]
    return lm.generation.greedy(prompts, MEMORY_TOKENS)


def memory_of(lm: LanguageModel, ids: tuple[int, ...], true_answer: str | None = None, question: str = "") -> Memory:
    """Return the answer in a continuation (`answer_in`), and the ids that this answer may begin with.

    The first generated id comes first among them if the answer begins with its text: the model may split the answer into
    other tokens than the tokenizer does. The " The" of "The capital of France is Paris" is none, nor space, nor punctuation.
    """
    answer = answer_in(lm.decode(ids), question, true_answer)
    generated = ids[:1] if _begins(lm, ids, answer) else ()
    return Memory(answer, _unique(generated + lm.first_tokens(answer)))


def _begins(lm: LanguageModel, ids: tuple[int, ...], answer: str) -> bool:
    """Return whether the first of some ids covers the beginning of an answer that these ids spell."""
    if says_nothing(lm.decode(ids[:1])):
        return False
    # A token may hold only some of a character's bytes; the tokens after it then complete the character.
    covered = next((text for end in range(1, len(ids) + 1) if not (text := lm.decode(ids[:end])).endswith("\ufffd")), "")
    return bool(covered.strip()) and alike(answer).startswith(alike(covered.strip()))


def recall(lm: LanguageModel, question: str) -> Memory:
    """Ask one question without context."""
    return memory_of(lm, ask(lm, [question])[0], question=question)


def check_documents(instance: Instance, memory: Memory) -> None:
    """Run the memory and leak checks. Raises Dropped with its reason.

    A gold document may give the memory answer, and mention it: the true answer is what a model should remember. A label
    ("True") need not stand in its document, and where it does, the word has nothing to do with the label.
    """
    for document in instance.documents:
        if document.stated and not mentions(document.alias or document.answer, document.text):
            raise Dropped("answer not in document")
        answers = (document.answer, document.alias or document.answer)
        if document.kind == "conflicting" and alike(memory.text) in map(alike, answers):
            raise Dropped("answer is the memory answer")
        labelled = bool(document.answer) and not document.stated
        if document.kind != GOLD and not labelled and leaks(document, instance.subject, memory.text):
            raise Dropped("memory answer in document")


def leaks(document: Document, subject: str, answer: str) -> bool:
    """Return whether a document names the answer anywhere but inside the subject's own name or inside its own answer."""
    covered = [*mentions(subject, document.text), *mentions(document.subject, document.text)]
    covered += mentions(document.alias or document.answer, document.text)
    return any(
        not any(span.start <= leak.start and leak.end <= span.end for span in covered)
        for leak in mentions(answer, document.text)
    )


@dataclass(frozen=True)
class Named:
    """A candidate answer before the model has answered: its group, text and accepted first tokens."""

    group: str
    text: str
    first_tokens: tuple[int, ...]


def name_candidates(
    lm: LanguageModel,
    answers: tuple[str | None, ...],
    memory: Memory | None = None,
    match: str = "first",
    agreeing: bool = False,
) -> tuple[Named, ...]:
    """Return the documents' known answers, and the memory answer where it is a candidate.

    agreeing: whether documents may give one answer: then each has a candidate, and that answer's group is `ambiguous`.
    Raises Dropped if the tokenizer has no token for one of them, or if what decides the group (`match`) does not tell two of
    them apart: `first`, if they begin with the same token in running text (" Lisbon", " Lisse"); `text`, if they are the same
    text. Their other accepted forms may share a token (the "L" of a bare "Lisbon"); only if the model answers with that token
    does it matter: then its answer is `ambiguous`.
    """
    names = [
        Named(group, answer, lm.first_tokens(answer))
        for group, answer in zip(context_groups(len(answers)), answers, strict=True)
        if answer
    ]
    names += [Named(MEMORY, memory.text, memory.first_tokens)] if memory else []
    if not all(name.first_tokens for name in names):
        raise Dropped("answer has no token")
    distinct = {(alike(name.text), name.group == MEMORY): name for name in names}.values() if agreeing else names
    if len({name.first_tokens[0] if match == "first" else normalised(name.text) for name in distinct}) < len(distinct):
        raise Dropped("same first token" if match == "first" else "same answer")
    return tuple(names)


def accepted_tokens(lm: LanguageModel, instance: Instance) -> tuple[int, ...]:
    """Return the ids that count as the answer which an instance's document promotes; of several, the first with an answer.

    These are the answer's first tokens (`first_tokens`), likelier forms first. Where the instance has further accepted forms
    (`Instance.accepted`), any token of any form counts, as in CUB ("United" and "States" and "America").
    Departure: a token without a letter or digit never counts, since a comma or a quotation mark is no answer.
    Raises Dropped if no document has an answer, or the tokenizer has no token for it.
    """
    answer = next((document.answer for document in instance.documents if document.answer), "")
    tokens = list(lm.first_tokens(answer))
    if not tokens:
        raise Dropped("answer has no token")
    for form in (answer, *instance.accepted) if instance.accepted else ():
        for spelling in (f" {form.strip()}", form.strip()):
            tokens += [i for i in lm.encode(spelling) if any(char.isalnum() for char in lm.decode([i]))]
    return _unique(tuple(tokens))


# Decoy ▶ how often an answer may stand in its own document, and in the other one.
_MENTIONED = {"d0": ((1,), (0,)), "d1": ((1,), (1,)), "trust": ((1,), (1,)), "loud": ((1, 3), (1,))}


def check_names(lm: LanguageModel, instance: Instance, prompt: TokenisedPrompt) -> None:
    """Raise Dropped where a string match in this model's tokens finds what a decoy promises that it does not.

    d3: another name's tokens hold an answer's first one (" Europe", "an"). d0, d1, trust, loud: an answer's first token stands
    more than once in its document, as in "the capital of Monaco is Monaco" (or three times, where it is louder), or in the
    other one, beside the mention that all but d0 add.
    """
    answers = [document.answer for document in instance.documents]
    leading = [lm.decode(lm.first_tokens(answer)[:1]).strip() if answer else "" for answer in answers]
    for document, tokens in zip(instance.documents, prompt.answer_tokens, strict=True):
        if document.alias and any(prompt.tokens[index].strip() in {*filter(None, leading)} for index in tokens):
            raise Dropped("name begins as the answer")
    in_document, in_others = _MENTIONED.get(read_key(instance.regime).decoy or "", ((), ()))
    if in_document:
        for answer_index, word in enumerate(leading):
            for document_index, span in enumerate(prompt.documents):
                times = [token.strip() for token in prompt.tokens[span.start : span.end]].count(word)
                if times not in (in_document if document_index == answer_index else in_others):
                    raise Dropped("answer too often")


def name_candidates_of(lm: LanguageModel, instance: Instance, memory: Memory, match: str = "first") -> tuple[Named, ...]:
    """Return the candidates of an instance: its documents' answers, and memory's. Raises Dropped as `name_candidates` does.

    If memory begins as one of the accepted answers of a gold document does, it is no candidate of its own, whatever `match`
    is: whichever of them was used, the answer is the same. Its group is then the document's.
    """
    answers = tuple(document.answer or None for document in instance.documents)
    if GOLD not in [document.kind for document in instance.documents]:
        return name_candidates(lm, answers, memory, match)
    (context,), tokens = name_candidates(lm, answers), accepted_tokens(lm, instance)
    gold = replace(context, first_tokens=tokens)
    if not memory.first_tokens:
        raise Dropped("answer has no token")
    return (gold,) if memory.first_tokens[0] in tokens else (gold, Named(MEMORY, memory.text, memory.first_tokens))


def check_labels(lm: LanguageModel, labels: Sequence[str]) -> None:
    """Raise HEvalError, naming them, if two labels of a task begin with the same token, or one has no token."""
    by_token: dict[int, str] = {}
    for label in dict.fromkeys(labels):
        first = lm.first_tokens(label)[:1]
        if not first:
            raise HEvalError(f"The tokenizer of {lm.key} has no token for the label {label!r}; choose another word for it.")
        if first[0] in by_token:
            raise HEvalError(
                f"The labels {by_token[first[0]]!r} and {label!r} begin with the same token for {lm.key}, so its first token "
                "does not tell which one it gave; choose labels that begin differently."
            )
        by_token[first[0]] = label


def greedy_texts(lm: LanguageModel, prompts: Sequence[TokenisedPrompt], logits: torch.Tensor) -> list[str]:
    """Return the model's continuation of each prompt, at most TEXT_TOKENS tokens. logits: (B, V), of the first token."""
    first = logits.argmax(-1).tolist()
    going_on = [index for index, token_id in enumerate(first) if token_id not in lm.generation.end_ids]
    rest = lm.generation.greedy([(*prompts[index].ids, first[index]) for index in going_on], TEXT_TOKENS - 1)
    written = {index: [first[index], *ids] for index, ids in zip(going_on, rest, strict=True)}
    return [lm.decode(written.get(index, [])) for index in range(len(first))]


@dataclass(frozen=True)
class Greedy:
    """A model's greedy answer, and the group that its text gives."""

    text: str
    group: str


def greedy_answers(lm: LanguageModel, clean: CleanPass, names: Sequence[tuple[Named, ...]]) -> list[Greedy]:
    """Return the greedy answer to each prompt of a pass, and the candidate that it begins with."""
    texts = greedy_texts(lm, clean.prompts, clean.logits)
    return [Greedy(text, group_by_text(_answers(candidates), text)) for text, candidates in zip(texts, names, strict=True)]


def up_to_answers(
    lm: LanguageModel, prompts: Sequence[TokenisedPrompt], names: Sequence[tuple[Named, ...]]
) -> list[tuple[TokenisedPrompt, tuple[Named, ...], Greedy]]:
    """Return each prompt with what the model says before its answer, and that answer, for `within`.

    The candidate's first tokens then also have the one with which the model begins it there. A prompt whose answer is no
    candidate, or is denied, stays as it is.
    """
    written = lm.generation.greedy([prompt.ids for prompt in prompts], WITHIN_TOKENS)
    return [_up_to_answer(lm, *each) for each in zip(prompts, names, written, strict=True)]


def _up_to_answer(
    lm: LanguageModel, prompt: TokenisedPrompt, names: tuple[Named, ...], ids: tuple[int, ...]
) -> tuple[TokenisedPrompt, tuple[Named, ...], Greedy]:
    ends = [lm.decode(ids[:count]) for count in range(len(ids) + 1)]
    group, position = group_within(_answers(names), ends[-1])
    if group in ("other", "denied"):
        return prompt, names, Greedy(ends[-1], group)
    first = next(count for count in range(len(ids)) if len(ends[count + 1]) > position)
    pieces = tuple(ends[count + 1][len(ends[count]) :] for count in range(first))
    begun = tuple(
        replace(name, first_tokens=_unique((*name.first_tokens, ids[first]))) if name.group == group else name
        for name in names
    )
    return prompt.followed_by(ids[:first], pieces) if first else prompt, begun, Greedy(ends[-1], group)


def _answers(names: tuple[Named, ...]) -> list[tuple[str, str]]:
    return [(name.group, name.text) for name in names]


def observe(
    lm: LanguageModel, logits: torch.Tensor, names: tuple[Named, ...], memory_answer: str, greedy: Greedy | None = None
) -> Behaviour:
    """Return the model's answer in context, its group, and every candidate's logit and probability. logits: (V,) float32.

    greedy: the greedy answer, if its text decides the group.
    """
    probabilities = logits.softmax(-1)
    predicted = int(logits.argmax())
    candidates = []
    for name in names:
        best = _representative(name, names, logits)
        values = float(logits[best]), float(probabilities[best])
        candidates.append(Candidate(name.group, name.text, best, *values, name.first_tokens[0]))
    matching = [name.group for name in names if predicted in name.first_tokens]
    first_group = matching[0] if len(matching) == 1 else "ambiguous" if matching else "other"
    return Behaviour(
        predicted,
        lm.decode([predicted]),
        float(probabilities[predicted]),
        greedy.group if greedy else first_group,
        memory_answer,
        tuple(candidates),
        first_group,
        greedy.text if greedy else None,
        greedy.group if greedy else None,
    )


def _representative(name: Named, names: tuple[Named, ...], logits: torch.Tensor) -> int:
    """Return the likeliest of a candidate's first tokens, leaving out those it shares with another candidate."""
    shared = {token_id for other in names if other is not name for token_id in other.first_tokens}
    unshared = [token_id for token_id in name.first_tokens if token_id not in shared]
    return max(unshared or name.first_tokens[:1], key=lambda token_id: float(logits[token_id]))


def answer_target(logits: torch.Tensor, behaviour: Behaviour) -> Target:
    """Return the first token of the answer given, with its competitor as the foil.

    The competitor is the likeliest candidate that competes with the answer's group (`groups.competes`), or else any other
    candidate; if there is no candidate but the answer itself, it is the model's second likeliest token.
    """
    answer = behaviour.token_id
    others = [c for c in behaviour.candidates if c.token_id != answer]
    foils = [c for c in others if competes(behaviour.group, c.group)] or others
    if foils:
        foil = max(foils, key=lambda c: c.logit)
        return Target.next_token(answer, foil.token_id, f"candidate {foil.group}")
    second = int(logits.topk(2).indices[1]) if logits.numel() > 1 else answer
    return Target.next_token(answer, second, "runner-up token")


def among_named(behaviour: Behaviour) -> Behaviour:
    """Return what the model would answer if its answer had to be a candidate: the likeliest, where it gave none of them."""
    if behaviour.group != "other" or not behaviour.candidates:
        return behaviour
    one = max(behaviour.candidates, key=lambda candidate: candidate.logit)
    named = replace(behaviour, group=one.group, first_group=one.group, text_group=None, answer_text=None)
    return replace(named, token_id=one.token_id, text=one.text, probability=one.probability)


def context_target(behaviour: Behaviour) -> Target | None:
    """Return the first document's answer with its competitor as the foil, whatever the model answered; None if one is unknown.

    The competitor is the memory answer or, of several documents, the next document's with another answer; if all documents
    agree, it is the memory answer. Each is represented by its first token in running text, because the likeliest form depends
    on what the model answered.
    """
    first = next((c for c in behaviour.candidates if document_of(c.group) == 0), None)
    foils = [c for c in behaviour.candidates if first and c.group != first.group and competes(first.group, c.group)]
    if first is None or not foils:
        return None
    apart = [c for c in behaviour.candidates if c.leading_id != first.leading_id]
    foils = [c for c in foils if c in apart] or apart
    if not foils:
        return None
    return Target.next_token(first.leading_id, foils[0].leading_id, f"candidate {foils[0].group}")


def answers_a_compared_group(behaviour: Behaviour) -> bool:
    """Return whether the model gave one of the answers that metrics compare."""
    documents = sum(candidate.group != MEMORY for candidate in behaviour.candidates)
    return behaviour.group in compared_groups(documents)


def _unique(ids: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(ids))
