"""Claims with evidence: what is asked of a claim, and the labels that answer it. They need not stand in any text."""

import re
from typing import Any

from heval_core.datasets._reading import Malformed, id_of, text_of, with_document
from heval_core.records import Fact

LABELS = ("True", "False", "None")
# A claim's verdict; a claim that is half true has no true answer among the labels.
_VERDICTS = {"true": "True", "false": "False", "half true": ""}


def normal(value: object) -> str:
    """Normalise a verdict: `Half-true`, `half_true` and `HALF TRUE` ▶ `half true`; `False`, as a text or not, ▶ `false`."""
    return str("" if value is None else value).strip().lower().replace("_", " ").replace("-", " ")


def verdict_of(value: object) -> str:
    """Return the label that a verdict is: `True`, `False`, or empty if the claim is half true.

    Raises Malformed for any other.
    """
    if normal(value) not in _VERDICTS:
        raise Malformed(f"the verdict should be True, False or Half True, but is {value!r}")
    return _VERDICTS[normal(value)]


def question_about(claim: str, claimant: str = "") -> str:
    """Write CUB's two lines in one, without its examples."""
    before = f"Claimant: {claimant}. " if claimant else ""
    return f'{before}Claim: "{claim}" Is the claim True, False or None?'


def fact_of(dataset: str, record: dict[str, Any], about: str, labels: tuple[str, str], kind: str) -> Fact:
    """Build one claim with one piece of evidence: `id`, `claim`, `claimant` and `evidence` of a record.

    about: the field whose first word is the fact-checking site, which is the relation. labels: the claim's verdict (may be
    empty), and the label that the evidence speaks for. kind: as in `with_document`.
    """
    claim, evidence, claimant = text_of(record, "claim"), text_of(record, "evidence"), record.get("claimant")
    verdict, label = labels
    fact = Fact(
        id=id_of(record),
        dataset=dataset,
        subject=claim,
        relation=re.split(r"[\W_]+", text_of(record, about))[0] or "claim",
        question=question_about(claim, claimant.strip() if isinstance(claimant, str) else ""),
        answer=verdict,
        conflicting=(),
    )
    return with_document(fact, kind, label, evidence, stated=False)
