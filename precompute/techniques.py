"""Techniques as an axis of the grid: which are asked for and with what each is run, and their answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from heval_core import catalogue
from heval_core.behaviour import accepted_tokens, answer_target, observe
from heval_core.lm.batches import last_logits
from heval_core.lm.model import LanguageModel
from heval_core.pipeline import Answered, Prepared
from heval_core.protocols import Technique
from heval_core.records import FOLLOWED, SPLITS, TECHNIQUE, TokenisedPrompt
from heval_core.techniques.shared.base import Setting
from precompute.memory import memory_ids

# One question of so many is a development question.
DEVELOPMENT_SHARE = 4
DEVELOPMENT, TEST = SPLITS


def split_of(question: str) -> str:
    """Development or test, by a fixed hash of the question's text: all of a question's instances are on one side."""
    digest = hashlib.blake2b(question.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return DEVELOPMENT if int.from_bytes(digest, "big") % DEVELOPMENT_SHARE == 0 else TEST


@dataclass(frozen=True)
class Chosen:
    """A technique, or a variant of one, and the setting it is run with."""

    key: str = TECHNIQUE
    setting: Setting = Setting()

    @property
    def technique(self) -> Technique:
        return catalogue.find("technique", self.key)

    @property
    def keyed(self) -> dict[str, Any]:
        """What it adds to the keys of its shards: nothing for Regular."""
        if self.key == TECHNIQUE:
            return {}
        weights = hashlib.sha256(self.setting.weights).hexdigest() if self.setting.weights else ""
        return {"technique": repr(self.technique), "setting": self.setting.text, "weights": weights}

    def within(self, settings: str) -> str:
        """What `Entry.settings` is under it: answers under two settings of a technique must never be published together."""
        if not self.setting.text and not self.setting.weights:
            return settings
        return f"{settings}.{hashlib.sha256(self.setting.text.encode() + self.setting.weights).hexdigest()[:8]}"


@dataclass(frozen=True)
class Arrangement:
    """What is answered in one pass: by a technique that changes model or prompt (or by Regular, which changes neither), and
    by those that only combine the logits of Regular's two passes.

    compared: whether techniques are compared at all, so that behaviours are stored.
    """

    main: Chosen = Chosen()
    decoding: tuple[Chosen, ...] = ()
    compared: bool = False

    @property
    def all(self) -> tuple[Chosen, ...]:
        return (self.main, *self.decoding)


PLAIN = Arrangement()


def asked_for(techniques: Iterable[str]) -> tuple[str, ...]:
    """The techniques that are run: those named, and Regular before them, for all are compared with it."""
    return tuple(dict.fromkeys((TECHNIQUE, *techniques)))


def plain(key: str) -> str:
    """The technique of which a key names a variant: ph3 for ph3(mode=memory)."""
    return key.partition("(")[0]


def is_searched(technique: Technique) -> bool:
    """Whether something must be found out with the model before the technique can answer: a setting, or that it applies."""
    return bool(technique.preparation or technique.needs)


def arrangements(techniques: tuple[str, ...], found: Mapping[str, Setting]) -> tuple[Arrangement, ...]:
    """How the answers of a grid are produced. found: the settings that are known; techniques that wait for theirs are left
    out, and so are those that are unavailable."""
    if not techniques:
        return (PLAIN,)
    known = [Chosen(key, found.get(key, Setting())) for key in asked_for(techniques)]
    ready = [one for one in known if one.key in found or not is_searched(one.technique)]
    sharing = tuple(one for one in ready if one.technique.family == "decoding")
    others = [one for one in ready if one.technique.family not in ("none", "decoding")]
    return (Arrangement(Chosen(), sharing, True), *(Arrangement(one, (), True) for one in others))


class UnderTechniques:
    """What the answers of one job share: Regular's memory, and the logits without documents.

    lm: the unchanged model, of which Regular's own next token is asked; where Regular answers, its own pass says it.
    """

    def __init__(self, arrangement: Arrangement, lm: LanguageModel, prepared: Sequence[Prepared]):
        self._main = arrangement.main
        self._memory: dict[str, int] = {}
        if self._main.key != TECHNIQUE:
            ids = memory_ids(lm, [one.instance.question for one in prepared])
            self._memory = {one.instance.id: token for one, token in zip(prepared, ids, strict=True)}
        self._accepted = {one.instance.id: accepted_tokens(lm, one.instance) for one in prepared}
        self._true = {one.instance.id: _true_tokens(lm, one) for one in prepared}
        self._alone: dict[str, torch.Tensor] = {}
        self._traces: dict[str, str | None] = {}

    def ask(self, lm: LanguageModel, prepared: Sequence[Prepared]) -> list[Prepared]:
        """The prompts of the main technique, and the passes without documents. lm: the model that answers."""
        technique, instances = self._main.technique, [one.instance for one in prepared]
        alone = [lm.tokenise(prompt) for prompt in technique.alone(lm, instances, self._main.setting)]
        for one, logits in zip(prepared, last_logits(lm, alone), strict=True):
            self._alone[one.instance.id] = logits
        if self._main.key == TECHNIQUE:
            self._memory = {identity: int(logits.argmax()) for identity, logits in self._alone.items()}
            return list(prepared)
        asked = technique.asked(lm, instances, self._main.setting)
        self._traces = {one.instance.id: each.trace for one, each in zip(prepared, asked, strict=True)}
        prompts = [lm.tokenise(each.prompt, check_length=False) for each in asked]
        return [_with_prompt(one, prompt, lm.positions) for one, prompt in zip(prepared, prompts, strict=True)]

    def _logits_alone(self, answered: Answered) -> torch.Tensor:
        """(B, V) without documents."""
        return torch.stack([self._alone[one.instance.id] for one in answered.prepared])

    def decoded(self, chosen: Chosen, answered: Answered) -> Answered:
        """The answers of a technique that combines the logits of this pass with those without documents."""
        scores = self._scores(chosen, answered)
        lm, each = answered.clean.lm, zip(scores, answered.prepared, answered.behaviours, strict=True)
        behaviours = tuple(observe(lm, own, one.names, behaviour.memory_answer) for own, one, behaviour in each)
        targets = tuple(answer_target(own, behaviour) for own, behaviour in zip(scores, behaviours, strict=True))
        return replace(answered, behaviours=behaviours, targets=targets)

    def _scores(self, chosen: Chosen, answered: Answered) -> torch.Tensor:
        """(B, V) whose softmax is the distribution of the technique's answer."""
        scores: torch.Tensor = chosen.technique.combined(answered.clean.logits, self._logits_alone(answered), chosen.setting)
        return scores

    def rows(self, chosen: Chosen, answered: Answered) -> list[dict[str, Any]]:
        """A row for each instance, without its id."""
        alone = self._logits_alone(answered)
        with_context = self._scores(chosen, answered).double().log_softmax(-1)
        without: torch.Tensor = chosen.technique.combined(alone, alone, chosen.setting).double().log_softmax(-1)
        return [self._row(chosen, one, with_context[index], without[index]) for index, one in enumerate(answered.prepared)]

    def _row(self, chosen: Chosen, one: Prepared, with_context: torch.Tensor, alone: torch.Tensor) -> dict[str, Any]:
        instance = one.instance
        accepted, true = self._accepted[instance.id], self._true[instance.id]
        target = memory_id = self._memory[instance.id]
        if instance.regime in FOLLOWED:
            # Of several accepted first tokens the one that is likelier in context.
            target = max(accepted, key=lambda token: float(with_context[token]))
        return {
            "split": split_of(instance.question),
            "accepted": list(accepted),
            "true_ids": list(true),
            "memory_id": memory_id,
            "alone_id": int(alone.argmax()),
            "target_id": target,
            "probability": float(with_context[target].exp()),
            "alone_probability": float(alone[target].exp()),
            "knew": memory_id in true if true else None,
            "setting": chosen.setting.text,
            "trace": self._traces.get(instance.id),
        }


def _true_tokens(lm: LanguageModel, one: Prepared) -> tuple[int, ...]:
    answers = (one.instance.true_answer, *one.instance.accepted)
    return tuple(dict.fromkeys(token for answer in answers if answer for token in lm.first_tokens(answer)))


def _with_prompt(one: Prepared, prompt: TokenisedPrompt, positions: int) -> Prepared:
    too_long = "prompt too long" if len(prompt.ids) > positions else None
    return replace(one, prompt=prompt, dropped_because=too_long)
