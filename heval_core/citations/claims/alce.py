"""ALCE's result files: questions, numbered documents, and an answer that cites them, as most work on citations writes them.

Source: github.com/princeton-nlp/ALCE, the files that its `run.py` writes to `result/`. Licence: MIT; questions have their own.
Reference: Gao, Yen, Yu, Chen 2023, "Enabling Large Language Models to Generate Text with Citations".
Fields: `data`, a list of {`question`, `docs`: [{`title`, `text`}], `output`}, or that list alone; `args.model` names the
writer. Documents count from 1, as the markers in `output` do. The question stands in place of the claim, and there is no
verdict. All documents count as given to the writer: ALCE keeps no others, unless it ran with `retrieve_in_all_docs`.
Records: as many as the file has. Where an `output` lists several samples, the first is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.citations.claims._reading import numbered_passages, read_claims
from heval_core.citations.records import Claim, Written
from heval_core.datasets._reading import BadRecord, Malformed, Origin, id_of, json_file, locate, text_of
from heval_core.records import HEvalError

_ORIGIN = Origin("result.json", "a run of github.com/princeton-nlp/ALCE", option="--claims")


@dataclass(frozen=True)
class Alce:
    """path: of a result file; by default of result.json in the data folder."""

    path: str | None = None

    key = "alce"
    title = "ALCE's results"
    reference = "Gao et al. 2023, arXiv 2305.14627"

    def claims(self) -> Iterator[Claim | BadRecord]:
        """Raises HEvalError if the file is missing, or has no results of ALCE's."""
        path = locate(self.key, self.path, _ORIGIN)
        records, writer = _records(path)
        numbered = ((f"{path.name}, record {number}", number, record) for number, record in enumerate(records, start=1))
        # What has no id of its own is known by its number.
        named = ((place, {"sample_id": number, **raw} if isinstance(raw, dict) else raw) for place, number, raw in numbered)
        return read_claims(named, lambda record: _claim(record, writer))


def _records(path: Path) -> tuple[list[Any], str]:
    """(the records, the writer's name or "")."""
    content = json_file(path)
    records = content.get("data") if isinstance(content, dict) else content
    if not isinstance(records, list):
        raise HEvalError(
            f"The data file {path} should hold ALCE's results: a list of records, or an object with one as 'data'."
        )
    settings = content.get("args") if isinstance(content, dict) else None
    writer = settings.get("model") if isinstance(settings, dict) else ""
    return records, writer if isinstance(writer, str) else ""


def _claim(record: dict[str, Any], writer: str) -> Claim:
    # A document is known by its place alone, whatever else it says of itself.
    documents = record.get("docs")
    passages = numbered_passages(
        {"docs": [_document(document) for document in documents] if isinstance(documents, list) else None}, "docs"
    )
    outputs = _outputs(record)
    return Claim(
        id=id_of(record, "id" if record.get("id") is not None else "sample_id"),
        claim=text_of(record, "question"),
        verdict="",
        passages=passages,
        written=tuple(Written(text, tuple(passage.number for passage in passages), writer) for text in outputs[:1]),
        problems=("There are several answers, of which the first is read.",) if len(outputs) > 1 else (),
    )


def _document(raw: Any) -> Any:
    return {"title": raw.get("title"), "text": raw.get("text")} if isinstance(raw, dict) else raw


def _outputs(record: dict[str, Any]) -> list[str]:
    """The answers; none where the record was not answered yet."""
    output = record.get("output")
    outputs = output if isinstance(output, list) else [] if output is None else [output]
    if not all(isinstance(text, str) for text in outputs):
        raise Malformed("'output' should be a text")
    return outputs


PLUGIN = Alce()
