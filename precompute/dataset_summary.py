"""`datasets`: the contents of each dataset, what each filter leaves, and the length of the documents.

Filters in their order: records that are malformed or cannot be asked; questions without the documents that a regime needs;
documents that give the memory answer away, as if every model remembered the true answers. What a model really remembers, and
the groups of its answers, are known once it has been run: `--store` adds them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

from heval_core import regimes
from heval_core.behaviour import Memory, check_documents
from heval_core.lengths import fitted
from heval_core.lm.loading import Identity, tokenizer_of
from heval_core.lm.spans import tokenise, tokenise_all
from heval_core.prompt_styles import style_of
from heval_core.prompts import prompt_of
from heval_core.records import TECHNIQUE, Dropped, Instance, Prompt, RegimeKey
from heval_core.regime_keys import ordered_regimes
from heval_core.store.kinds import INSTANCE
from heval_core.store.shards import ShardStore
from precompute.questions import Questions, load_questions, open_dataset

RELATIONS_SHOWN = 8


@dataclass
class RegimeSummary:
    """One dataset under one regime. model: whose tokens were counted; None if only characters were counted.

    seen: questions that are not asked because the model saw them in training. dropped: reason ▶ questions. substituted:
    instances with a document that the dataset does not ship as it is: another answer was put in, or it is a sentence of ours.
    characters, tokens: of the context (all documents together) of each instance that is left.
    """

    dataset: str
    regime: str
    model: str | None
    questions: int
    seen: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    substituted: int = 0
    characters: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    @property
    def left(self) -> int:
        return len(self.characters)

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "regime": self.regime,
            "model": self.model,
            "questions": self.questions,
            "seen_in_training": self.seen,
            "dropped": dict(self.dropped),
            "left": self.left,
            "substituted": self.substituted,
            "shipped": self.left - self.substituted,
            "context_characters": _spread(self.characters),
            "context_tokens": _spread(self.tokens),
        }


def _spread(lengths: list[int]) -> dict[str, float] | None:
    if not lengths:
        return None
    low, high = np.percentile(lengths, [5, 95])
    return {"mean": float(np.mean(lengths)), "p5": float(low), "p95": float(high)}


def summarise_regime(questions: Questions, regime: str, seed: int, model: Identity | None) -> RegimeSummary:
    """Build every instance of a regime one by one, and count."""
    style, tokenizer = style_of(model) if model else regimes.Plain(), tokenizer_of(model) if model else None
    summary = RegimeSummary(questions.dataset, regime, model.key if model else None, len(questions.facts), questions.seen)

    def tokens(instance: Instance) -> int:
        assert model is not None
        return len(tokenise(prompt_of(instance, model.template), tokenizer).ids)

    def prompts() -> Iterator[Prompt]:
        description = f"{questions.dataset} · {regime}"
        for place, fact in enumerate(tqdm(questions.facts, desc=description, leave=False, disable=not sys.stderr.isatty())):
            try:
                instance = regimes.build(fact, regime, questions.pool, seed, style, place)
                check_documents(instance, Memory(fact.answer, ()))
                instance = fitted(instance, fact.answer, tokens) if model else instance
            except Dropped as dropped:
                summary.dropped[dropped.reason] += 1
                continue
            _count(summary, instance)
            if model:
                yield prompt_of(instance, model.template)

    if model is None:
        for _ in prompts():
            pass
        return summary
    for prompt in tokenise_all(prompts(), tokenizer):
        summary.tokens.append(sum(span.end - span.start for span in prompt.documents))
    return summary


def _count(summary: RegimeSummary, instance: Instance) -> None:
    summary.characters.append(sum(len(document.text) for document in instance.documents))
    summary.substituted += any(document.origin != "shipped" for document in instance.documents)


@dataclass(frozen=True)
class DatasetSummary:
    """One dataset under several regimes. answered: the store's results for it, per model and regime."""

    questions: Questions
    title: str
    reference: str
    regime_summaries: tuple[RegimeSummary, ...]
    answered: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        q = self.questions
        return {
            "dataset": q.dataset,
            "title": self.title,
            "reference": self.reference,
            "fingerprint": q.fingerprint,
            "records": q.records,
            "malformed": q.malformed,
            "left_out": dict(q.unusable),
            "questions": q.usable,
            "looked_at": len(q.facts),
            "relations": dict(q.relations),
            "regimes": [row.as_dict() for row in self.regime_summaries],
            "answered": list(self.answered),
        }

    def lines(self) -> Iterator[str]:
        q = self.questions
        yield f"{q.dataset} · {self.title} ({self.reference})"
        yield (
            f"  {q.records:,} records read: {q.malformed:,} malformed, {sum(n for _, n in q.unusable):,} left out, "
            f"{q.usable:,} questions under {len(q.relations)} relations; {len(q.facts):,} looked at"
        )
        for reason, count in q.unusable:
            yield f"  left out: {count:,} · {reason}"
        yield from _relation_lines(q)
        for model in dict.fromkeys(row.model for row in self.regime_summaries):
            yield from _table([row for row in self.regime_summaries if row.model == model], q.usable)
        for row in self.answered:
            yield _answered_line(row)


def ignore(record: Any) -> None:
    """Left-out records are counted only."""


def summarise(
    name: str,
    models: list[Identity],
    chosen: tuple[str, ...],
    limit: int | None,
    seed: int,
    store: ShardStore | None,
    left_out: Callable[[Any], None],
) -> DatasetSummary:
    """One dataset under the chosen regimes, once per model, or once without models. Raises HEvalError as `load_questions`."""
    regime_summaries: list[RegimeSummary] = []
    for number, model in enumerate(models or [None]):
        style = style_of(model) if model else regimes.Plain()
        questions = load_questions(name, limit, seed, style, ignore if number else left_out)
        regime_summaries += [summarise_regime(questions, regime, seed, model) for regime in chosen if questions.facts]
    dataset = open_dataset(name)
    answered = tuple(_answered(store, questions.dataset)) if store else ()
    return DatasetSummary(questions, dataset.title, dataset.reference, tuple(regime_summaries), answered)


def _answered(store: ShardStore, dataset: str) -> Iterator[dict[str, Any]]:
    answers: dict[RegimeKey, dict[str, tuple[str | None, str | None]]] = {}
    for entry in store.entries().values():
        if entry.kind == INSTANCE.name and entry.dataset == dataset:
            rows = store.read(entry).select(["instance_id", "dropped_because", "group"]).to_pylist()
            answers.setdefault(entry.cell.of_regime, {}).update(
                {row["instance_id"]: (row["dropped_because"], row["group"]) for row in rows}
            )
    order = {regime: place for place, regime in enumerate(ordered_regimes({key.regime for key in answers}))}
    for key in sorted(answers, key=lambda key: (key.model, order[key.regime], key.technique)):
        given = answers[key].values()
        groups = Counter(group for reason, group in given if group and not reason)
        yield {
            "model": key.model,
            "regime": key.regime,
            "technique": key.technique,
            "asked": len(given),
            "groups": dict(sorted(groups.items())),
            "dropped": dict(Counter(reason for reason, _ in given if reason)),
        }


def _relation_lines(questions: Questions) -> Iterator[str]:
    largest = sorted(questions.relations, key=lambda pair: -pair[1])
    more = len(largest) - RELATIONS_SHOWN
    if largest:
        names = ", ".join(f"{name} {count:,}" for name, count in largest[:RELATIONS_SHOWN])
        yield f"  relations: {names}" + (f" and {more} more" if more > 0 else "")


def _table(summaries: list[RegimeSummary], usable: int) -> Iterator[str]:
    """One dataset's regimes, for one model or for none."""
    model, seen = summaries[0].model, summaries[0].seen
    if model:
        yield f"  in the tokens and the style of {model}" + (
            f" (of {usable:,} questions {usable - seen:,} were not in its training)" if seen else ""
        )
    tokens = f"{'tokens':>16}  " if model else "  "
    yield f"  {'regime':24} {'questions':>9} {'left':>8} {'shipped':>8} {'substituted':>11} {'characters':>17} {tokens}dropped"
    for row in summaries:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in row.dropped.most_common()) or "none"
        tokens = f"{_range(row.tokens):>16}  " if model else "  "
        yield (
            f"  {row.regime:24} {row.questions:9,} {row.left:8,} {row.left - row.substituted:8,} {row.substituted:11,} "
            f"{_range(row.characters):>17} {tokens}{reasons}"
        )


def _answered_line(row: dict[str, Any]) -> str:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in row["dropped"].items()) or "none"
    groups = ", ".join(f"{group} {count:,}" for group, count in row["groups"].items()) or "no answers"
    technique = "" if row["technique"] == TECHNIQUE else f" · {row['technique']}"
    return f"  {row['model']} · {row['regime']}{technique}: {row['asked']:,} asked; groups {groups}; dropped {reasons}"


def _range(lengths: list[int]) -> str:
    spread = _spread(lengths)
    return f"{spread['mean']:.0f} [{spread['p5']:.0f}, {spread['p95']:.0f}]" if spread else "-"
