"""Finds the plug-ins by importing their folders: a new file with a `PLUGIN` is all it takes to add one.

Importing explainers, datasets and metrics never imports torch; only running an explainer does.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
from typing import Any

from heval_core.records import HEvalError

KINDS = {"dataset": "datasets", "explainer": "explainers", "metric": "metrics"}


@functools.cache
def plugins(kind: str) -> dict[str, Any]:
    """All plug-ins of one kind by key: `dataset`, `explainer` or `metric`."""
    package = importlib.import_module(f"heval_core.{KINDS[kind]}")
    found = {}
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            plugin = importlib.import_module(f"{package.__name__}.{module.name}").PLUGIN
            found[plugin.key] = plugin
    return found


def explainers(control: bool = False) -> dict[str, Any]:
    """The methods that look into a model, or the controls."""
    return {key: plugin for key, plugin in plugins("explainer").items() if plugin.control is control}


def find(kind: str, key: str) -> Any:
    """One plug-in. Raises HEvalError that offers the near matches for an unknown key."""
    known = plugins(kind)
    if key in known:
        return known[key]
    near = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}."
    raise HEvalError(f"There is no {kind} {key!r}; {hint}")


def docstring(plugin: Any) -> str:
    """The docstring of the module that offers a plug-in: what, formula, reference, departure, cost."""
    return inspect.cleandoc(inspect.getmodule(type(plugin)).__doc__ or "")
