"""How much goes through a model at once, and the one policy for "out of memory".

Try. Where the device's memory does not suffice, halve the budget of tokens and try again with what it then holds. Where not
even one prompt fits, give up with one HEvalError. Passes, generation, explainers and measures all go by this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from heval_core.records import HEvalError

T = TypeVar("T")


class NotEnoughMemory(HEvalError):
    """A single prompt needs more memory than the device has."""


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the device's memory did not suffice."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and ("out of memory" in str(error) or "can't allocate memory" in str(error))
    )


class Budget:
    """How many tokens may go through the model in one pass. growing: whether more may be tried than it begins with."""

    def __init__(self, tokens: int, device: torch.device, growing: bool = False):
        self.tokens, self.device, self.growing = tokens, device, growing

    def holds(self, length: int) -> int:
        """How many prompts of `length` tokens go together: one at least."""
        return max(1, self.tokens // length)

    def grow(self, used: int) -> None:
        """Double the budget after a pass that used most of it, until memory has once not sufficed."""
        if self.growing and 2 * used > self.tokens:
            self.tokens *= 2

    def shrink(self) -> None:
        """Halve the budget, and never grow it again."""
        self.growing = False
        self.tokens //= 2
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def within(self, length: int, attempt: Callable[[], T]) -> T:
        """What `attempt` returns, tried again with half the budget as often as memory does not suffice.

        attempt: does as much as the budget holds when it is called, for prompts of `length` tokens, and keeps nothing of what
        it could not finish. Raises NotEnoughMemory where a smaller budget would not help.
        """
        while True:
            try:
                return attempt()
            except Exception as error:
                if not out_of_memory(error):
                    raise
                if self.tokens < length:  # one prompt went alone already, in the smallest pieces that there are
                    raise NotEnoughMemory(
                        f"{self.device} has not enough memory for a prompt of {length} tokens; take a shorter one. "
                        f"({first_line(error)})"
                    ) from error
            # Not before the error is gone: it holds on to the attempt's tensors.
            self.shrink()

    def in_batches(
        self,
        items: Sequence[T],
        length: int,
        work: Callable[[list[T]], None],
        failed: Callable[[T, Exception], None],
    ) -> None:
        """Do `work` on items of `length` tokens each, as many together as the budget holds.

        Where a batch fails for another reason than memory, each of its items is done alone. work: as `attempt` in `within`.
        failed: is given an item that fails alone, and why; it may raise.
        """
        start = 0
        while start < len(items):
            batch = self._begun(items[start:], length, work, failed)
            self.grow(len(batch) * length)
            start += len(batch)

    def _begun(
        self,
        waiting: Sequence[T],
        length: int,
        work: Callable[[list[T]], None],
        failed: Callable[[T, Exception], None],
    ) -> list[T]:
        """Do `work` on the first of the items that wait: those that were done, or have failed."""
        batch: list[T] = []

        def attempt() -> None:
            batch[:] = waiting[: self.holds(length)]
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


def first_line(error: Exception) -> str:
    """An error in one line."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
