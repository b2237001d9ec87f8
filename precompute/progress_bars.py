"""Shows the progress of a run: two bars on a terminal, one line per shard elsewhere."""

from __future__ import annotations

import sys

from tqdm import tqdm

from precompute.journal import say


class ProgressBars:
    """Shards and instances, with rate and time left."""

    def __init__(self) -> None:
        self._quiet = not sys.stderr.isatty()
        self._shards = tqdm(total=0, unit="shard", desc="shards", position=0, disable=self._quiet)
        self._instances = tqdm(total=0, unit="instance", desc="instances", position=1, disable=self._quiet, leave=False)
        self._counted = 0
        self._done = self._total = 0

    def more(self, shards: int, instances: int) -> None:
        """Add to the totals of the bars."""
        self._total += shards
        for bar, count in ((self._shards, shards), (self._instances, instances)):
            bar.total = (bar.total or 0) + count
            bar.refresh()

    def began(self, name: str) -> None:
        self._instances.set_description(name)

    def instance(self) -> None:
        """One instance of the current task is done. Nobody calls this for a task on a remote worker."""
        self._counted += 1
        self._instances.update()

    def ended(self, size: int) -> None:
        """A task of `size` instances is done, whether or not they were counted one by one."""
        self._instances.update(max(0, size - self._counted))
        self._counted = 0

    def shard(self, name: str, rows: int, seconds: float, counts: bool) -> None:
        """counts: whether `more` announced this shard; shards of memory answers are not announced."""
        self._done += counts
        self._shards.update(int(counts))
        if self._quiet:
            place = f"{self._done}/{self._total} " if counts else ""
            say(f"{place}{name}: {rows} rows ({seconds:.1f} s)")

    def close(self) -> None:
        self._instances.close()
        self._shards.close()
