"""DRUID: real claims, each with pieces of evidence found on the web, whose stance people annotated.

Source: huggingface.co/datasets/copenlu/druid, file `druid.tsv`, pinned to the commit below; `druid=PATH` names another table
with tabs, or JSON lines (`.jsonl`, `.jsonl.gz`), with the same fields. Licence: MIT.
Reference: Hagström et al. 2024, "A Reality Check on Context Utilisation for Retrieval-Augmented Generation", arXiv 2412.17031.
Used as in CUB: Hagström et al. 2025, arXiv 2505.16518, appendix B.3.
Fields: `id`, `claim_id`, `claim`, `claimant` (may be empty), `evidence`, `relevant` (True, False), `evidence_stance`
(supports, refutes, insufficient-supports, -refutes, -neutral, -contradictory, not_applicable), `factcheck_verdict` (True,
False, Half True, or empty). Capitals, and "-", "_" or a space between words, make no difference.
Records: 5,490 by the hub's count, of which 4,500 have a verdict, by CUB's (1,938 gold, 2,479 conflicting, 83 irrelevant).
Each is a question of its own with one document: gold where the evidence is relevant and its stance is the verdict (supports
▶ True, refutes ▶ False), conflicting where it is relevant and is not (insufficient ▶ `None`), irrelevant where it is not
relevant. The answers are labels, which no text states. The relation is the fact-checking site, the first word of `claim_id`.
Departure: the question is 'Claimant: … Claim: "…" Is the claim True, False or `None`?'; CUB's prompts add two examples. A
claim that is half true has no true answer among the labels; CUB counts every answer to it as wrong. Records without a verdict
(claims about borders) are left out as `no verdict`, as in CUB.
Checked: against the hub's card, which lists these columns, and the authors' code, which lists the stances and verdicts; CUB's
tables 12 and 13 count both by kind of context, and agree with the rule above. The file itself could not be fetched here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.datasets import _verdicts
from heval_core.datasets._forms import Form
from heval_core.datasets._reading import Malformed, Origin, Record, json_lines, locate, read_each, table, text_of
from heval_core.records import Dropped, Fact

_ORIGIN = Origin(
    "druid.tsv",
    "huggingface.co/datasets/copenlu/druid",
    repository="copenlu/druid",
    revision="3971125a4ab6908adf30ecd7bf1d0f825c2b6116",
)
_NEEDED = ("id", "claim_id", "claim", "evidence", "relevant", "evidence_stance", "factcheck_verdict")


def label_of(stance: str) -> str:
    """Return the label that relevant evidence of this stance speaks for. Raises Malformed for an unknown stance."""
    name = _verdicts.normal(stance)
    if name in ("supports", "refutes"):
        return "True" if name == "supports" else "False"
    if name.split(" ")[0] == "insufficient":
        return "None"
    raise Malformed(f"'evidence_stance' should be supports, refutes or insufficient-…, but is {stance!r}")


@dataclass(frozen=True)
class Druid:
    """path: a file with DRUID's fields; by default from the data folder, then from the hub."""

    path: str | None = None

    key = "druid"
    title = "DRUID"
    reference = "Hagström et al. 2024, arXiv 2412.17031; used as in CUB, arXiv 2505.16518"
    long = True

    def facts(self) -> Iterator[Record]:
        """Yield the facts. Raises HEvalError if the file is missing, or lacks a field."""
        path = locate(self.key, self.path, _ORIGIN)
        lines = path.name.removesuffix(".gz").endswith(".jsonl")
        yield from read_each(json_lines(path, Form(_NEEDED)) if lines else table(path, _NEEDED), self._fact)

    def _fact(self, record: dict[str, Any]) -> Fact:
        for name in ("claim", "evidence", "claim_id"):
            text_of(record, name)
        if not _verdicts.normal(record.get("factcheck_verdict")):
            raise Dropped("no verdict")
        verdict = _verdicts.verdict_of(record["factcheck_verdict"])
        relevant = _verdicts.normal(record.get("relevant"))
        if relevant not in ("true", "false"):
            raise Malformed(f"'relevant' should be True or False, but is {record.get('relevant')!r}")
        kind, label = "irrelevant", ""
        if relevant == "true":
            label = label_of(text_of(record, "evidence_stance"))
            kind = "gold" if label == verdict else "conflicting"
        return _verdicts.fact_of(self.key, record, "claim_id", (verdict, label), kind)


PLUGIN = Druid()
