"""What each kind of plug-in declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from heval_core.records import Attribution, Cost, Instance, Prompt, Target

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import numpy as np

    from heval_core.citations.records import Choice, Claim, Question
    from heval_core.citations.speaker import Selection, Speaker
    from heval_core.datasets._reading import BadRecord, Record
    from heval_core.lm.clean_pass import CleanPass
    from heval_core.lm.model import LanguageModel
    from heval_core.metrics.shared.cell import Cell
    from heval_core.metrics.shared.measure import Measure
    from heval_core.records.stored_instances import PlainPrompt
    from heval_core.statistics.values import Each, Value
    from heval_core.techniques.shared.base import Development, FinalPrompt, Setting, Trial

FAMILIES = ("perturbation", "gradient", "attention", "mechanistic", "control")  # how an explainer gets at its scores
# What a technique changes, and what it is called on pages.
TECHNIQUE_FAMILIES = {
    "none": "Regular",
    "decoding": "decoding",
    "prompt": "prompt",
    "heads": "heads pruned",
    "training": "training",
    "calls": "several calls",
}
# How an annotator comes to its choice, and what it reads with.
ANNOTATOR_FAMILIES = {"people": "people", "reader": "reader model", "explainer": "explainer", "control": "control"}
READS = ("nothing", "speaker", "entailment", "model")


class Plugin(Protocol):
    """Every plug-in: a frozen dataclass of its settings. key: its name in commands, tables and links."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def reference(self) -> str: ...


class Dataset(Plugin, Protocol):
    """long: whether its documents are paragraphs, for which the paper explains fewer instances.

    It may have `parts`, and `said_twice = True` where its passages give two answers twice each: then it is asked under
    `conflicting.twice` alone. A data set that makes its facts by rule may have `listed()`, a Listing of them or None, so
    that a run of few questions need not make all.
    """

    @property
    def long(self) -> bool: ...
    def facts(self) -> Iterator[Record]:
        """Yield the facts. Raises HEvalError where the data is missing or foreign."""


class Explainer(Plugin, Protocol):
    """A method or a control. family: one of FAMILIES. signed: whether a score below 0 speaks against the answer.

    order: a number of its own among methods, or among controls, from 1. Pages list it there, and its colour has that number.
    It stays when another goes, which leaves a gap.
    """

    @property
    def family(self) -> str: ...
    @property
    def signed(self) -> bool: ...
    @property
    def control(self) -> bool: ...
    @property
    def order(self) -> int: ...


class Method(Explainer, Protocol):
    """An explainer that looks into a model.

    default: it runs when none is named. needs: what a model must offer, keys of `heval_core.lm.needs.NEEDS`.
    """

    @property
    def default(self) -> bool: ...
    @property
    def needs(self) -> tuple[str, ...]: ...
    def cost(self, tokens: float) -> Cost:
        """Return the cost for one prompt of `tokens` tokens."""

    def explain(self, clean: CleanPass, targets: Sequence[Target]) -> list[Attribution]:
        """Explain each prompt of the pass: one attribution for each."""


class Fitted(Method, Protocol):
    """A method whose parameters are fitted to a model before it explains; `heval_core.lm.fits` keeps them.

    needs_fit: True. `precompute fit` finds it by that, gives it prompts with other questions than any board shows, and keeps
    the array that `fitted` returns: `clean.lm.fits.of(self)` in `explain`. Its attributions' settings name the fit's hash.
    """

    @property
    def needs_fit(self) -> bool: ...
    def observed(self, clean: CleanPass, targets: Sequence[Target]) -> list[Any]:
        """Return what the fit learns from the prompts of a pass."""

    def fitted(self, observed: Sequence[Any]) -> np.ndarray:
        """Fit the parameters to what all passes gave."""


class Control(Explainer, Protocol):
    """An explainer that reads text only, as it is stored. Its scores are computed when results are published.

    control: True. A control that asks the model is a Method of the family `control`.
    """

    def scores(self, prompt: PlainPrompt) -> np.ndarray:
        """Score each token: (n,) float32."""


class Metric(Plugin, Protocol):
    """measures: the values of the metric that pages, comparisons and the report show. See `heval_core/metrics`."""

    @property
    def higher_is_better(self) -> bool: ...
    @property
    def uses_k(self) -> bool: ...
    @property
    def measures(self) -> tuple[Measure, ...]: ...
    def each(self, cell: Cell, k: int) -> list[Each]:
        """Compute values of instances."""

    def over(self, cell: Cell, k: int) -> list[Value]:
        """Compute values of the cell."""


class Technique(Plugin, Protocol):
    """How an answer is produced; see `heval_core/techniques`.

    family: a key of TECHNIQUE_FAMILIES. order: its number on pages, from 1, Regular first. needs: what a model must offer,
    keys of `heval_core.lm.needs.NEEDS`. passes: forward passes for an answer, Regular's being 1. preparation: what precedes
    the first answer: nothing, `tuned` or `trained`; preparing: its passes over each
    development prompt, of all settings. Variants of a technique that changes model or prompt answer alike under
    the same setting.
    """

    @property
    def family(self) -> str: ...
    @property
    def order(self) -> int: ...
    @property
    def needs(self) -> tuple[str, ...]: ...
    @property
    def passes(self) -> float: ...
    @property
    def preparation(self) -> str: ...
    @property
    def preparing(self) -> float: ...
    def settings(self, development: Development) -> Sequence[Setting]: ...
    def reads(self) -> str: ...
    def best(self, trials: Sequence[Trial]) -> tuple[int, ...]: ...
    def applied(self, lm: LanguageModel, setting: Setting) -> AbstractContextManager[LanguageModel]: ...
    def prompts(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[FinalPrompt]: ...
    def prompts_alone(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[Prompt]: ...
    def combined(self, z_c: Any, z_0: Any, setting: Setting) -> Any: ...
    def combined_by(self, z_c: Any, z_0: Any, settings: Sequence[Setting]) -> Iterator[Any]: ...
    def seeing(self, clean: CleanPass, settings: Sequence[Setting]) -> Any: ...
    def looking(self, tokens: float) -> Cost: ...


class ClaimData(Plugin, Protocol):
    """Claims with passages, and the explanations that came with them; see `heval_core/citations/claims`."""

    def claims(self) -> Iterator[Claim | BadRecord]:
        """Yield the claims. Raises HEvalError where the data is missing or foreign."""


class Selector(Plugin, Protocol):
    """Chooses the passages that a writer is given. asks: whether it asks a language model.

    order: its number on pages, from 1.
    """

    @property
    def order(self) -> int: ...
    @property
    def asks(self) -> bool: ...
    def select(self, claims: Sequence[Claim], speaker: Speaker | None) -> list[Selection]:
        """Select passages for each claim."""


class Annotator(Plugin, Protocol):
    """Says which sentences should cite a passage; see `heval_core/citations/annotators`.

    family: one of ANNOTATOR_FAMILIES. order: its number on pages, from 1; controls have theirs. model: what it reads with, a
    Hugging Face id or a folder; "" for the writer of the explanation, or for none. reads: one of READS, what `annotate` is
    given: None, a Speaker, an entailment model, or a LanguageModel.
    """

    @property
    def family(self) -> str: ...
    @property
    def order(self) -> int: ...
    @property
    def control(self) -> bool: ...
    @property
    def model(self) -> str: ...
    @property
    def reads(self) -> str: ...
    def annotate(self, questions: Sequence[Question], reader: Any) -> list[Choice]:
        """Choose sentences for each question, in their order. Questions about one explanation stand together."""
