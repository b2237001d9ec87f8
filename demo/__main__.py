"""python -m demo train [--smoke] | examine | claims | results | real | examples | keep | report"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from demo.boards import PLAIN
from demo.real import CLAIMS, MODELS, PUBLIC, STORE, named, runs
from heval_core.records import CONTEXT_KINDS, HEvalError

DEMO = Path("cache/demo")
QUESTIONS, KEPT = 212, ("--keep-heads", "4", "--head-need")
# What is trained, in this order: three architectures, and the model that follows instructions, which goes on from the third.
INSTRUCT = "instruct"
TRAINED = ["gpt2", "gpt_neox", "qwen2", INSTRUCT]
# The models of the study of citations; each goes on from an earlier one.
CITING = ["writer", "nli"]
# The models for long prompts; each goes on from the one without `-long`.
LONG = ["qwen2-long", "gpt_neox-long"]
HANDS = ["careful", "sloppy", "padding"]
FINE_TUNING = "fine_tuning(data=development,learning_rate=0.005,epochs=10,rank=4)"
# Dataset ▶ the kinds of context and the techniques that are compared on it: fewer with long documents, whose shards are
# larger, and of invented states, which no model can know, gold documents only.
COMPARED = {
    "world_capital": (
        CONTEXT_KINDS,
        ("prompting", "multi_agent", "coiecd", "acd", "cad", "ph3", "ph3(mode=memory)", FINE_TUNING),
    ),
    "country_profiles": (CONTEXT_KINDS, ("prompting", "multi_agent", "acd")),
    "invented_states": (("gold",), ("acd",)),
}
# To use the context only if it is relevant: the search among prompts does not choose it.
TOLD = "prompting(prompt=qa-09)"
# Who is asked about the claims of the study of citations: controls, demo-nli, and how demo-writer itself read them.
ANNOTATORS = (
    *("random", "lexical", "position", "nli(model={models}/demo-nli)"),
    *(f"explainer({way},model={{models}}/demo-writer)" for way in ("loo", "contextcite", "gradient", "attention")),
)
# Questions whose faithfulness is measured: of long prompts it is most of the work. One model has fewer regimes of these.
MEASURED = {"country_profiles": ("80",)}


def _train(options: argparse.Namespace) -> None:
    import torch

    from demo import citation_models, examine, lengthened, train

    torch.set_num_threads(options.threads)
    own = {**dict.fromkeys(LONG, lengthened.make), **dict.fromkeys(CITING, citation_models.make)}
    for architecture in options.architectures:
        if architecture in own:
            print(own[architecture](architecture, options.out, options.smoke, options.seed))
            continue
        folder = options.out / f"demo-{architecture}"
        taught: train.InstructRecipe | train.Recipe
        if architecture == INSTRUCT:
            taught = dataclasses.replace(train.SMOKE_INSTRUCT if options.smoke else train.INSTRUCT, seed=options.seed)
            model, tokenizer = train.train_to_follow(options.out / "demo-qwen2", taught)
        else:
            recipe = train.SMOKE_RECIPE if options.smoke else train.SHIPPED_RECIPES[architecture]
            taught = dataclasses.replace(recipe, seed=options.seed)
            model, tokenizer = train.train(architecture, taught)
        train.save(model, tokenizer, folder)
        print(examine.write_card(folder, taught, 10 if options.smoke else QUESTIONS))


def _examine(options: argparse.Namespace) -> None:
    from demo import citation_models, examine, obeying
    from heval_core.lm.loading import load

    for name in CITING:
        if (options.out / f"demo-{name}" / "config.json").is_file():
            print("\n".join((f"demo-{name}", *citation_models.examine(name, options.out, options.questions))))
    for folder in sorted((options.out).glob("*/heval.json")):
        lm = load(str(folder.parent), device="cpu")
        print(lm.key, {name: f"{rate:.1%}" for name, rate in examine.recall_rates(lm).items()})
        for report in examine.examine(lm, options.questions):
            print(dataclasses.asdict(report))
        if lm.tokenizer.chat_template:
            print("\n".join(obeying.table(obeying.rates(lm, min(options.questions, examine.DOCUMENTS)))))


def _claims(options: argparse.Namespace) -> None:
    """The world of claims with its hands, as one's own claims are written: a file that `--claims` reads."""
    from demo import claims

    print(claims.write(options.out, options.hands, options.count, options.seed))


def _results(options: argparse.Namespace) -> int:
    """The bundled shards: one per cell and explainer or technique, so that git holds few files."""
    from precompute.cli import main

    with tempfile.TemporaryDirectory() as folder:
        grids = [_run(asked, options.store) for asked in (*_highlights(options.datasets), *_techniques())]
        for arguments in (*grids, *_board(options.store), _citations(Path(folder), options.store)):
            code = main(arguments)
            if code:
                return code
    _keep_values(options.store)
    return 0


def _real(options: argparse.Namespace) -> int:
    from demo import claims
    from precompute.cli import main

    for name in (name for name in PUBLIC if not named(name)):
        print(f"{name} is left out: {PUBLIC[name]} is not here", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        written = claims.write(Path(folder) / "demo-claims.jsonl", HANDS[:1], CLAIMS)
        asked = runs(options.models, options.store, written, DEMO / "models" / "demo-nli")
        code = max(main(arguments) for arguments in asked)
    _keep_values(options.store)
    return code


def _examples(options: argparse.Namespace) -> None:
    from demo import examples

    examples.make()


def _run(asked: list[str], store: Path, questions: int = QUESTIONS) -> list[str]:
    how = f"--limit {questions} --shard-size {questions} --match text --device cpu --store {store}"
    return ["run", *asked, *how.split()]


def _board(store: Path) -> Iterator[list[str]]:
    """Fits, the further explainers, and decoys and lengths."""
    from demo import boards

    models = [str(DEMO / "models" / f"demo-{name}") for name in (*(name for name in TRAINED if name != INSTRUCT), *LONG)]
    how = f"--limit {QUESTIONS} --questions {boards.FITTED} --device cpu --store {store}"
    yield ["fit", "--models", *models, "--datasets", boards.SHORT, boards.LONG, *how.split()]
    plain = models[: -len(LONG)]
    for asked in boards.plain_runs(plain):
        yield _run(asked, store)
    for name in LONG:
        for asked, questions in boards.harder_runs(DEMO / "models" / f"demo-{name}"):
            yield _run(asked, store, questions)
    for asked in boards.timing_runs(plain):
        yield _run(asked, store)


def _citations(folder: Path, store: Path) -> list[str]:
    """What each hand wrote of the same claims."""
    from demo.claims import COUNT, write

    claims = write(folder / "demo-claims.jsonl", HANDS)
    asked = ",".join(ANNOTATORS).format(models=DEMO / "models")
    how = f"--claims {claims} --writers shipped --annotators {asked} --masking full --shard-size {COUNT} --device cpu"
    return ["citations", "run", *how.split(), "--store", str(store)]


def _models(*architectures: str) -> list[str]:
    return ["--models", *(str(DEMO / "models" / f"demo-{architecture}") for architecture in architectures)]


def _highlights(datasets: list[str]) -> Iterator[list[str]]:
    """Of the three architectures, with long documents of two; the model that follows instructions only answers."""
    for dataset in datasets:
        measured = ["--faithfulness", *MEASURED.get(dataset, ()), *KEPT, "--target", "context"]
        fewer = dataset in MEASURED
        yield [*_models("qwen2", *(() if fewer else ("gpt2", "gpt_neox"))), "--datasets", dataset, *measured]
        if fewer:
            yield [*_models("gpt2"), "--datasets", dataset, *measured, "--regimes", *PLAIN]


def _techniques() -> Iterator[list[str]]:
    """What techniques do to answers."""
    for dataset, (kinds, techniques) in COMPARED.items():
        yield [*_models(*TRAINED), "--datasets", dataset, "--regimes", *kinds, "--techniques", ",".join(techniques)]
    yield [*_models(INSTRUCT), "--datasets", "world_capital", "--regimes", *CONTEXT_KINDS, "--techniques", TOLD]


def _keep_values(store: Path) -> None:
    """What takes long to evaluate is kept beside the shards, so that the first start of the explorer is quick."""
    from heval_core.evaluation.publishing import publish

    with tempfile.TemporaryDirectory() as folder:
        publish(store, Path(folder), bundled=True, keep=True)


def _report(options: argparse.Namespace) -> None:
    """The report of bundled results that the README links to."""
    from heval_core.evaluation.publishing import publish
    from heval_core.report.write import report_of
    from heval_core.store.reader import Reader

    with tempfile.TemporaryDirectory() as folder:
        published = publish(options.store, Path(folder), bundled=True)
        options.out.write_text(report_of(Reader(published)).as_html(), encoding="utf-8")
    print(options.out)


def main() -> int:
    """Carry out one command; every error for the user is one line."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_models(commands)
    _add_results(commands)
    options = parser.parse_args()
    try:
        return int(options.command(options) or 0)
    except HEvalError as error:
        print(error, file=sys.stderr)
        return 2


def _add_models(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    training = commands.add_parser("train", help="train the demo models from a seed, with a progress bar")
    training.set_defaults(command=_train)
    training.add_argument(
        "--architectures",
        nargs="+",
        default=[*TRAINED, *CITING, *LONG],
        choices=[*TRAINED, *CITING, *LONG],
        help="instruct, writer and …-long go on from the models in --out, nli from the demo-writer",
    )
    training.add_argument("--smoke", action="store_true", help="a few seconds each; learns next to nothing")
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    examining = commands.add_parser("examine", help="recall of facts and agreement with the taught rule")
    examining.set_defaults(command=_examine)
    examining.add_argument("--questions", type=int, default=QUESTIONS)
    for command in (training, examining):
        command.add_argument("--out", type=Path, default=DEMO / "models")
    claiming = commands.add_parser("claims", help="write the demo's claims with the explanations of its hands, as JSON lines")
    claiming.set_defaults(command=_claims)
    claiming.add_argument("--hands", nargs="+", default=HANDS, choices=HANDS)
    claiming.add_argument("--count", type=int, default=150)
    claiming.add_argument("--seed", type=int, default=0)
    claiming.add_argument("--out", type=Path, required=True)


def _add_results(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    results = commands.add_parser("results", help="compute the bundled demo results")
    results.set_defaults(command=_results)
    results.add_argument("--datasets", nargs="+", default=["world_capital", "country_profiles"])
    results.add_argument("--store", type=Path, default=DEMO)
    real = commands.add_parser("real", help="compute the bundled results of two real models; goes on where it stopped")
    real.set_defaults(command=_real)
    real.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    real.add_argument("--store", type=Path, default=STORE)
    answering = commands.add_parser("examples", help="compute the explorer's examples again")
    answering.set_defaults(command=_examples)
    keeping = commands.add_parser("keep", help="evaluate the bundled results again, after a change of a metric")
    keeping.set_defaults(command=lambda options: _keep_values(options.store))
    keeping.add_argument("--store", type=Path, default=DEMO)
    reporting = commands.add_parser("report", help="make docs/demo-report.html again, or that of another --store")
    reporting.set_defaults(command=_report)
    reporting.add_argument("--out", type=Path, default=Path("docs/demo-report.html"))
    reporting.add_argument("--store", type=Path, default=DEMO)


if __name__ == "__main__":
    sys.exit(main())
