"""The key of a regime: how documents are combined, then its options, with dots between them.

`mixed`, `mixed.d1`, `mixed.1024-first`, `mixed.d1.1024-first`: a base, a decoy, and a length in tokens with the place of the
document that carries the answer. Safe in file names, links and LaTeX; a key without options is what it always was.
"""

from __future__ import annotations

from dataclasses import dataclass

from heval_core.records import DUAL_REGIMES, EVERY_REGIME, HEvalError

DECOYS = ("d0", "d1", "d2", "d3")
LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
PLACES = ("first", "middle", "last")


@dataclass(frozen=True, slots=True)
class RegimeOptions:
    """A regime with its options. place: where padding leaves the documents; None without a length.

    Raises HEvalError for what no regime can have.
    """

    base: str
    decoy: str | None = None
    length: int | None = None
    place: str | None = None

    def __post_init__(self) -> None:
        if self.base not in EVERY_REGIME:
            raise HEvalError(f"There is no regime {self.base!r}; there are: {', '.join(EVERY_REGIME)}.")
        if self.decoy is not None and self.decoy not in DECOYS:
            raise HEvalError(f"There is no decoy {self.decoy!r}; there are: {', '.join(DECOYS)}.")
        if self.decoy is not None and not self.dual:
            raise HEvalError(f"{self.base} has one document; decoys need two: {', '.join(DUAL_REGIMES)}.")
        if self.length is not None and self.length not in LENGTHS:
            raise HEvalError(f"There is no length {self.length}; there are: {', '.join(map(str, LENGTHS))}.")
        if (self.length is None) != (self.place is None) or (self.place is not None and self.place not in PLACES):
            raise HEvalError(f"A length needs a place, and a place a length; places are: {', '.join(PLACES)}.")

    @property
    def dual(self) -> bool:
        """Whether there are two documents."""
        return self.base in DUAL_REGIMES

    def __str__(self) -> str:
        padded = f"{self.length}-{self.place}" if self.length else None
        return ".".join(part for part in (self.base, self.decoy, padded) if part)


def read_key(key: str) -> RegimeOptions:
    """Raises HEvalError for what is no regime's key."""
    base, *options = key.split(".")
    decoy = options.pop(0) if options and options[0].startswith("d") else None
    length, _, place = options.pop(0).partition("-") if options else ("", "", "")
    if options or (length and not length.isdecimal()):
        raise HEvalError(f"{key!r} is no regime; write for instance mixed, mixed.d1 or mixed.d1.1024-first.")
    return RegimeOptions(base, decoy, int(length) if length else None, place or None)
