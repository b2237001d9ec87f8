"""How many tokens a model runs at once, and the one policy for "out of memory".

Try. If the device runs out of memory, halve the budget of tokens and try again with a smaller batch. If not even one prompt
fits, give up with one HEvalError. Passes, generation, explainers and faithfulness all follow this policy.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import torch

from heval_core.records import HEvalError

T = TypeVar("T")


class NotEnoughMemory(HEvalError):
    """A single prompt needs more memory than the device has."""


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that the device ran out of memory."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and ("out of memory" in str(error) or "can't allocate memory" in str(error))
    )


def raised(item: Any, error: Exception) -> None:
    """Raise the error of an item that fails: the default where nobody handles it."""
    raise error


# On a GPU a pass has a fixed cost, of hundreds of tokens, and a shard's prompts are almost all of different lengths. With an
# eighth, four to five of a hundred tokens are padding, and passes are less than half (`python -m benchmarks counts`).
PADDING = 1 / 8


class Budget:
    """How many tokens the model may run in one pass, those included that only fill up shorter prompts.

    growing: whether the budget may grow beyond its start. padding: how much longer than the shortest prompt of a pass the
    longest may be, as a share of it; 0 on a CPU, where a token more costs as much as a token in a pass of its own.
    """

    def __init__(self, tokens: int, device: torch.device, growing: bool = False, padding: float = 0.0):
        self.tokens, self.device, self.growing, self.padding = tokens, device, growing, padding

    @classmethod
    def of(cls, tokens: int | None, device: torch.device) -> "Budget":
        """Choose a budget: by default 4,096 tokens on a CPU, where more is no faster; elsewhere 8,192, doubled until memory
        runs out.
        """
        on_cpu = device.type == "cpu"
        growing, padding = tokens is None and not on_cpu, 0.0 if on_cpu else PADDING
        return cls(tokens or (4096 if on_cpu else 8192), device, growing, padding)

    def batch_size(self, length: int) -> int:
        """Return how many prompts of `length` tokens run together: at least one."""
        return max(1, self.tokens // length)

    def grow(self, used: int) -> None:
        """Double the budget after a pass that used most of it; never again once memory has run out."""
        if self.growing and 2 * used > self.tokens:
            self.tokens *= 2

    def shrink(self) -> None:
        """Halve the budget, and never grow it again."""
        self.growing = False
        self.tokens //= 2
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def within(self, length: int, attempt: Callable[[], T]) -> T:
        """Run `attempt`, again with half the budget whenever memory runs out.

        attempt: runs as many prompts of `length` tokens as the current budget holds, and keeps nothing if it cannot finish.
        Raises NotEnoughMemory if a smaller budget would not help.
        """
        while True:
            try:
                return attempt()
            except Exception as error:
                if not out_of_memory(error):
                    raise
                if self.tokens < length:  # one prompt ran alone already, in the smallest possible pieces
                    raise NotEnoughMemory(
                        f"{self.device} does not have enough memory for a prompt of {length} tokens; use a shorter one. "
                        f"({first_line(error)})"
                    ) from error
            # Only after the error is gone, because it keeps the attempt's tensors alive.
            self.shrink()

    def longest_first(
        self, lengths: Sequence[int], work: Callable[[list[int], int], Iterable[T]], alike: bool = False, padding: float = 0.0
    ) -> list[T]:
        """Run `work` on items of these lengths, those of similar length together.

        Returns the results in the order of the items.

        work: the indices of some items, and the length of the longest ▶ a result for each. alike: only equal lengths together,
        or with `padding` those that differ by at most this share.
        """
        results: dict[int, T] = {}
        waiting = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
        while waiting:
            width = lengths[waiting[0]]

            def attempt(waiting: list[int] = waiting, width: int = width) -> tuple[list[int], Iterable[T]]:
                some = waiting[: self.batch_size(width)]
                batch = [index for index in some if not alike or lengths[index] * (1 + padding) >= width]
                return batch, work(batch, width)

            batch, outputs = self.within(width, attempt)
            self.grow(len(batch) * width)
            results.update(zip(batch, outputs, strict=True))
            waiting = waiting[len(batch) :]
        return [results[index] for index in range(len(lengths))]

    def in_batches(
        self, items: Sequence[T], length: int, work: Callable[[list[T]], None], failed: Callable[[T, Exception], None] = raised
    ) -> None:
        """Do `work` on items of at most `length` tokens each, as many together as the budget holds.

        If a batch fails for another reason than memory, each of its items is tried alone. work: like `attempt` in `within`.
        failed: called with an item that fails alone, and its error, which it raises by default.
        """
        start = 0
        while start < len(items):
            batch = self._begun(items[start:], length, work, failed)
            self.grow(len(batch) * length)
            start += len(batch)

    def _begun(
        self, waiting: Sequence[T], length: int, work: Callable[[list[T]], None], failed: Callable[[T, Exception], None]
    ) -> list[T]:
        """Do `work` on the first waiting items. Returns the items that are done or have failed."""
        batch: list[T] = []

        def attempt() -> None:
            batch[:] = waiting[: self.batch_size(length)]
            work(batch)

        try:
            self.within(length, attempt)
        except Exception as error:
            if len(batch) == 1:
                failed(batch[0], error)
            else:
                for item in batch:
                    self._begun([item], length, work, failed)
        return batch


def first_line(error: BaseException) -> str:
    """Return an error in one line."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
