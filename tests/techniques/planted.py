"""Stores whose truth about techniques is planted: answers, memories and probabilities as a test wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heval_core.evaluation.publishing import publish
from heval_core.records import CONTEXT_KINDS, FOLLOWED, TECHNIQUE
from heval_core.store.reader import Reader
from heval_core.store.shards import Shard, ShardStore

# Tokens of a made-up model. The document's answer differs from the true one unless the document is gold.
TRUE, FALSE, MEMORY, SOMETHING_ELSE = 11, 12, 13, 14
TEXTS = {TRUE: " Paris", FALSE: " Rome", MEMORY: " Oslo", SOMETHING_ELSE: " of"}
ACCEPTED = {"gold": (TRUE,), "conflicting": (FALSE,), "irrelevant": (FALSE,), "off_topic": (FALSE,)}
GROUPS = {TRUE: "C", FALSE: "C", MEMORY: "M", SOMETHING_ELSE: "other"}


@dataclass(frozen=True)
class Case:
    """What a model is asked: the question's number under one kind of context and technique."""

    model: str
    dataset: str
    regime: str
    technique: str
    number: int
    split: str

    @property
    def follows(self) -> int:
        """The token that follows the document."""
        return ACCEPTED[self.regime][0]

    @property
    def right(self) -> int:
        """The token that the kind of context asks for."""
        return self.follows if self.regime in FOLLOWED else MEMORY


@dataclass(frozen=True)
class Answer:
    """What came of it. token: predicted. alone: predicted without the document. p, p_alone: of the compared token. change:
    columns of the instance or of the behaviour row that are to be different. None instead of an Answer: not answered."""

    token: int
    alone: int = MEMORY
    p: float = 0.75
    p_alone: float = 0.5
    knew: bool = False
    trace: str | None = None
    setting: str = ""
    document: str = "The capital of France is Rome ."
    change: Mapping[str, Any] = field(default_factory=dict)


Asked = Callable[[Case], "Answer | None"]


def blind(share: float) -> Asked:
    """Follows the document in this share of the questions, whatever its kind; else memory answers."""
    return lambda case: Answer(case.follows if case.number % 10 < 10 * share else MEMORY)


def perfect(case: Case) -> Answer:
    """Does what the kind of context asks for."""
    return Answer(case.right)


def plant(
    folder: Path,
    techniques: Mapping[str, Asked],
    *,
    models: Mapping[str, int] | Sequence[str] = ("made-up",),
    datasets: Sequence[str] = ("made-up-data",),
    regimes: Iterable[str] = CONTEXT_KINDS,
    development: int = 10,
    test: int = 20,
    trials: Iterable[Mapping[str, Any]] = (),
) -> Path:
    """Write the shards of a store; publish it with `published`. techniques: key ▶ what it answers in each Case. models: name ▶
    parameters. development, test: numbers of questions; those numbered below `development` are development questions. trials:
    rows of `technique_trial` with technique; model, dataset and the rest are filled in for every model and dataset."""
    store = ShardStore(folder)
    store.create()
    sizes = dict(models) if isinstance(models, Mapping) else dict.fromkeys(models, 1_000_000)
    for model, parameters in sizes.items():
        store.note("model", {"model": model, "revision": "1", "layers": 2, "heads": 2, "parameters": parameters})
        for dataset in datasets:
            for technique, answer in techniques.items():
                for regime in regimes:
                    cases = [
                        Case(model, dataset, regime, technique, number, "development" if number < development else "test")
                        for number in range(development + test)
                    ]
                    answered = [(case, found) for case in cases if (found := answer(case)) is not None]
                    _write(store, model, dataset, regime, technique, answered)
            _write_trials(store, model, dataset, trials)
    return folder


def published(folder: Path) -> Reader:
    return Reader(publish(folder))


def instance_id(case: Case) -> str:
    return f"{case.model}-{case.dataset}-{case.regime}-{case.technique}-{case.number:04d}"


def _write(
    store: ShardStore, model: str, dataset: str, regime: str, technique: str, answered: list[tuple[Case, Answer]]
) -> None:
    if not answered:
        return
    where = {"model": model, "revision": "1", "dataset": dataset, "regime": regime, "technique": technique}
    rows = [{**where, **_instance(case, answer), **_changed(answer, False)} for case, answer in answered]
    store.write(_shard(where, "instance", len(rows)), rows)
    behaviours = [{**_behaviour(case, answer), **_changed(answer, True)} for case, answer in answered]
    store.write(_shard(where, "behaviour", len(rows)), behaviours)


def _changed(answer: Answer, of_behaviour: bool) -> dict[str, Any]:
    return {name: value for name, value in answer.change.items() if (name in _BEHAVIOUR) == of_behaviour}


_IDS = ("accepted", "true_ids", "memory_id", "alone_id", "target_id")
_BEHAVIOUR = (*_IDS, "split", "probability", "alone_probability", "knew")


def _shard(where: Mapping[str, str], kind: str, count: int) -> Shard:
    return Shard(kind, " ".join((kind, *where.values())), **where, fingerprint="1", stop=count)


def _instance(case: Case, answer: Answer) -> dict[str, Any]:
    question = f"Q: What is the capital of country {case.number}? A:"
    document = [f" {word}" for word in answer.document.split(" ")]
    asked = [f" {word}" for word in question.split(" ")]
    said = TEXTS[case.follows].strip()
    mentions = [place for place, token in enumerate(document) if token.strip() == said]
    tokens = document + asked
    return {
        "instance_id": instance_id(case), "place": case.number, "fact_id": f"question {case.number}",
        "subject": f"country {case.number}", "relation": "capital", "question": question[3:-3], "true_answer": "Paris",
        "prompt": "".join(tokens), "tokens": tokens, "first_ranked": 0, "document_starts": [0],
        "document_ends": [len(document)], "question_start": len(document), "question_end": len(tokens),
        "document_answers": [said], "document_kinds": [case.regime], "document_origins": ["shipped"],
        "document_sources": [None], "answer_tokens": [mentions], "first_mention": [mentions[:1]], "memory_answer": "Oslo",
        "candidate_groups": ["C", "M"], "candidate_texts": [said, "Oslo"], "candidate_ids": [case.follows, MEMORY],
        "candidate_leading": [case.follows, MEMORY], "candidate_logits": [0.0, 0.0], "candidate_probabilities": [0.3, 0.3],
        "predicted_text": TEXTS[answer.token], "predicted_id": answer.token, "predicted_probability": 0.8,
        "group": GROUPS[answer.token], "dropped_because": None,
    }  # fmt: skip


def _behaviour(case: Case, answer: Answer) -> dict[str, Any]:
    return {
        "instance_id": instance_id(case), "split": case.split, "accepted": list(ACCEPTED[case.regime]),
        "true_ids": list(ACCEPTED["gold"]), "memory_id": MEMORY,
        "alone_id": answer.alone, "target_id": case.right, "probability": answer.p, "alone_probability": answer.p_alone,
        "knew": answer.knew, "setting": answer.setting, "trace": answer.trace,
    }  # fmt: skip


def _write_trials(store: ShardStore, model: str, dataset: str, trials: Iterable[Mapping[str, Any]]) -> None:
    by_technique: dict[str, list[dict[str, Any]]] = {}
    for trial in trials:
        row = {"model": model, "revision": "1", "dataset": dataset, "setting": "", "regime": "", **trial}
        by_technique.setdefault(trial.get("technique", TECHNIQUE), []).append(row)
    for technique, rows in by_technique.items():
        where = {"model": model, "revision": "1", "dataset": dataset, "regime": "", "technique": technique}
        store.write(_shard(where, "trial", len(rows)), rows)
