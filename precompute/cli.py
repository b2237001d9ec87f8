"""The command line: plan, run, status, verify, publish, explain.

Exit codes: 0 done, 1 some shards failed (the rest is kept), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heval_core import catalogue
from heval_core.records import REGIMES, HEvalError
from heval_core.store.publish import publish
from heval_core.store.shards import ShardStore

METHODS = ("fa", "ig", "attn", "mechlight")
EXPLAINERS_HELP = "comma-separated; all four by default; with options in brackets: fa(target=prob),ig(steps=20)"
STORE = Path("cache/results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; every error meant for people is one line."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except HEvalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: finished shards are kept; the same command goes on from there", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stdout = None  # type: ignore[assignment]  # whoever read our output has gone
        return 0


def _explainers(options: argparse.Namespace) -> list[Any]:
    """Those asked for, each once: two spellings of one variant are one. Raises HEvalError for a control."""
    found = {explainer.key: explainer for explainer in (catalogue.find("explainer", key) for key in options.explainers)}
    for key, explainer in found.items():
        if explainer.control:
            raise HEvalError(f"{key} is a control and explains no model; there are: {', '.join(METHODS)}.")
    return list(found.values())


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def _budget(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a positive number")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m precompute", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, function, text in (
        ("plan", _plan, "what a grid needs and what is done already"),
        ("run", _run, "compute what is missing"),
    ):
        grid = commands.add_parser(name, help=text)
        grid.set_defaults(command=function)
        _add_grid(grid)
    for name, function, text in (
        ("status", _status, "what is done and what failed"),
        ("verify", _verify, "check every shard against the manifest"),
        ("publish", _publish, "build the results file and swap it in"),
    ):
        other = commands.add_parser(name, help=text)
        other.set_defaults(command=function)
        other.add_argument("--store", type=Path, default=STORE)
    _add_datasets(commands.add_parser("datasets", help="what each dataset holds, and what the filters leave of it"))
    _add_explain(commands.add_parser("explain", help="explain one prompt"))
    _add_bench(commands.add_parser("bench", help="this machine's speed beside captum's and others'"))
    return parser


def _cap(text: str) -> int | str | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto, none nor a positive number")
    return int(text)


def _add_grid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", nargs="+", required=True, help="Hugging Face ids or local folders")
    parser.add_argument("--datasets", nargs="+", required=True, help="NAME, NAME=PATH, or one's own FILE.jsonl")
    parser.add_argument("--regimes", type=_words, default=REGIMES, help="comma-separated; all six by default")
    parser.add_argument("--explainers", type=catalogue.split, default=METHODS, help=EXPLAINERS_HELP)
    parser.add_argument("--limit", type=int, help="questions per dataset; all by default")
    parser.add_argument(
        "--cap", type=_cap, default="auto", help="instances explained per regime: 2,000 short, 1,000 long by default"
    )
    parser.add_argument(
        "--memory", choices=["own", "true"], default="own", help="true: the model must remember the dataset's answer"
    )
    parser.add_argument("--template", help="prompt layout, with {documents} and {question}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--executor", choices=["local"], default="local")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--batch-tokens", type=_budget, default="auto", help="tokens per forward pass, or auto")
    parser.add_argument("--shard-size", type=int, default=50, help="questions per shard")
    parser.add_argument(
        "--faithfulness", action="store_true", help="measure comprehensiveness and sufficiency too: ten passes each"
    )
    parser.add_argument("--keep-heads", type=int, default=0, help="questions whose every head's attention is kept")


def _add_datasets(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_datasets)
    parser.add_argument("--datasets", nargs="+", default=[], help="as for run; all that come by name, by default")
    parser.add_argument("--models", nargs="+", default=[], help="count tokens too, in these models' own")
    parser.add_argument("--regimes", type=_words, default=REGIMES, help="comma-separated; all six by default")
    parser.add_argument("--limit", type=int, help="questions per dataset; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, help="add what was run: the groups, and what each model drops")
    parser.add_argument("--left-out", action="store_true", help="name every record that was left out, with its reason")
    parser.add_argument("--format", choices=["json", "text"], default="text")


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_explain)
    parser.add_argument("--model", required=True)
    parser.add_argument("--context", action="append", required=True, help="a document; give it twice for two")
    parser.add_argument("--question", required=True)
    parser.add_argument("--memory-answer")
    parser.add_argument("--context-answer", action="append", default=[], help="one per --context, in order")
    parser.add_argument("--explainers", type=catalogue.split, default=METHODS, help=EXPLAINERS_HELP)
    parser.add_argument("--format", choices=["json", "text"], default="text")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_bench)
    parser.add_argument("--models", nargs="+", default=[], help="names printed by the benchmark, folders or hub ids")
    parser.add_argument("--tokens", nargs="+", type=int, default=[100, 300], help="prompt lengths")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")


def _grid_of(options: argparse.Namespace) -> Any:
    from precompute.grid import Grid

    return Grid(
        models=tuple(word for text in options.models for word in _words(text)),
        datasets=tuple(word for text in options.datasets for word in _words(text)),
        regimes=options.regimes,
        explainers=tuple(explainer.key for explainer in _explainers(options)),
        limit=options.limit,
        cap=options.cap,
        memory=options.memory,
        template=options.template,
        seed=options.seed,
        device=options.device,
        dtype=options.dtype,
        batch_tokens=options.batch_tokens,
        shard_size=options.shard_size,
        keep_heads=options.keep_heads,
        faithfulness=options.faithfulness,
    )


def _run(options: argparse.Namespace) -> int:
    from precompute.run import run

    outcome = run(_grid_of(options), options.store)
    print(f"{outcome.computed} shards computed, {outcome.already_done} were done already, {outcome.failed} failures")
    if outcome.failed:
        print(f"see: python -m precompute status --store {options.store}")
    return 1 if outcome.failed else 0


def _plan(options: argparse.Namespace) -> int:
    from precompute.plan import lines

    for line in lines(_grid_of(options), options.store):
        print(line)
    return 0


def _datasets(options: argparse.Namespace) -> int:
    from heval_core.lm.loading import identify
    from precompute import survey
    from precompute.grid import check_numbers

    check_numbers(options.regimes, options.limit)
    store = _existing(options) if options.store else None
    named = [word for text in options.datasets for word in _words(text)]
    models = [identify(word) for text in options.models for word in _words(text)]
    sections = []
    for name in named or catalogue.plugins("dataset"):
        told = _name_record if options.left_out else survey.untold
        try:
            section = survey.look(name, models, options.regimes, options.limit, options.seed, store, told)
        except HEvalError as error:
            if named:
                raise
            print(f"{name}: {error}\n", file=sys.stderr)  # asked for all there are: one that is not there is no mistake
            continue
        sections.append(section)
        if options.format == "text":
            print(*section.lines(), "", sep="\n", flush=True)
    if options.format == "json":
        print(json.dumps([section.as_dict() for section in sections], ensure_ascii=False))
    return 1 if any(section.questions.malformed for section in sections) else 0


def _name_record(record: Any) -> None:
    print(f"{record.place}: {record.reason}", file=sys.stderr)


def _existing(options: argparse.Namespace) -> ShardStore:
    if not (options.store / "format.json").is_file():
        raise HEvalError(
            f"There is no store at {options.store}; run: python -m precompute run --store {options.store} …"
        )
    return ShardStore(options.store)


def _status(options: argparse.Namespace) -> int:
    store = _existing(options)
    shards: Counter[tuple[str, str, str]] = Counter()
    instances: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for entry in store.entries().values():
        cell = (entry.model, entry.dataset, entry.regime)
        shards[cell] += 1
        name = entry.explainer or entry.kind
        instances[cell][name] = instances[cell].get(name, 0) + entry.rows
    print(f"{'model':24} {'dataset':20} {'regime':24} shards  rows")
    for cell in sorted(shards):
        rows = ", ".join(f"{name} {count}" for name, count in sorted(instances[cell].items()))
        print(f"{cell[0]:24} {cell[1]:20} {cell[2]:24} {shards[cell]:6}  {rows}")
    failures = store.failures()
    for failure in failures:
        where = " · ".join(
            failure[name] for name in ("model", "dataset", "regime", "explainer", "place") if failure[name]
        )
        print(f"failed: {where}: {failure['error']}")
    return 1 if failures else 0


def _verify(options: argparse.Namespace) -> int:
    store = _existing(options)
    entries = store.entries().values()
    bad = [entry for entry in entries if not store.intact(entry)]
    for entry in bad:
        print(f"damaged: {entry.path}, set aside as {store.set_aside(entry).name}; the next run makes it again")
    print(f"{len(entries) - len(bad)} shards are as the manifest says, {len(bad)} are not")
    return 1 if bad else 0


def _publish(options: argparse.Namespace) -> int:
    _existing(options)
    print(publish(options.store, progress=lambda text: print(text, file=sys.stderr)))
    return 0


def _bench(options: argparse.Namespace) -> int:
    from precompute import bench

    bench.run(options.models, options.tokens, options.out, lambda line: print(line, flush=True))
    return 0


def _explain(options: argparse.Namespace) -> int:
    from heval_core.explained import to_json
    from heval_core.lm.loading import load
    from heval_core.pipeline import Request, explain_request

    explainers = _explainers(options)
    request = Request(tuple(options.context), options.question, tuple(options.context_answer), options.memory_answer)
    result = to_json(explain_request(load(options.model, options.device, options.dtype), request, explainers))
    if options.format == "json":
        print(json.dumps(result, ensure_ascii=False))
    else:
        _print_text(result)
    return 0


def _print_text(result: dict[str, Any]) -> None:
    answer, methods = result["answer"], result["explainers"]
    print(f"answer {answer['text'].strip()!r} (p = {answer['probability']:.2f}, group {answer['group']})")
    for key in methods:
        if "head" in methods[key]:
            print(f"{key} reads head {methods[key]['head']}")
    print(f"{'token':20}" + "".join(f"{key:>12}" for key in methods))
    for index, token in enumerate(result["tokens"]):
        print(f"{token!r:20}" + "".join(f"{methods[key]['normalised'][index]:12.4f}" for key in methods))
