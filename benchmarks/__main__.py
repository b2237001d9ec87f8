"""python -m benchmarks [table | techniques | citations | gpu]"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks import citations, gpu, table, techniques
from benchmarks.timing import SMALL, as_line, machine, random_model
from heval_core.records import HEvalError

RATIOS = {"techniques": techniques.technique_figures, "citations": citations.citation_figures}
LENGTHS, PROMPTS = (60, 170), 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__import__("benchmarks").__doc__)
    parser.add_argument("part", nargs="?", choices=("table", *RATIOS, "gpu"), default="table")
    parser.add_argument("--models", nargs="+", default=[], help="of the table: keys, folders, GGUF files; else real ones")
    parser.add_argument("--rows", nargs="+", default=(), help="of the table: explainers, others' code; by default all")
    parser.add_argument("--no-bfloat16", action="store_true", help="of the table: float32 alone")
    parser.add_argument("--tokens", nargs="+", type=int, default=LENGTHS, help="lengths of the table's prompts")
    parser.add_argument("--prompts", type=int, default=PROMPTS, help="prompts of each length")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": machine()}
    try:
        if options.part == "table":
            kept = result["table"] = list[Any]()
            asked = table.Choice(options.tokens, options.prompts, options.rows, not options.no_bfloat16)
            for row in table.rows(options.models, asked, _say):
                kept.append(row)
        elif options.part == "gpu":
            gpu.on_gpu(_say, result)
        else:
            result[options.part] = list(_ratios(options.part))
    except HEvalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:  # what was measured is kept, whatever ended it
        if options.out is not None and any(list(result.values())[1:]):
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


def _ratios(part: str) -> Iterator[dict[str, Any]]:
    for name, config in SMALL.items():
        for figure in RATIOS[part](name, random_model(name, config(), torch.device("cpu"), torch.float32)):
            _say(as_line(figure))
            yield asdict(figure) | {"reached": figure.reached}


if __name__ == "__main__":
    sys.exit(main())
