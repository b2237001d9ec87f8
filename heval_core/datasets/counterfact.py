"""CounterFact: cloze questions such as "Danielle Darrieux's mother tongue is" with one false answer each.

Sources, recognised by their fields; `counterfact=PATH` names any of them:
  ROME's `counterfact.json` (`requested_rewrite`: prompt, subject, target_true, target_new, relation_id), 21,919 records,
    rome.baulab.info/data, MIT; Meng et al. 2022, "Locating and Editing Factual Associations in GPT".
  ROME's known facts (`subject`, `attribute`, `prompt`, `relation_id`), 1,209 records, MIT. It ships no false answer: one
    of the relation's other answers is chosen by a fixed hash.
  The format of Ortu et al. 2024, "Competition of Mechanisms" (`base_prompt`, `subject`, `target_true`, `target_new`), 10,000
    records, github.com/francescortu/comp-mech, MIT. It has no relation; the cloze without its subject takes its place.
  A folder of LAMA facts and ParaRel patterns (`facts/P*.jsonl`, `patterns/P*.jsonl`), github.com/yanaiela/pararel, MIT;
    Elazar et al. 2021. `_pararel` describes how the question set is made from it.
Licence: MIT, all of them. Fields: as above. Records: as above.
A document is "Fact: " and the cloze with an answer and a full stop; the question is the cloze itself. As in CUB (Hagström et
al., arXiv 2505.16518), the gold document has the true answer, the conflicting one the false answer, and the irrelevant one is
another subject's true statement, here always one of the same relation; `off_topic` takes another relation's.
Departure: a record whose subject's name contains the true answer ("Toyota Camry is a product of") is left out as a leak,
`answer in subject`, because copying from the question cannot be told from memory. Context: about 50 characters.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from heval_core.datasets._reading import Malformed, Origin, Record, json_array, json_lines, locate, read_each, text_of
from heval_core.prompting.prompts import mentions
from heval_core.records import Dropped, Fact, HEvalError, Passage

_ORIGIN = Origin("counterfact.json", "rome.baulab.info/data/dsets/counterfact.json")

# The five relations of the 802 questions in Sun et al. 2025; LAMA splits "capital of" by what is asked for.
PARAREL_RELATIONS = {
    "P36": "capital of",
    "P1376": "capital of",
    "P495": "country of origin",
    "P740": "location of formation",
    "P101": "field of work",
    "P27": "country of citizenship",
}
PARAREL_QUESTIONS = 802


def statement(subject: str, cloze: str, answer: str) -> Passage:
    return Passage(subject, answer, f"Fact: {cloze} {answer}.")


def _fact(subject: str, relation: str, cloze: str, true: str, false: str) -> Fact:
    """Build a fact. Raises Dropped for a leak, Malformed if the false answer is the true one."""
    if mentions(true, subject):
        raise Dropped("answer in subject")
    if true == false:
        raise Malformed(f"the false answer {false!r} is the true one")
    return Fact(
        id=f"{cloze}|{false}",
        dataset=CounterFact.key,
        subject=subject,
        relation=relation,
        question=cloze,
        answer=true,
        conflicting=(statement(subject, cloze, false),),
        own=statement(subject, cloze, true),
    )


def _rome(record: dict[str, Any]) -> Fact:
    cloze, subject = text_of(record, "requested_rewrite", "prompt"), text_of(record, "requested_rewrite", "subject")
    if cloze.count("{}") != 1:
        raise Malformed(f"'requested_rewrite.prompt' should contain {{}} once, but is {cloze!r}")
    return _fact(
        subject,
        text_of(record, "requested_rewrite", "relation_id"),
        cloze.replace("{}", subject),
        text_of(record, "requested_rewrite", "target_true", "str"),
        text_of(record, "requested_rewrite", "target_new", "str"),
    )


def _comp_mech(record: dict[str, Any]) -> Fact:
    subject, cloze = text_of(record, "subject"), text_of(record, "base_prompt")
    relation = cloze.replace(subject, "{}")
    return _fact(subject, relation, cloze, text_of(record, "target_true"), text_of(record, "target_new"))


def _known(record: dict[str, Any], answers: dict[str, list[str]]) -> Fact:
    subject, relation = text_of(record, "subject"), text_of(record, "relation_id")
    cloze, true = text_of(record, "prompt"), text_of(record, "attribute")
    return _fact(subject, relation, cloze, true, another(answers[relation], (true,), subject, cloze))


def another(answers: Iterable[str], true: tuple[str, ...], subject: str, cloze: str) -> str:
    """Choose one of a relation's answers that is false and stands neither in the subject's name nor in the cloze, by a fixed
    hash.
    """
    fresh = [answer for answer in answers if answer not in true and not mentions(answer, f"{subject} {cloze}")]
    if not fresh:
        raise Dropped("no conflicting document")
    return min(fresh, key=lambda answer: zlib.crc32(f"{cloze}|{answer}".encode()))


def _pararel(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield (location, record) of the question set from LAMA facts and cloze patterns, in the format of the known facts.

    For each relation, the first pattern that ends with its object ("[X] works in the field of [Y].") makes the cloze. A
    subject with several true answers is left out. Each of the five relations gives an equal share of the 802 questions,
    the first ones by a fixed hash; if a relation has too few, the others make up for it. The paper does not say which 802
    questions it took: ours have its number, relations and format, but need not be its questions.
    """
    by_title: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for relation, title in PARAREL_RELATIONS.items():
        facts, patterns = folder / "facts" / f"{relation}.jsonl", folder / "patterns" / f"{relation}.jsonl"
        if not facts.is_file() and not patterns.is_file():
            continue
        cloze = _cloze(patterns)
        for location, record in _single_valued(list(json_lines(facts))):
            if isinstance(record, dict) and isinstance(record.get("sub_label"), str):
                subject = record["sub_label"].strip()
                record = {
                    "subject": subject,
                    "attribute": record.get("obj_label"),
                    "relation_id": relation,
                    "prompt": cloze.replace("[X]", subject),
                }
            by_title[title].append((location, record))
    if not by_title:
        raise HEvalError(
            f"The folder {folder} has no facts/P*.jsonl and patterns/P*.jsonl for any of: {', '.join(PARAREL_RELATIONS)}."
        )
    yield from _share(list(by_title.values()))


def _cloze(path: Path) -> str:
    for _, record in json_lines(path):
        pattern = record.get("pattern") if isinstance(record, dict) else None
        if isinstance(pattern, str) and "[X]" in pattern and pattern.rstrip(" .").endswith("[Y]"):
            return pattern.rstrip(" .").removesuffix("[Y]").strip()
    raise HEvalError(f"The file {path} has no pattern with [X] that ends with [Y].")


def _single_valued(records: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the first record of each subject with one answer; and what is no record."""
    pairs = [
        (str(record.get("sub_label")), str(record.get("obj_label"))) if isinstance(record, dict) else (location, "")
        for location, record in records
    ]
    answers, firsts = Counter(subject for subject, _ in set(pairs)), dict[str, tuple[str, Any]]()
    for (subject, _), record in zip(pairs, records, strict=True):
        if answers[subject] == 1:
            firsts.setdefault(subject, record)
    return list(firsts.values())


def _share(groups: list[list[tuple[str, Any]]]) -> Iterator[tuple[str, Any]]:
    """Yield PARAREL_QUESTIONS usable records, as evenly from the groups as possible; leaks and bad records in addition."""
    remaining, usable = PARAREL_QUESTIONS, list[list[tuple[str, Any]]]()
    for group in groups:
        yield from (pair for pair in group if not _asks(pair[1]))
        good = (pair for pair in group if _asks(pair[1]))
        usable.append(sorted(good, key=lambda pair: zlib.crc32(str(pair[1]["prompt"]).encode())))
    for left, group in zip(range(len(usable), 0, -1), sorted(usable, key=len), strict=True):
        share = min(len(group), -(-remaining // left))
        remaining -= share
        yield from group[:share]


def _asks(record: Any) -> bool:
    try:
        return not mentions(text_of(record, "attribute"), text_of(record, "subject"))
    except Malformed:
        return False


def _answers(records: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Map relation ▶ the answers of its records."""
    by_relation: dict[str, set[str]] = defaultdict(set)
    for pair in read_each(records, lambda record: (text_of(record, "relation_id"), text_of(record, "attribute"))):
        if isinstance(pair, tuple):
            by_relation[pair[0]].add(pair[1])
    return {relation: sorted(answers) for relation, answers in by_relation.items()}


# The field by which a format is recognised, and the function that reads its records.
_FORMS: dict[str, Callable[[dict[str, Any]], Fact]] = {"requested_rewrite": _rome, "base_prompt": _comp_mech}


@dataclass(frozen=True)
class CounterFact:
    """path: a file in one of the three formats, or a folder of facts and patterns; by default from the data folder."""

    path: str | None = None

    key = "counterfact"
    title = "CounterFact"
    reference = "Meng et al. 2022, arXiv 2202.05262; question set after Sun et al. 2025"
    long = False

    def facts(self) -> Iterator[Record]:
        """Yield the facts. Raises HEvalError if the file is missing, or has none of the formats."""
        path = locate(self.key, self.path, _ORIGIN)
        records = list(_pararel(path) if path.is_dir() else json_array(path))
        yield from read_each(records, self._reader(path, records))

    def _reader(self, path: Path, records: list[tuple[str, Any]]) -> Callable[[dict[str, Any]], Fact]:
        fields = set(next((record for _, record in records if isinstance(record, dict)), {}))
        for field, read in _FORMS.items():
            if field in fields:
                return read
        if {"attribute", "prompt"} <= fields:
            return partial(_known, answers=_answers(records))
        raise HEvalError(
            f"The data file {path} has none of CounterFact's formats: it should have requested_rewrite, base_prompt, or "
            f"attribute and prompt; its first record has {', '.join(sorted(fields)) or 'no fields'}."
        )


PLUGIN = CounterFact()
