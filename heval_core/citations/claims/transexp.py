"""Transparent fact-checking explanations: PolitiHop's claims with cited explanations that language models wrote.

Source: github.com/ruixing76/Transparent-FCExp, `claim_chain_mapping.json` and any of the files by writer,
`gpt35_full_data.json`, `gpt4_full_data.json`, `llama2-70b_full_data.json`: all that lie in a folder, or one. Licence: MIT.
Reference: Xing, Baldwin, Lau 2024, "Evaluating Transparency of Machine Generated Fact Checking Explanations".
Fields: `claim`, `label` (the verdict), `passage` (a numbered line per passage, from 0), `chain` (the passages that a model
selected, and the writer was given), and by writer: `explanation` (its sentences, with markers), `masked_cit` (the passage
whose citation was masked, -1 for none) and `ans_sens` (the sentences that cited it). The other file has the chains that people
selected, by claim. A claim that several files have is one claim with several.
Records: 486. The file's sentences are kept. Where masking `masked_cit` here does not give `ans_sens`, the claim has the reason
among its problems, and is used all the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.citations import mask
from heval_core.citations.claims._reading import numbers, read_claims
from heval_core.citations.records import Claim, Passage, Written
from heval_core.datasets._reading import BadRecord, Malformed, Origin, are_texts, json_file, locate, text_of
from heval_core.records import HEvalError

_FILE, _CHAINS = "gpt35_full_data.json", "claim_chain_mapping.json"
_FILES = "*_full_data.json"
_ORIGIN = Origin(_FILE, "github.com/ruixing76/Transparent-FCExp", option="--claims")
# What the file calls its writers, where that is not their name.
_NAMES = {"gpt35": "gpt-3.5", "gpt4": "gpt-4", "llama2-70b": "llama-2-70b", "llama2-7b": "llama-2-7b"}


@dataclass(frozen=True)
class TransExp:
    """path: of a file, or of the folder with the files of all writers; by default the data folder."""

    path: str | None = None

    key = "transexp"
    title = "Transparent explanations"
    reference = "Xing et al. 2024, arXiv 2406.12645"

    def claims(self) -> Iterator[Claim | BadRecord]:
        """Read the claims. Raises HEvalError if one of the files is missing, or is none of these."""
        path = locate(self.key, self.path, _ORIGIN)
        folder = path if path.is_dir() else path.parent
        several = self.path is None or path.is_dir()
        files = (sorted(folder.glob(_FILES)) or [folder / _FILE]) if several else [path]
        chains = _object(folder / _CHAINS) if files[0].is_file() else {}
        records = ((file.name, key, record) for file in files for key, record in _object(file).items())
        return read_claims(((f"{name}, {key}", _with(record, key, chains)) for name, key, record in records), _claim)


def _object(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise HEvalError(f"The data file {path} does not exist; transexp reads {_FILE} and {_CHAINS}, from {_ORIGIN.address}.")
    content = json_file(path)
    if not isinstance(content, dict):
        raise HEvalError(f"The data file {path} should hold a JSON object of records.")
    return content


def _with(record: Any, key: str, chains: dict[str, Any]) -> Any:
    """Add its key in the file and the chains of its claim to a record."""
    if not isinstance(record, dict):
        return record
    claim = record.get("claim")
    known = chains.get(claim) if isinstance(claim, str) else None
    people = known.get("chain") if isinstance(known, dict) else None
    return {**record, "id": key, "people": people if isinstance(people, dict) else None}


def _claim(record: dict[str, Any]) -> Claim:
    passages = _passages(text_of(record, "passage"))
    chain, explanations, people = (record.get(name) for name in ("chain", "explanation", "people"))
    if not isinstance(chain, list) or len(chain) != 2:
        raise Malformed("'chain' should be a list of a number and a list of passages")
    selected = numbers(chain[1], "chain", passages)
    if not isinstance(explanations, dict) or not all(map(are_texts, explanations.values())):
        raise Malformed("'explanation' should be an object with a list of sentences by writer")
    problems = [] if selected else ["The writer was given no passage."]
    problems += [f"{_CHAINS} does not have the claim."] if people is None else []
    return Claim(
        id=record["id"],
        claim=text_of(record, "claim"),
        verdict=text_of(record, "label"),
        passages=passages,
        chains=tuple(numbers(chain, _CHAINS, passages) for chain in (people or {}).values()),
        written=tuple(
            Written(" ".join(sentences), selected, str(_NAMES.get(writer, writer)), tuple(sentences))
            for writer, sentences in explanations.items()
        ),
        problems=(*problems, *(problem for writer in explanations for problem in inconsistencies(record, writer))),
    )


def _passages(text: str) -> tuple[Passage, ...]:
    lines = [re.fullmatch(r"(\d{1,9}): ?(.*)", line) for line in text.split("\n")]
    passages = tuple(Passage(int(line[1]), line[2].strip()) for line in lines if line)
    if len(passages) < len(lines) or len({passage.number for passage in passages}) < len(passages):
        raise Malformed("'passage' should have one line for each passage, with its number, a colon and its text")
    return passages


def inconsistencies(record: dict[str, Any], writer: str) -> list[str]:
    """Say where masking finds other sentences than the file, in plain English; indices count from 0.

    writer: as the file has it.
    """
    masked, answer = (_of(record, field, writer) for field in ("masked_cit", "ans_sens"))
    if masked is None or masked == -1:
        return ["The file masks no citation."]
    if not isinstance(masked, int) or not isinstance(answer, list) or not all(isinstance(index, int) for index in answer):
        return ["masked_cit and ans_sens are not a number and a list."]
    gold = sorted(mask(record["explanation"][writer], masked)[1])
    if gold == sorted(answer):
        return []
    return [f"Passage {masked} is cited at the places {gold}, but ans_sens has {sorted(answer)}."]


def _of(record: dict[str, Any], field: str, writer: str) -> Any:
    value = record.get(field)
    return value.get(writer) if isinstance(value, dict) else None


PLUGIN = TransExp()
