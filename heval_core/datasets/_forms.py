"""What a file is that is not the expected one: one sentence for all of it, with the shortest way to a file that is.

In commands `{0}` is the file, and `{1}` the one that is made of it.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heval_core.records import HEvalError

BOM = b"\xef\xbb\xbf"
_AS_LINES = "python -c \"import pandas; pandas.read_%s.to_json({1}, orient='records', lines=True)\""
_UTF_16 = "is UTF-16", "iconv -f UTF-16 -t UTF-8 {0} > {1}"
# First bytes ▶ what such a file is, and what makes one of it that can be read.
_BYTES = {
    b"PAR1": ("is a Parquet file", _AS_LINES % "parquet({0})"),
    b"PK\3\4": ("is a zip or Excel file", "unpack it, or save it as text"),
    b"\x1f\x8b": ("is packed", "gunzip -c {0} > {1}"),
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), _UTF_16),
}
# A field ▶ whose format has it.
_KNOWN = {"paragraphs": "SQuAD", "supporting_facts": "HotpotQA", "contexts": "ragas", "retrieved_contexts": "ragas"}


@dataclass(frozen=True)
class Form:
    """What the records of a file are. needed: fields of every record. known: every record has one of these. says: the fields
    in words. holds: how records stand in the file. ways: a field of another format ▶ what makes this form of it."""

    needed: Collection[str] = ()
    known: Collection[str] = ()
    says: str = ""
    holds: str = "one JSON object a line"
    ways: Mapping[str, str] = field(default_factory=dict)

    def check(self, path: Path, record: Any) -> None:
        """Raise HEvalError, with what is there and what is missing, for a file whose first record is of another form."""
        fields = record if isinstance(record, dict) else dict.fromkeys(self.needed)
        if missing := [name for name in self.needed if name not in fields]:
            there = ", ".join(fields) or "(none)"
            raise HEvalError(f"The data file {path} has the fields {there}; it lacks {', '.join(missing)}.")
        if self.known and fields and not set(self.known).intersection(fields):
            sign = next(filter(_KNOWN.get, re.findall(r'"(\w+)":', json.dumps(fields))), "")
            what = f"is {_KNOWN[sign]}'s file" if sign else f"has records with the fields {', '.join(fields)}"
            raise self.other(path, what, self.ways.get(sign, ""))

    def other(self, path: Path, what: str, way: str = "") -> HEvalError:
        """Return the error about a file of another form. what: it is."""
        fields = self.says or ", ".join(self.needed or self.known)
        reads = f"{self.holds}, with {fields}" if fields else self.holds
        return HEvalError(f"The data file {path} {what}; HEval reads {reads}.{_conversion(path, way)}")

    def objects(self, path: Path, text: str) -> list[Any] | None:
        """Return the records of a JSON list, where a file's first line is no JSON object; None where only that line is broken.

        text: all of it. Raises HEvalError for anything else.
        """
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            line = text.strip().partition("\n")[0].strip()
            if line.startswith("{"):
                return None
            raise self._no_json(path, line) from None
        if isinstance(whole, list) and whole:
            return whole
        self.check(path, whole)
        raise self.other(path, "is no list of objects, nor one a line", "jq -c . {0} > {1}")

    def _no_json(self, path: Path, line: str) -> HEvalError:
        sign, name = ("\t", "TSV") if "\t" in line else (",", "CSV")
        columns = re.split(f'"?{sign}"?', line.strip('"'))
        if len(columns) < 2 or not all(columns) or line.startswith("[") or "\ufffd" in line:
            return self.other(path, f"is no JSON: it begins with {line[:40]!r}")
        lists = "a table's lists are text, so save JSON lines where it was made" if _KNOWN.keys() & columns else ""
        fits = {*self.needed} <= {*columns} and (not self.known or {*self.known} & {*columns})
        way = lists or (_AS_LINES % f"csv({{0}}, sep={sign!r})" if fits else "")  # else it would be refused, too
        return self.other(path, f"is a {name} table with the columns {', '.join(columns)}", way)


ANY = Form()


def check_bytes(path: Path, head: bytes) -> None:
    """Raise HEvalError for a file whose first bytes are no text in UTF-8."""
    known = next((form for begins, form in _BYTES.items() if head.startswith(begins)), _UTF_16 if b"\0" in head[:2] else None)
    if known:
        hint = _conversion(path, known[1], {".gz": "", ".parquet": ".jsonl"}.get(path.suffix, path.suffix))
        raise HEvalError(f"The data file {path} {known[0]}; HEval reads text in UTF-8.{hint}")


def _conversion(path: Path, way: str, suffix: str = ".jsonl") -> str:
    """Return the sentence that says how to convert a file. suffix: of the file that is written."""
    new = f"{path.stem}{'-1' if suffix == path.suffix else ''}{suffix}"
    return f" To make one: {way.replace('{0}', repr(str(path))).replace('{1}', repr(new))}" if way else ""
