"""What most techniques have in common: the model as it is, the usual two prompts, the logits with context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heval_core.prompts import assemble, prompt_of
from heval_core.records import Instance, Prompt
from heval_core.techniques.shared.development import Asked, Development, Setting, Trial

if TYPE_CHECKING:
    import torch

    from heval_core.lm.model import LanguageModel

NOTHING = Setting()


class Base:
    """A technique that changes nothing: subclasses change one of the four steps.

    reference, title, key, family, order, needs, passes and preparation are declared by each technique; see
    `heval_core.protocols.Technique`.
    """

    key: str
    needs: tuple[str, ...] = ()
    passes = 1.0
    preparation = ""

    def settings(self, development: Development) -> Sequence[Setting]:
        """What the search tries on the development questions; only NOTHING where there is nothing to search."""
        return (NOTHING,)

    def reads(self) -> str:
        """A hash of a file that `settings` reads, which is part of the search's key; empty if it reads none."""
        return ""

    def best(self, trials: Sequence[Trial]) -> tuple[int, ...]:
        """The indices of the settings that are best by the method's own rule, the first of which is used."""
        return best_by(trials, lambda trial: trial.mean)

    @contextmanager
    def applied(self, lm: LanguageModel, setting: Setting) -> Iterator[LanguageModel]:
        """The model that answers. Whatever happens inside, the model given is as before afterwards."""
        yield lm

    def asked(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[Asked]:
        """The prompt of each instance, with its documents. lm: the model that answers, which may be asked first."""
        return [Asked(prompt_with(instance, lm.template)) for instance in instances]

    def alone(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[Prompt]:
        """The prompt of each instance without its documents."""
        return [assemble((), (), instance.question, lm.template) for instance in instances]

    def combined(self, z_c: torch.Tensor, z_0: torch.Tensor, setting: Setting) -> Any:
        """(B, V) logits with context and without ▶ (B, V) scores whose softmax is the answer's distribution."""
        return z_c

    def combined_by(self, z_c: torch.Tensor, z_0: torch.Tensor, settings: Sequence[Setting]) -> Iterator[Any]:
        """`combined` under each of several settings, as a search needs it."""
        return (self.combined(z_c, z_0, setting) for setting in settings)


def prompt_with(instance: Instance, template: str) -> Prompt:
    """The prompt of an instance with its documents."""
    return prompt_of(instance, template)


def best_by(trials: Sequence[Trial], value: Any) -> tuple[int, ...]:
    """The indices of the trials with the highest value; those within rounding of it tie."""
    values = [value(trial) for trial in trials]
    return tuple(index for index, one in enumerate(values) if one >= max(values) - 1e-12)
