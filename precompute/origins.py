"""Where a store's models and data came from. It knows them by a name alone, and two of one name would hide each other."""

from dataclasses import dataclass
from pathlib import Path

from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore


class SameName(HEvalError):
    """Two models, or two files of data, with one name: nothing is begun."""


@dataclass(frozen=True)
class Origin:
    """what: weights or data. path: of its folder or file; "" where a package, the data folder or the hub has it. state: its
    revision or fingerprint."""

    what: str
    name: str
    path: str
    state: str

    @classmethod
    def of(cls, what: str, name: str, path: Path | str | None, state: str) -> "Origin":
        return cls(what, name, str(Path(path).resolve()) if path else "", state)

    def check(self, store: ShardStore) -> None:
        """Raises SameName where the store has results of another of this name; one that was moved or edited is the same."""
        before = [Origin(**line) for line in store.journal("origin") if (line["what"], line["name"]) == (self.what, self.name)]
        if before and not any(self.path == known.path or self.state == known.state for known in before):
            there, here = (path or "its usual place" for path in (before[-1].path, self.path))
            raise SameName(
                f"The store {store.folder} has results of other {self.what} called {self.name}, from {there}, not {here}; "
                "give one of the two another name, or use another store (--store)."
            )

    def note(self, store: ShardStore) -> None:
        """What was computed from, so that `check` knows it."""
        if vars(self) not in store.journal("origin"):
            store.note("origin", vars(self))


def check_apart(what: str, named: list[tuple[str, str]]) -> None:
    """named: how each was given, and its name. Raises SameName for two with one name."""
    known: dict[str, str] = {}
    for given, name in named:
        if (first := known.setdefault(name, given)) != given:
            raise SameName(f"{first} and {given} are both called {name}; give one {what} another name.")
