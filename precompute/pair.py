"""A model and a dataset of a grid: what the keys of their shards depend on.

Everything a shard depends on is in its key: model revision, dataset fingerprint, seed, prompt style and template, dtype, and
the explainer's repr. So nothing stale is reused, and nothing valid is computed again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from statistics import mean
from typing import Any, Protocol, TypeVar

from transformers import AutoConfig

from heval_core import regimes
from heval_core.datasets._quoted import PEOPLE, Quoted
from heval_core.lm import faults, fits, loading
from heval_core.lm.fits import Fit
from heval_core.lm.spans import tokenise
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Explainer, Fitted
from heval_core.prompting.prompts import assemble, memory_prompt, prompt_of, spelled
from heval_core.prompting.styles import PromptStyle, style_of
from heval_core.records import Dropped, HEvalError, Instance, TokenisedPrompt
from heval_core.records.regime_keys import read_key
from heval_core.regimes.padding import fitted
from heval_core.store.shards import Shard, ShardStore
from precompute.grid import Grid, Options
from precompute.origins import InputOrigin, SameName, check_apart, check_known, where_is
from precompute.questions import Questions, load_questions
from precompute.task import hashed
from precompute.worker import Model

Requested = TypeVar("Requested", bound=Options)
# Questions of a shard: what an interruption costs, and how often the bar moves.
SIZE = 50
# Answers that people wrote: of a small model and on one core a few minutes of work.
ANSWERS = 2
SAMPLE = 20


def dtype_of(options: Options) -> str:
    """Return the dtype that `auto` stands for."""
    if options.dtype in loading.DTYPES:
        return options.dtype
    return str(loading.choose_dtype(options.dtype, loading.choose_device(options.device))).removeprefix("torch.")


@dataclass(frozen=True)
class Pair:
    """A model and a dataset of a grid. grid: its options as far as this model can do them."""

    grid: Grid
    model: Model
    questions: Questions

    @cached_property
    def dtype(self) -> str:
        return dtype_of(self.grid)

    @cached_property
    def settings(self) -> str:
        """A hash of how the model is asked, apart from its revision and the data."""
        grid, model = self.grid, self.model.identity
        return hashed([self.dtype, model.style, spelled(model.template), grid.memory, grid.match, grid.seed], 12)

    @property
    def state(self) -> dict[str, str]:
        """What its shards say of it, apart from techniques."""
        return {
            "model": self.model.key,
            "revision": self.model.revision,
            "settings": self.settings,
            "dataset": self.questions.dataset,
            "fingerprint": self.questions.fingerprint,
        }

    @property
    def origins(self) -> tuple[InputOrigin, InputOrigin]:
        model, data = self.model, self.questions
        weights = InputOrigin("weights", model.key, where_is(model.identity.path), model.revision)
        return weights, InputOrigin("data", data.dataset, where_is(data.path), data.fingerprint)

    @property
    def cap(self) -> int | None:
        """How many instances of a regime are explained at most; None without a cap."""
        if self.grid.cap == "auto":
            return regimes.CAPS["long" if self.questions.long else "short"]
        return self.grid.cap if isinstance(self.grid.cap, int) else None

    def with_options(self, **options: Any) -> Pair:
        """Return the pair with other options of the grid."""
        return dataclasses.replace(self, grid=dataclasses.replace(self.grid, **options))

    def shard(self, kind: str, depends: Any, **more: Any) -> Shard:
        """Make a shard. depends: all that it depends on, of which its key is a hash."""
        return Shard(kind, hashed(depends), **self.state | more)

    def chunks(self, indices: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Split some questions into those of each shard, in order. The grid's shard size must be a number."""
        size = self.grid.shard_size
        assert size is not None
        for first in range(0, len(indices), size):
            yield tuple(indices[first : first + size])

    def fit_of(self, explainer: Explainer) -> str:
        """Return what an explainer's settings say of its fit to the model; "" without one."""
        identity = (self.model.key, self.model.revision, repr(explainer))
        return "".join(f" fit {fit.digest}" for fit in self.grid.fits if fit.identity == identity)

    def identity_of(self, explainer: Explainer) -> str:
        """Return what its scores depend on beside the prompt: its settings, its code if it is one's own, its parameters."""
        return f"{catalogue.identity('explainer', explainer)}{self.fit_of(explainer)}"

    def names_of(self, regime: str) -> str:
        """Return the digest of documents' names, which differ under d3, and which the fingerprint does not cover; ""
        elsewhere.
        """
        return self.questions.pool.names_digest if read_key(regime).decoy == "d3" else ""

    def first_prompts(self, regime: str) -> list[TokenisedPrompt]:
        """Tokenise the prompts of a regime's first SAMPLE questions, without those that are dropped."""
        identity = self.model.identity
        tokenizer, prompts = _tokenizer(identity), []

        def tokenised(instance: Instance) -> TokenisedPrompt:
            return tokenise(prompt_of(instance, identity.template), tokenizer)

        for index, fact in enumerate(self.questions.facts[:SAMPLE]):
            if isinstance(fact, Quoted):
                prompts.append(_with_answer(fact, identity))
                continue
            try:
                instance = regimes.build(fact, regime, self.questions.pool, self.grid.seed, style_of(identity), index)
                prompts.append(tokenised(fitted(instance, fact.answer, lambda padded: len(tokenised(padded).ids))))
            except Dropped:
                continue
        return prompts

    def question_tokens(self) -> float:
        """Return the mean length of the first prompts without documents."""
        identity = self.model.identity
        prompts = (memory_prompt(fact.question, identity.template) for fact in self.questions.facts[:SAMPLE])
        return mean([len(tokenise(prompt, _tokenizer(identity)).ids) for prompt in prompts] or [0])

    def tokens(self, regime: str) -> float:
        """Return the mean length of a regime's first prompts; 0 if none can be made."""
        return mean([len(prompt.ids) for prompt in self.first_prompts(regime)] or [0])


_tokenizer = lru_cache(maxsize=8)(loading.tokenizer_of)


def _with_answer(answer: Quoted, model: loading.Identity) -> TokenisedPrompt:
    prompt = assemble(answer.documents, (None,) * len(answer.documents), answer.question, model.template)
    return tokenise(dataclasses.replace(prompt, text=f"{prompt.text} {answer.answer}"), _tokenizer(model))


class Problems(Protocol):
    """Who is told of what cannot be done, while the rest goes on."""

    def say(self, text: str) -> None: ...
    def failed(self, error: HEvalError, **where: Any) -> None:
        """Report an error. where: what is known of model, dataset and explainer; at_loading, of models that cannot be had."""


def pairs(grid: Grid, store: ShardStore, problems: Problems) -> Iterator[Pair]:
    """Yield the models and datasets of a grid, as far as each can do it. What cannot be read costs only itself."""
    known: dict[str, str] = {}

    @cache
    def read(dataset: str, style: PromptStyle) -> Questions | None:
        try:
            return load_questions(dataset, grid.limit, grid.seed, style)
        except HEvalError as error:
            problems.failed(error, dataset=dataset)
            return None

    for name in grid.models:
        try:
            identity = loading.identify(name)
            model = Model(name, loading.in_template(identity, grid.template) if grid.template else identity)
            known[name] = model.key
            check_apart("model", list(known.items()))
            for dataset in grid.datasets:
                if questions := read(dataset, style_of(identity)):
                    pair = Pair(grid, model, questions)
                    check_known(store, pair.origins)
                    for able in (_with_regimes, _readable, _fitted, _reading):
                        pair = able(pair, problems)
                    if pair.grid.regimes:
                        yield pair.with_options(shard_size=shard_size(pair, store))
        except SameName:
            raise
        except HEvalError as error:
            problems.failed(error, model=name, at_loading=True)


def _reading(pair: Pair, problems: Problems) -> Pair:
    """Select of answers that people wrote those that the model can read; what is left out is said. Without --answers, none."""
    identity, facts = pair.model.identity, pair.questions.facts
    if not (facts and isinstance(facts[0], Quoted)):
        return pair
    if not pair.grid.answers:
        raise HEvalError(f"{pair.questions.dataset} has answers that people wrote; give --answers, and a model reads them.")
    most = _positions(identity)
    short = tuple(fact for fact in facts if isinstance(fact, Quoted) and len(_with_answer(fact, identity).ids) <= most)
    if len(short) < len(facts):
        left_out = f"left out: {len(facts) - len(short)} of {len(facts)} answers of {pair.questions.dataset}, which are longer"
        problems.say(f"{identity.key} reads {most:,} tokens at most; {left_out}")
    pair = dataclasses.replace(pair, questions=dataclasses.replace(pair.questions, facts=short))
    size = pair.grid.shard_size or ANSWERS
    return pair.with_options(
        regimes=(PEOPLE,) if short else (), techniques=(), randomised=False, bounds=False, timing=False, shard_size=size
    )


def _with_regimes(pair: Pair, problems: Problems) -> Pair:
    """Put the regime of a data set that gives answers twice in place of others; what is not asked is said."""
    regimes = pair.questions.asked_in(pair.grid.regimes)
    if not pair.questions.said_twice:
        return pair
    beside = {"whole answers": pair.grid.answers, "techniques": pair.grid.techniques}
    left_out = [*(key for key in pair.grid.regimes if key not in regimes), *(name for name, given in beside.items() if given)]
    if left_out:
        where = f"{pair.questions.dataset} gives answers twice, and is asked in {', '.join(regimes)}"
        problems.say(f"{where}; left out: {', '.join(left_out)}")
    return pair.with_options(regimes=regimes, answers=False, techniques=())


def _readable(pair: Pair, problems: Problems) -> Pair:
    """Leave out the lengths that are beyond the model's positions; they are said, in one line.

    Raises HEvalError for a configuration that cannot be read.
    """
    regimes, model = pair.grid.regimes, pair.model.identity
    lengths = {regime: length for regime in regimes if (length := read_key(regime).length)}
    most = _positions(model) if lengths else math.inf
    beyond = [regime for regime, length in lengths.items() if length > most]
    if beyond:
        problems.say(f"{model.key} reads {most:,} tokens at most; left out: {', '.join(beyond)}")
    return pair.with_options(regimes=tuple(regime for regime in regimes if regime not in beyond))


def _positions(model: loading.Identity) -> float:
    """Return how many tokens a model reads at most; its weights are not loaded. Raises HEvalError if no file can be read."""
    try:
        return getattr(AutoConfig.from_pretrained(**model.where), "max_position_embeddings", None) or math.inf
    except Exception as error:  # from_pretrained raises nearly every class there is, for many reasons
        raise faults.cannot_load(model.key, error, model.path) from error


def shard_size(pair: Pair, store: ShardStore) -> int:
    """Return the grid's own number if it has one, else that of the store's shards of these questions, which stay valid so; or
    50.
    """
    if pair.grid.shard_size is not None:
        return pair.grid.shard_size
    before = [line for line in store.journal("state") if pair.state.items() <= line.items()]
    return int(before[-1].get("shard_size", SIZE)) if before else SIZE


def needing(keys: Iterable[str]) -> list[Fitted]:
    """Select those of some explainers that are fitted first."""
    explainers = (catalogue.find("explainer", key) for key in keys)
    return [explainer for explainer in explainers if catalogue.needs_fit(explainer)]


def with_fits(request: Requested, store: Path) -> Requested:
    """Add the existing fits for a grid's explainers to its own. Raises HEvalError for a damaged one."""
    if not isinstance(request, Grid) or not (explainers := needing(request.explainers)):
        return request
    by_identity = {fit.identity: fit for fit in request.fits}
    for fit in fits.stored(fits.folders(store)):
        if fit.settings in map(repr, explainers):
            by_identity.setdefault(fit.identity, fit)
    return dataclasses.replace(request, fits=tuple(by_identity.values()))


def _fitted(pair: Pair, problems: Problems) -> Pair:
    """Leave out the explainers that are not fitted to the model, or were on these questions; why is said."""
    model, keys = pair.model.identity, list(pair.grid.explainers)
    for explainer in needing(keys):
        try:
            _check_unseen(fits.find(pair.grid.fits, explainer, model.key, model.revision), pair.questions)
        except HEvalError as error:
            problems.failed(error, model=model.key, dataset=pair.questions.dataset, explainer=explainer.key)
            keys = [key for key in keys if key != explainer.key]
    return pair.with_options(explainers=tuple(keys))


def _check_unseen(fit: Fit, questions: Questions) -> None:
    learned = set(fit.questions)
    first = next((index for index, fact in enumerate(questions.facts) if fits.question_hash(fact.question) in learned), None)
    if first is not None:
        raise HEvalError(
            f"{fit.explainer} was fitted to {fit.model} on questions of this run, the first of which is number {first + 1:,} "
            f"of {questions.dataset}; use --limit {first}, or fit it again with --limit {len(questions.facts)} or more"
        )
