"""python -m benchmarks [table | techniques | citations | answers | threads | runs | gpu | counts | scale]"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks import counts, gpu, table
from benchmarks.answers import answer_figures
from benchmarks.citations import citation_figures
from benchmarks.runs import run_figures
from benchmarks.scale import make
from benchmarks.techniques import technique_figures
from benchmarks.threads import thread_figures
from benchmarks.timing import SMALL, as_line, machine, random_model
from heval_core.lm.installed import PACKAGED
from heval_core.lm.loading import load
from heval_core.records import HEvalError

RATIOS = {"techniques": technique_figures, "citations": citation_figures, "answers": answer_figures}
# Figures of whole processes, which load their models themselves.
ALONE = {"threads": thread_figures, "runs": run_figures}
LENGTHS, PROMPTS = (60, 170), 10
_say = partial(print, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__import__("benchmarks").__doc__)
    parser.add_argument("part", nargs="?", choices=("table", *RATIOS, *ALONE, "gpu", "counts", "scale"), default="table")
    parser.add_argument("--models", nargs="+", default=[], help="keys, folders, GGUF files; else real ones, or random weights")
    parser.add_argument("--rows", nargs="+", default=(), help="of the table: explainers, others' code; by default all")
    parser.add_argument("--no-bfloat16", action="store_true", help="of the table: float32 alone")
    parser.add_argument("--tokens", nargs="+", type=int, default=LENGTHS, help="lengths of the table's prompts")
    parser.add_argument("--prompts", type=int, default=PROMPTS, help="prompts of each length")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too; of scale: the store to make")
    parser.add_argument("--from", nargs="+", type=Path, dest="kept", help="of the table: print such files as Markdown instead")
    options = parser.parse_args()
    if options.kept:
        _say("\n".join(table.markdown([row for file in options.kept for row in json.loads(file.read_text("utf-8"))["table"]])))
        return 0
    if options.part == "scale":
        if options.out is None:
            parser.error("scale makes a store: give --out FOLDER")
        _say(f"{make(options.out):,} instances in {options.out}")
        return 0
    result: dict[str, Any] = {"machine": machine()}
    choice = table.Choice(options.tokens, options.prompts, options.rows, not options.no_bfloat16)
    rows = table.rows(options.models, choice, _say) if options.part == "table" else _ratios(options.part, options.models)
    try:
        if options.part == "gpu":
            gpu.on_gpu(_say, result)
        elif options.part == "counts":
            counts.count(_say, result)
        else:
            saved = result[options.part] = list[Any]()
            for row in rows:
                saved.append(row)
    except HEvalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    finally:  # what was measured is kept, whatever ended it
        if options.out is not None and any(list(result.values())[1:]):
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _ratios(part: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield figures of random weights, unless models are named; of answers the real model where it is installed."""
    if not names and part == "answers" and not PACKAGED["smollm2"].problem():
        names = ["smollm2"]
    small = (random_model(name, config()) for name, config in SMALL.items())
    loaded = () if part in ALONE else (load(name, "cpu", "float32") for name in names) if names else small
    for figure in ALONE[part]() if part in ALONE else chain(*(RATIOS[part](lm.key, lm) for lm in loaded)):
        _say(as_line(figure))
        yield asdict(figure) | {"reached": figure.reached}


if __name__ == "__main__":
    sys.exit(main())
