"""python -m benchmarks [explainers | relevance | techniques | citations | shortcuts | gpu]

This machine's speed beside captum's and others', as ratios in one run; one part, or all of them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.run import PARTS, PROMPTS, run
from heval_core.records import HEvalError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS, help="one part; by default all")
    parser.add_argument("--models", nargs="+", default=[], help="names that the benchmark prints, folders or hub ids")
    parser.add_argument("--tokens", nargs="+", type=int, default=[100, 300], help="prompt lengths")
    parser.add_argument("--prompts", type=int, default=PROMPTS, help="prompts of each length, for shortcuts")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    options = parser.parse_args()
    try:
        run(options.models, options.tokens, options.out, lambda line: print(line, flush=True), options.part, options.prompts)
    except HEvalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
