"""What techniques have in common: a technique that changes nothing, the search for a setting, formulas on arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from heval_core.prompting.prompts import assemble, prompt_of
from heval_core.records import Cost, Instance, Prompt

if TYPE_CHECKING:
    import torch

    from heval_core.lm import clean_pass, model

T = TypeVar("T")
# Named without importing torch.
LanguageModel: TypeAlias = "model.LanguageModel"
CleanPass: TypeAlias = "clean_pass.CleanPass"
Tensor: TypeAlias = "torch.Tensor"


@dataclass(frozen=True)
class Setting:
    """What a technique is run with. text: JSON, empty if there is nothing to choose. weights: a trained adapter's file."""

    text: str = ""
    weights: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class FinalPrompt:
    """The prompt that gives the answer. trace: what was asked and answered before it, as JSON; None if nothing was."""

    prompt: Prompt
    trace: str | None = None


@dataclass(frozen=True)
class Answerable:
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
    questions: Mapping[str, tuple[Answerable, ...]]
    seed: int = 0
    known: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, what: Hashable, find: Callable[[], T]) -> T:
        """Compute what several variants of a technique need once: the first that asks computes it, the others get the same."""
        if what not in self.known:
            self.known[what] = find()
        result: T = self.known[what]
        return result


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
        values = [self.bcu[kind] for kind in ("gold", "conflicting") if kind in self.bcu]
        return sum(values) / len(values) if values else float("nan")


NOTHING = Setting()


class Base:
    """A technique that changes nothing: subclasses change one of four steps, and declare what `protocols.Technique` lists."""

    key: str
    preparation = ""

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    @property
    def passes(self) -> float:
        return 1.0

    @property
    def preparing(self) -> float:
        """Return the passes over a development prompt that precede the first answer; a search for logits needs both, once."""
        return 2.0 if self.preparation else 0.0

    def settings(self, development: Development) -> Sequence[Setting]:
        """List what the search tries on the development questions; only NOTHING where there is nothing to search."""
        return (NOTHING,)

    def reads(self) -> str:
        """Hash the file that `settings` reads, which is part of the search's key; empty if it reads none."""
        return ""

    def best(self, trials: Sequence[Trial]) -> tuple[int, ...]:
        """Return the indices of the settings that are best by the method's own rule, the first of which is used."""
        return best_by(trials, lambda trial: trial.mean)

    @contextmanager
    def applied(self, lm: LanguageModel, setting: Setting) -> Iterator[LanguageModel]:
        """Yield the model that answers. Whatever happens inside, the model given is as before afterwards."""
        yield lm

    def prompts(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[FinalPrompt]:
        """Return the prompt of each instance, with its documents. lm: the model that answers, which may be asked first."""
        return [FinalPrompt(prompt_of(instance, lm.template)) for instance in instances]

    def prompts_alone(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[Prompt]:
        """Return the prompt of each instance without its documents."""
        return [assemble((), (), instance.question, lm.template) for instance in instances]

    def combined(self, z_c: Tensor, z_0: Tensor, setting: Setting) -> Any:
        """Combine (B, V) logits with context and without ▶ (B, V) scores whose softmax is the answer's distribution."""
        return z_c

    def combined_by(self, z_c: Tensor, z_0: Tensor, settings: Sequence[Setting]) -> Iterator[Any]:
        """Apply `combined` under each of several settings, as a search needs it."""
        return (self.combined(z_c, z_0, setting) for setting in settings)

    def seeing(self, clean: CleanPass, settings: Sequence[Setting]) -> Any:
        """Look at the pass with documents, once for all settings ▶ what combines its logits, as the technique itself does.

        Without documents there is nothing to look at, and the technique itself combines.
        """
        return self

    def looking(self, tokens: float) -> Cost:
        """Return what `seeing` costs for a prompt of so many tokens, beyond the pass that it looks at."""
        return Cost(0, 0)


class Looked(Base):
    """What a technique combines logits by after it has looked at their pass. formula: as `combined`."""

    def __init__(self, formula: Callable[[Tensor, Tensor, Setting], Any]):
        self._formula = formula

    def combined(self, z_c: Tensor, z_0: Tensor, setting: Setting) -> Any:
        return self._formula(z_c, z_0, setting)


def best_by(trials: Sequence[Trial], value: Any) -> tuple[int, ...]:
    """Return the indices of the trials with the highest value; those within rounding of it tie."""
    values = [value(trial) for trial in trials]
    return tuple(index for index, score in enumerate(values) if score >= max(values) - 1e-12)


def divergence(z_c: Tensor, z_0: Tensor) -> Tensor:
    """Compute the Jensen-Shannon divergence of the two distributions, (…, 1), in nats."""
    p, q = z_c.softmax(-1), z_0.softmax(-1)
    middle = (p + q) / 2
    return ((p.xlogy(p) + q.xlogy(q)) / 2 - middle.xlogy(middle)).sum(-1, keepdim=True).clamp_min(0)


def on_arrays(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Make a formula of the two logits (…, V), with context and without, take arrays, nested lists or tensors.

    Raises ValueError if their shapes differ. Computed and given back in float64: a sharp distribution's entropy, and which
    tokens stand at the edge of an interval, are below the rounding of float32.
    """

    @wraps(formula)
    def given(z_c: Any, z_0: Any, *options: Any, **named: Any) -> Any:
        import torch

        from heval_core.lm.targets import in_float64

        as_arrays = not isinstance(z_c, torch.Tensor)
        with_context, without = (in_float64(torch.as_tensor(logits)) for logits in (z_c, z_0))
        if with_context.shape != without.shape or not with_context.ndim:
            raise ValueError(
                f"The logits with context and without must have the same shape (…, V); they have {tuple(with_context.shape)} "
                f"and {tuple(without.shape)}."
            )
        scores = formula(with_context, without, *options, **named)
        return scores.numpy() if as_arrays else scores

    return given
