"""Finds the plug-ins by importing their folders, and those that other packages offer. `protocols` states what each declares.

A new file with a `PLUGIN` is all it takes to add one; another package names its own as an entry point of a group such as
`heval.explainers` (`group_of`). Importing plug-ins never imports torch; only running them does. What offers none, as it is
half-written or has another's key, is named once, and costs only itself (`broken`).
A plug-in from a file of one's own can be added to this process (`add`); other processes do not know it.
"""

import difflib
import functools
import hashlib
import importlib
import inspect
import logging
import pkgutil
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from importlib import metadata
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeGuard, get_args, get_type_hints, overload

from heval_core.plugins import protocols
from heval_core.plugins.protocols import Control, Fitted, Method, Plugin, Technique
from heval_core.records import HEvalError

KINDS = {
    "dataset": "datasets",
    "explainer": "explainers",
    "metric": "metrics",
    "technique": "techniques",
    "claims": "citations.claims",
    "selector": "citations.selectors",
    "annotator": "citations.annotators",
}
# The protocol of each kind; for controls see `fault`.
_DECLARED = (
    *(protocols.Dataset, protocols.Method, protocols.Metric, protocols.Technique),
    *(protocols.ClaimData, protocols.Selector, protocols.Annotator),
)


# Plug-ins from outside the package: (kind, key) ▶ the plug-in, and a hash of the code that it comes from.
_ADDED: dict[tuple[str, str], tuple[Any, str]] = {}


def plugins(kind: str) -> dict[str, Any]:
    """Return all plug-ins of one kind by key; kind: one of KINDS."""
    read = _read(kind)
    added = {plugin.key: plugin for (plugin_kind, _), (plugin, _) in _ADDED.items() if plugin_kind == kind}
    return read.built_in | {key: plugin for key, (plugin, _) in read.of_others.items()} | added


def built_in(kind: str) -> dict[str, Any]:
    """Return those that are a part of this program."""
    return _read(kind).built_in


def broken(kind: str) -> dict[str, str]:
    """Return what offers no plug-in of a kind, and why: by the key that two of them have, else by the name of file or entry
    point.
    """
    return _read(kind).broken


def group_of(kind: str) -> str:
    """Return the group of entry points by which other packages offer plug-ins of a kind, such as `heval.explainers`."""
    return f"heval.{KINDS[kind].rpartition('.')[2]}"


class _Read(NamedTuple):
    """of_others: key ▶ a plug-in of another package, and what its code is."""

    built_in: dict[str, Any]
    of_others: dict[str, tuple[Any, str]]
    broken: dict[str, str]


class _Offer(NamedTuple):
    """name: of file or entry point. where: for people. package: the other package with its version; empty for a file here."""

    name: str
    where: str
    load: Callable[[], Any]
    package: str = ""


def _offers(kind: str) -> Iterator[_Offer]:
    package = importlib.import_module(f"heval_core.{KINDS[kind]}")
    files = (module for module in pkgutil.iter_modules(package.__path__) if not module.ispkg)
    for name in sorted(module.name for module in files if module.name[0] != "_"):
        module = f"{package.__name__}.{name}"
        yield _Offer(name, f"{module.replace('.', '/')}.py", functools.partial(_plugin_in, module))
    for point in sorted(metadata.entry_points(group=group_of(kind))):
        package_version = f"{point.dist.name} {point.dist.version}" if point.dist else point.module
        yield _Offer(point.name, f"{point.value} of {package_version}", point.load, package_version)


def _plugin_in(module: str) -> Any:
    return getattr(importlib.import_module(module), "PLUGIN", None)


@functools.cache
def _read(kind: str) -> _Read:
    offered, faults = defaultdict[str, list[tuple[_Offer, Any]]](list), dict[str, str]()
    for offer in _offers(kind):
        try:
            plugin = offer.load()
            why = f"PLUGIN {lacking}" if (lacking := fault(kind, plugin)) else ""
        except (Exception, SystemExit) as error:  # whatever code raises that somebody is writing
            why = f"{type(error).__name__}: {error}"
        if why:
            faults[offer.name] = f"{offer.where} cannot be used: {why}."
        else:
            offered[plugin.key].append((offer, plugin))
    read = _Read({}, {}, faults)
    for key, ((offer, plugin), *others) in offered.items():
        if others:
            twice = " and ".join(other.where for other, _ in offered[key])
            faults[key] = f"{twice} have the same key {key!r}; none of them is used until each has its own."
        elif offer.package:
            of_file = hashlib.sha256(Path(inspect.getfile(type(plugin))).read_bytes()).hexdigest()[:16]
            read.of_others[key] = plugin, f"{offer.package} {of_file}"
        else:
            read.built_in[key] = plugin
    for text in faults.values():
        logging.getLogger(__name__).warning(text)
    return read


def fault(kind: str, plugin: Any) -> str:
    """Say why something is no plug-in of a kind: `lacks order …`; "" for one that is."""
    if plugin is None:
        return "is not there"
    if isinstance(plugin, type) or not getattr(getattr(plugin, "__dataclass_params__", None), "frozen", False):
        return "is no instance of a frozen dataclass; put @dataclass(frozen=True) above it, so that its settings are known"
    control = kind == "explainer" and getattr(plugin, "control", False)
    protocol = Control if control else dict(zip(KINDS, _DECLARED, strict=True))[kind]
    names = [name for name in dir(protocol) if name[0] != "_"]
    if lacking := [name for name in names if not hasattr(plugin, name)]:
        return f"lacks {', '.join(lacking)}; heval_core/plugins/protocols.py says what it declares"
    for name in names:
        declared, value = getattr(protocol, name), getattr(plugin, name)
        annotation = declared.fget.__annotations__["return"] if isinstance(declared, property) else ""
        if annotation in ("str", "int", "bool") and type(value).__name__ != annotation:
            return f"has the {name} {value!r}, which is no {annotation}"
    return ""


@overload
def explainers(control: Literal[False] = False) -> dict[str, Method]: ...
@overload
def explainers(control: Literal[True]) -> dict[str, Control]: ...
def explainers(control: bool = False) -> dict[str, Any]:
    """Return the methods, which look into a model, or the controls; in their order."""
    return _in_order(plugin for plugin in plugins("explainer").values() if plugin.control is control)


def _in_order(chosen: Iterable[Any]) -> dict[str, Any]:
    return {plugin.key: plugin for plugin in sorted(chosen, key=lambda plugin: (plugin.order, plugin.key))}


def default_methods() -> tuple[str, ...]:
    """Return keys of the methods that run when none is named."""
    return tuple(key for key, method in explainers().items() if method.default)


@functools.cache
def find(kind: str, key: str) -> Any:
    """Return one plug-in, or a variant of it: `fa(target=prob)` is fa with another target, under that key.

    Raises HEvalError for an unknown key, with the nearest matches, and for an unknown option, with the known ones.
    """
    known = plugins(kind)
    name, opened, options = key.partition("(")
    if name in known:
        return _variant(known[name], options, key) if opened else known[name]
    if name in broken(kind):
        raise HEvalError(broken(kind)[name])
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}."
    what = {"claims": "source of claims"}.get(kind, kind)
    raise HEvalError(" ".join([f"There is no {what} {name!r}; {hint}", *broken(kind).values()]))


def techniques() -> dict[str, Technique]:
    """Return all techniques in their order, Regular first."""
    return _in_order(plugins("technique").values())


def method(key: str) -> Method:
    """Return a method, or a variant of one. Raises HEvalError as `find` does, and for a control."""
    explainer: Method = find("explainer", key)
    if explainer.control:
        raise HEvalError(
            f"{key} is a control: it does not look into the model, and is computed when results are published. "
            f"The explainers are: {', '.join(explainers())}."
        )
    return explainer


def needs_fit(explainer: Any) -> TypeGuard[Fitted]:
    """Return whether an explainer has parameters that are fitted to a model first."""
    return bool(getattr(explainer, "needs_fit", False))


def split(text: str) -> tuple[str, ...]:
    """Split `fa,ig(steps=20,method=gausslegendre)` into its keys: a comma inside brackets separates options."""
    return tuple(key.strip() for key in re.findall(r"(?:[^,(]|\([^)]*\)?)+", text) if key.strip())


def variants(keys: Iterable[str], kind: str = "explainer") -> dict[str, Any]:
    """Return all plug-ins of a kind, and the variants of them among `keys`; keys of plug-ins that are not here are
    left out.
    """
    known = plugins(kind)
    with_options = [find(kind, key) for key in sorted(set(keys)) if "(" in key and key.split("(")[0] in known]
    return known | {plugin.key: plugin for plugin in with_options}


def described(plugin: Any, kind: str) -> dict[str, Any]:
    """Return what a store keeps of a plug-in besides its docstring, so that its results are read where it is not installed."""
    declared = ("key", "title", "family", "preparation", "reference")
    return {
        **{name: str(value) if (value := getattr(plugin, name, None)) is not None else None for name in declared},
        "signed": bool(plugin.signed) if hasattr(plugin, "signed") else None,
        "passes": float(plugin.passes) if kind == "technique" else None,
        # Of explainers: those that read tokens only, and those that look at the model but whose family says so.
        "control": bool(plugin.control or plugin.family == "control") if hasattr(plugin, "control") else None,
        "text_only": bool(plugin.control) if kind == "explainer" else None,
        "place": getattr(plugin, "order", None) if kind in ("technique", "annotator", "selector") else None,
    }


def _variant(plugin: Any, options: str, key: str) -> Any:
    """Return the plug-in with other settings. Its key lists the changed ones in the order of the fields: one key per variant.

    A plug-in's `first` option may be written, and is listed, without its name: `explainer(loo)`.
    """
    known = {field.name: field.default for field in fields(plugin)}
    chosen: dict[str, str | bool | int | float] = {}
    if not options.endswith(")"):
        raise HEvalError(f"The options of {key!r} need a closing bracket: {plugin.key}(name=value).")
    first = getattr(plugin, "first", "")
    for index, option in enumerate(options[:-1].split(",")):
        option = f"{first}={option}" if first and not index and "=" not in option else option
        name, _, text = (part.strip() for part in option.partition("="))
        if name not in known:
            options_known = f"there are: {', '.join(known)}." if known else "it has none."
            options_known += " A value cannot have a comma, which separates options." if "=" not in option and chosen else ""
            raise HEvalError(f"{plugin.key} has no option {name!r}; {options_known}")
        chosen[name] = _value(plugin, name, text)
    texts = {name: _text(chosen[name]) for name in known if chosen.get(name, known[name]) != known[name]}
    changed = [text if name == first else f"{name}={text}" for name, text in texts.items()]
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
    """Return an option's value, converted to its field's type; for `int | None` it must be a whole number."""
    declared = get_type_hints(type(plugin))[name]
    types = {declared, *get_args(declared)}
    if bool in types:
        if text in ("true", "false"):
            return text == "true"
        raise HEvalError(f"{plugin.key} reads {name}=true or {name}=false, not {text!r}.")
    if str in types:
        return text
    if float in types:
        if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text, re.ASCII | re.IGNORECASE) and isfinite(float(text)):
            return float(text)
        raise HEvalError(f"{plugin.key} reads {name}= with a number, not {text!r}.")
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise HEvalError(f"{plugin.key} reads {name}= with a whole number, not {text!r}.")
    return int(text)


def _text(value: str | bool | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def add(kind: str, plugin: Any, source: str) -> None:
    """Offer a plug-in from outside the package, in this process. source: a hash of its code. Twice is once.

    Raises HEvalError if another plug-in has its key.
    """
    known = _ADDED.get((kind, plugin.key))
    if plugin.key in plugins(kind) and (known is None or known[1] != source):
        raise HEvalError(f"There is already one {kind} {plugin.key!r}; give this one another key.")
    _ADDED.setdefault((kind, plugin.key), (plugin, source))
    find.cache_clear()


def remove(kind: str, key: str) -> None:
    """Offer a plug-in that was added no longer."""
    _ADDED.pop((kind, key), None)
    find.cache_clear()


def identity(kind: str, plugin: Any) -> str:
    """Return what a plug-in's results depend on: its settings, and its code where that is no part of this program."""
    key = plugin.key.partition("(")[0]
    outside = _ADDED.get((kind, key)) or _read(kind).of_others.get(key)
    return f"{plugin!r} from {outside[1]}" if outside else repr(plugin)


def docstring(plugin: Plugin) -> str:
    """Return the docstring of the module that offers a plug-in: what, formula, reference, departure, cost."""
    module = inspect.getmodule(type(plugin))
    return inspect.cleandoc((module and module.__doc__) or "")
