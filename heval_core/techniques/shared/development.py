"""The search for a technique's setting: what it is given, what it tries, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from heval_core.records import Instance, Prompt

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel

Found = TypeVar("Found")


@dataclass(frozen=True)
class Setting:
    """What a technique is run with. text: JSON, empty if there is nothing to choose. weights: a trained adapter's file."""

    text: str = ""
    weights: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class Asked:
    """The prompt that gives the answer. trace: what was asked and answered before it, as JSON; None if nothing was."""

    prompt: Prompt
    trace: str | None = None


@dataclass(frozen=True)
class Question:
    """An instance with the tokens that count as its answers, for one model.

    accepted: first tokens of the answer that the document promotes. memory_id: Regular's own next token without documents.
    """

    instance: Instance
    accepted: tuple[int, ...]
    memory_id: int


@dataclass(frozen=True)
class Development:
    """A model, and the development questions by context kind; a kind that was not asked for is absent.

    known: what was found out about the model with these questions; see `once`.
    """

    lm: LanguageModel
    dataset: str
    questions: Mapping[str, tuple[Question, ...]]
    seed: int = 0
    known: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, what: Hashable, find: Callable[[], Found]) -> Found:
        """What several variants of a technique need: the first that asks finds it out, the others are given the same."""
        if what not in self.known:
            self.known[what] = find()
        found: Found = self.known[what]
        return found


@dataclass(frozen=True)
class Trial:
    """One setting on the development questions. bcu, n: by context kind."""

    setting: Setting
    bcu: Mapping[str, float]
    n: Mapping[str, int]

    @property
    def mean(self) -> float:
        """Over the kinds; each counts the same."""
        return sum(self.bcu.values()) / len(self.bcu)

    @property
    def faithfulness(self) -> float:
        """Over gold and conflicting, or the one of them that there is; NaN without either."""
        of = [self.bcu[kind] for kind in ("gold", "conflicting") if kind in self.bcu]
        return sum(of) / len(of) if of else float("nan")
