"""Which models are installed here and may be asked, and whether one is the very model that stored results are of."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from heval_core.fingerprint import folder_revision
from heval_core.records import HEvalError

ROOT = Path(__file__).resolve().parent.parent.parent


def installed_models() -> dict[str, Path]:
    """The models that may be asked, by key: the demo's, and the folders in `HEVAL_MODELS` (separated like PATH).

    A folder without a config.json is one of models: each of its folders with one is offered. Of the demo's, those that say how
    they are asked: the others write explanations, or judge them.
    """
    folders = sorted((ROOT / "cache" / "demo" / "models").glob("*/heval.json"))
    models = {settings.parent.name: settings.parent for settings in folders}
    for name in filter(None, os.environ.get("HEVAL_MODELS", "").split(os.pathsep)):
        within = [] if (Path(name) / "config.json").is_file() else sorted(Path(name).glob("*/config.json"))
        for folder in [config.parent for config in within] or [Path(name)]:
            models[folder.name] = folder
    return models


@functools.lru_cache(maxsize=64)
def _revision(folder: str, modified: float) -> str:
    return folder_revision(Path(folder))


def installed(model: str, revision: str) -> Path:
    """The folder of the very model that stored results are of. model: a folder's name, or a hub id.

    Raises HEvalError, with what is missing, where it is not installed, or another one has its name. Of a hub model
    the commit is not written in its files: there the child compares what it answers (`messages.asked_as_stored`).
    """
    folder = installed_models().get(model.rpartition("/")[2])
    if folder is None or not folder.is_dir():
        raise HEvalError("This model is not installed here, so it cannot be asked. Set HEVAL_MODELS to the folder it is in.")
    if "/" not in model:
        here = _revision(str(folder), max((file.stat().st_mtime for file in folder.iterdir()), default=0.0))
        if here != revision:
            raise HEvalError(
                f"The model {model} that is installed here has revision {here}; these results used {revision}, so it is "
                "not asked."
            )
    return folder
