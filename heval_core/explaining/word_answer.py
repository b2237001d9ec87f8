"""An answer's first word, explained by all that the batch has: the same records that a store holds of an instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from heval_core.explaining.pipeline import ExplainedRequest, Request, explain_request
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Method
from heval_core.records import TECHNIQUE
from heval_core.records.stored_instances import PromptDocument, StoredAttribution, StoredInstance
from heval_core.records.word_answers import WordAnswer
from heval_core.statistics.scores import tied

# What an own prompt is said to be of, where an instance has a data set and a regime.
OWN_PROMPT = "own"


def explained_word(
    lm: LanguageModel, request: Request, explainers: Iterable[Method], target: str, say: Callable[[str], None]
) -> WordAnswer:
    """Explain the first token of an answer. target, say, errors: as for `explain_request`."""
    explained = explain_request(lm, request, explainers, target=target, say=say)
    ranked = explained.prompt.ranked
    attributions = {
        key: StoredAttribution(
            key,
            tuple(float(f"{score:.6g}") for score in one.scores),
            tied(one.scores[ranked.start : ranked.stop]),
            catalogue.find("explainer", key).signed,
            one.layer,
            one.head,
            None if one.head_scores is None else tuple(float(f"{score:.6g}") for score in one.head_scores.ravel()),
            dict(one.details),
        )
        for key, one in explained.attributions.items()
    }
    instance = _instance(explained, request.question, lm.revision)
    heads = [one.head_scores for one in explained.attributions.values() if one.head_scores is not None]
    layers = len(heads[0]) if heads else 1
    by_itself = explained.by_itself
    return WordAnswer(instance, attributions, explained.refused, explained.target_text, explained.foil, layers, by_itself)


def _instance(explained: ExplainedRequest, question: str, revision: str) -> StoredInstance:
    prompt, behaviour = explained.prompt, explained.behaviour
    documents = zip(prompt.documents, explained.answers, prompt.answer_tokens, strict=True)
    return StoredInstance(
        instance_id=OWN_PROMPT,
        model=explained.model,
        revision=revision,
        dataset=OWN_PROMPT,
        regime=OWN_PROMPT,
        technique=TECHNIQUE,
        subject=question,
        tokens=prompt.tokens,
        first_ranked=prompt.ranked.start,
        ranked_end=prompt.ranked.stop,
        documents=tuple(PromptDocument(span.start, span.end, answer or "", tokens) for span, answer, tokens in documents),
        question_span=prompt.question,
        memory_answer=behaviour.memory_answer,
        candidates=behaviour.candidates,
        predicted_text=behaviour.text,
        predicted_probability=behaviour.probability,
        group=behaviour.group,
        prompt=prompt.text,
        question=question,
        predicted_id=behaviour.token_id,
        answer_text=behaviour.answer_text,
    )
