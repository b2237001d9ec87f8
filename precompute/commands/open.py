"""`open`: the explorer, in the browser."""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from heval_core.folders import explorer
from heval_core.records import HEvalError
from precompute.commands.options import Commands, add_command, existing


def add(commands: Commands) -> None:
    parser = add_command(commands, "open", _open, "the explorer, on your published results or on those that come with it")
    stores = "show the results of this folder; by default your own in the usual one, else the bundled ones"
    parser.add_argument("store", nargs="?", type=Path, metavar="STORE", help=stores)
    parser.add_argument("--port", type=int, default=8501, help="the port of 127.0.0.1 that it answers at; 8501 by default")


def _open(options: argparse.Namespace) -> int:
    if find_spec("streamlit") is None:
        raise HEvalError("The explorer needs Streamlit, which is not installed; run: pip install 'heval[explorer]'")
    chosen = {"HEVAL_STORE": str(existing(options.store).folder.resolve())} if options.store else {}
    command = ["-m", "streamlit", "run", str(explorer() / "app.py"), "--server.port", str(options.port)]
    os.execve(sys.executable, [sys.executable, *command], {**os.environ, **chosen})
