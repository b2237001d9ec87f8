"""Techniques as an axis of the grid: which are asked for, what each is run with, and which of them share their passes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from heval_core import catalogue
from heval_core.protocols import Technique
from heval_core.records import SPLITS, TECHNIQUE
from heval_core.techniques.shared.development import Setting

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
