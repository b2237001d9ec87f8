"""The command line, `heval` where the package is installed, else `python -m precompute`.

Exit codes: 0 done, 1 some shards failed (the rest is kept), 2 wrong usage, 3 rows of a log failed, 130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from heval_core import __version__
from heval_core.folders import program
from heval_core.records import HEvalError
from precompute.messages import QUIET

# Modules of commands ▶ the commands that they add. Only the module of the command that is given is imported.
COMMANDS = {
    "grid": ("plan", "run"),
    "store": ("status", "verify", "pack", "publish", "export", "report"),
    "layouts": ("layouts", "conditions"),
    **{name: (name,) for name in ("open", "datasets", "models", "fit", "board", "explain", "trace", "citations")},
}

EXAMPLES = """\
{prog} explain --model demo-qwen2 --context "The capital of Kenya is Lisbon." --question "What is the capital of Kenya?"
{prog} run --grid smoke --store mine && {prog} publish --store mine
{prog} open mine

Exit codes: 0 done, 1 some shards failed (the rest is kept), 2 wrong usage, 3 rows of a log failed, 130 interrupted."""
# What is finished of these stays where they are interrupted.
KEEPING = ("run", "board", "trace", "citations")


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; every error for the user is one line."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        options = parser_of(given).parse_args(given)
        if options.quiet:
            os.environ[QUIET] = "1"
        return int(options.command(options))
    except HEvalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        resume = "; finished shards are kept, and the same command continues from there" if given[0] in KEEPING else ""
        print(f"\ninterrupted{resume}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stdout = None  # type: ignore[assignment]  # whoever read our output has gone
        return 0


def parser_of(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command. given: the command with its options; without a command that there is, all are listed."""
    as_written = argparse.RawDescriptionHelpFormatter
    prog = program()
    parser = argparse.ArgumentParser(prog=prog, description=EXAMPLES.format(prog=prog), formatter_class=as_written)
    parser.add_argument("--version", action="version", version=f"heval {__version__}", help="print the version and exit")
    commands = parser.add_subparsers(required=True, metavar="command")
    modules = [module for module, names in COMMANDS.items() if given[:1] and given[0] in names]
    for module in modules or ([] if [*given] == ["--version"] else COMMANDS):
        import_module(f"precompute.commands.{module}").add(commands)
    return parser
