"""Options of commands: those that follow from the fields of `Options` and their docstrings, and how values are read."""

import argparse
import inspect
import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from heval_core.explaining.api import methods_of
from heval_core.folders import RESULTS, program, short
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import LAYOUTS
from heval_core.records import DUAL_REGIMES, EVERY_REGIME, HEvalError
from heval_core.records.regime_keys import DECOYS, LENGTHS, ONE_PASSAGE, POSITIONS, TWICE, expanded
from heval_core.store.shards import ShardStore
from precompute.grid import Grid, Options

# What a command is added to, and what carries it out.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Function: TypeAlias = Callable[[argparse.Namespace], int]
STORE = short(RESULTS)
# Fields whose values are keys of plug-ins, separated by commas.
KEYS: Mapping[str, Callable[[], Collection[str]]] = {
    "explainers": catalogue.explainers,
    "techniques": catalogue.techniques,
    "selectors": partial(catalogue.plugins, "selector"),
    "annotators": partial(catalogue.plugins, "annotator"),
}
# What else a field may be.
NAMED: Mapping[str, Callable[[], Collection[str]]] = {**KEYS, "template": lambda: LAYOUTS}


def add_command(
    commands: Commands, name: str, function: Function, text: str, store: bool = False, keys: str = ""
) -> argparse.ArgumentParser:
    """Add a command.

    store: whether it has the option --store. keys: those of the object that its option --json prints, if it has one.
    """
    parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.set_defaults(command=function)
    parser.add_argument("--quiet", action="store_true", help="say neither progress nor prices; errors are still said")
    if store:
        parser.add_argument("--store", type=Path, default=STORE, help=f"the folder of results; {STORE} by default")
    if keys:
        parser.add_argument("--json", action="store_true", help=f"print one JSON object, with {keys}")
    return parser


def print_json(values: Mapping[str, Any]) -> None:
    """Print one JSON object on a line; numbers that are not available are null."""
    print(json.dumps(_known(values), ensure_ascii=False, default=str))


def _known(value: Any) -> Any:
    """Return a value with None in place of every NaN, which JSON has not."""
    if isinstance(value, Mapping):
        return {key: _known(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_known(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def helps_of(kind: type[Options]) -> dict[str, str]:
    """Return what the docstrings say of fields: lines `name: text`, which may go on indented."""
    helps = {}
    for base in reversed(kind.__mro__):
        for name, text in re.findall(r"^([\w-]+): (.+(?:\n +.+)*)", inspect.cleandoc(base.__doc__ or ""), re.MULTILINE):
            helps[name.replace("-", "_")] = " ".join(text.split())
    defaults: dict[str, Any] = {field.name: field.default for field in fields(kind)}
    for name in helps.keys() & NAMED.keys():
        usual = f"; by default {','.join(defaults[name])}" if defaults[name] else ""
        helps[name] = f"some of {', '.join(NAMED[name]())}{usual}; {helps[name]}"
    return helps


MATCH_HELP = helps_of(Grid)["match"]


def add_fields(
    parser: argparse._ActionsContainer,
    kind: type[Options],
    names: Collection[str] = (),
    required: Collection[str] = (),
    **helps: str,
) -> None:
    """Add an option for each field that a docstring describes, or for some. helps: in place of the docstring's words.

    Without it, the field's default is what it gives, unless the parser suppresses defaults.
    """
    described = helps_of(kind)
    for field in fields(kind):
        if field.name in described and (not names or field.name in names):
            about = {"help": helps.get(field.name, described[field.name]), "required": field.name in required}
            default = () if field.default is MISSING else field.default
            about |= {"default": parser.argument_default or default} | _read_as(kind, field)
            parser.add_argument(f"--{field.name.replace('_', '-')}", **about)  # type: ignore[arg-type]


class Words(argparse.Action):
    """The values of an option that takes several, separated by spaces or commas."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, tuple(word for text in values for word in words(text)))


def _read_as(kind: type[Options], field: Field[Any]) -> dict[str, Any]:
    if field.name in KEYS:
        return {"type": catalogue.split, "metavar": "KEY,…"}
    if field.name in kind.CHOICES:
        return {"metavar": f"{{{','.join(kind.CHOICES[field.name])}}}"}
    default: Any = field.default
    several = Words if field.name in ("models", "datasets") else "store"
    by_type: dict[str, dict[str, Any]] = {
        "tuple[str, ...]": {"nargs": "+", "metavar": field.name.upper().removesuffix("S"), "action": several},
        "bool": {"action": "store_true"},
        "bool | int": {"nargs": "?", "type": int, "const": True, "metavar": "N"},
        "int": {"type": int, "metavar": "N"},
        "int | None": {"type": partial(_number, default), "metavar": "N"},
        "int | str | None": {"type": partial(_number, default), "metavar": "N"},
    }
    return by_type.get(str(field.type), {})


def _number(default: int | str | None, text: str) -> int | str | None:
    if text in ("auto", "none"):
        return default if text == "auto" else None
    if not text.removeprefix("-").isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto, none nor a number")
    return int(text)


def given(options: argparse.Namespace, kind: type[Options]) -> dict[str, Any]:
    """Return the fields whose options were given.

    Raises HEvalError for an unknown explainer or technique, and for a control.
    """
    values = {field.name: getattr(options, field.name) for field in fields(kind) if hasattr(options, field.name)}
    if values.get("explainers"):
        values["explainers"] = tuple(explainer.key for explainer in methods_of(values["explainers"]))
    if values.get("techniques"):
        values["techniques"] = tuple(catalogue.find("technique", key).key for key in values["techniques"])
    return values


def refuse(options: argparse.Namespace, names: Iterable[str], why: str, wrong: Any = True) -> None:
    """Raise HEvalError for options that were given and would change nothing, if that is so."""
    if idle := sorted(f"--{name.replace('_', '-')}" for name in names if wrong and getattr(options, name, None)):
        raise HEvalError(f"{', '.join(idle)} would change nothing: {why}")


def workers(text: str) -> int | None:
    """Read --workers; None for auto."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a number of processes")
    return int(text)


def words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def add_regimes(parser: argparse._ActionsContainer, default: str) -> None:
    """Add --regimes and its options. default: in words."""
    parser.add_argument("--regimes", nargs="+", action=Words, help=f"some of {', '.join(EVERY_REGIME)}; {default}")
    decoys = (
        f"change the documents of regimes that have two ({TWICE}: one): some of {', '.join(DECOYS)}; see docs/leaderboard.md"
    )
    parser.add_argument("--decoy", nargs="+", choices=DECOYS, help=decoys)
    longer = "pad prompts with other passages of the dataset, up to so many tokens of the model"
    parser.add_argument("--length", nargs="+", type=int, choices=LENGTHS, help=longer)
    parser.add_argument("--place", choices=POSITIONS, help="where the documents stand among the padding; first by default")


def regimes_of(options: argparse.Namespace, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the regimes that the options of `add_regimes` ask for; those that can have none of the decoys are left out, and
    named.
    """
    values = {name: getattr(options, name, None) for name in ("regimes", "decoy", "length", "place")}
    regimes = default if values["regimes"] is None else values["regimes"]
    chosen, left_out = expanded(regimes, values["decoy"] or (), values["length"] or (), values["place"])
    if left_out:
        print(f"left out, because they cannot have these decoys: {', '.join(left_out)}", file=sys.stderr)
    if not chosen:
        needed = f"decoys need two documents: {', '.join(DUAL_REGIMES)}; {TWICE} needs {ONE_PASSAGE}"
        raise HEvalError(f"No regime is left; {needed}.")
    return chosen


def existing(folder: Path) -> ShardStore:
    if not (folder / "format.json").is_file():
        raise HEvalError(f"There is no store at {folder}; run: {program()} run --store {folder} …")
    return ShardStore(folder)
