"""A source of claims, annotators and selectors so small that every number of theirs can be worked out by hand."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from heval_core.citations.records import Choice, Claim, Passage, Question, Written
from heval_core.datasets._reading import BadRecord
from heval_core.evaluation.publishing import publish
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.store.reader import Reader
from precompute.citations.study import Study
from precompute.run import Outcome, run
from tests.precompute import kills


@dataclass(frozen=True)
class Lines:
    """Claims as JSON lines; a line `bad` cannot be used."""

    path: str = ""
    key = "lines"
    title = "Lines"
    reference = "test"

    def claims(self) -> Iterator[Claim | BadRecord]:
        if not Path(self.path).is_file():
            raise HEvalError(f"There is no file {self.path}.")
        for number, line in enumerate(Path(self.path).read_text().splitlines(), 1):
            if line == "bad":
                yield BadRecord(f"line {number}", "it is not JSON")
                continue
            told = json.loads(line)
            said, sources = tuple(told["sentences"]), told["sources"] and tuple(map(tuple, told["sources"]))
            written = Written(" ".join(said), tuple(told["selected"]), told["writer"], said, sources)
            passages = tuple(Passage(number, f"Passage {number} of {told['id']}.") for number in (1, 2, 3))
            chains = tuple(map(tuple, told["chains"]))
            yield Claim(told["id"], f"Claim {told['id']}", "true", passages, chains, (written,) if said else ())


@dataclass(frozen=True)
class Chooser:
    """An annotator that chooses by a rule. asked: every question that it was asked."""

    key: str
    rule: Callable[[Question], Any]
    control: bool = True
    family: str = "control"
    reads: str = "nothing"
    model: str = ""
    order: int = 1
    title: str = "A rule"
    reference: str = "test"
    asked: list[tuple[str, int]] = dataclasses.field(default_factory=list, repr=False)

    def annotate(self, questions: Sequence[Question], reader: Any) -> list[Choice]:
        found = []
        for question in questions:
            chosen = self.rule(question)
            self.asked.append((question.explained.claim.id, question.passage))
            found.append(chosen if isinstance(chosen, Choice) else Choice(frozenset(chosen)))
        return found


def known(monkeypatch: pytest.MonkeyPatch, *annotators: Chooser) -> None:
    """Let the catalogue know the source and these annotators, and no other ones."""
    find, plugins = catalogue.find, catalogue.plugins
    own: dict[str, dict[str, Any]] = {"annotator": {one.key: one for one in annotators}, "claims": {"lines": Lines()}}

    def found(kind: str, key: str) -> Any:
        if kind not in own:
            return find(kind, key)
        if key not in own[kind]:
            raise HEvalError(f"There is no {kind} {key!r}.")
        return own[kind][key]

    monkeypatch.setattr(catalogue, "find", found)
    monkeypatch.setattr(catalogue, "plugins", lambda kind: own[kind] if kind in own else plugins(kind))


def line(name: str, *sentences: str, **more: Any) -> str:
    """A claim with three passages, explained by one writer. more: selected, writer and sources of the explanation; chains."""
    explained = {"sentences": sentences, "selected": [1, 2, 3], "writer": "", "sources": None}
    return json.dumps({"id": name, "chains": [], **explained, **more})


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def study(claims: Path, **more: Any) -> Study:
    """Of claims as `line` has them, explained as they came and asked of the annotator `first`."""
    asked = {"writers": ("shipped",), "annotators": ("first",), "device": "cpu", "shard_size": 5}
    return Study((f"lines={claims}",), **asked | more)


def own_study(claims: Path, **more: Any) -> Study:
    """Of a file of one's own claims, explained as they came and asked of the control `random`."""
    asked = {"writers": ("shipped",), "annotators": ("random",), "device": "cpu"}
    return Study((str(claims),), **asked | more)


def ran(store: Path, *lines: str, **more: Any) -> Outcome:
    """The study of these claims, every citation masked, in a store."""
    store.mkdir(parents=True, exist_ok=True)
    return run(study(write(store / "claims.txt", *lines), masking="full", **more), store)


def rows(store: Path, kind: str = "recovery") -> list[dict[str, Any]]:
    return kills.rows(store, kind)


def published(store: Path) -> Reader:
    return Reader(publish(store))
