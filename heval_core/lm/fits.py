"""Parameters that explainers were fitted with to one model: files, each named by the hash of what it holds.

`python -m precompute fit` makes them. A fit belongs to one revision of a model and to one set of an explainer's settings; a
folder holds one of each at most. It also lists the questions that it was made on, as hashes, so that no board shows one.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from heval_core.folders import BUNDLED, RESULTS, program
from heval_core.lm.facts import ModelFacts
from heval_core.records import HEvalError

FOLDER = "fits"


def question_hash(question: str) -> str:
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Fit:
    """An explainer's parameters for one model.

    explainer: its key. settings: its repr. about: how it was fitted, as JSON. questions: hashes of the questions that it was
    fitted on. parameters: in row order, of an array of this shape.
    """

    explainer: str
    settings: str
    model: str
    revision: str
    about: str
    questions: tuple[str, ...]
    shape: tuple[int, ...]
    parameters: tuple[float, ...]

    @cached_property
    def digest(self) -> str:
        """Of all that it holds."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    @property
    def array(self) -> np.ndarray:
        """The parameters, float32."""
        return np.array(self.parameters, dtype=np.float32).reshape(self.shape)

    @property
    def identity(self) -> tuple[str, str, str]:
        """What there is one fit of."""
        return self.model, self.revision, self.settings


def folders(store: Path | None = None) -> tuple[Path, ...]:
    """List where fits are looked for, in this order: a store's own, those of HEVAL_FITS, the batch job's, the demo models'."""
    named = [Path(part) for part in os.environ.get("HEVAL_FITS", "").split(os.pathsep) if part]
    of_store = [store / FOLDER] if store else []
    return (*of_store, *named, RESULTS / FOLDER, BUNDLED["demo"][1] / FOLDER)


def write(folder: Path, fit: Fit) -> Path:
    """Keep a fit; an earlier one of the same model, revision and settings is replaced. Raises HEvalError if it cannot be."""
    path = folder / f"{fit.explainer.partition('(')[0]}-{fit.digest}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        earlier = [old for old in _files(folder) if old != path and _read(old).identity == fit.identity]
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(fit), indent=0) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise HEvalError(f"The fit cannot be written to {folder}: {error.strerror}.") from error
    for old in earlier:
        old.unlink()
    return path


def stored(where: Iterable[Path]) -> list[Fit]:
    """Read all fits in some folders, in their order. Raises HEvalError for one whose content is not what its name says."""
    return [_read(file) for folder in where for file in _files(folder)]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def _read(file: Path) -> Fit:
    try:
        fields: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
        fit = Fit(**values)
    except (OSError, ValueError, TypeError) as error:
        raise HEvalError(f"The fit {file} cannot be read; remove it, and run: {program()} fit.") from error
    if not file.stem.endswith(fit.digest):
        raise HEvalError(f"The fit {file} was changed after it was made; remove it, and run: {program()} fit.")
    return fit


def find(fits: Iterable[Fit], explainer: Any, model: str, revision: str) -> Fit:
    """Find the fit of an explainer to a model. Raises HEvalError, naming the command that makes it, where there is none."""
    of_model = [fit for fit in fits if (fit.model, fit.settings) == (model, repr(explainer))]
    fitting = [fit for fit in of_model if fit.revision == revision]
    if fitting:
        return fitting[0]
    make = f"run: {program()} fit --models {model} --datasets … --explainers '{explainer.key}'"
    if of_model:
        others = ", ".join(fit.revision[:8] for fit in of_model)
        raise HEvalError(f"{explainer.key} is fitted to another revision of {model} ({others}, not {revision[:8]}); {make}")
    raise HEvalError(f"{explainer.key} is not fitted to {model}; {make}")


class Fits:
    """The fits of one model: those it was given, else those in the usual folders."""

    def __init__(self, facts: ModelFacts):
        self._facts = facts
        self.given: tuple[Fit, ...] = ()

    def give(self, fits: Sequence[Fit]) -> None:
        """Use these before any in a folder; those of other models are no harm."""
        self.given = (*fits, *self.given)

    def of(self, explainer: Any) -> Fit:
        """Return the fit of an explainer. Raises HEvalError for one that was not fitted to this revision of the model."""
        model, revision = self._facts.key, self._facts.revision
        for fit in self.given:
            if fit.identity == (model, revision, repr(explainer)):
                return fit
        return find((*self.given, *stored(folders())), explainer, model, revision)
