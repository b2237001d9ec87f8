"""One job ▶ the rows of its shards. Failures of single instances are collected, and do not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np

from heval_core import catalogue, pipeline, regimes
from heval_core.behaviour import check_labels
from heval_core.lm.model import LanguageModel
from heval_core.pipeline import Answered, Prepared
from heval_core.prompt_styles import style_of
from heval_core.records import Dropped
from heval_core.store.kinds import FAITHFULNESS
from precompute.jobs import Job, instance_id
from precompute.measured_kinds import MEASURED
from precompute.memories import Memories
from precompute.questions import Questions
from precompute.rows import answer_row, attribution_row, head_rows, instance_row, losses
from precompute.task import Failure, Result, Shard, named
from precompute.techniques import Chosen
from precompute.under_techniques import UnderTechniques

Rows = list[dict[str, Any]]
NOTHING: dict[str, Rows] = {}


def compute(
    lm: LanguageModel,
    job: Job,
    wanted: tuple[Shard, ...],
    questions: Questions,
    memories: Memories,
    progress: Callable[[], None] = lambda: None,
    stored: Mapping[str, Rows] = NOTHING,
) -> Result:
    """The rows of a job's wanted shards, in the order of the questions.

    progress: called after each instance. stored: rows of attributions that exist already, by shard key.
    """
    return _Computation(lm, job, wanted, questions, memories, progress, stored).run()


@dataclass
class _Computation:
    """Prepares every instance of a job, answers those of equal length together, and makes the rows of each shard."""

    lm: LanguageModel
    job: Job
    wanted: tuple[Shard, ...]
    questions: Questions
    memories: Memories
    progress: Callable[[], None]
    stored: InitVar[Mapping[str, Rows]]
    failures: list[Failure] = field(default_factory=list)
    # The number of each instance's question.
    places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self, stored: Mapping[str, Rows]) -> None:
        self.kinds = {shard.kind for shard in self.wanted}
        # Scores by explainer and instance, which faithfulness measures.
        self.scores = _stored_scores(self.job, stored) if self.kinds & MEASURED.keys() else {}
        # Rows by shard and place: batches come by length, shards are in the order of the questions.
        self.rows: dict[str, dict[int, Rows]] = {shard.key: {} for shard in self.wanted}

    def run(self) -> Result:
        """Raises HEvalError for a label task whose labels the model cannot tell apart by their first tokens."""
        check_labels(self.lm, self.questions.labels)
        ready = [prepared for place in self.job.places if (prepared := self._prepare(place)) is not None]
        ready = pipeline.going_on(self.lm, ready) if self.job.match == "within" else ready
        arrangement = self.job.arrangement
        self.under = UnderTechniques(arrangement, self.lm, ready) if arrangement.compared else None
        main = arrangement.main
        with main.technique.applied(self.lm, main.setting) as self.lm:
            asked = ready if self.under is None else self._asked(self.under, ready)
            pipeline.in_batches(self.lm, asked, self._batch, self._unanswered)
        rows = {key: [row for place in sorted(by_place) for row in by_place[place]] for key, by_place in self.rows.items()}
        return Result(rows, self.failures)

    def _prepare(self, place: int) -> Prepared | None:
        """The instance of a question, ready to be asked; None if it was dropped or failed, which is then noted."""
        fact, style = self.questions.facts[place], style_of(self.lm)
        try:
            instance = regimes.build(fact, self.job.regime, self.questions.pool, self.job.seed, style, place)
            prepared = pipeline.prepare(
                self.lm, instance, self.memories.of(self.lm, fact, self.questions.pool), self.job.match
            )
        except Dropped as dropped:
            self._add_instance(place, {"dropped_because": dropped.reason})
        except Exception as error:  # whatever one instance does, the others go on
            self.failures.append(Failure("", fact.id, named(error)))
        else:
            self.places[instance.id] = place
            if prepared.dropped_because is None:
                return prepared
            self._add_instance(place, instance_row(prepared, None))
        self.progress()
        return None

    def _asked(self, under: UnderTechniques, ready: list[Prepared]) -> list[Prepared]:
        """The instances with the prompts of the technique; none where it fails, which is then noted."""
        try:
            asked = under.ask(self.lm, ready)
        except Exception as error:  # a technique asks for many instances together, and fails for all of them
            for prepared in ready:
                self._unanswered(prepared, error)
            return []
        for prepared in asked:
            if prepared.dropped_because is not None:
                self._add_instance(self._place(prepared), instance_row(prepared, None))
                self.progress()
        return [prepared for prepared in asked if prepared.dropped_because is None]

    def _add_instance(self, place: int, columns: dict[str, Any]) -> None:
        for shard in self.wanted:
            if shard.kind == "instance":
                self.rows[shard.key][place] = [self._placed(place, shard.technique) | columns]

    def _unanswered(self, prepared: Prepared, error: Exception) -> None:
        self.failures.append(Failure("", prepared.instance.fact_id, named(error)))
        self.progress()

    def _batch(self, batch: list[Prepared]) -> None:
        """Answer instances of equal length, and make every shard's rows of them. Only the answer can fail the batch."""
        answered = pipeline.answer(self.lm, batch, self.job.match)
        under = {one.key: self._under(one, answered) for one in self.job.arrangement.all}
        wanted = {(shard.kind, shard.technique) for shard in self.wanted}
        parts = {(kind, key): self._part_for(kind, under[key]) for kind, key in wanted}
        for shard in self.wanted:
            part = parts[shard.kind, shard.technique]
            if part is not None:
                self._make(shard, part)
        for _ in batch:
            self.progress()

    def _under(self, chosen: Chosen, answered: Answered) -> Answered:
        """The answers under one of the techniques that share this pass."""
        if self.under is None or chosen == self.job.arrangement.main:
            return answered
        return self.under.decoded(chosen, answered)

    def _part_for(self, kind: str, answered: Answered) -> Answered | None:
        """The instances of a pass that a kind of shard needs, with their targets; None if it needs none."""
        if kind == "context_attribution":
            return pipeline.towards_context(answered)
        before = dict(self.job.measured).get(kind)
        if before is not None:
            places = map(self._place, answered.prepared)
            chosen = [index for index, place in enumerate(places) if place < before]
            return pipeline.part_of(answered, chosen) if chosen else None
        if kind == "head_attention" and not any(map(self._keeps_heads, answered.prepared)):
            return None
        # Kept heads are read from the whole pass, which has read them for MechLight already.
        return answered

    def _keeps_heads(self, prepared: Prepared) -> bool:
        return self._place(prepared) < self.job.keep_heads

    def _make(self, shard: Shard, part: Answered) -> None:
        """Add one shard's rows for the instances of a pass. Failures are noted, and do not stop the other instances."""
        rows_of = {
            "instance": self._instances,
            "attribution": self._attributions,
            "context_attribution": self._attributions,
            **dict.fromkeys(MEASURED, self._faithfulness),
            "head_attention": self._heads,
            "behaviour": self._behaviours,
            "answer": self._whole_answers,
        }[shard.kind]

        def work(chosen: list[int]) -> None:
            some = pipeline.part_of(part, chosen)
            for prepared, rows in zip(some.prepared, rows_of(shard, some), strict=True):
                self.rows[shard.key][self._place(prepared)] = rows

        def failed(index: int, error: Exception) -> None:
            self.failures.append(Failure(shard.explainer, part.prepared[index].instance.fact_id, named(error)))

        self.lm.budget.in_batches(range(part.clean.size), part.clean.length, work, failed)

    def _instances(self, shard: Shard, answered: Answered) -> list[Rows]:
        return [
            [self._placed(self._place(prepared), shard.technique) | instance_row(prepared, behaviour)]
            for prepared, behaviour in zip(answered.prepared, answered.behaviours, strict=True)
        ]

    def _behaviours(self, shard: Shard, answered: Answered) -> list[Rows]:
        assert self.under is not None
        chosen = next(one for one in self.job.arrangement.all if one.key == shard.technique)
        rows = self.under.rows(chosen, answered)
        return [
            [{"instance_id": self._row_id(self._place(prepared), shard.technique)} | row]
            for prepared, row in zip(answered.prepared, rows, strict=True)
        ]

    def _attributions(self, shard: Shard, answered: Answered) -> list[Rows]:
        explainer = catalogue.method(shard.explainer)
        rows = []
        for prepared, attribution in zip(answered.prepared, pipeline.explain(answered, explainer), strict=True):
            row_id = self._row_id(self._place(prepared))
            if shard.kind == "attribution":
                self.scores[shard.explainer, row_id] = attribution.scores
            rows.append([attribution_row(row_id, attribution, explainer.signed, prepared.prompt.ranked)])
        return rows

    def _faithfulness(self, shard: Shard, answered: Answered) -> list[Rows]:
        """Faithfulness of the scores of one explainer or control; an instance without scores gets no rows."""
        control = catalogue.explainers(control=True).get(shard.explainer)
        ids = [self._row_id(self._place(prepared)) for prepared in answered.prepared]
        if control:
            scores = {
                row_id: control.scores(prepared.prompt.tokens, behaviour.text, row_id)
                for prepared, behaviour, row_id in zip(answered.prepared, answered.behaviours, ids, strict=True)
            }
        else:
            scores = {i: self.scores[shard.explainer, i] for i in ids if (shard.explainer, i) in self.scores}
        # An instance on which the explainer failed, as is noted there, is measured with the rest and left out below.
        nothing = np.zeros(answered.clean.length, dtype=np.float32)
        targets = [behaviour.token_id for behaviour in answered.behaviours]
        how = MEASURED[shard.kind]
        measured = how.measure(answered.clean, targets, [scores.get(row_id, nothing) for row_id in ids])
        common, levels = {"explainer": shard.explainer, "settings": repr(how)}, shard.kind == FAITHFULNESS.name
        return [
            [{"instance_id": row_id, **common, **losses(one, levels)} for one in values if row_id in scores]
            for row_id, values in zip(ids, measured, strict=True)
        ]

    def _whole_answers(self, shard: Shard, answered: Answered) -> list[Rows]:
        methods = [catalogue.method(key) for key in self.job.answers]
        return [
            [{"instance_id": self._row_id(self._place(prepared)), **answer_row(self.lm, prepared, methods)}]
            for prepared in answered.prepared
        ]

    def _heads(self, shard: Shard, answered: Answered) -> list[Rows]:
        reading = answered.clean.heads
        return [
            head_rows(self._row_id(self._place(prepared)), reading, index) if self._keeps_heads(prepared) else []
            for index, prepared in enumerate(answered.prepared)
        ]

    def _place(self, prepared: Prepared) -> int:
        return self.places[prepared.instance.id]

    def _row_id(self, place: int, technique: str = "") -> str:
        """technique: by default the job's main one."""
        fact = self.questions.facts[place]
        return instance_id(self.job, self.lm.style, fact.id, technique or self.job.arrangement.main.key)

    def _placed(self, place: int, technique: str) -> dict[str, Any]:
        """The columns that say where a row belongs."""
        fact, job = self.questions.facts[place], self.job
        return {
            "instance_id": self._row_id(place, technique),
            "model": job.model,
            "revision": job.revision,
            "dataset": job.dataset,
            "regime": job.regime,
            "technique": technique,
            "place": place,
            "fact_id": fact.id,
            "subject": fact.subject,
            "relation": fact.relation,
            "question": fact.question,
            "true_answer": fact.answer,
        }


def _stored_scores(job: Job, stored: Mapping[str, Rows]) -> dict[tuple[str, str], np.ndarray]:
    """(explainer, instance) ▶ scores of the job's attributions that exist already."""
    return {
        (shard.explainer, row["instance_id"]): np.asarray(row["scores"], dtype=np.float32)
        for shard in job.shards
        if shard.kind == "attribution"
        for row in stored.get(shard.key, ())
    }
