"""One unmodified pass over prompts, with everything that explainers share of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import groupby

import torch

from heval_core.lm.batches import padded
from heval_core.lm.forward import Prefix
from heval_core.lm.heads import HeadReading, mean_rows
from heval_core.lm.model import LanguageModel
from heval_core.lm.path_patching import LastPositions
from heval_core.lm.rules import Rules
from heval_core.lm.shared_work import Clock, SharedWork
from heval_core.lm.targets import positions_of
from heval_core.records import HEvalError, Target, TokenisedPrompt


class CleanPass:
    """Prompts of equal length, and what their unmodified forward pass gives, each computed when it is first needed.

    prompts: B prompts of n tokens each; B = 1 for a prompt explained by itself. Of a padded pass n is the longest prompt's; it
    has what is read at each prompt's last position, and `of_equal_length` the rest.
    """

    def __init__(
        self,
        lm: LanguageModel,
        prompts: Sequence[TokenisedPrompt],
        now: Callable[[], float] = time.perf_counter,
        before: CleanPass | None = None,
        padded: bool = False,
    ):
        """Run the clean pass.

        now: the time in seconds. before: a pass over the beginnings of these prompts, which is continued. padded: whether the
        prompts may be of unequal length (see `forward`).
        """
        if not prompts or not padded and len({len(prompt.ids) for prompt in prompts}) != 1:
            raise HEvalError("The prompts of one pass must have the same number of tokens.")
        self.lm, self.prompts = lm, tuple(prompts)
        self._shared, self._before = SharedWork(now), before
        self._read_together: list[range] = []

    def clock(self) -> Clock:
        """Begin to time an explainer; see `shared_work`."""
        return Clock(self._shared, self.size)

    def alone(self, row: int) -> CleanPass:
        """Return the pass of one of the prompts. Logits, keys and values are those of this pass: nothing is run again."""
        return self.rows([row])

    def rows(self, rows: Sequence[int]) -> CleanPass:
        """Return the pass of some of the prompts, as `alone` does of one."""
        if list(rows) == list(range(self.size)):
            return self
        # Neighbours need no copy.
        part = slice(rows[0], rows[-1] + 1) if list(rows) == list(range(rows[0], rows[-1] + 1)) else list(rows)
        some = CleanPass(self.lm, [self.prompts[row] for row in rows], self._shared.now)
        (logits, prefix), n = self._passed, some.length
        layers = tuple((keys[part, :, :n], values[part, :, :n]) for keys, values in prefix.layers)
        some._shared.once("passed", lambda: (logits[part], Prefix(layers, logits[part])))
        return some

    @cached_property
    def of_equal_length(self) -> tuple[CleanPass, ...]:
        """Passes of neighbouring prompts of equal length, in their order; of one length, this pass itself.

        Logits, keys and values are those of this pass, and each prompt is charged as much of it as here.
        """
        if self.ends is None:
            return (self,)
        parts, start = list[CleanPass](), 0
        for _, alike in groupby(self.prompts, lambda prompt: len(prompt.ids)):
            stop = start + len(list(alike))
            parts.append(self.rows(range(start, stop)))
            parts[-1]._shared.seconds["passed"] = self._shared.seconds["passed"] * (stop - start) / self.size
            start = stop
        return tuple(parts)

    @property
    def size(self) -> int:
        """B"""
        return len(self.prompts)

    @property
    def length(self) -> int:
        """n"""
        return max(len(prompt.ids) for prompt in self.prompts)

    @cached_property
    def _padded(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        return padded(self.lm, [prompt.ids for prompt in self.prompts])

    @property
    def ids(self) -> torch.Tensor:
        """(B, n)"""
        return self._padded[0]

    @property
    def ends(self) -> torch.Tensor | None:
        """Each prompt's last position, (B,); None where all are equally long."""
        return self._padded[1]

    def read_at(self, positions: Sequence[int]) -> list[int]:
        """Return the positions that are read in any of the prompts, counted from the first token."""
        return [position % self.length for position in positions] if self.ends is None else self.ends.tolist()

    def _check_equal(self) -> None:
        if self.ends is not None:
            raise HEvalError("The prompts of this pass are of unequal length; take the passes `of_equal_length`.")

    @property
    def _passed(self) -> tuple[torch.Tensor, Prefix]:
        def work() -> tuple[torch.Tensor, Prefix]:
            logits, prefix = self.lm.forward.clean(self.ids, self._before and self._before.prefix, self.ends)
            return self.lm.forward.checked(logits), prefix

        return self._shared.once("passed", work)

    @property
    def logits(self) -> torch.Tensor:
        """(B, V) float32, of the last position. Raises HEvalError if they are not finite."""
        return self._passed[0]

    @property
    def prefix(self) -> Prefix:
        """The keys and values of the prompts."""
        return self._passed[1]

    def logits_at(self, positions: tuple[int, ...]) -> torch.Tensor:
        """Return logits at some positions, (B, P, V) float32. Raises HEvalError if they are not finite."""
        if positions == (-1,):
            return self.logits[:, None]
        self._check_equal()

        def work() -> torch.Tensor:
            start = min(position % self.length for position in positions) if self.prefix.layers else 0
            rows, ends = range(self.size), self.ids[:, start:]
            with torch.no_grad():
                logits = self.lm.forward.suffix_logits(self.prefix, start, ends, positions, rows)
            return self.lm.forward.checked(logits)

        return self._shared.once(f"logits at {positions}", work)

    def logits_of(self, targets: Sequence[Target]) -> torch.Tensor:
        """Return logits at the targets' positions, (B, P, V) float32; see `logits_at`."""
        return self.logits_at(positions_of(targets))

    def heads_at(self, position: int) -> HeadReading:
        """Return the heads' attention and outputs at one position."""
        self._check_equal()
        position %= self.length
        positions = next((span for span in self._read_together if position in span), range(position, position + 1))
        readings = self._shared.once(f"heads at {positions}", lambda: self.lm.heads.read_all(self.ids, self.prefix, positions))
        return readings[position - positions.start]

    def read_together(self, positions: Sequence[int]) -> None:
        """Read the heads at all of these positions, and between them, in one pass as soon as one is asked for."""
        indices = [position % self.length for position in positions]
        self._read_together.append(range(min(indices), max(indices) + 1))

    @property
    def heads(self) -> HeadReading:
        """The heads' attention and outputs at the last position."""
        return self.heads_at(-1)

    def heads_of(self, targets: Sequence[Target]) -> list[HeadReading]:
        """Return the heads at each of the targets' positions."""
        return [self.heads_at(position) for position in positions_of(targets)]

    def attention_of(self, targets: Sequence[Target], layers: int | slice = slice(None)) -> torch.Tensor:
        """Average the rows of attention at the targets' positions: (B, L, H, n), of one layer (B, H, n)."""
        return mean_rows([reading.attention[:, layers] for reading in self.heads_of(targets)], self.length)

    def direct_effects(self, targets: Sequence[Target]) -> list[torch.Tensor]:
        """Compute what heads carry from each token to z_a - z_b: (B, L, n) float32 for each position of the targets.

        Where a target has no foils, to z_a. Raises HEvalError for a model in which this does not add up.
        """

        def work() -> list[torch.Tensor]:
            effects = []
            for index, reading in enumerate(self.heads_of(targets)):
                ids = [target.ids[index] for target in targets]
                foils = [target.foils[index] if target.foils else None for target in targets]
                by_layer = self.lm.direct_effects.by_layer(reading, self.prefix, ids, foils)
                effects.append(torch.nn.functional.pad(by_layer, (0, self.length - by_layer.shape[-1])))
            return effects

        return self._shared.once(f"direct effects on {tuple(targets)}", work)

    def lost_leads(self, targets: Sequence[Target]) -> torch.Tensor:
        """Compute what each target's lead in logits over its foil loses when one head writes nothing at the last position, and
        every other head what it wrote there: (B, L, H) float32; see `path_patching`.
        """
        ends, outputs = self.ids[:, -1:], self.heads.outputs
        last_positions = LastPositions(ends, torch.full_like(ends, self.length - 1), outputs, self.logits)
        pairs = torch.tensor([[target.ids[0], target.foils[0]] for target in targets], device=self.lm.device)
        effects = self.lm.path_patching.effects(last_positions, torch.zeros_like(outputs), pairs)
        return effects[..., 0] - effects[..., 1]

    def relevance(
        self, rules: Rules, targets: Sequence[Target], contrast: bool, against: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Compute relevance, (B, n) float32: see `ChangedBackward`. against: (B, n) ids, whose embeddings are taken off.

        Raises HEvalError for a model in which the rules do not hold.
        """
        changed = self.lm.changed_backward
        self._shared.once_per_model(lambda: changed.copy)
        name = f"relevance {rules} {contrast} {tuple(targets)} {against if against is None else against.tolist()}"
        return self._shared.once(name, lambda: changed.relevance(rules, self.ids, targets, contrast, against, self.ends))

    def rolled_back(self, targets: Sequence[Target]) -> torch.Tensor:
        """Roll the direct effects of all layers and positions back to the tokens: (B, n) float32. Raises as these do."""

        def work() -> torch.Tensor:
            effects = torch.stack(self.direct_effects(targets)).sum(0)
            return self.lm.roll_back.rolled(self.ids, self.prefix, effects)

        return self._shared.once(f"rolled back {tuple(targets)}", work)
