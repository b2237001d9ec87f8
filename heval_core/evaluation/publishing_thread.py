"""A publishing beside other work, such as the explorer's: how far it is, and how long it will take, in words."""

import logging
import threading
import time
from pathlib import Path

from heval_core.evaluation.publishing import PublishProgress, renew

_log = logging.getLogger("heval")


class Publishing:
    """One publishing under way. over: set when it has ended. why: half a sentence, if it was not possible."""

    def __init__(self, source: Path, target: Path, bundled: bool):
        self.bundled = bundled
        self.why: str | None = None
        self.over = threading.Event()
        self._progress, self._at = PublishProgress("Starting"), time.monotonic()
        threading.Thread(target=self._carry, args=(source, target), name="publishing", daemon=True).start()

    def _carry(self, source: Path, target: Path) -> None:
        try:
            self.why = renew(source, target, self.bundled, self._hear)
        except Exception:
            self.why = "evaluating them has failed; the log has the details"
            _log.exception("publishing %s into %s", source, target)
        finally:
            self.over.set()

    def _hear(self, progress: PublishProgress) -> None:
        self._progress, self._at = progress, time.monotonic()

    def now(self) -> PublishProgress:
        """Return how far it is: between two reports it goes on at the rate that was measured."""
        progress, since = self._progress, time.monotonic() - self._at
        if not progress.seconds_left:
            return progress
        left = max(0.0, progress.seconds_left - since)
        return progress._replace(share=1 - (1 - progress.share) * left / progress.seconds_left, seconds_left=left)


def in_words(seconds: float | None) -> str:
    """Return the time left, as a person would say it.

    >>> in_words(None), in_words(0.0), in_words(0.3), in_words(7.4)
    ('measuring how long it takes', 'nearly done', 'about a second left', 'about 7 seconds left')
    >>> in_words(61), in_words(200), in_words(9000)
    ('about 1 minute left', 'about 3 minutes left', 'about 2.5 hours left')
    """
    if seconds is None:
        return "measuring how long it takes"
    if seconds <= 0:
        return "nearly done"
    if seconds < 1.5:
        return "about a second left"
    if seconds < 60:
        return f"about {seconds:.0f} seconds left"
    if seconds < 3600:
        minutes = round(seconds / 60)
        return f"about {minutes} minute{'s' if minutes > 1 else ''} left"
    return f"about {seconds / 3600:.1f} hours left"
