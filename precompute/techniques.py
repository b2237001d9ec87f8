"""Techniques as an axis of the grid: which are asked for, with which settings, and their answers."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from heval_core.explaining.behaviour import accepted_tokens, answer_target, observe
from heval_core.explaining.pipeline import Answered, Prepared, of_equal_length
from heval_core.lm.batches import last_logits, memory_tokens
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Technique
from heval_core.records import FOLLOWED, SPLITS, TECHNIQUE
from heval_core.techniques.shared.base import Setting
from precompute.task import ShardRow

# One question of so many is a development question.
DEVELOPMENT_SHARE = 4
DEVELOPMENT, TEST = SPLITS


def split_of(question: str) -> str:
    """Assign a question to development or test, by a fixed hash of its text: all of a question's instances are on one side."""
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
        return {"technique": catalogue.identity("technique", self.technique), "setting": self.setting.text, "weights": weights}

    def within(self, settings: str) -> str:
        """Return `Entry.settings` under this choice: answers under two settings of a technique must never be published
        together.
        """
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


def plain(key: str) -> str:
    """Return the technique of which a key names a variant: ph3 for ph3(mode=memory)."""
    return key.partition("(")[0]


def is_searched(technique: Technique) -> bool:
    """Return whether a search with the model must come before the technique can answer: for a setting, or whether it
    applies.
    """
    return bool(technique.preparation or technique.needs)


def arrangements(techniques: tuple[str, ...], settings: Mapping[str, Setting]) -> tuple[Arrangement, ...]:
    """Return how the answers of a grid are produced.

    settings: those that are known; techniques that wait for theirs are left out, and so are those that are unavailable.
    """
    if not techniques:
        return (PLAIN,)
    # Regular comes before those that are named, for all are compared with it.
    known = [Chosen(key, settings.get(key, Setting())) for key in dict.fromkeys((TECHNIQUE, *techniques))]
    ready = [chosen for chosen in known if chosen.key in settings or not is_searched(chosen.technique)]
    sharing = tuple(chosen for chosen in ready if chosen.technique.family == "decoding")
    others = [chosen for chosen in ready if chosen.technique.family not in ("none", "decoding")]
    return (Arrangement(Chosen(), sharing, True), *(Arrangement(chosen, (), True) for chosen in others))


class UnderTechniques:
    """What the answers of one job share: Regular's memory, and the logits without documents.

    lm: the unchanged model, of which Regular's own next token is asked; where Regular answers, its own pass says it.
    """

    def __init__(self, arrangement: Arrangement, lm: LanguageModel, prepared: Sequence[Prepared]):
        self._main = arrangement.main
        known = {}
        if self._main.key != TECHNIQUE:
            known = memory_tokens(lm, (one.instance.question for one in prepared))
        # By instance: columns of its row under every technique, and its logits without documents.
        self._columns = {
            one.instance.id: {
                "split": split_of(one.instance.question),
                "accepted": list(accepted_tokens(lm, one.instance)),
                "true_ids": _true_tokens(lm, one),
                "memory_id": known.get(one.instance.question),
            }
            for one in prepared
        }
        self._alone: dict[str, torch.Tensor] = {}
        # By technique: the last pass that it decoded, and its scores.
        self._decoded: dict[str, tuple[CleanPass, torch.Tensor]] = {}

    def ask(self, lm: LanguageModel, prepared: Sequence[Prepared]) -> list[Prepared]:
        """Return the prompts of the main technique; run the passes without documents. lm: the model that answers."""
        technique, instances = self._main.technique, [one.instance for one in prepared]
        alone = [lm.tokenise(prompt) for prompt in technique.prompts_alone(lm, instances, self._main.setting)]
        for one, logits in zip(prepared, last_logits(lm, alone), strict=True):
            self._alone[one.instance.id] = logits
            if self._main.key == TECHNIQUE:
                self._columns[one.instance.id]["memory_id"] = int(logits.argmax())
        if self._main.key == TECHNIQUE:
            return list(prepared)
        ready = []
        for one, final in zip(prepared, technique.prompts(lm, instances, self._main.setting), strict=True):
            self._columns[one.instance.id]["trace"] = final.trace
            prompt = lm.tokenise(final.prompt, check_length=False)
            too_long = "prompt too long" if len(prompt.ids) > lm.positions else None
            ready.append(replace(one, prompt=prompt, dropped_because=too_long))
        return ready

    def _logits_alone(self, answered: Answered) -> torch.Tensor:
        """Return logits without documents, (B, V)."""
        return torch.stack([self._alone[prepared.instance.id] for prepared in answered.prepared])

    def decoded(self, chosen: Chosen, answered: Answered) -> Answered:
        """Return the answers of a technique that combines the logits of this pass with those without documents."""
        scores = self._scores(chosen, answered)
        lm, triples = answered.clean.lm, zip(scores, answered.prepared, answered.behaviours, strict=True)
        behaviours = tuple(observe(lm, row, prepared.names, behaviour.memory_answer) for row, prepared, behaviour in triples)
        targets = tuple(answer_target(row, behaviour) for row, behaviour in zip(scores, behaviours, strict=True))
        return replace(answered, behaviours=behaviours, targets=targets)

    def _scores(self, chosen: Chosen, answered: Answered) -> torch.Tensor:
        """Return scores, (B, V), whose softmax is the distribution of the technique's answer; computed once for a pass."""
        clean = answered.clean
        if chosen.key not in self._decoded or self._decoded[chosen.key][0] is not clean:
            technique, scores = chosen.technique, list[torch.Tensor]()
            for part in of_equal_length(answered):  # a technique may explain prompts, which are then of one length
                seeing = technique.seeing(part.clean, [chosen.setting])
                scores.append(seeing.combined(part.clean.logits, self._logits_alone(part), chosen.setting))
            self._decoded[chosen.key] = clean, torch.cat(scores)
        return self._decoded[chosen.key][1]

    def forget(self) -> None:
        """Let go of the last pass, whose keys and values take memory."""
        self._decoded.clear()

    def rows(self, chosen: Chosen, answered: Answered) -> list[ShardRow]:
        """Make a row for each instance, without its id."""
        alone = self._logits_alone(answered)
        with_context = self._scores(chosen, answered).double().log_softmax(-1)
        without: torch.Tensor = chosen.technique.combined(alone, alone, chosen.setting).double().log_softmax(-1)
        return [self._row(chosen, one, with_context[index], without[index]) for index, one in enumerate(answered.prepared)]

    def _row(self, chosen: Chosen, prepared: Prepared, with_context: torch.Tensor, alone: torch.Tensor) -> ShardRow:
        columns: ShardRow = self._columns[prepared.instance.id]
        target, true = columns["memory_id"], columns["true_ids"]
        if prepared.instance.regime in FOLLOWED:
            # Of several accepted first tokens the one that is likelier in context.
            target = max(columns["accepted"], key=lambda token: float(with_context[token]))
        return columns | {
            "alone_id": int(alone.argmax()),
            "target_id": target,
            "probability": float(with_context[target].exp()),
            "alone_probability": float(alone[target].exp()),
            "knew": columns["memory_id"] in true if true else None,
            "setting": chosen.setting.text,
        }


def _true_tokens(lm: LanguageModel, prepared: Prepared) -> list[int]:
    answers = (prepared.instance.true_answer, *prepared.instance.accepted)
    return list(dict.fromkeys(token for answer in answers if answer for token in lm.first_tokens(answer)))
