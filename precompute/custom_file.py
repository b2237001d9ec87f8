"""An explainer of one's own: a file outside the package, which one's own command line names.

The file is one module. It is run, so name only files that you trust; no page reads one. The keys of its shards hold a hash of
its text, so that an edited file is computed again. The text, not the path, goes to worker processes. Before a grid spends
minutes on it, the explainer is tried on a few small prompts of equal length, together and each alone.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from heval_core.lm.budget import first_line
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import NEEDS
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import FAMILIES, Method
from heval_core.prompting.prompts import assemble
from heval_core.records import Attribution, Cost, HEvalError, Target, TokenisedPrompt

DEFAULT = "PLUGIN"


@dataclass(frozen=True)
class CustomFile:
    """A file with an explainer, outside the package.

    file: its path, as given. name: of a class or an instance in it. source: its text.
    """

    file: str
    name: str
    source: str = field(repr=False)

    @classmethod
    def read(cls, text: str) -> CustomFile:
        """Read FILE.py:CLASS, or FILE.py for its PLUGIN. Raises HEvalError for a file that cannot be read."""
        file, colon, name = text.rpartition(":")
        if not colon or name.endswith(".py"):
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
        """Return the one-line error for this explainer."""
        return HEvalError(f"{self} {what}.")

    def add(self) -> Method:
        """Offer the explainer in this process. Raises HEvalError, with file and class, for one that is none, or is taken."""
        explainer = self._instance()
        self._check(explainer)
        try:
            catalogue.add("explainer", explainer, self.digest)
        except HEvalError:
            other = inspect.getfile(type(catalogue.find("explainer", explainer.key)))
            raise self.wrong(f"has the key {explainer.key!r}, as the explainer of {other} has; give it another one") from None
        method: Method = catalogue.method(explainer.key)
        return method

    def _instance(self) -> Any:
        defined = getattr(self._module(), self.name, None)
        if defined is None:
            raise self.wrong("is not there: the file defines no such class or instance")
        if not isinstance(defined, type):
            return defined
        try:
            return defined()
        except TypeError as error:
            raise self.wrong(f"cannot be made without arguments; give each field a default ({first_line(error)})") from error
        except (Exception, SystemExit) as error:  # whatever somebody's code raises
            raise self.wrong(f"cannot be made: {type(error).__name__}: {first_line(error)}") from error

    def _module(self) -> ModuleType:
        name = f"own_explainer_{self.digest}"
        if name in sys.modules:
            return sys.modules[name]
        module = sys.modules[name] = ModuleType(name)  # dataclasses look their module up
        module.__file__ = self.file
        try:
            exec(compile(self.source, self.file, "exec", dont_inherit=True), vars(module))
        except (Exception, SystemExit) as error:  # whatever somebody's file raises; a script ends itself
            del sys.modules[name]
            raise HEvalError(
                f"The file {self.file} cannot be imported: {type(error).__name__}: {first_line(error)}."
            ) from error
        return module

    def _check(self, explainer: Any) -> None:
        """Raise HEvalError for an explainer that does not say what `protocols.Method` asks for."""
        control = "is a control; only explainers that look into the model are run, with control = False"
        if fault := control if getattr(explainer, "control", False) else catalogue.fault("explainer", explainer):
            raise self.wrong(fault)
        key, family, needs = explainer.key, explainer.family, explainer.needs
        checks = (
            (re.fullmatch(r"[a-z][a-z0-9_]*", key), f"has the key {key!r}; use small letters, digits and _"),
            (family in FAMILIES, f"has the family {family!r}; the families are: {', '.join(FAMILIES)}"),
            (
                isinstance(needs, tuple) and all(isinstance(need, str) and need in NEEDS for need in needs),
                f"needs {needs!r}; give a tuple of what a model can have: {', '.join(NEEDS)}",
            ),
        )
        for right, fault in checks:
            if not right:
                raise self.wrong(fault)
        try:
            cost = Cost(*explainer.cost(100.0))
        except Exception as error:  # whatever somebody's code raises
            raise self.wrong(f"cannot say its cost: cost(100) raised {type(error).__name__}: {first_line(error)}") from error
        if not cost.passes > 0 < cost.tokens:
            raise self.wrong("gives no Cost(passes, tokens), each above 0, for cost(100)")


@contextmanager
def added(files: Iterable[CustomFile]) -> Iterator[Sequence[Method]]:
    """Offer explainers in this process for a while. Raises HEvalError for the first that cannot be offered."""
    explainers: list[Method] = []
    try:
        for file in files:
            explainers.append(file.add())
        yield explainers
    finally:
        for explainer in explainers:
            catalogue.remove("explainer", explainer.key)


DOCUMENTS = ("The capital of Kenya is Lisbon.", "The capital of Peru is Lima.")
ANSWERS = ("Lisbon", "Lima")
QUESTION = "What is the capital of Kenya?"
PROMPTS = 3
# Scores alone and in a batch may differ by rounding: by so much, relative to the largest score of the prompt.
TOLERANCE = 1e-3


def try_out(lm: LanguageModel, explainer: Method) -> None:
    """Raise HEvalError for an explainer whose scores cannot stand on a board; the message goes on from its name.

    It raises; it gives no attribution for each prompt, or not one finite score for each token; scores below 0 that it says it
    has not; or other scores in a batch than alone.
    """
    prompts = _prompts(lm)
    together = _scores(lm, explainer, prompts)
    for number, prompt in enumerate(prompts):
        (alone,) = _scores(lm, explainer, [prompt])
        room = TOLERANCE * max(float(np.abs(alone).max()), 1e-6)
        apart = float(np.abs(together[number] - alone).max())
        if apart > room:
            raise HEvalError(
                f"gives a prompt other scores in a batch of {PROMPTS} than alone: they differ by up to {apart:.2g}"
            )


def _prompts(lm: LanguageModel) -> list[TokenisedPrompt]:
    """Make a prompt, and the same with what is ranked of it turned by a token or two: of equal length, whatever the
    tokenizer.
    """
    prompt = lm.tokenise(assemble(DOCUMENTS, ANSWERS, QUESTION, lm.template))
    ids, ranked = prompt.ids, prompt.ranked
    inner = ids[ranked.start : ranked.stop]
    turned = (inner[by:] + inner[:by] for by in range(PROMPTS))
    return [replace(prompt, ids=ids[: ranked.start] + part + ids[ranked.stop :]) for part in turned]


def _scores(lm: LanguageModel, explainer: Method, prompts: Sequence[TokenisedPrompt]) -> list[np.ndarray]:
    """Compute the scores of prompts explained together, each (n,)."""
    clean = CleanPass(lm, prompts)
    best = [row.topk(2).indices.tolist() for row in clean.logits]
    targets = [Target.next_token(answer, foil, "runner-up token") for answer, foil in best]
    try:
        values: Any = explainer.explain(clean, targets)
    except Exception as error:  # whatever somebody's code raises
        raise HEvalError(f"raised {type(error).__name__}: {first_line(error)}") from error
    if not isinstance(values, Sequence) or len(values) != len(prompts) or not all(isinstance(a, Attribution) for a in values):
        kind = f"{len(values)} values" if isinstance(values, Sequence) else f"a {type(values).__name__}"
        raise HEvalError(f"returned {kind} for {len(prompts)} prompts; return a list with one Attribution for each")
    return [_checked(explainer, attribution, clean.length) for attribution in values]


def _checked(explainer: Method, attribution: Attribution, tokens: int) -> np.ndarray:
    scores: Any = attribution.scores
    if not isinstance(scores, np.ndarray) or scores.dtype.kind != "f":
        kind = f"numpy array of {scores.dtype}" if isinstance(scores, np.ndarray) else type(scores).__name__
        raise HEvalError(f"gave scores that are a {kind}; give a numpy array of floats")
    if scores.shape != (tokens,):
        raise HEvalError(f"gave scores of shape {scores.shape} for a prompt of {tokens} tokens; give one score for each token")
    if not np.isfinite(scores).all():
        raise HEvalError(f"gave scores that are NaN or infinite, {int((~np.isfinite(scores)).sum())} of {tokens}")
    if not explainer.signed and (scores < 0).any():
        raise HEvalError("gave scores below 0; say signed = True, or give none")
    if attribution.explainer != explainer.key:
        raise HEvalError(f"gave an Attribution of {attribution.explainer!r}; its own key is {explainer.key!r}")
    if attribution.settings != repr(explainer):
        raise HEvalError("gave an Attribution whose settings are not its repr; write Attribution(..., settings=repr(self))")
    return scores
