"""`explain`: one prompt, by the same code as the sidebar and the batch."""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from typing import Any

from heval_core.explanation import Explanation, methods_of
from precompute.commands.options import add_fields
from precompute.grid import Grid


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("explain", help="explain one prompt")
    parser.set_defaults(command=_explain)
    parser.add_argument("--model", required=True)
    parser.add_argument("--context", action="append", required=True, help="a document; give it once for each")
    parser.add_argument("--question", required=True)
    parser.add_argument("--memory-answer")
    parser.add_argument("--context-answer", action="append", default=[], help="one per --context, in order")
    names = ("explainers", "match", "target", "template", "device", "dtype")
    add_fields(parser, Grid, names)
    parser.set_defaults(**{field.name: field.default for field in fields(Grid) if field.name in names})
    parser.add_argument("--format", choices=["json", "text"], default="text")


def _explain(options: argparse.Namespace) -> int:
    from heval_core.lm.loading import load
    from heval_core.pipeline import Request, explain_request

    Grid((), (), match=options.match, target=options.target, template=options.template).check()
    explainers = methods_of(options.explainers)
    request = Request(tuple(options.context), options.question, tuple(options.context_answer), options.memory_answer)
    lm = load(options.model, options.device, options.dtype)
    with lm.asked_in(options.template):
        explained = explain_request(lm, request, explainers, match=options.match, target=options.target)
    result = Explanation(explained).to_json()
    if options.format == "json":
        print(json.dumps(result, ensure_ascii=False))
    else:
        _print_text(result)
    return 0


def _print_text(result: dict[str, Any]) -> None:
    answer, methods = result["answer"], result["explainers"]
    print(f"answer {answer['text'].strip()!r} (p = {answer['probability']:.2f}, group {answer['group']})")
    if result["target"] == "context":
        print(f"the explanations are of {result['target_text'].strip()!r}, the first document's answer, not of the given one")
    for key, why in result["refused"].items():
        print(f"{key} is left out: {why}")
    for key in methods:
        if "head" in methods[key]:
            print(f"{key} reads head {methods[key]['head']}")
    print(f"{'token':20}" + "".join(f"{key:>12}" for key in methods))
    for index, token in enumerate(result["tokens"]):
        print(f"{token!r:20}" + "".join(f"{methods[key]['normalised'][index]:12.4f}" for key in methods))
