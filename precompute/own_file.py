"""An explainer of one's own: a file outside the package, which one's own command line names.

The file is one module. It is run, so name only files that you trust; no page reads one. The keys of its shards hold a hash of
its text, so that an edited file is computed again. The text, not the path, goes to worker processes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.abc
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from heval_core import catalogue
from heval_core.lm.memory import first_line
from heval_core.lm.needs import NEEDS
from heval_core.protocols import FAMILIES, Method
from heval_core.records import Cost, HEvalError

DEFAULT = "PLUGIN"
# What a file must say of its explainer.
DECLARED = tuple(sorted(name for name in dir(Method) if not name.startswith("_")))


@dataclass(frozen=True)
class OwnFile:
    """file: its path, as given. name: of a class or an instance in it. source: its text."""

    file: str
    name: str
    source: str = field(repr=False)

    @classmethod
    def read(cls, text: str) -> OwnFile:
        """text: FILE.py:CLASS, or FILE.py for its PLUGIN. Raises HEvalError for a file that cannot be read."""
        file, found, name = text.rpartition(":")
        if not found or name.endswith(".py"):
            file, name = text, DEFAULT
        try:
            return cls(file, name, Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise HEvalError(f"The explainer's file {file!r} cannot be read: {first_line(error)}.") from error

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]

    def wrong(self, what: str) -> HEvalError:
        """The one-line error for this explainer."""
        return HEvalError(f"{self} {what}.")

    def add(self) -> Method:
        """Offer the explainer in this process. Raises HEvalError, with file and class, for one that is none, or is taken."""
        explainer = self._instance()
        self._check(explainer)
        try:
            catalogue.add("explainer", explainer, self.digest)
        except HEvalError:
            raise self.wrong(f"has the key {explainer.key!r}, which another explainer has; give it another one") from None
        own: Method = catalogue.method(explainer.key)
        return own

    def _instance(self) -> Any:
        found = getattr(self._module(), self.name, None)
        if found is None:
            raise self.wrong("is not there: the file defines no such class or instance")
        if not isinstance(found, type):
            return found
        try:
            return found()
        except TypeError as error:
            raise self.wrong(f"cannot be made without arguments; give each field a default ({first_line(error)})") from error
        except (Exception, SystemExit) as error:  # whatever somebody's code raises
            raise self.wrong(f"cannot be made: {type(error).__name__}: {first_line(error)}") from error

    def _module(self) -> ModuleType:
        name = f"own_explainer_{self.digest}"
        if name in sys.modules:
            return sys.modules[name]
        spec = importlib.util.spec_from_loader(name, _Text(self.source), origin=self.file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # whatever somebody's file raises; a script ends itself
            del sys.modules[name]
            raise HEvalError(
                f"The file {self.file} cannot be imported: {type(error).__name__}: {first_line(error)}."
            ) from error
        return module

    def _check(self, explainer: Any) -> None:
        """Raises HEvalError for an explainer that does not say what `protocols.Method` asks for."""
        lacking = [name for name in DECLARED if not hasattr(explainer, name)]
        if lacking:
            raise self.wrong(f"lacks {', '.join(lacking)}; heval_core/protocols.py says what an explainer declares")
        key, family, needs = explainer.key, str(explainer.family), explainer.needs
        if not isinstance(needs, tuple) or not all(isinstance(need, str) for need in needs):
            raise self.wrong(f'has needs = {needs!r}; give a tuple of texts, such as ("gradients",)')
        settings = dataclasses.is_dataclass(explainer) and explainer.__dataclass_params__.frozen  # type: ignore[union-attr]
        cost = self._cost(explainer)
        checks = (
            (settings, "is no frozen dataclass; put @dataclass(frozen=True) above it, so that its settings are known"),
            (re.fullmatch(r"[a-z][a-z0-9_]*", str(key)), f"has the key {key!r}; use small letters, digits and _"),
            (
                explainer.control is False,
                "is a control; only explainers that look into the model are run, with control = False",
            ),
            (family in FAMILIES, f"has the family {family!r}; the families are: {', '.join(FAMILIES)}"),
            (set(needs) <= set(NEEDS), f"needs {', '.join(needs)}; what a model can have is: {', '.join(NEEDS)}"),
            (cost is not None and cost.passes > 0 < cost.tokens, "gives no Cost(passes, tokens), each above 0, for cost(100)"),
        )
        for right, told in checks:
            if not right:
                raise self.wrong(told)

    def _cost(self, explainer: Any) -> Cost | None:
        try:
            return Cost(*explainer.cost(100.0))
        except Exception as error:  # whatever somebody's code raises
            raise self.wrong(f"cannot say its cost: cost(100) raised {type(error).__name__}: {first_line(error)}") from error


class _Text(importlib.abc.InspectLoader):
    """Imports a module from its text."""

    def __init__(self, source: str):
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source


@contextmanager
def added(files: Iterable[OwnFile]) -> Iterator[Sequence[Method]]:
    """Offer explainers in this process for a while. Raises HEvalError for the first that cannot be offered."""
    explainers: list[Method] = []
    try:
        for file in files:
            explainers.append(file.add())
        yield explainers
    finally:
        for explainer in explainers:
            catalogue.remove("explainer", explainer.key)
