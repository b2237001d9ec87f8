"""What samples of claims are made of, in each source's real format. Nothing in them is anybody's data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.datasets.samples import write_json, write_lines, write_table

SENTENCES = ["Ruland built a harbour in 1950.", "The harbour has ten cranes, said the mayor.", "Two of them were sold."]
SENTENCES += ["A ferry runs daily."]
COLUMNS = ("article_id", "statement", "author", "ruling", "politifact_label", "annotated_evidence", "annotated_label")


def hop(key: str = "11", **more: Any) -> dict[str, Any]:
    """A record of PolitiHop's, whose fields are JSON in a table."""
    record = {
        "article_id": key, "statement": ' The harbour has "ten" cranes.', "author": "Speaker: a mayor", "ruling": SENTENCES,
        "politifact_label": "barely-true", "annotated_evidence": {"1": ["1", "2"], "0": ["0", "1,2", "2"]},
        "annotated_label": "false", **more,
    }  # fmt: skip
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in record.items()}


def write_hops(path: Path, records: list[dict[str, Any]], columns: tuple[str, ...] = COLUMNS) -> Path:
    return write_table(path, records, columns, ends="\r\n")


def exp(**more: Any) -> dict[str, Any]:
    """A record of the authors' file."""
    return {
        "article_id": "11", "claim": "The harbour has ten cranes.", "label": "false", "chain": ["0", [2, 1]],
        "passage": "\n".join(f"{number}: {sentence}" for number, sentence in enumerate(SENTENCES)),
        "explanation": {"gpt35": ["It had ten [1].", "Two were sold [1][2].", "So it is false."]},
        "masked_cit": {"gpt35": 1}, "ans_sens": {"gpt35": [0, 1]}, **more,
    }  # fmt: skip


def write_exps(folder: Path, records: dict[str, Any], chains: Any = None) -> Path:
    known = {"The harbour has ten cranes.": {"id": "x", "claim": "…", "chain": {"0": [1, 2], "1": [2]}}}
    write_json(folder / "gpt35_full_data.json", records)
    write_json(folder / "claim_chain_mapping.json", known if chains is None else chains)
    return folder


def answered(**more: Any) -> dict[str, Any]:
    """A record of ALCE's results."""
    docs = [{"id": "900", "title": "Ruland", "text": text, "score": 1.5} for text in SENTENCES]
    said = {"answer": "Eight.", "prompt": "…", "output": "Ten [2]. Eight now [2][3]."}
    return {"question": "How many cranes?", "docs": docs, **said, **more}


def own(key: Any = "r1", **more: Any) -> dict[str, Any]:
    """A line of one's own claims."""
    claim = {"id": key, "claim": "The harbour has ten cranes.", "verdict": "false", "passages": SENTENCES}
    return {**claim, "explanation": "It had ten [2]. Two were sold [3].", **more}


# What makes a sample of each source where it looks by default.
SAMPLES = {
    "politihop": lambda folder: write_hops(folder / "politihop_test.tsv", [hop(), hop("12")]),
    "transexp": lambda folder: write_exps(folder, {"a1": exp()}),
    "alce": lambda folder: write_json(folder / "result.json", {"args": {"model": "m"}, "data": [answered(), answered()]}),
    "jsonl": lambda folder: write_lines(folder / "claims.jsonl", [own(), own(7)]),
}
