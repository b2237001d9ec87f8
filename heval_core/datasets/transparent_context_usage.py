"""The question sets of Sun et al. as their authors published them, one part at a time.

`transparent_context_usage/PART`, where PART is `world_capital`, `counterfact`, `fakepedia` or `conflictqa`.
Source: huggingface.co/datasets/copenlu/transparent-context-usage: `PART_conflicting.csv`, `PART_irrelevant.csv` and
`PART_double_conflicting.csv` (`PART_mixed.csv` is made from the first two); or a folder with these files,
`transparent_context_usage/PART=FOLDER`. `transparent_context_usage/PART@COMMIT` pins the hub's revision; without it the
newest is taken and its commit is printed. Licence: Apache-2.0. Reference: arXiv 2510.02629.
Records: World Capital 55,830, CounterFact 802, Fakepedia 5,348, ConflictQA 1,343 questions per setting.
Fields: we could not see the files' columns when we wrote this. So each column is looked for under the names below, in any
case, and the matches are printed; if a required column is missing, the error lists the columns that exist:
  question   question, query, prompt
  subject    subject, entity, sub_label, country
  relation   relation, rel_p_id, relation_id, rel_lemma, predicate (without one: the part's name)
  memory     memory_answer, parametric_answer, true_answer, ground_truth, target_true, gold_answer (may be missing)
  document   context, context_1, context1, c1, passage, passage_1, document, document_1
  answer     context_answer, answer_1, answer1, ans_c, ans_c1, counter_answer, target_new, answer
  document_2 context_2, context2, c2, passage_2, document_2
  answer_2   answer_2, answer2, ans_c2, context_answer_2, counter_answer_2
  other      irrelevant_subject, context_subject, other_subject (of irrelevant documents; may be missing)
Departure: each row of the conflicting file is a question. The other files add to it: the second documents by question and
first answer, the irrelevant documents by question.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.datasets._reading import Malformed, Record, data_folder, from_hub, read_each, table, text_of
from heval_core.records import Fact, HEvalError, Passage

REPOSITORY = "copenlu/transparent-context-usage"
PARTS = ("world_capital", "counterfact", "fakepedia", "conflictqa")
ACCEPTED = {
    "question": ("question", "query", "prompt"),
    "subject": ("subject", "entity", "sub_label", "country"),
    "relation": ("relation", "rel_p_id", "relation_id", "rel_lemma", "predicate"),
    "memory": ("memory_answer", "parametric_answer", "true_answer", "ground_truth", "target_true", "gold_answer"),
    "document": ("context", "context_1", "context1", "c1", "passage", "passage_1", "document", "document_1"),
    "answer": ("context_answer", "answer_1", "answer1", "ans_c", "ans_c1", "counter_answer", "target_new", "answer"),
    "document_2": ("context_2", "context2", "c2", "passage_2", "document_2"),
    "answer_2": ("answer_2", "answer2", "ans_c2", "context_answer_2", "counter_answer_2"),
    "other": ("irrelevant_subject", "context_subject", "other_subject"),
}
_WANTED = {
    "conflicting": ("question", "subject", "document", "answer"),
    "irrelevant": ("question", "document", "answer"),
    "double_conflicting": ("question", "document", "answer", "document_2", "answer_2"),
}


def columns_of(location: str, setting: str, seen: list[str]) -> dict[str, str]:
    """Map our name of a column ▶ the file's. Raises HEvalError with the file's columns and the missing ones."""
    spelling_of = {name.strip().lower(): name for name in seen}
    spellings_of = {ours: [spelling_of[name] for name in names if name in spelling_of] for ours, names in ACCEPTED.items()}
    columns = {ours: spellings[0] for ours, spellings in spellings_of.items() if spellings}
    missing = [f"{ours} ({', '.join(ACCEPTED[ours])})" for ours in _WANTED[setting] if ours not in columns]
    if missing:
        raise HEvalError(f"{location} has the columns {', '.join(seen) or '(none)'}; it lacks {'; '.join(missing)}.")
    return columns


@dataclass(frozen=True)
class TransparentContextUsage:
    """part: one of PARTS. path: a folder with the CSV files. revision: a commit of the hub's repository."""

    part: str | None = None
    path: str | None = None
    revision: str | None = None

    title = "Transparent context usage"
    reference = "Sun et al. 2025, arXiv 2510.02629"
    parts = PARTS

    @property
    def key(self) -> str:
        name = "transparent_context_usage"
        return f"{name}/{self.part}" if self.part else name

    @property
    def long(self) -> bool:
        return self.part in ("fakepedia", "conflictqa")

    def facts(self) -> Iterator[Record]:
        """Yield the facts. Raises HEvalError if the part, a file or a required column is missing."""
        if self.part not in PARTS:
            raise HEvalError(f"Choose a part: {', '.join(f'transparent_context_usage/{part}' for part in PARTS)}.")
        folder = Path(self.path).expanduser() if self.path else data_folder("transparent_context_usage")
        second, irrelevant = defaultdict(list), defaultdict(list)
        for row in self._whole(folder, "double_conflicting"):
            second[row["question"], row["answer"]].append((row["document_2"], row["answer_2"]))
        # Sorted, so that the file's order does not matter.
        for row in sorted(self._whole(folder, "irrelevant"), key=lambda row: (row["answer"], row["document"])):
            irrelevant[row["question"]].append(row)

        def convert(row: dict[str, Any]) -> Fact:
            question, answer = text_of(row, "question"), text_of(row, "answer")
            subject = text_of(row, "subject")
            passage = Passage(subject, answer, text_of(row, "document"))
            other = irrelevant[question].pop(0) if irrelevant[question] else None
            more = [Passage(subject, another, text) for text, another in second[question, answer] if another != answer]
            return Fact(
                id=f"{question}|{answer}",
                dataset=self.key,
                subject=subject,
                relation=row.get("relation") or str(self.part),
                question=question,
                answer=row.get("memory") or "",
                conflicting=(passage, *more),
                irrelevant=Passage(other.get("other") or "", other["answer"], other["document"]) if other else None,
            )

        yield from read_each(self._rows(folder, "conflicting"), convert)

    def _whole(self, folder: Path, setting: str) -> Iterator[dict[str, str]]:
        """Return the rows of a file that adds to the questions; what cannot be read adds nothing."""
        return (row for _, row in self._rows(folder, setting) if isinstance(row, dict))

    def _rows(self, folder: Path, setting: str) -> Iterator[tuple[str, dict[str, str] | Malformed]]:
        """Yield (file, record number) and record under the wanted names, every value a text."""
        path = self._file(folder, f"{self.part}_{setting}.csv")
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                header = next(csv.reader(file), [])
        except (OSError, UnicodeDecodeError) as error:
            raise HEvalError(f"The data file {path} cannot be read as a CSV: {error}.") from error
        columns = columns_of(path.name, setting, header)
        print(f"{path.name}: " + ", ".join(f"{ours} is {theirs!r}" for ours, theirs in columns.items()), file=sys.stderr)
        for location, row in table(path, columns.values(), ","):
            bad = isinstance(row, Malformed)
            yield location, row if bad else {ours: row[theirs].strip() for ours, theirs in columns.items()}

    def _file(self, folder: Path, name: str) -> Path:
        placed = folder / name
        if placed.is_file():
            return placed
        problem = ""
        if self.path is None:
            if fetched := from_hub(REPOSITORY, name, self.revision):
                return fetched
            problem = f", and {REPOSITORY} is neither cached nor can the hub be reached"
        raise HEvalError(
            f"There is no {placed}{problem}. Get {name} from huggingface.co/datasets/{REPOSITORY} and put it there, or "
            f"give its folder: --datasets {self.key}=FOLDER"
        )


PLUGIN = TransparentContextUsage()
