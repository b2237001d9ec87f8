"""The command line: plan, run, status, verify, publish, export, datasets, explain, bench.

Exit codes: 0 done, 1 some shards failed (the rest is kept), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from heval_core import catalogue
from heval_core.evaluation.publishing import publish
from heval_core.evaluation.renew import is_outdated
from heval_core.explanation import Explanation, methods_of
from heval_core.records import MATCHES, REGIMES, TARGETS, TECHNIQUE, HEvalError
from heval_core.store.progress import Progress, progress
from heval_core.store.published import check_published
from heval_core.store.shards import ShardStore

METHODS = catalogue.default_methods()
EXPLAINERS_HELP = (
    f"comma-separated, of {', '.join(catalogue.explainers())}; by default {','.join(METHODS)}; with options in brackets: "
    "fa(target=prob),ig(steps=20)"
)
MATCH_HELP = "what decides whose answer was given: its first token, the default, or its text of at most 10 tokens"
TARGET_HELP = "context: explain the first document's answer, whatever was answered; a run does so besides the usual"
STORE = Path("cache/results")
# As many as a terminal is read for.
SHOWN_FAILURES = 100


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


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def _all_words(texts: Sequence[str]) -> tuple[str, ...]:
    """Of an option that takes several, apart or with commas between them."""
    return tuple(word for text in texts for word in _words(text))


def _auto_or_number(text: str) -> int | None:
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
        (_add_executor if name == "run" else _add_plan)(grid)
    for name, function, text in (
        ("status", _status, "what is done and what failed"),
        ("verify", _verify, "check every shard, and the published file"),
        ("publish", _publish, "build the results file and swap it in"),
    ):
        other = commands.add_parser(name, help=text)
        other.set_defaults(command=function)
        other.add_argument("--store", type=Path, default=STORE)
        if name == "status":
            other.add_argument("--watch", type=float, metavar="SECONDS", help="again and again, until the run ends")
    _add_datasets(commands.add_parser("datasets", help="what each dataset holds, and what the filters leave of it"))
    exporting = commands.add_parser("export", help="the published tables as Parquet and CSV")
    exporting.set_defaults(command=_export)
    exporting.add_argument("--store", type=Path, default=STORE)
    exporting.add_argument("--out", type=Path, required=True, help="the folder to write into")
    exporting.add_argument(
        "--formats", type=_words, default=("parquet", "csv"), help="comma-separated; both by default"
    )
    _add_report(commands.add_parser("report", help="the paper's tables, figures and findings from published results"))
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
    """What is not given stays as the preset, or Grid, has it."""
    parser.add_argument("--grid", choices=["demo", "paper", "smoke"], help="a preset; the options below change it")
    parser.add_argument("--store", type=Path, default=STORE)
    asked = parser.add_argument_group("what is asked for", argument_default=argparse.SUPPRESS)
    asked.add_argument("--models", nargs="+", help="Hugging Face ids or local folders")
    asked.add_argument("--datasets", nargs="+", help="NAME, NAME=PATH, or one's own FILE.jsonl")
    asked.add_argument("--regimes", nargs="+", help=f"of {', '.join(REGIMES)}; all six by default")
    asked.add_argument("--explainers", type=catalogue.split, help=EXPLAINERS_HELP)
    asked.add_argument("--limit", type=int, help="questions per dataset; all by default")
    asked.add_argument("--cap", type=_cap, help="instances explained per regime: 2,000 short, 1,000 long by default")
    asked.add_argument("--memory", choices=["own", "true"], help="true: the model must remember the dataset's answer")
    asked.add_argument("--match", choices=MATCHES, help=MATCH_HELP)
    asked.add_argument("--template", help="prompt layout, with {documents} and {question}")
    asked.add_argument("--seed", type=int)
    asked.add_argument("--device")
    asked.add_argument("--dtype")
    asked.add_argument("--batch-tokens", type=_auto_or_number, help="tokens per forward pass, or auto")
    asked.add_argument("--shard-size", type=_size, help="questions per shard, or auto: a minute or two of work")
    asked.add_argument(
        "--faithfulness", nargs="?", type=int, const=True, metavar="N",
        help="measure comprehensiveness and sufficiency too, 25 passes each; with N, of the first N questions",
    )  # fmt: skip
    asked.add_argument("--target", choices=TARGETS, help=TARGET_HELP)
    asked.add_argument("--keep-heads", type=int, help="questions whose every head's attention is kept")


def _size(text: str) -> int | None:
    """Numbers below 1 are refused where the grid is checked."""
    return None if text == "auto" else int(text)


def _add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", action="store_true", help="name every job, not only their number")
    parser.add_argument(
        "--no-calibrate", dest="calibrate", action="store_false", help="load no model: without time and disk"
    )


def _add_executor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--executor", choices=["local", "ray"], default="local")
    ray = parser.add_argument_group("with --executor ray")
    ray.add_argument("--ray-address", help="a cluster to join, or auto; else one is started here")
    ray.add_argument("--workers", type=int, help="one per GPU by default, or one per --cpus-per-worker without GPUs")
    ray.add_argument("--cpus-per-worker", type=int, default=2, help="of workers without a GPU, and their threads")


def _add_datasets(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_datasets)
    parser.add_argument("--datasets", nargs="+", default=[], help="as for run; all that come by name, by default")
    parser.add_argument("--models", nargs="+", default=[], help="count tokens too, in these models' own")
    parser.add_argument("--regimes", nargs="+", default=REGIMES, help=f"of {', '.join(REGIMES)}; all six by default")
    parser.add_argument("--limit", type=int, help="questions per dataset; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, help="add what was run: the groups, and what each model drops")
    parser.add_argument("--left-out", action="store_true", help="name every record that was left out, with its reason")
    parser.add_argument("--format", choices=["json", "text"], default="text")


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_report)
    parser.add_argument("--store", type=Path, default=STORE, help="where something is published")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for report.html, results.json, tables and figures"
    )
    parser.add_argument("--no-svg", action="store_true", help="leave out the figures as SVG, which take a Chromium")


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_explain)
    parser.add_argument("--model", required=True)
    parser.add_argument("--context", action="append", required=True, help="a document; give it twice for two")
    parser.add_argument("--question", required=True)
    parser.add_argument("--memory-answer")
    parser.add_argument("--context-answer", action="append", default=[], help="one per --context, in order")
    parser.add_argument("--explainers", type=catalogue.split, default=METHODS, help=EXPLAINERS_HELP)
    parser.add_argument("--match", choices=MATCHES, default="first", help=MATCH_HELP)
    parser.add_argument("--target", choices=TARGETS, default="answer", help=TARGET_HELP)
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
    from precompute.presets import GRIDS

    given = {field.name: getattr(options, field.name) for field in fields(Grid) if hasattr(options, field.name)}
    for name in ("models", "datasets", "regimes"):
        if name in given:
            given[name] = _all_words(given[name])
        elif name != "regimes" and not options.grid:
            raise HEvalError(f"--{name} is missing; name some, or take a preset: --grid {', '.join(GRIDS)}.")
    if "explainers" in given:
        given["explainers"] = tuple(explainer.key for explainer in methods_of(options.explainers))
    return replace(GRIDS[options.grid], **given) if options.grid else Grid(**given)


def _run(options: argparse.Namespace) -> int:
    from precompute.run import run

    # Slurm and the like end a job with SIGTERM: as good a reason to stop cleanly as Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcome = run(_grid_of(options), options.store, _executor(options))
    print(f"{outcome.computed} shards computed, {outcome.already_done} were done already, {outcome.failed} failures")
    if outcome.failed:
        print(f"see: python -m precompute status --store {options.store}")
    if outcome.interrupted or outcome.stopped:
        why = "interrupted" if outcome.interrupted else f"stopped: {outcome.stopped}"
        print(f"{why}; finished shards are kept, {outcome.left} are left, and the same command goes on from there",
              file=sys.stderr)  # fmt: skip
    return 130 if outcome.interrupted else 1 if outcome.failed or outcome.stopped else 0


def _executor(options: argparse.Namespace) -> Any:
    if options.executor == "local":
        from precompute.executors.local import Local

        return Local
    from precompute.executors.ray import on_ray

    return on_ray(options.ray_address, options.workers, options.cpus_per_worker)


def _plan(options: argparse.Namespace) -> int:
    from precompute.plan import as_lines, plan

    found = plan(_grid_of(options), options.store, options.calibrate, lambda text: print(text, file=sys.stderr))
    for line in as_lines(found, options.jobs):
        print(line)
    return 0


def _datasets(options: argparse.Namespace) -> int:
    from heval_core.lm.loading import identify
    from precompute import dataset_summary
    from precompute.grid import check_numbers

    regimes = _all_words(options.regimes)
    check_numbers(regimes, options.limit)
    store = _existing(options) if options.store else None
    named = _all_words(options.datasets)
    models = [identify(word) for word in _all_words(options.models)]
    sections = []
    for name in named or catalogue.plugins("dataset"):
        told = _name_record if options.left_out else dataset_summary.ignore
        try:
            section = dataset_summary.summarise(name, models, regimes, options.limit, options.seed, store, told)
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
    _existing(options)
    while True:
        found = progress(options.store)
        text = "\n".join([*_status_lines(found), *_outdated_line(options.store)])
        again = options.watch and found.process is not None
        print(f"\033[H\033[2J{text}" if again and sys.stdout.isatty() else text, flush=True)
        if not again:
            return 1 if found.failures else 0
        time.sleep(options.watch)


def _status_lines(found: Progress) -> Iterator[str]:
    if found.process is None:
        yield f"no run is on; {found.done} shards done, {found.missing} missing"
    else:
        left = "" if found.seconds_left is None else f", about {found.seconds_left / 60:.1f} min left"
        yield f"a run is on (process {found.process}): {found.done} shards done, {found.missing} missing{left}"
    yield f"{'model':24} {'dataset':20} {'regime':24} {'done':>5} {'running':>7} {'failed':>6} {'missing':>7}  rows"
    for cell in found.cells:
        rows = ", ".join(f"{name} {count}" for name, count in sorted(cell.rows.items()))
        regime = cell.regime if cell.technique == TECHNIQUE else f"{cell.regime}, {cell.technique}"
        yield (
            f"{cell.model:24} {cell.dataset:20} {regime:24} {cell.done:5} {cell.running:7} {cell.failed:6} "
            f"{cell.missing:7}  {rows}"
        )
    for failure in found.failures[:SHOWN_FAILURES]:
        where = " · ".join(
            failure[name] for name in ("model", "dataset", "regime", "technique", "explainer", "place") if failure[name]
        )
        yield f"failed: {where}: {failure['error']}"
    if len(found.failures) > SHOWN_FAILURES:
        more = len(found.failures) - SHOWN_FAILURES
        yield f"failed: and {more:,} more, in the table `failure` once this is published"


def _outdated_line(store: Path) -> Iterator[str]:
    if is_outdated(store):
        again = f"python -m precompute publish --store {store}"
        yield f"published results were evaluated by other code than this program's; run: {again}"


def _verify(options: argparse.Namespace) -> int:
    store = _existing(options)
    entries = store.entries().values()
    bad = [entry for entry in entries if not store.intact(entry)]
    for entry in bad:
        print(f"damaged: {entry.path}, set aside as {store.set_aside(entry).name}; the next run makes it again")
    print(f"{len(entries) - len(bad)} shards are as the manifest says, {len(bad)} are not")
    for line in _outdated_line(options.store):
        print(line)
    published = check_published(options.store)
    if published:
        print(f"published results: {published}; run: python -m precompute publish --store {options.store}")
    return 1 if bad or published else 0


def _publish(options: argparse.Namespace) -> int:
    _existing(options)
    print(publish(options.store, progress=lambda text: print(text, file=sys.stderr)))
    return 0


def _export(options: argparse.Namespace) -> int:
    from heval_core.store.export import FORMATS, export

    for kind in options.formats:
        if kind not in FORMATS:
            raise HEvalError(f"There is no format {kind!r}; there are: {', '.join(FORMATS)}.")
    export(options.store, options.out, options.formats, print)
    return 0


def _report(options: argparse.Namespace) -> int:
    from heval_core.report.write import write

    write(options.store, options.out, not options.no_svg, print)
    return 0


def _bench(options: argparse.Namespace) -> int:
    from precompute import bench

    bench.run(options.models, options.tokens, options.out, lambda line: print(line, flush=True))
    return 0


def _explain(options: argparse.Namespace) -> int:
    from heval_core.lm.loading import load
    from heval_core.pipeline import Request, explain_request

    explainers = methods_of(options.explainers)
    request = Request(tuple(options.context), options.question, tuple(options.context_answer), options.memory_answer)
    lm = load(options.model, options.device, options.dtype)
    result = Explanation(explain_request(lm, request, explainers, match=options.match, target=options.target)).to_json()
    if options.format == "json":
        print(json.dumps(result, ensure_ascii=False))
    else:
        _print_text(result)
    return 0


def _print_text(result: dict[str, Any]) -> None:
    answer, methods = result["answer"], result["explainers"]
    print(f"answer {answer['text'].strip()!r} (p = {answer['probability']:.2f}, group {answer['group']})")
    if result["target"] == "context":
        print(f"explained is {result['target_text'].strip()!r}, the first document's answer, not the one given")
    for key in methods:
        if "head" in methods[key]:
            print(f"{key} reads head {methods[key]['head']}")
    print(f"{'token':20}" + "".join(f"{key:>12}" for key in methods))
    for index, token in enumerate(result["tokens"]):
        print(f"{token!r:20}" + "".join(f"{methods[key]['normalised'][index]:12.4f}" for key in methods))
