"""Facts ▶ instances: the ways in which documents are combined.

conflicting         c: a document about the subject with a false answer
irrelevant          c: a document about another subject of the same relation, with its own literal answer
double_conflicting  two conflicting documents with different answers
mixed               the irrelevant document first, the conflicting one second
…_swap              the exact mirror: same texts, same answers, c1 and c2 exchanged

and, beside conflicting and irrelevant, two further kinds of context for comparing techniques:

gold                c: a document about the subject with the true answer
off_topic           c: a document about another subject and another relation, with an answer of its own

A regime may have options (`records.regime_keys`): a decoy changes its documents (`regimes.decoys`), a length adds passages
around them (`regimes.padding`). Its documents are otherwise those of the regime without options.

The seed and the fact's id alone decide everything, so that neither the order of the records nor the other regimes of a
run change an instance. The prompt style decides how documents are presented (as they are, or attributed to a source).
"""

from heval_core.prompting.styles import PromptStyle
from heval_core.records import Dropped, Fact, Instance
from heval_core.records.regime_keys import TWICE, read_key
from heval_core.regimes import documents as kinds
from heval_core.regimes.decoys import check_twice, decoyed, louder
from heval_core.regimes.padding import padding_of
from heval_core.regimes.sampling import CAPS, MINORITY, POOLED, Gathering, Pool, first, in_fixed_order, may_be_asked, sample

__all__ = [
    "CAPS", "MINORITY", "POOLED", "Dropped", "Gathering", "Pool", "PromptStyle",
    "build", "first", "in_fixed_order", "may_be_asked", "sample",
]  # fmt: skip

_MAKING: dict[str, tuple[kinds.Making, ...]] = {
    "conflicting": (kinds.conflicting,),
    "irrelevant": (kinds.irrelevant,),
    "double_conflicting": (kinds.conflicting, kinds.second_conflicting),
    "mixed": (kinds.irrelevant, kinds.conflicting),
    "gold": (kinds.gold,),
    "off_topic": (kinds.off_topic,),
}


def build(fact: Fact, regime: str, pool: Pool, seed: int, style: PromptStyle, index: int) -> Instance:
    """Build the instance of one fact under one regime.

    index: the fact's number among those selected. Raises Dropped if the fact has no such instance, HEvalError for an unknown
    regime.
    """
    options = read_key(regime)
    base = options.base.removesuffix("_swap")
    key = f"{seed}|{fact.id}|{base}"
    plain = tuple(make(fact, pool, seed, style) for make in _MAKING[base])
    if options.decoy == "loud":
        plain = louder(plain, index)
    documents = (style.contrasted if options.decoy == "trust" else style.present)(plain, index, key)
    if options.decoy == TWICE:
        check_twice(documents)
    elif options.decoy:
        documents = decoyed(documents, options.decoy, fact, pool, key)
    if options.base != base:
        documents = documents[::-1]
    return Instance(
        id=f"{fact.dataset}|{regime}|{fact.id}",
        dataset=fact.dataset,
        regime=regime,
        fact_id=fact.id,
        subject=fact.subject,
        relation=fact.relation,
        question=fact.question,
        true_answer=fact.answer,
        documents=documents,
        expected_group=style.expected_group(documents),
        accepted=fact.accepted if base == "gold" else (),
        padding=padding_of(fact, documents, options.length, pool, style, key) if options.length else (),
    )
