"""Where a store's models and data came from. It knows them by a name alone, and two of one name would hide each other."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore

# What is renamed, for a model or data to have another name.
_KEPT_IN = {"model": "folders or files", "weights": "folders or files", "file": "files", "data": "files"}


class SameName(HEvalError):
    """Two models, or two files of data, with one name: nothing is begun."""


def where_is(path: Path | str | None) -> str:
    """Return a resolved path; empty where a package, the data folder or the hub has it."""
    return str(Path(path).resolve()) if path else ""


class InputOrigin(NamedTuple):
    """what: weights or data. path: of its folder or file, see `where_is`. state: its revision or fingerprint."""

    what: str
    name: str
    path: str
    state: str


def check_known(store: ShardStore, origins: Sequence[InputOrigin]) -> None:
    """Raise SameName where the store has results of another one of a name; what was moved, or edited, is the same."""
    known = [InputOrigin(**line) for line in store.journal("origin")]
    for origin in origins:
        before = [other for other in known if other[:2] == origin[:2]]
        if before and not any(origin.path == other.path or origin.state == other.state for other in before):
            there, here = (path or "its usual place" for path in (before[-1].path, origin.path))
            raise SameName(
                f"The store {store.folder} has results of other {origin.what} called {origin.name}, from {there}, not {here}; "
                f"rename one of the two {_KEPT_IN[origin.what]}, or use another store (--store)."
            )


def note_origins(store: ShardStore, origins: Sequence[InputOrigin]) -> None:
    """Note what is computed from, so that `check_known` knows it."""
    known = store.journal("origin")
    store.note("origin", *(origin._asdict() for origin in origins if origin._asdict() not in known))


def check_apart(what: str, named: list[tuple[str, str]]) -> None:
    """Raise SameName for two with one name. named: how each was given, and its name."""
    known: dict[str, str] = {}
    for given, name in named:
        if (first := known.setdefault(name, given)) != given:
            raise SameName(f"{first} and {given} are both called {name}; rename one of the {_KEPT_IN[what]}.")
