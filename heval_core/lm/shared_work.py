"""What several explainers use of one pass is computed once, and charged in full to each of them that uses it.

So an explainer's seconds are as if it had been alone, whichever ran first. What one piece of shared work uses of another is
charged with it. Formula: seconds = what passed on the clock, less the shared work that was done meanwhile, plus all shared
work that was used meanwhile.
"""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class SharedWork:
    """Pieces of work by name. now: the time in seconds."""

    def __init__(self, now: Callable[[], float]):
        self.now = now
        self.seconds: dict[str, float] = {}  # of each piece, without what it uses of others
        self.open: list[set[str]] = []  # what each clock that runs, and each piece under way, has used so far
        self._done: dict[str, tuple[Any, frozenset[str]]] = {}  # what each piece gave, and what it used with itself

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Do a piece of work when it is first asked for, and return its value from then on. One that fails is not kept."""
        if name not in self._done:
            clock = Clock(self)
            try:
                value = work()
            finally:
                seconds = clock.own_seconds()
                self.open = [used for used in self.open if used is not clock.used]
            self.seconds[name] = seconds
            self._done[name] = value, frozenset({name, *clock.used})
        result: T
        result, uses = self._done[name]
        for used in self.open:
            used |= uses
        return result

    def once_per_model(self, work: Callable[[], T]) -> T:
        """Do work once per model, which is no part of what any prompt takes, and return its value."""
        started = self.now()
        value = work()
        # Among the shared work, so that no clock counts it; and used by nobody, so that nobody is charged.
        self.seconds["waived"] = self.seconds.get("waived", 0.0) + self.now() - started
        return value


class Clock:
    """The time of one explainer, or of one piece of shared work, over `size` prompts."""

    def __init__(self, shared: SharedWork, size: int = 1):
        self._shared, self._size = shared, size
        self.used: set[str] = set()
        shared.open.append(self.used)
        self._before = sum(shared.seconds.values())
        self._started = shared.now()

    def own_seconds(self) -> float:
        """Return the seconds so far, without any shared work that was done meanwhile."""
        return self._shared.now() - self._started - (sum(self._shared.seconds.values()) - self._before)

    def stop(self) -> float:
        """Stop the clock. Returns the seconds for one prompt, as if the explainer had run alone."""
        seconds = self.own_seconds() + sum(self._shared.seconds[name] for name in self.used)
        self._shared.open = [used for used in self._shared.open if used is not self.used]
        return seconds / self._size
