"""What the command line says beside its results, on stderr."""

import os
import sys

# Set by --quiet: by tqdm's own name for it, which its bars and the processes that are started heed too.
QUIET = "TQDM_DISABLE"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def say_progress(text: str) -> None:
    """Say how far something is, or what it will take, unless --quiet was given."""
    if not os.environ.get(QUIET):
        say(text)


def shows_bars() -> bool:
    return sys.stderr.isatty() and not os.environ.get(QUIET)
