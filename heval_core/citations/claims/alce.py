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
from functools import partial
from typing import Any

from heval_core.citations.claims._reading import numbered_passages, read_claims
from heval_core.citations.records import Claim, Written
from heval_core.datasets._forms import Form
from heval_core.datasets._reading import BadRecord, Malformed, Origin, are_texts, id_of, json_file, locate, text_of
from heval_core.records import HEvalError

_FORM = Form(known=("docs", "output"), holds="a JSON list of ALCE's results")
_ORIGIN = Origin("result.json", "a run of github.com/princeton-nlp/ALCE", option="--claims")


@dataclass(frozen=True)
class Alce:
    """path: of a result file; by default of result.json in the data folder."""

    path: str | None = None

    key = "alce"
    title = "ALCE's results"
    reference = "Gao et al. 2023, arXiv 2305.14627"

    def claims(self) -> Iterator[Claim | BadRecord]:
        """Read the claims. Raises HEvalError if the file is missing, or has no results of ALCE's."""
        path = locate(self.key, self.path, _ORIGIN)
        content = json_file(path)
        content = content if isinstance(content, dict) else {"data": content}
        records, settings = content.get("data"), content.get("args")
        if not isinstance(records, list):
            raise HEvalError(
                f"The data file {path} should hold ALCE's results: a list of records, or an object with one as 'data'."
            )
        writer = settings.get("model") if isinstance(settings, dict) else ""
        _FORM.check(path, records[0] if records else None)
        # What has no id of its own is known by its number.
        named = (
            (f"{path.name}, record {number}", {"sample_id": number, **raw} if isinstance(raw, dict) else raw)
            for number, raw in enumerate(records, start=1)
        )
        return read_claims(named, partial(_claim, writer if isinstance(writer, str) else ""))


def _claim(writer: str, record: dict[str, Any]) -> Claim:
    documents, output = record.get("docs"), record.get("output")
    if isinstance(documents, list):
        # A document is known by its place alone, whatever else it says of itself.
        documents = [
            {name: one.get(name) for name in ("title", "text")} if isinstance(one, dict) else one for one in documents
        ]
    passages = numbered_passages({"docs": documents}, "docs")
    outputs = output if isinstance(output, list) else [] if output is None else [output]  # none: it was not answered yet
    if not are_texts(outputs):
        raise Malformed("'output' should be a text")
    return Claim(
        id=id_of(record, "id" if record.get("id") is not None else "sample_id"),
        claim=text_of(record, "question"),
        verdict="",
        passages=passages,
        written=tuple(Written(text, tuple(passage.number for passage in passages), writer) for text in outputs[:1]),
        problems=("There are several answers, of which the first is read.",) if len(outputs) > 1 else (),
    )


PLUGIN = Alce()
