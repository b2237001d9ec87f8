"""A dataset read as a stream: the questions that are asked, what was left out and why, and the data's fingerprint."""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from heval_core import regimes
from heval_core.datasets._jsonl import JsonLines
from heval_core.datasets._reading import BadRecord, Listing, Unusable
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Dataset
from heval_core.records import Fact, HEvalError, Passage
from heval_core.records.regime_keys import ONE_PASSAGE, TWICE, read_key

# Without a limit, a dataset gives at most this many questions, because all of them are kept in memory.
MOST_QUESTIONS = 200_000
# So many malformed records are kept with their reasons, about a megabyte; further ones are only counted.
MOST_BAD = 5_000


@dataclass(frozen=True)
class Questions:
    """One dataset under one prompt style: the selected facts in order, the pool, and what was left out.

    records: how many were read. malformed: how many of them break the format; `bad` has the first MOST_BAD.
    unusable: reason ▶ how many were left out for it. usable: facts before the limit. seen: how many of these the prompt
    style does not admit, because the model saw them in training. path: of the file, where one is named. said_twice: whether
    its passages give two answers twice each.
    """

    dataset: str
    facts: tuple[Fact, ...]
    pool: regimes.Pool
    bad: tuple[BadRecord, ...]
    fingerprint: str
    long: bool = False
    said_twice: bool = False
    records: int = 0
    malformed: int = 0
    unusable: tuple[tuple[str, int], ...] = ()
    usable: int = 0
    seen: int = 0
    relations: tuple[tuple[str, int], ...] = ()
    path: Path | str | None = None

    def asked_in(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Return those of some regimes in which it is asked; where its passages give answers twice, that one in any case."""
        if not self.said_twice:
            return tuple(keys)
        return tuple(dict.fromkeys(str(replace(read_key(key), base=ONE_PASSAGE, decoy=TWICE)) for key in keys))

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers that need not stand in their passages."""
        return tuple(sorted({p.answer for fact in self.facts for p in _slots(fact) if p and not p.stated and p.answer}))


def open_dataset(name: str) -> Dataset:
    """Open a dataset as `--datasets` names it: `NAME`, `NAME/PART`, `NAME@REVISION`, `NAME=PATH`, or one's own `FILE.jsonl`.

    Raises HEvalError for an unknown name, or a part, revision or path that the dataset does not take.
    """
    head, equals, path = name.partition("=")
    head, _, revision = head.partition("@")
    key, _, part = head.partition("/")
    # `nq=FILE.jsonl` is no file of one's own.
    if Path(name).is_file() or (name.endswith(".jsonl") and not (equals and key in catalogue.plugins("dataset"))):
        local = JsonLines(Path(name))
        if local.key in catalogue.plugins("dataset"):
            raise HEvalError(f"The file {name} has the name of the dataset {local.key}; give it another name.")
        return local
    if not key or key == "." or Path(name).is_dir():
        raise HEvalError(f"{name} is no data file; give one of JSON lines, such as {Path(name) / 'questions.jsonl'}.")
    dataset = catalogue.find("dataset", key)
    changes = {field: value for field, value in (("path", path), ("revision", revision), ("part", part)) if value}
    for field, value in changes.items():
        if field not in {f.name for f in dataclasses.fields(dataset)}:
            raise HEvalError(f"The dataset {key} takes no {field}; {value!r} cannot be used.")
    parts = getattr(dataset, "parts", ())
    if part and part not in parts:
        raise HEvalError(f"The dataset {key} has no part {part!r}; there are: {', '.join(parts)}.")
    return dataclasses.replace(dataset, **changes)


def fingerprint_of(total: int) -> str:
    """Return the fingerprint of a source, in whatever order its records come. total: the sum of their digests."""
    return f"{total % (1 << 128):032x}"[:16]


def digest(content: str) -> int:
    """Hash all that a record says."""
    return int.from_bytes(hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).digest(), "big")


def _content(fact: Fact) -> str:
    """Write everything a fact says.

    What its repr leaves out is added only where it says something, so that it changes no others.
    """
    labels = [index for index, passage in enumerate(_slots(fact)) if passage is not None and not passage.stated]
    beside = [*([fact.off_topic] if fact.off_topic else ()), *fact.accepted, *labels]
    return f"{fact!r}{beside!r}" if beside else repr(fact)


def _slots(fact: Fact) -> tuple[Passage | None, ...]:
    """Return all its passages, and None for one that it may have and has not."""
    return (*fact.conflicting, fact.own, fact.irrelevant, fact.off_topic)


class _Reading:
    """Counts what a dataset yields while its facts stream by. counts: fields of `Questions`."""

    def __init__(self, style: regimes.PromptStyle) -> None:
        self.bad: list[BadRecord] = []
        self.counts = Counter(records=0, malformed=0, usable=0, seen=0)
        self.content = 0
        self._style = style
        self.unusable: Counter[str] = Counter()
        self.relations: Counter[str] = Counter()
        self.gathering = regimes.Gathering()
        self._seen: set[bytes] = set()

    def facts(self, dataset: Dataset, left_out: Callable[[BadRecord | Unusable], None]) -> Iterator[Fact]:
        """Yield those that may be asked.

        All records are read, whatever the limit: keys of shards hold the fingerprint of all.
        """
        for record in dataset.facts():
            self.counts["records"] += 1
            if isinstance(record, BadRecord):
                self.counts["malformed"] += 1
                self.bad += [record] if len(self.bad) < MOST_BAD else []
                left_out(record)
            elif isinstance(record, Unusable):
                self.unusable[record.reason] += 1
                left_out(record)
            elif not self._is_new(record.id):
                self.unusable["duplicate"] += 1
                left_out(Unusable(record.id, "duplicate"))
            elif self._admitted(record):
                yield record

    def _is_new(self, fact_id: str) -> bool:
        # A hash in place of the id: there may be millions of them.
        identity = hashlib.blake2b(fact_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        known = identity in self._seen
        self._seen.add(identity)
        return not known

    def _admitted(self, fact: Fact) -> bool:
        """Return whether a usable fact may be asked; pool and fingerprint are of all of them."""
        admitted = regimes.may_be_asked(self._style, fact)
        self.counts["usable"] += 1
        self.counts["seen"] += bool(fact.conflicting) and not admitted
        self.relations[fact.relation] += 1
        self.gathering.add(fact)
        self.content += digest(_content(fact))
        return admitted


def load_questions(
    name: str,
    limit: int | None,
    seed: int,
    style: regimes.PromptStyle,
    left_out: Callable[[BadRecord | Unusable], None] = lambda _: None,
) -> Questions:
    """Read a dataset as a stream; only the selected facts and the pool are held. Of one that lists its facts, few are made.

    left_out: called with each record that is not used. Raises HEvalError for an unknown dataset or an unreadable file.
    """
    dataset = open_dataset(name)
    listing = dataset.listed() if hasattr(dataset, "listed") else None
    if listing is not None:
        return _listed(dataset, listing, limit, seed, style)
    reading = _Reading(style)
    selected = regimes.first(reading.facts(dataset, left_out), limit or MOST_QUESTIONS, seed)
    return Questions(
        dataset.key,
        selected,
        reading.gathering.pool(),
        tuple(reading.bad),
        fingerprint_of(reading.content),
        dataset.long,
        getattr(dataset, "said_twice", False),
        unusable=tuple(sorted(reading.unusable.items())),
        relations=tuple(sorted(reading.relations.items())),
        path=getattr(dataset, "path", None),
        **reading.counts,
    )


def _listed(dataset: Dataset, listing: Listing, limit: int | None, seed: int, style: regimes.PromptStyle) -> Questions:
    """Read the questions of a dataset that lists its facts; only those that are used are made, and a few for the pool."""
    admitted, order = style.admits_each(listing.pairs), regimes.in_fixed_order(seed, listing.ids)
    numbers = [number for number in order if admitted[number]][: limit or MOST_QUESTIONS]
    pool = regimes.Pool.of([listing.make(number) for number in listing.offering])
    return Questions(
        dataset.key,
        tuple([listing.make(number) for number in numbers]),
        pool,
        (),
        listing.fingerprint,
        dataset.long,
        getattr(dataset, "said_twice", False),
        records=len(listing.ids),
        usable=len(listing.ids),
        seen=len(listing.ids) - sum(admitted),
        relations=tuple(sorted(listing.relations.items())),
        path=getattr(dataset, "path", None),
    )
