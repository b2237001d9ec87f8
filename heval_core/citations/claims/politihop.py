"""PolitiHop: claims that PolitiFact checked, with the article's sentences and the chains of them that annotators selected.

Source: github.com/copenlu/politihop, `data/politihop_{train,dev,test}.tsv`. Licence: none stated there; MIT
according to arXiv 2406.12645, which is built on it.
Reference: Ostrowski, Arora, Atanasova, Augenstein 2021, "Multi-Hop Fact Checking of Political Claims".
Fields: `article_id`, `statement` (the claim), `ruling` (a JSON list: the article's sentences, here the passages, from 0),
`annotated_evidence` (a JSON object: a chain of sentence numbers per annotator, where `"13,14"` stands for both) and
`annotated_label` (the verdict: true, half-true or false; where there is none, `politifact_label`).
Records: 200 of test. No explanations come with them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.citations.claims._reading import read_claims
from heval_core.citations.records import Claim, Passage
from heval_core.datasets._reading import BadRecord, Malformed, Origin, are_texts, locate, table, text_of

_ORIGIN = Origin("politihop_test.tsv", "github.com/copenlu/politihop (data)", option="--claims")
_COLUMNS = ("article_id", "statement", "ruling", "politifact_label", "annotated_evidence", "annotated_label")


@dataclass(frozen=True)
class Politihop:
    """path: of one of its tables; by default of politihop_test.tsv in the data folder."""

    path: str | None = None

    key = "politihop"
    title = "PolitiHop"
    reference = "Ostrowski et al. 2021, arXiv 2009.06401"

    def claims(self) -> Iterator[Claim | BadRecord]:
        """Read the claims. Raises HEvalError if the file is missing, or is no such table."""
        return read_claims(table(locate(self.key, self.path, _ORIGIN), _COLUMNS), _claim)


def _claim(record: dict[str, Any]) -> Claim:
    sentences = _json(record, "ruling", list)
    if not sentences or not are_texts(sentences):
        raise Malformed("'ruling' should be a JSON list of sentences")
    passages = tuple(Passage(number, sentence.strip()) for number, sentence in enumerate(sentences))
    problems: list[str] = []
    chains = [_chain(chain, len(passages), problems) for chain in _json(record, "annotated_evidence", dict).values()]
    labelled = "annotated_label" if record["annotated_label"].strip() else "politifact_label"
    return Claim(
        id=text_of(record, "article_id"),
        claim=text_of(record, "statement"),
        verdict=text_of(record, labelled),
        passages=passages,
        chains=tuple(chain for chain in chains if chain),
        problems=tuple(problems),
    )


def _json(record: dict[str, Any], column: str, kind: type) -> Any:
    try:
        value = json.loads(record[column])
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{column!r} is not JSON") from error
    if not isinstance(value, kind):
        raise Malformed(f"{column!r} should be a JSON {'list' if kind is list else 'object'}")
    return value


def _chain(listed: Any, passages: int, problems: list[str]) -> tuple[int, ...]:
    """Read the numbers of a chain, each once; those that no sentence has are left out, and reported."""
    texts = listed if isinstance(listed, list) else [listed]
    if not all(re.fullmatch(r"\s*\d{1,9}(\s*,\s*\d{1,9})*\s*", str(text)) for text in texts):
        raise Malformed("'annotated_evidence' should list sentence numbers")
    numbers = dict.fromkeys(int(number) for text in texts for number in str(text).split(","))
    beyond = [number for number in numbers if number >= passages]
    problems += [f"People selected passage {number}, which the claim does not have." for number in beyond]
    return tuple(number for number in numbers if number < passages)


PLUGIN = Politihop()
