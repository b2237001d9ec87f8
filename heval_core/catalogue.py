"""Finds the plug-ins by importing their folders, and states what each kind of plug-in declares.

A new file with a `PLUGIN` is all it takes to add one. Importing explainers, datasets and metrics never imports torch; only
running an explainer does.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, get_args, get_type_hints, overload

from heval_core.records import Attribution, Cost, HEvalError, Instance, Prompt, Target

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import numpy as np

    from heval_core.datasets._records import Record
    from heval_core.lm.clean_pass import CleanPass
    from heval_core.lm.model import LanguageModel
    from heval_core.metrics.shared.cell import Cell
    from heval_core.metrics.shared.estimate import Each, Estimate
    from heval_core.metrics.shared.measure import Measure
    from heval_core.techniques.shared.development import Asked, Development, Setting, Trial

KINDS = {"dataset": "datasets", "explainer": "explainers", "metric": "metrics", "technique": "techniques"}
FAMILIES = ("perturbation", "gradient", "attention", "mechanistic", "control")  # how an explainer gets at its scores
# What a technique changes, and what it is called on pages.
TECHNIQUE_FAMILIES = {
    "none": "Regular",
    "decoding": "decoding",
    "prompt": "prompt",
    "heads": "heads pruned",
    "training": "training",
    "calls": "several calls",
}


class Plugin(Protocol):
    """Every plug-in: a frozen dataclass of its settings. key: its name in commands, tables and links."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def reference(self) -> str: ...


class Dataset(Plugin, Protocol):
    """long: whether its documents are paragraphs, for which the paper explains fewer instances."""

    @property
    def long(self) -> bool: ...
    def facts(self) -> Iterator[Record]:
        """Raises HEvalError where the data is missing or foreign."""


class Explainer(Plugin, Protocol):
    """A method or a control. family: one of FAMILIES. signed: whether a score below 0 speaks against the answer.

    order: its number among methods, or among controls, from 1. Pages list it there, and its colour has that number.
    """

    @property
    def family(self) -> str: ...
    @property
    def signed(self) -> bool: ...
    @property
    def control(self) -> bool: ...
    @property
    def order(self) -> int: ...


class Method(Explainer, Protocol):
    """An explainer that looks into a model.

    default: it runs when none is named. needs: what a model must offer, keys of `heval_core.lm.needs.NEEDS`.
    """

    @property
    def default(self) -> bool: ...
    @property
    def needs(self) -> tuple[str, ...]: ...
    def cost(self, tokens: float) -> Cost:
        """The cost for one prompt of `tokens` tokens."""

    def explain(self, clean: CleanPass, targets: Sequence[Target]) -> list[Attribution]:
        """One attribution for each prompt of the pass."""


class Control(Explainer, Protocol):
    """An explainer that reads stored tokens only. Its scores are computed when results are published."""

    def scores(self, words: tuple[str, ...], answer: str, instance_id: str) -> np.ndarray:
        """(n,) float32, one score per token."""


class Metric(Plugin, Protocol):
    """measures: the values of the metric that pages, comparisons and the report show. See `heval_core/metrics`."""

    @property
    def higher_is_better(self) -> bool: ...
    @property
    def uses_k(self) -> bool: ...
    @property
    def measures(self) -> tuple[Measure, ...]: ...
    def each(self, cell: Cell, k: int) -> list[Each]:
        """Values of instances."""

    def over(self, cell: Cell, k: int) -> list[Estimate]:
        """Values of the cell."""


class Technique(Plugin, Protocol):
    """How an answer is produced; see `heval_core/techniques`.

    family: a key of TECHNIQUE_FAMILIES. order: its number on pages, from 1, Regular first. needs: what a model must offer,
    keys of `heval_core.lm.needs.NEEDS`. passes: forward passes for an answer, Regular's being 1. preparation: what precedes
    the first answer: nothing, `tuned` or `trained`. Variants of a technique answer alike under the same setting.
    """

    @property
    def family(self) -> str: ...
    @property
    def order(self) -> int: ...
    @property
    def needs(self) -> tuple[str, ...]: ...
    @property
    def passes(self) -> float: ...
    @property
    def preparation(self) -> str: ...
    def settings(self, development: Development) -> Sequence[Setting]: ...
    def reads(self) -> str: ...
    def best(self, trials: Sequence[Trial]) -> tuple[int, ...]: ...
    def applied(self, lm: LanguageModel, setting: Setting) -> AbstractContextManager[LanguageModel]: ...
    def asked(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[Asked]: ...
    def alone(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[Prompt]: ...
    def combined(self, z_c: Any, z_0: Any, setting: Setting) -> Any: ...
    def combined_by(self, z_c: Any, z_0: Any, settings: Sequence[Setting]) -> Iterator[Any]: ...


@functools.cache
def _of_kind(kind: str) -> dict[str, Any]:
    package = importlib.import_module(f"heval_core.{KINDS[kind]}")
    files = (module for module in pkgutil.iter_modules(package.__path__) if not module.ispkg)
    modules = sorted(module.name for module in files if module.name[0] != "_")
    offered = [importlib.import_module(f"{package.__name__}.{name}").PLUGIN for name in modules]
    return {plugin.key: plugin for plugin in offered}


@overload
def plugins(kind: Literal["dataset"]) -> dict[str, Dataset]: ...
@overload
def plugins(kind: Literal["explainer"]) -> dict[str, Explainer]: ...
@overload
def plugins(kind: Literal["metric"]) -> dict[str, Metric]: ...
@overload
def plugins(kind: Literal["technique"]) -> dict[str, Technique]: ...
@overload
def plugins(kind: str) -> dict[str, Any]: ...
def plugins(kind: str) -> dict[str, Any]:
    """All plug-ins of one kind by key; kind: one of KINDS."""
    return _of_kind(kind)


@overload
def explainers(control: Literal[False] = False) -> dict[str, Method]: ...
@overload
def explainers(control: Literal[True]) -> dict[str, Control]: ...
def explainers(control: bool = False) -> dict[str, Any]:
    """The methods, which look into a model, or the controls; in their order."""
    chosen = [plugin for plugin in _of_kind("explainer").values() if plugin.control is control]
    return {plugin.key: plugin for plugin in sorted(chosen, key=lambda plugin: (plugin.order, plugin.key))}


def default_methods() -> tuple[str, ...]:
    """Keys of the methods that run when none is named."""
    return tuple(key for key, method in explainers().items() if method.default)


@overload
def find(kind: Literal["dataset"], key: str) -> Dataset: ...
@overload
def find(kind: Literal["explainer"], key: str) -> Explainer: ...
@overload
def find(kind: Literal["metric"], key: str) -> Metric: ...
@overload
def find(kind: Literal["technique"], key: str) -> Technique: ...
@overload
def find(kind: str, key: str) -> Any: ...
@functools.cache
def find(kind: str, key: str) -> Any:
    """One plug-in, or a variant of it: `fa(target=prob)` is fa with another target, under that key.

    Raises HEvalError for an unknown key, with the nearest matches, and for an unknown option, with the known ones.
    """
    known = plugins(kind)
    name, opened, options = key.partition("(")
    if name in known:
        return _variant(known[name], options, key) if opened else known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}."
    raise HEvalError(f"There is no {kind} {name!r}; {hint}")


def techniques() -> dict[str, Technique]:
    """All techniques in their order, Regular first."""
    known = plugins("technique")
    return {key: known[key] for key in sorted(known, key=lambda key: (known[key].order, key))}


def method(key: str) -> Method:
    """A method, or a variant of one. Raises HEvalError as `find` does, and for a control."""
    explainer: Any = find("explainer", key)
    if explainer.control:
        raise HEvalError(
            f"{key} is a control: it does not look into the model, and is computed when results are published. "
            f"The explainers are: {', '.join(explainers())}."
        )
    chosen: Method = explainer
    return chosen


def split(text: str) -> tuple[str, ...]:
    """`fa,ig(steps=20,method=gausslegendre)` ▶ its keys: a comma inside brackets separates options."""
    return tuple(key.strip() for key in re.findall(r"(?:[^,(]|\([^)]*\)?)+", text) if key.strip())


def variants(keys: Iterable[str], kind: str = "explainer") -> dict[str, Any]:
    """All plug-ins of a kind, and the variants of them among `keys`; keys of plug-ins that this program lacks are left out."""
    known = plugins(kind)
    found = [find(kind, key) for key in sorted(set(keys)) if "(" in key and key.split("(")[0] in known]
    return known | {plugin.key: plugin for plugin in found}


def _variant(plugin: Any, options: str, key: str) -> Any:
    """The plug-in with other settings. Its key lists the changed ones in the order of the fields: one key per variant."""
    known = {field.name: field.default for field in fields(plugin)}
    chosen: dict[str, str | bool | int | float] = {}
    if not options.endswith(")"):
        raise HEvalError(f"The options of {key!r} need a closing bracket: {plugin.key}(name=value).")
    for option in options[:-1].split(","):
        name, _, text = (part.strip() for part in option.partition("="))
        if name not in known:
            options_known = f"there are: {', '.join(known)}." if known else "it has none."
            options_known += " A value cannot have a comma, which separates options." if "=" not in option and chosen else ""
            raise HEvalError(f"{plugin.key} has no option {name!r}; {options_known}")
        chosen[name] = _value(plugin, name, text)
    changed = [f"{name}={_text(chosen[name])}" for name in known if chosen.get(name, known[name]) != known[name]]
    if not changed:
        return plugin
    kind = type(plugin)
    named = {"key": f"{plugin.key}({','.join(changed)})", "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    if not isinstance(inspect.getattr_static(kind, "title"), property):  # a plug-in may word its options itself
        named["title"] = f"{plugin.title} ({', '.join(changed)})"
    variant = type(kind.__name__, (kind,), named)(**chosen)
    if hasattr(variant, "check"):
        variant.check()
    return variant


def _value(plugin: Any, name: str, text: str) -> str | bool | int | float:
    """An option's value, converted to its field's type; for `int | None` it must be a whole number."""
    declared = get_type_hints(type(plugin))[name]
    wanted = {declared, *get_args(declared)}
    if bool in wanted:
        if text in ("true", "false"):
            return text == "true"
        raise HEvalError(f"{plugin.key} reads {name}=true or {name}=false, not {text!r}.")
    if str in wanted:
        return text
    if float in wanted:
        if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text, re.ASCII | re.IGNORECASE) and isfinite(float(text)):
            return float(text)
        raise HEvalError(f"{plugin.key} reads {name}= with a number, not {text!r}.")
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise HEvalError(f"{plugin.key} reads {name}= with a whole number, not {text!r}.")
    return int(text)


def _text(value: str | bool | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def docstring(plugin: Plugin) -> str:
    """The docstring of the module that offers a plug-in: what, formula, reference, departure, cost."""
    module = inspect.getmodule(type(plugin))
    return inspect.cleandoc((module and module.__doc__) or "")
