"""The study's options; its sources of claims, each read once; and the claims and explanations that a store has of them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from heval_core.citations.records import Claim, Explained
from heval_core.citations.writing import SHIPPED, ClaimWriter, writer_of
from heval_core.datasets._reading import BadRecord
from heval_core.evaluation.citations.standing import JOURNAL_KIND, standing
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import ClaimData
from heval_core.records import HEvalError
from heval_core.store.citation_queries import claim_of, explanation_of
from heval_core.store.kinds import CLAIM, EXPLANATION
from heval_core.store.progress import only_writer
from heval_core.store.shards import FORMAT, Shard, ShardStore
from precompute.grid import Options
from precompute.origins import check_apart
from precompute.questions import digest, fingerprint_of
from precompute.task import hashed

# The regime of the study's shards and failures, so that it has its own lines where progress is told.
REGIME = "citations"
SAMPLE, REST = "sample", "rest"
MASKINGS = {"sample": (SAMPLE,), "full": (SAMPLE, REST)}
# Claims of a shard: a minute or two of work for most.
SIZE = 25


@dataclass(frozen=True)
class Study(Options):
    """Claims, writers, selectors and annotators, in every combination.

    claims: NAME=PATH, or your own FILE.jsonl
    writers: shipped, for the explanations that came with the claims; a Hugging Face id or a folder; or MODEL(prompt=ID) for
        another prompt
    selectors: comma-separated
    annotators: comma-separated; with options in brackets: explainer(loo),llm(model=ID)
    masking: one cited passage of each claim (the default), or every one
    llm: the address of a server that speaks the OpenAI interface, as http://localhost:8000/v1; it is asked in place of local
        models wherever a text is wanted
    """

    claims: tuple[str, ...]
    writers: tuple[str, ...]
    selectors: tuple[str, ...] = ("human",)
    annotators: tuple[str, ...] = ()
    masking: str = "sample"
    llm: str = ""

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"masking": tuple(MASKINGS)}

    def pairs(self) -> Iterator[tuple[ClaimWriter, str]]:
        """Yield writers with selectors, each once. Explanations that came with their claims have their own passages."""
        for writer in dict.fromkeys(map(writer_of, self.writers)):
            keys = (SHIPPED,) if writer.model == SHIPPED else self.selectors
            for selector in dict.fromkeys(catalogue.find("selector", key).key for key in keys):
                yield writer, selector

    @property
    def parts(self) -> tuple[str, ...]:
        return MASKINGS[self.masking]

    def check(self) -> None:
        """Raise HEvalError for an unknown writer, selector, annotator, source of claims or number, before loading."""
        super().check()
        if not (self.claims and self.writers):
            raise HEvalError("The study needs --claims and --writers.")
        for text in self.writers:
            writer_of(text)
        for kind, plugin_keys in (("selector", self.selectors), ("annotator", self.annotators)):
            for key in plugin_keys:
                catalogue.find(kind, key)
        check_apart("file", [(name, open_claims(name).key) for name in self.claims])
        for name in self.claims:
            next(iter(open_claims(name).claims()), None)  # raises now if the file is missing or has another format

    def noted(self) -> dict[str, Any]:
        return {"study": REGIME, **super().noted()}


@dataclass(frozen=True)
class ClaimSource:
    """Claims from one file.

    claims: in the order of the data. bad: records that cannot be used, in the same order. fingerprint: of all claims.
    """

    dataset: str
    claims: tuple[Claim, ...]
    bad: tuple[BadRecord, ...]
    fingerprint: str

    @property
    def shard(self) -> Shard:
        """Of its claims."""
        bad = [[record.location, record.reason] for record in self.bad]
        key = hashed([FORMAT, CLAIM.name, self.dataset, self.fingerprint, [claim.id for claim in self.claims], bad])
        return Shard(CLAIM.name, key, "", "", self.dataset, self.fingerprint, stop=len(self.claims) + len(bad))

    def ordered(self, seed: int) -> list[Claim]:
        """Order all claims as the seed fixes it: a larger limit adds to them."""
        return sorted(self.claims, key=lambda claim: hashlib.sha256(f"{seed}|{claim.id}".encode("utf-8", "replace")).digest())

    def rows(self) -> list[dict[str, Any]]:
        """Make the rows of the shard of its claims."""
        names, empty = {claim.id for claim in self.claims}, {"dataset": self.dataset, "chains": "[]", "written": "[]"}
        rows = [_row(self.dataset, claim) for claim in self.claims]
        for record in self.bad:
            name = record.location
            while name in names:  # the row of a claim that can be used is never replaced
                name += "′"
            names.add(name)
            rows.append({**empty, "claim_id": name, "unusable": record.reason})
        return rows


def open_claims(name: str) -> ClaimData:
    """Open a source as `--claims` names it: `NAME=PATH`, NAME for the data folder's, or one's own `FILE.jsonl`.

    Raises HEvalError for an unknown name.
    """
    kind, equals, path = name.partition("=")
    if not equals and (kind.endswith(".jsonl") or Path(kind).is_file()):
        kind, path = "jsonl", kind
    source: Any = catalogue.find("claims", kind)
    opened: ClaimData = dataclasses.replace(source, path=path) if path else source
    return opened


def read_source(name: str) -> ClaimSource:
    """Read a source. Raises HEvalError as `open_claims`, and where the data is missing or foreign."""
    data = open_claims(name)
    claims: dict[str, Claim] = {}
    bad: list[BadRecord] = []
    for record in data.claims():
        if isinstance(record, BadRecord):
            bad.append(record)
        elif record.id in claims:
            bad.append(BadRecord(record.id, "another claim before it has the same id"))
        else:
            claims[record.id] = record
    fingerprint = fingerprint_of(sum(digest(repr(claim)) for claim in claims.values()))
    return ClaimSource(data.key, tuple(claims.values()), tuple(bad), fingerprint)


def _row(dataset: str, claim: Claim) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "claim_id": claim.id,
        "claim": claim.claim,
        "verdict": claim.verdict,
        "numbers": [passage.number for passage in claim.passages],
        "passages": [passage.text for passage in claim.passages],
        "titles": [passage.title for passage in claim.passages],
        "chains": json.dumps(claim.chains),
        "written": json.dumps([dataclasses.asdict(explanation) for explanation in claim.written], ensure_ascii=False),
        "problems": list(claim.problems),
        "unusable": None,
    }


def take_over(source: ShardStore, store: ShardStore) -> None:
    """Take over what another store would publish of the study of citations; what is there stays."""
    store.create()
    with only_writer(store.folder):
        entries, noted = store.entries(), store.journal(JOURNAL_KIND)
        for entry in standing(source).entries:
            if entry.key not in entries:
                store.copy(entry, source)
        store.note(JOURNAL_KIND, *(line for line in source.journal(JOURNAL_KIND) if line not in noted))
        store.take_plugins(source)


def explanations_of(store: ShardStore) -> dict[str, Explained]:
    """Return all explanations that would be published and have a sentence, by their ids."""
    entries = standing(store).entries
    claims, explanations = (
        [row for entry in entries if entry.kind == kind.name for row in store.read(entry).to_pylist()]
        for kind in (CLAIM, EXPLANATION)
    )
    by_id = {(row["dataset"], row["claim_id"]): claim_of(row) for row in claims if not row["unusable"]}
    available = (row for row in explanations if not row["unavailable"])
    return {row["explanation_id"]: explanation_of(row, by_id[row["dataset"], row["claim_id"]]).explained for row in available}
