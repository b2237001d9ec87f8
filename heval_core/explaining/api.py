"""Explains one prompt, in a notebook or on the command line: `explain` its first word, `explain_answer` a whole answer.

The scores equal those of the batch job: all of them come from `pipeline.explain_request`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from heval_core.explaining.arguments import check_options, one_of, request_of, several, text
from heval_core.figures.highlights import Scored, highlights
from heval_core.figures.palette import in_order
from heval_core.plugins import catalogue, protocols
from heval_core.present.html import render
from heval_core.prompting.units import LEVELS, summed, units_of
from heval_core.records import Attribution, Behaviour, HEvalError, head_name
from heval_core.records.groups import document_of
from heval_core.records.stored_instances import PromptDocument
from heval_core.records.vocabulary import group_title
from heval_core.records.whole_answers import Bounds
from heval_core.statistics.scores import normalise, tied

if TYPE_CHECKING:  # importing this costs no torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from heval_core.explaining.answer import Answer
    from heval_core.explaining.pipeline import ExplainedRequest, Request
    from heval_core.explaining.whole_answer import Wanted
    from heval_core.lm.model import LanguageModel

Say = Callable[[str], None] | None
# How many of each explainer's best tokens are framed, and what is told of a candidate.
K, _OF_CANDIDATES = 5, ("group", "text", "token_id", "logit", "probability")


def explain(
    model: str | Path | LanguageModel | PreTrainedModel,
    *,
    question: str,
    context: Any = (),
    tokenizer: PreTrainedTokenizerBase | None = None,
    explainers: str | Iterable[str] | None = None,
    context_answer: str | Sequence[str | None] = (),
    memory_answer: str | None = None,
    target: str = "answer",
    match: str = "first",
    template: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    say: Say = None,
) -> Explanation:
    """Explain which tokens of a prompt the first word of a model's answer came from.

    Args:
        model, tokenizer: a name that `models` lists, a Hugging Face id, a folder, what `heval_core.lm.loading.load` returns,
            or a model in memory with its tokenizer. That one stays on its device; it is put into evaluation mode, decodes
            greedily afterwards, and runs GELUs and its unembedding faster (the same numbers).
        question, context: what the model is asked, and documents: texts, or LangChain's or LlamaIndex's, which have names.
        explainers: keys, with options (`"fa(target=prob)"`); by default the batch job's.
        context_answer: each document's answer, which tells where the model's came from.
        memory_answer: what the model is taken to remember; by default it is asked without context.
        target: `answer` explains the answer given, `context` the first document's, `named` the likeliest named one.
        match: the group is decided by the answer's first token (`first`), by its text (`text`), or within it (`within`).
        template: `chat` (the tokenizer's), or a layout with {documents} and {question}; by default the model's own.
        device, dtype: where and in which precision a model is loaded; for one that is loaded already they stay `auto`.
        say: called with what it will take, in one sentence, before it begins; a terminal and a notebook show how far it is.

    Returns:
        The prompt with scores, (n,) for its n tokens; `refused` says why an explainer is missing.

    Raises:
        HEvalError: with one sentence, if an argument is wrong, the prompt cannot be explained, or no explainer can.
    """
    check_options(match, target, template, dtype)
    request = request_of(question, context, context_answer, memory_answer)
    chosen, lm = methods_of(explainers), language_model(model, tokenizer, device, dtype)
    from heval_core.explaining.pipeline import explain_request

    with lm.asked_in(template), _progress(lm, request, chosen, None, say):
        return Explanation(explain_request(lm, request, chosen, match=match, target=target), request.names)


def explain_answer(
    model: str | Path | LanguageModel | PreTrainedModel,
    *,
    question: str,
    context: Any = (),
    generate: int | None = None,
    answer: str | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    explainers: str | Iterable[str] | None = None,
    template: str | None = None,
    bounds: Bounds = Bounds(),  # noqa: B008
    device: str = "auto",
    dtype: str = "auto",
    say: Say = None,
) -> Answer:
    """Explain a whole answer: on what each of its words rests, and which documents its sentences cite.

    Args:
        model, question, context, tokenizer, template, device, dtype, say: as for `explain`.
        generate: the model writes at most so many tokens; by default 60.
        answer: one that is given word for word, instead; then nothing is written.
        explainers: keys, with options; by default those of the batch job that take under ten passes.
        bounds: from how many nats on a word rests on a document, and the like: see `heval_core.explaining.word_origins`.

    Returns:
        The answer: its `text`, its `words` with what they rest on, its `sentences` with their citations, and more. An
        explainer that has no scores stands in `generated.refused`, with its reason.

    Raises:
        HEvalError: with one sentence, if an argument is wrong, or there is no answer to explain.
    """
    check_options(template=template, dtype=dtype, generate=generate, answer=answer)
    request = request_of(question, context, answer=answer)
    chosen, lm = methods_of(explainers), language_model(model, tokenizer, device, dtype)
    from heval_core.explaining.answer import explained_answer
    from heval_core.explaining.whole_answer import WRITTEN, Wanted

    wanted = Wanted(generate or WRITTEN, answer, bounds=bounds)
    with lm.asked_in(template):
        dear = _too_dear(lm, request, chosen) if explainers is None else {}
        chosen = [method for method in chosen if method.key not in dear]
        with _progress(lm, request, chosen, wanted, say):
            result = explained_answer(lm, request, chosen, wanted)
    return replace(result, generated=replace(result.generated, refused=result.generated.refused | dear))


def _too_dear(lm: LanguageModel, request: Request, chosen: list[protocols.Method]) -> dict[str, str]:
    from heval_core.explaining.answer_steps import tokenised
    from heval_core.explaining.price import too_dear

    return too_dear(tokenised(lm, request), chosen)


def _progress(
    lm: LanguageModel, request: Request, chosen: list[protocols.Method], wanted: Wanted | None, say: Say
) -> AbstractContextManager[None]:
    """Say what a request will take, and show how far it is. wanted: of a whole answer."""
    from heval_core.explaining.answer_steps import tokenised
    from heval_core.explaining.pipeline import able_of
    from heval_core.explaining.price import passes_of
    from heval_core.lm.passes import progress

    prompt = tokenised(lm, request)
    return progress(lm, prompt, passes_of(prompt, able_of(lm, chosen)[0], wanted), say)


def methods_of(explainers: str | Iterable[str] | None) -> list[protocols.Method]:
    """Return the methods of some keys, without duplicates (two spellings of one variant); for None, the default methods.

    Raises HEvalError for an unknown key, or a control.
    """
    keys = catalogue.split(explainers) if isinstance(explainers, str) else explainers
    given = several("explainers", catalogue.default_methods() if keys is None else keys, "keys, such as 'fa,attn'")
    methods = [catalogue.method(text(f"explainers[{index}]", key)) for index, key in enumerate(given)]
    return list({method.key: method for method in methods}.values())


def language_model(model: Any, tokenizer: Any, device: str, dtype: str) -> LanguageModel:
    """Return the model, loaded or wrapped if necessary. Raises HEvalError for a model in memory without a tokenizer, and for
    what would be ignored."""
    from heval_core.lm.faults import plain
    from heval_core.lm.loading import as_language_model, identify, load
    from heval_core.lm.model import LanguageModel

    loaded, named = isinstance(model, LanguageModel), isinstance(model, (str, os.PathLike))
    if not (loaded or named or callable(model)):
        raise HEvalError(f"model is {model!r:.60}; it must be a name, a folder, or a model in memory.")
    if tokenizer is not None and (loaded or named):
        raise HEvalError("tokenizer is of a model in memory; this model has its own, leave it out.")
    for name, value in (("device", device), ("dtype", dtype)):
        if value != "auto" and not named:
            raise HEvalError(
                f"{name} is {value!r}, but the model is loaded already; move or load it so, and leave {name} out."
            )
    if named:
        return load(os.fspath(model), device, dtype)
    if isinstance(model, LanguageModel):
        return model
    if tokenizer is None:
        raise HEvalError("A model in memory needs its tokenizer too: explain(model, tokenizer=tokenizer, ...).")
    model = plain(model)
    name = str(getattr(model, "name_or_path", ""))
    if not name or not (Path(name) / "config.json").is_file():
        return as_language_model(name or type(model).__name__, model.eval(), tokenizer)
    # It came from a folder, whose `heval.json` may name a prompt style.
    identity = identify(name)
    return as_language_model(identity.key, model.eval(), tokenizer, identity.style, identity.revision, identity.template)


@dataclass(frozen=True, eq=False)
class Explanation:
    """A prompt with its answer and attributions. A notebook shows the prompt with every explainer's highlights.

    names: of the documents, "" for one without.
    """

    explained: ExplainedRequest
    names: tuple[str, ...] = ()

    @property
    def tokens(self) -> tuple[str, ...]:
        """The n tokens of the prompt; together they spell it."""
        return self.explained.prompt.tokens

    @property
    def behaviour(self) -> Behaviour:
        """What the model answered, and the group that follows from it."""
        return self.explained.behaviour

    @property
    def attributions(self) -> dict[str, Attribution]:
        """Explainer ▶ its scores, (n,) as the method defines them."""
        return self.explained.attributions

    @property
    def refused(self) -> dict[str, str]:
        """Explainer ▶ why it could not explain the prompt; most often the model lacks what it needs."""
        return self.explained.refused

    def __repr__(self) -> str:
        answer = self.behaviour
        return (
            f"<Explanation: {self.explained.model} answers {answer.text.strip()!r} (p = {answer.probability:.2f}, "
            f"group {answer.group}); {len(self.tokens)} tokens, {', '.join(self.attributions)}"
            f"{'; refused: ' + ', '.join(self.refused) if self.refused else ''}>"
        )

    def to_frame(self, raw: bool = False, level: str = "token") -> pd.DataFrame:
        """Return a row per token: index, token, part of the prompt, and each explainer's score as metrics use it.

        Args:
            raw: add columns of the scores as the methods define them, `fa, raw`.
            level: a row per `word`, `sentence` or `document` instead, with its first token's index and the sums of scores.

        Returns:
            A table with a column for each explainer.

        Raises:
            HEvalError: for any other level.
        """
        one_of("level", level, LEVELS)
        units = units_of(self.tokens, self._parts(), level)
        texts = [unit.text(self.tokens) for unit in units]
        columns: dict[str, Any] = {"index": [unit.start for unit in units], level: texts}
        columns["part"] = [unit.part for unit in units]
        for key, attribution in self.attributions.items():
            columns[key] = summed(_normalised(attribution), units)
            if raw:
                columns[f"{key}, raw"] = summed(attribution.scores, units)
        return pd.DataFrame(columns)

    def _parts(self) -> list[str]:
        """Name the part of each token: `document 1`, `document 2: its name`, `question`, `template` (the words around
        these), or `special`, never ranked: a BOS, a chat template."""
        prompt = self.explained.prompt
        parts = ["template" if index in prompt.ranked else "special" for index in range(len(prompt.tokens))]
        labels = [f"document {number}{name and f': {name}'}" for number, name in enumerate(self.names, start=1)]
        named = list(zip(labels, prompt.documents, strict=True))
        for name, span in [("question", prompt.question), *named]:
            parts[span.start : span.end] = [name] * (span.end - span.start)
        return parts

    def _repr_html_(self) -> str:
        """Return what a notebook shows: no script, no request, and all text of the prompt escaped."""
        prompt, behaviour = self.explained.prompt, self.behaviour
        documents = [
            PromptDocument(span.start, span.end, answer or "unknown", tokens, source=name)
            for span, answer, tokens, name in zip(
                prompt.documents, self.explained.answers, prompt.answer_tokens, self.names, strict=True
            )
        ]
        rows = [_scored(self.attributions[key]) for key in in_order(list(self.attributions))]
        marked = highlights(prompt.tokens, prompt.ranked, documents, document_of(behaviour.group), rows, K)
        name = hashlib.sha256(repr(marked).encode()).hexdigest()[:12]
        return render(
            "explanation.html",
            name=f"heval-{name}",
            marked=marked,
            k=K,
            answer=behaviour,
            model=self.explained.model,
            group=group_title(behaviour.group),
            foil=self.explained.foil,
            refused=self.refused,
            notes=prompt.notes,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the object that the command `explain --format json` prints.

        Token indices count from 0, ends are exclusive. Scores are one float per token; those before first_ranked
        and from ranked_end on are a BOS's or a chat template's, never ranked.
        """
        explained, prompt = self.explained, self.explained.prompt
        return {
            "model": explained.model,
            **prompt.to_json(),
            "documents": [
                asdict(span) | {"answer": answer, "answer_tokens": list(tokens)} | ({"name": name} if name else {})
                for span, answer, tokens, name in zip(
                    prompt.documents, explained.answers, prompt.answer_tokens, self.names, strict=True
                )
            ],
            "answer": asdict(self.behaviour)
            | {"candidates": [{key: getattr(answer, key) for key in _OF_CANDIDATES} for answer in self.behaviour.candidates]},
            "target": explained.target,
            "target_text": explained.target_text,
            "foil": explained.foil,
            "refused": self.refused,
            "notes": list(prompt.notes),
            "explainers": {key: _scores(attribution, prompt.ranked) for key, attribution in self.attributions.items()},
        }


def _scores(attribution: Attribution, ranked: range) -> dict[str, Any]:
    out: dict[str, Any] = {
        "scores": attribution.scores.tolist(),
        "normalised": _normalised(attribution).tolist(),
        "tied": tied(attribution.scores[ranked.start : ranked.stop]),
        "seconds": attribution.seconds,
        "settings": attribution.settings,
        **dict(attribution.details),
    }
    if head := head_name(attribution.layer, attribution.head):
        out["head"] = head
    if attribution.head_scores is not None:
        out["head_scores"] = attribution.head_scores.tolist()
    return out


def _normalised(attribution: Attribution) -> np.ndarray:
    """Return (n,) scores as metrics use them."""
    return normalise(attribution.scores, catalogue.find("explainer", attribution.explainer).signed)


def _scored(attribution: Attribution) -> Scored:
    plugin = catalogue.find("explainer", attribution.explainer)
    head = head_name(attribution.layer, attribution.head)
    return Scored(plugin.key, plugin.title, plugin.signed, attribution.scores.tolist(), head)
