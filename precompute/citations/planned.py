"""The shards of a study: what each depends on, and which of them are there.

Explanations depend on the fingerprint of the claims, the seed (which draws the sampled passage), the selector, and the
writer with its model's revision and its prompt's text. Answers depend on the shard of their explanations, the annotator with
its options, and its model's revision. So nothing stale is used, and nothing valid is made again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core import catalogue
from heval_core.citations.reading import prompt_text
from heval_core.citations.records import Claim
from heval_core.citations.writing import SHIPPED, Writer
from heval_core.evaluation.citations.standing import Asked
from heval_core.lm.loading import Identity
from heval_core.protocols import Annotator
from heval_core.records import HEvalError
from heval_core.store.kinds import EXPLANATION, RECOVERY
from heval_core.store.shards import FORMAT, Entry, ShardStore
from precompute.citations.explaining import ExplainTask
from precompute.citations.hashing import hashed
from precompute.citations.readers import Reader, Unavailable, identity_of, key_of, reading_with, writing_with
from precompute.citations.recovering import RecoverTask, Stored
from precompute.citations.sources import Source, explained_of
from precompute.citations.study import Study

Row = dict[str, Any]


@dataclass(frozen=True)
class Reading:
    """An annotator with what it reads with. settings: see `Entry`."""

    key: str
    reader: Reader
    settings: str
    revision: str


@dataclass(frozen=True)
class Writing:
    """A writer with a selector. settings: see `Entry`. readings: the annotators that can be asked about the explanations.

    unavailable: why others cannot, by key. missing: those of them whose model there is not.
    """

    writer: Writer
    selector: str
    reader: Reader
    settings: str
    revision: str
    readings: tuple[Reading, ...]
    unavailable: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Chunk:
    """Some claims of a source, explained by one writer from the passages of one selector. key: of the explanations' shard."""

    source: Source
    writing: Writing
    start: int
    claims: tuple[Claim, ...]
    key: str

    @property
    def stop(self) -> int:
        return self.start + len(self.claims)

    @property
    def asked(self) -> Asked:
        return Asked(self.source.dataset, self.writing.writer.key, self.writing.selector, "")

    def recovery_key(self, reading: Reading, part: str) -> str:
        return hashed([FORMAT, RECOVERY.name, self.key, part, reading.settings])


def writing_of(study: Study, writer: Writer, selector: str) -> Writing:
    """Raises HEvalError for a model of the writer that there is not."""
    reader = writing_with(writer, study)
    prompt = [] if writer.model == SHIPPED else [writer.prompt, prompt_text(writer.prompt)]
    chosen = catalogue.find("selector", selector)
    of_selector = [repr(chosen), prompt_text(chosen.prompt) if hasattr(chosen, "prompt") else ""]
    settings = hashed([FORMAT, EXPLANATION.name, writer.key, identity_of(reader, study), prompt, of_selector, study.seed], 12)
    readings, unavailable, missing = dict[str, Reading](), [], []
    for annotator in dict.fromkeys(catalogue.find("annotator", key).key for key in study.annotators):
        try:
            own = _reading(study, annotator, writer)
        except Unavailable as reason:
            unavailable.append((annotator, str(reason)))
        except HEvalError as error:
            unavailable.append((annotator, str(error)))
            missing.append(annotator)
        else:
            readings[own.key] = own
    found = tuple(readings.values())
    return Writing(writer, selector, reader, settings, _revision(reader), found, tuple(unavailable), tuple(missing))


def check_names(source: Source, writing: Writing) -> None:
    """Raises HEvalError where what a writer writes could not be told from what came with the claims."""
    shipped = {own.writer for claim in source.claims for own in claim.written}
    if writing.writer.model != SHIPPED and writing.selector == SHIPPED and writing.writer.key in shipped:
        raise HEvalError(
            f"{source.dataset} came with explanations by {writing.writer.key!r}, and this writer is asked for others from the "
            "same passages; nobody could tell them apart. Give the writer another name in the data, or take other --selectors."
        )


def _reading(study: Study, key: str, writer: Writer) -> Reading:
    annotator = catalogue.find("annotator", key)
    reader = reading_with(annotator, writer, study)
    annotator = _by_model(annotator, reader)
    prompt = getattr(annotator, "prompt", "")
    depends = [FORMAT, RECOVERY.name, annotator.key, repr(annotator), identity_of(reader, study)]
    depends += [prompt_text(prompt)] if prompt else []
    return Reading(annotator.key, reader, hashed(depends, 12), _revision(reader))


def _by_model(annotator: Annotator, reader: Reader) -> Annotator:
    """The annotator whose key names its model as results do: a folder by its name, wherever it lies."""
    key = annotator.key.replace(f"model={annotator.model}", f"model={key_of(reader)}") if annotator.model else annotator.key
    named: Annotator = catalogue.find("annotator", key)
    return named


def _revision(reader: Reader) -> str:
    identity = getattr(reader, "identity", None)
    return identity.revision if isinstance(identity, Identity) else ""


def chunks_of(study: Study, source: Source, writing: Writing) -> Iterator[Chunk]:
    """In an order that depends on the seed alone; see `Source.chunks`."""
    for start, claims in source.chunks(study.limit, study.seed, study.shard_size):
        depends = [FORMAT, EXPLANATION.name, source.dataset, source.fingerprint, writing.settings, [own.id for own in claims]]
        yield Chunk(source, writing, start, claims, hashed(depends))


class Made:
    """What a store has of a study's rows."""

    def __init__(self, store: ShardStore):
        self.store = store

    def explanations(self, chunk: Chunk) -> list[Row]:
        """Of the claims of a chunk, whichever shards they are in, in no order."""
        wanted = {claim.id for claim in chunk.claims}
        asked = {"dataset": chunk.source.dataset, "fingerprint": chunk.source.fingerprint}
        asked |= {"model": chunk.writing.writer.key, "technique": chunk.writing.selector, "settings": chunk.writing.settings}
        found: dict[str, Row] = {}
        for entry in self._like(EXPLANATION.name, asked):
            for row in self.store.read(entry).to_pylist():
                if row["claim_id"] in wanted:
                    found[row["explanation_id"]] = row
        return list(found.values())

    def answers(self, chunk: Chunk, reading: Reading, ids: set[str]) -> list[Row]:
        """About some explanations, by their ids."""
        asked = {"dataset": chunk.source.dataset, "model": chunk.writing.writer.key, "technique": chunk.writing.selector}
        asked |= {"explainer": reading.key, "settings": reading.settings}
        found: dict[tuple[str, int], Row] = {}
        for entry in self._like(RECOVERY.name, asked):
            for row in self.store.read(entry).to_pylist():
                if row["explanation_id"] in ids:
                    found[row["explanation_id"], row["passage"]] = row
        return list(found.values())

    def _like(self, kind: str, asked: dict[str, str]) -> Iterator[Entry]:
        """Entries of a kind, oldest first. A damaged shard is left out: what it holds is made again."""
        for entry in self.store.entries().values():
            like = entry.kind == kind and all(getattr(entry, name) == value for name, value in asked.items())
            if like and self.store.intact(entry):
                yield entry


def explain_task(study: Study, chunk: Chunk, made: Made) -> ExplainTask:
    writing = chunk.writing
    return ExplainTask(
        writing.reader,
        writing.writer,
        writing.selector,
        chunk.source.dataset,
        chunk.source.fingerprint,
        chunk.claims,
        chunk.start,
        study.seed,
        chunk.key,
        writing.settings,
        writing.revision,
        tuple(made.explanations(chunk)),
    )


def stored_of(chunk: Chunk, rows: list[Row]) -> tuple[Stored, ...]:
    """The explanations that there are. rows: of the chunk's shard. Claims go without what others have written about them."""
    claims = {claim.id: dataclasses.replace(claim, written=()) for claim in chunk.claims}
    there = (row for row in rows if row["unavailable"] is None)
    return tuple(Stored(row["explanation_id"], explained_of(row, claims[row["claim_id"]]), row["sampled"]) for row in there)


def recover_task(
    study: Study, chunk: Chunk, explanations: tuple[Stored, ...], reading: Reading, made: Made
) -> RecoverTask | None:
    """The parts of which answers are missing; None if there is none."""
    answers = made.answers(chunk, reading, {one.id for one in explanations})
    known = {(row["explanation_id"], row["passage"]) for row in answers}
    entries, parts = made.store.entries(), []
    for part in study.parts:
        key = chunk.recovery_key(reading, part)
        wanted = {(one.id, number) for one in explanations for number in one.passages(part)}
        entry = entries.get(key)
        if entry is None or entry.failed or entry.rows != len(wanted) or not wanted <= known:
            parts.append((part, key))
    if not parts:
        return None
    wanted_parts = [part for part, _ in parts]
    passages = {(one.id, number) for part in wanted_parts for one in explanations for number in one.passages(part)}
    return RecoverTask(
        reading.reader,
        reading.key,
        chunk.writing.writer,
        chunk.writing.selector,
        chunk.source.dataset,
        chunk.source.fingerprint,
        explanations,
        chunk.start,
        chunk.stop,
        tuple(parts),
        reading.settings,
        reading.revision,
        tuple(row for row in answers if (row["explanation_id"], row["passage"]) in passages),
    )
