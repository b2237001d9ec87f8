"""One's own claims: a JSON-lines file, one object per line.

Source: yours. Licence: yours. Records: as many lines as there are.
Fields: {"id", "claim", "verdict"?, "passages", "selected"?, "explanation"?, "writer"?, "prompt"?, "chains"?, "sources"?}.
  passages      a list of texts, or of objects {"number"?, "title"?, "text"}; without numbers they count from 1
  explanation   a text with markers (`[3]`, `【1】`, `[Doc 2]`: see `markers`), or the list of its sentences
  selected      the numbers of the passages that its writer was given; all of them where it is not told
  prompt        the prompt that its writer was given, where it is one of `heval_core/citations/prompts/`
  chains        passages that people selected: a list of numbers for each way to the verdict
  sources       what each sentence of the explanation was made from: a list of numbers per sentence, [] for nothing
Lines with the same id and the same claim are explanations of it by several writers. An unusable line becomes a BadRecord.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.citations.claims._reading import numbered_passages, numbers, read_claims
from heval_core.citations.reading import layout
from heval_core.citations.records import Claim, Passage, Written
from heval_core.datasets._forms import Form
from heval_core.datasets._reading import BadRecord, Malformed, Origin, id_of, json_lines, locate, optional_text, spelt, text_of
from heval_core.records import HEvalError

_WAY = "jq -c '{{id: .{0}, claim: .{0}, passages: .{1}, explanation: .{2}}}' {{0}} > {{1}}"
_FORM = Form(
    known=("claim", "passages"),
    says="id, claim, passages, and explanation where there is one",
    ways={
        "contexts": _WAY.format("question", "contexts", "answer"),
        "retrieved_contexts": _WAY.format("user_input", "retrieved_contexts", "response"),
    },
)
_ORIGIN = Origin("claims.jsonl", "your own claims", option="--claims")


@dataclass(frozen=True)
class JsonLines:
    """path: of the file; by default of claims.jsonl in the data folder. The data has the file's name."""

    path: str | None = None

    title = "One's own claims"
    reference = "a local file"

    @property
    def key(self) -> str:
        return Path(self.path).stem if self.path else "jsonl"

    def claims(self) -> Iterator[Claim | BadRecord]:
        """Read the claims. Raises HEvalError if the file is missing or empty."""
        return read_claims(json_lines(locate("jsonl", self.path, _ORIGIN), _FORM), _claim)


def _claim(record: dict[str, Any]) -> Claim:
    spelt(record, "verdict", "selected", "explanation", "writer", "prompt", "chains", "sources")
    passages = numbered_passages(record, "passages")
    return Claim(
        id=id_of(record),
        claim=text_of(record, "claim"),
        verdict=optional_text(record, "verdict"),
        passages=passages,
        chains=tuple(filter(None, _lists(record, "chains", passages) or ())),
        written=_written(record, passages),
    )


def _written(record: dict[str, Any], passages: tuple[Passage, ...]) -> tuple[Written, ...]:
    """Read the explanation of a record, where it has one. An empty one is one too."""
    text = record.get("explanation")
    sentences: tuple[str, ...] = ()
    if text is None:
        return ()
    if isinstance(text, list) and all(isinstance(sentence, str) for sentence in text):
        text, sentences = " ".join(text), tuple(text)
    if not isinstance(text, str):
        raise Malformed("'explanation' should be a text or a list of sentences")
    listed = record.get("selected")
    every = tuple(passage.number for passage in passages)
    selected = every if listed is None else numbers(listed, "selected", passages)
    sources = _lists(record, "sources", passages)
    return (Written(text, selected, optional_text(record, "writer"), sentences, sources, _prompt(record)),)


def _prompt(record: dict[str, Any]) -> str:
    prompt_id = optional_text(record, "prompt")
    if prompt_id:
        try:
            layout(prompt_id)
        except HEvalError as error:
            raise Malformed(f"'prompt': {error}") from error
    return prompt_id


def _lists(record: dict[str, Any], name: str, passages: tuple[Passage, ...]) -> tuple[tuple[int, ...], ...] | None:
    listed = record.get(name)
    if listed is None:
        return None
    if not isinstance(listed, list):
        raise Malformed(f"{name!r} should be a list of lists of numbers")
    return tuple(numbers(raw, name, passages) for raw in listed)


PLUGIN = JsonLines()
