"""Sources of claims, which are read once; and the claims and explanations that a store has of them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core import catalogue
from heval_core.citations.records import BadClaim, Claim, Explained, Passage, Sentence
from heval_core.evaluation.citations.standing import ASKED, standing
from heval_core.protocols import ClaimData
from heval_core.store.kinds import CLAIM, EXPLANATION
from heval_core.store.lock import only_writer
from heval_core.store.shards import FORMAT, ShardStore
from precompute.task import Shard, hashed


@dataclass(frozen=True)
class Source:
    """claims: in the order of the data. bad: records that cannot be used, in theirs. fingerprint: of all claims."""

    dataset: str
    claims: tuple[Claim, ...]
    bad: tuple[BadClaim, ...]
    fingerprint: str

    @property
    def shard(self) -> Shard:
        """Of its claims."""
        bad = [[own.place, own.reason] for own in self.bad]
        key = hashed([FORMAT, CLAIM.name, self.dataset, self.fingerprint, [own.id for own in self.claims], bad])
        return Shard(CLAIM.name, key, "", "", self.dataset, self.fingerprint, stop=len(self.claims) + len(bad))

    def chunks(self, limit: int | None, seed: int, size: int) -> Iterator[tuple[int, tuple[Claim, ...]]]:
        """(the number of the first claim, at most `size` claims), in an order that the seed fixes: a larger
        limit adds to them."""
        order = sorted(self.claims, key=lambda claim: hashlib.sha256(f"{seed}|{claim.id}".encode("utf-8", "replace")).digest())
        asked = order[:limit]
        for start in range(0, len(asked), size):
            yield start, tuple(asked[start : start + size])

    def rows(self) -> list[dict[str, Any]]:
        """Of the shard of its claims."""
        names, empty = {claim.id for claim in self.claims}, {"dataset": self.dataset, "chains": "[]", "written": "[]"}
        rows = [_row(self.dataset, claim) for claim in self.claims]
        for bad in self.bad:
            name = bad.place
            while name in names:  # the row of a claim that can be used is never replaced
                name += "′"
            names.add(name)
            rows.append({**empty, "claim_id": name, "unusable": bad.reason})
        return rows


def open_claims(name: str) -> ClaimData:
    """A source as `--claims` names it: `NAME=PATH`, NAME for the data folder's, or one's own `FILE.jsonl`.

    Raises HEvalError for an unknown name.
    """
    kind, given, path = name.partition("=")
    if not given and (kind.endswith(".jsonl") or Path(kind).is_file()):
        kind, path = "jsonl", kind
    source: Any = catalogue.find("claims", kind)
    opened: ClaimData = dataclasses.replace(source, path=path) if path else source
    return opened


def read(name: str) -> Source:
    """Raises HEvalError as `open_claims`, and where the data is missing or foreign."""
    data = open_claims(name)
    claims: dict[str, Claim] = {}
    bad: list[BadClaim] = []
    digest = 0
    for record in data.claims():
        if isinstance(record, BadClaim):
            bad.append(record)
        elif record.id in claims:
            bad.append(BadClaim(record.id, "another claim before it has the same id"))
        else:
            claims[record.id] = record
            content = hashlib.blake2b(repr(record).encode("utf-8", "surrogatepass"), digest_size=16).digest()
            digest = (digest + int.from_bytes(content, "big")) % (1 << 128)
    return Source(data.key, tuple(claims.values()), tuple(bad), f"{digest:032x}"[:16])


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
        "written": json.dumps([dataclasses.asdict(own) for own in claim.written], ensure_ascii=False),
        "problems": list(claim.problems),
        "unusable": None,
    }


def claim_of(row: dict[str, Any]) -> Claim:
    """The claim that a row has stored, without the explanations that came with it."""
    passages = zip(row["numbers"], row["passages"], row["titles"], strict=True)
    chains = tuple(tuple(chain) for chain in json.loads(row["chains"]))
    told = tuple(Passage(*one) for one in passages)
    return Claim(row["claim_id"], row["claim"], row["verdict"], told, chains, problems=tuple(row["problems"]))


def explained_of(row: dict[str, Any], claim: Claim) -> Explained:
    """The explanation that a row has stored."""
    cited = (tuple(own) for own in json.loads(row["cited"]))
    sentences = tuple(Sentence(*one) for one in zip(row["sentences"], row["bare"], cited, strict=True))
    sources = None if row["sources"] is None else tuple(tuple(own) for own in json.loads(row["sources"]))
    return Explained(
        claim,
        row["writer"],
        row["selector"],
        tuple(row["selected"]),
        sentences,
        row["prompt_id"],
        sources,
        tuple(row["problems"]),
    )


def take_over(source: ShardStore, store: ShardStore) -> None:
    """What another store would publish of the study of citations, for a store of one's own; what is there stays."""
    store.create()
    with only_writer(store.folder):
        there, noted = store.entries(), store.journal(ASKED)
        for entry in standing(source).entries:
            if entry.key not in there:
                store.copy(entry, source)
        store.note(ASKED, *(line for line in source.journal(ASKED) if line not in noted))


def explanations_of(store: ShardStore) -> dict[str, Explained]:
    """By their ids, all that would be published and have a sentence."""
    entries = standing(store).entries
    claims, explanations = (
        [row for entry in entries if entry.kind == kind.name for row in store.read(entry).to_pylist()]
        for kind in (CLAIM, EXPLANATION)
    )
    by_id = {(row["dataset"], row["claim_id"]): claim_of(row) for row in claims if not row["unusable"]}
    there = (row for row in explanations if not row["unavailable"])
    return {row["explanation_id"]: explained_of(row, by_id[row["dataset"], row["claim_id"]]) for row in there}
