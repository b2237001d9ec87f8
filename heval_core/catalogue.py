"""Finds the plug-ins by importing their folders: a new file with a `PLUGIN` is all it takes to add one.

Importing explainers, datasets and metrics never imports torch; only running an explainer does.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from heval_core.records import HEvalError

KINDS = {"dataset": "datasets", "explainer": "explainers", "metric": "metrics"}


@functools.cache
def plugins(kind: str) -> dict[str, Any]:
    """All plug-ins of one kind by key: `dataset`, `explainer` or `metric`."""
    package = importlib.import_module(f"heval_core.{KINDS[kind]}")
    found = {}
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        if not (module.ispkg or module.name.startswith("_")):
            plugin = importlib.import_module(f"{package.__name__}.{module.name}").PLUGIN
            found[plugin.key] = plugin
    return found


def explainers(control: bool = False) -> dict[str, Any]:
    """The methods that look into a model, or the controls."""
    return {key: plugin for key, plugin in plugins("explainer").items() if plugin.control is control}


@functools.cache
def find(kind: str, key: str) -> Any:
    """One plug-in, or a variant of it: `fa(target=prob)` is fa with other settings than its own, under a key of its own.

    Raises HEvalError that offers the near matches for an unknown key, or what options there are.
    """
    known = plugins(kind)
    name, opened, options = key.partition("(")
    if name in known:
        return _variant(known[name], options, key) if opened else known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}."
    raise HEvalError(f"There is no {kind} {name!r}; {hint}")


def split(text: str) -> tuple[str, ...]:
    """`fa,ig(steps=20,method=gausslegendre)` ▶ its keys: a comma inside brackets separates options."""
    return tuple(found.strip() for found in re.findall(r"(?:[^,(]|\([^)]*\)?)+", text) if found.strip())


def variants(keys: Iterable[str]) -> dict[str, Any]:
    """All explainers that come along, and those among `keys` that are one of them with other settings; not what is gone."""
    own = plugins("explainer")
    return own | {key: find("explainer", key) for key in sorted(set(keys)) if "(" in key and key.split("(")[0] in own}


def _variant(plugin: Any, options: str, key: str) -> Any:
    """The plug-in with other settings. Its key names what differs, in the order of its fields: one key for one variant."""
    known = {field.name: field.default for field in fields(plugin)}
    chosen: dict[str, Any] = {}
    if not options.endswith(")"):
        raise HEvalError(f"The options of {key!r} need a closing bracket: {plugin.key}(name=value).")
    for option in options[:-1].split(","):
        name, _, text = (part.strip() for part in option.partition("="))
        if name not in known:
            there = f"there are: {', '.join(known)}." if known else "it has none."
            raise HEvalError(f"{plugin.key} has no option {name!r}; {there}")
        chosen[name] = _value(plugin.key, name, text, known[name])
    told = [f"{name}={_text(chosen[name])}" for name in known if chosen.get(name, known[name]) != known[name]]
    if not told:
        return plugin
    kind = type(plugin)
    named = {
        "key": f"{plugin.key}({','.join(told)})",
        "title": f"{plugin.title} ({', '.join(told)})",
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
    }
    variant = type(kind.__name__, (kind,), named)(**chosen)
    if hasattr(variant, "check"):
        variant.check()
    return variant


def _value(key: str, name: str, text: str, default: Any) -> Any:
    """An option's value as its default's type reads it; an option that is nothing by default is a number."""
    if isinstance(default, bool):
        if text in ("true", "false"):
            return text == "true"
        raise HEvalError(f"{key} reads {name}=true or {name}=false, not {text!r}.")
    if isinstance(default, str):
        return text
    if not re.fullmatch(r"\d+", text):
        raise HEvalError(f"{key} reads {name}= with a whole number, not {text!r}.")
    return int(text)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def docstring(plugin: Any) -> str:
    """The docstring of the module that offers a plug-in: what, formula, reference, departure, cost."""
    return inspect.cleandoc(inspect.getmodule(type(plugin)).__doc__ or "")
