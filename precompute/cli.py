"""The command line: plan, run, fit, status, verify, publish, export, board, datasets, layouts, explain, models, citations.

Exit codes: 0 done, 1 some shards failed (the rest is kept), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from heval_core.records import HEvalError
from precompute.commands import board, citations, datasets, explain, grid, models, store


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; every error for the user is one line."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except HEvalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: finished shards are kept; the same command continues from there", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stdout = None  # type: ignore[assignment]  # whoever read our output has gone
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m precompute", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for group in (grid, store, datasets, board, explain, models, citations):
        group.add(commands)
    return parser
