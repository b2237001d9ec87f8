"""The key of a regime: how documents are combined, then its options, with dots between them.

`mixed`, `mixed.d1`, `mixed.1024-first`, `mixed.d1.1024-first`: a base, a decoy, and a length in tokens with the place of the
document that carries the answer. Safe in file names, links and LaTeX; a key without options is what it always was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from heval_core.records import DUAL_REGIMES, EVERY_REGIME, HEvalError, vocabulary

DECOYS, POSITIONS = tuple(vocabulary.DECOYS), tuple(vocabulary.POSITIONS)
# Of one document, in which two answers stand twice; data sets of such passages are asked in this regime alone.
TWICE, ONE_PASSAGE = "twice", "conflicting"
LENGTHS = (256, 512, 1024, 2048, 4096, 8192)


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
        if self.decoy is not None and self.decoy not in decoys_of(self.base):
            of_two = f"has one document; decoys need two: {', '.join(DUAL_REGIMES)}"
            of_one = f"takes no decoy {TWICE}; it is of one passage: {ONE_PASSAGE}"
            raise HEvalError(f"{self.base} {of_one if self.decoy == TWICE else of_two}.")
        if self.length is not None and self.length not in LENGTHS:
            raise HEvalError(f"There is no length {self.length}; there are: {', '.join(map(str, LENGTHS))}.")
        if (self.length is None) != (self.place is None) or (self.place is not None and self.place not in POSITIONS):
            raise HEvalError(f"A length needs a place, and a place a length; places are: {', '.join(POSITIONS)}.")

    @property
    def documents(self) -> int:
        """How many there are, padding apart."""
        return vocabulary.REGIMES[self.base].documents

    @property
    def plain(self) -> bool:
        """Whether it has no options."""
        return self.decoy is None and self.length is None

    def __str__(self) -> str:
        padded = f"{self.length}-{self.place}" if self.length else None
        return ".".join(part for part in (self.base, self.decoy, padded) if part)


def decoys_of(base: str) -> tuple[str, ...]:
    """Return the decoys that a regime can have."""
    if base in DUAL_REGIMES:
        return tuple(key for key in DECOYS if key != TWICE)
    return (TWICE,) if base == ONE_PASSAGE else ()


def read_key(key: str) -> RegimeOptions:
    """Parse a regime's key. Raises HEvalError for what is none."""
    base, *options = key.split(".")
    decoy = options.pop(0) if options and (options[0] in DECOYS or options[0].startswith("d")) else None
    length, _, position = options.pop(0).partition("-") if options else ("", "", "")
    if options or (length and not length.isdecimal()):
        raise HEvalError(f"{key!r} is no regime; write for instance mixed, mixed.d1 or mixed.d1.1024-first.")
    return RegimeOptions(base, decoy, int(length) if length else None, position or None)


def mirror(key: str) -> str | None:
    """Return the regime with the same options in which the documents are swapped; None for one that has none, or is one."""
    regime = read_key(key)
    swapped = f"{regime.base}_swap"
    return str(replace(regime, base=swapped)) if swapped in DUAL_REGIMES else None


def order(key: str) -> tuple[int, ...]:
    """Return what regimes are sorted by: first those without options, then decoys, then lengths, short ones first."""
    regime = read_key(key)
    options = ("", *DECOYS).index(regime.decoy or ""), regime.length or 0, ("", *POSITIONS).index(regime.place or "")
    return (int(regime.length is not None), int(regime.decoy is not None), EVERY_REGIME.index(regime.base), *options)


def ordered_regimes(keys: Iterable[str], among: Sequence[str] = EVERY_REGIME) -> list[str]:
    """Order regimes as pages and tables list them. among: those that are listed, with or without options."""
    return [key for key in sorted(keys, key=order) if read_key(key).base in among]


def expanded(
    keys: Iterable[str], decoys: Sequence[str] = (), lengths: Sequence[int] = (), position: str | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Combine each regime with each of the decoys that it can have, and of the lengths; return the regimes that are left out
    too, as they can have none of these decoys.

    position: `first` by default. Raises HEvalError for what no regime can have, and for a place without a length.
    """
    if position is not None and not lengths:
        raise HEvalError(f"--place {position} says where documents stand among padding; give --length too.")
    padded: list[tuple[int | None, str | None]] = [(length, position or POSITIONS[0]) for length in lengths]
    chosen, left_out = dict[str, None](), list[str]()
    for regime in map(read_key, keys):
        fitting = [key for key in decoys if key in decoys_of(regime.base)]
        if decoys and not fitting:
            left_out.append(str(regime))
            continue
        for decoy, (length, stands) in product(fitting or (regime.decoy,), padded or [(regime.length, regime.place)]):
            chosen[str(RegimeOptions(regime.base, decoy, length, stands))] = None
    return tuple(chosen), tuple(left_out)
