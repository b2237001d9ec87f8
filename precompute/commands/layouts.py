"""`layouts`: what each layout of prompts gives with a model and a data set, before anything is explained."""

from __future__ import annotations

import argparse

from heval_core.prompts import AUTO, LAYOUTS, is_chat
from precompute.commands.options import add_fields, all_words
from precompute.grid import Grid


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("layouts", help="which layout of prompts gives answers that can be compared")
    parser.set_defaults(command=_layouts)
    parser.add_argument("--template", nargs="+", help="layouts to try; by default all that the model can be asked in")
    names = ("models", "datasets", "limit", "memory", "match", "seed")
    add_fields(parser, Grid, names, ("models", "datasets"), limit="questions per dataset; 40 by default")
    parser.set_defaults(limit=40, memory="own", match="first", seed=0)


def _layouts(options: argparse.Namespace) -> int:
    from heval_core.lm.chat import has_template
    from heval_core.lm.loading import load
    from precompute.layouts import tried

    Grid((), (), (), limit=options.limit, memory=options.memory, match=options.match).check()
    for name in all_words(options.models):
        lm = load(name)
        named = [
            template for template in LAYOUTS if template != AUTO and (has_template(lm.tokenizer) or not is_chat(template))
        ]
        for dataset in all_words(options.datasets):
            rows = tried(lm, dataset, options.template or named, options.limit, options.seed, options.memory, options.match)
            for row in rows:
                print(f"{row.model} · {row.dataset} · {row.regime:12} {row.line()}", flush=True)
    return 0
