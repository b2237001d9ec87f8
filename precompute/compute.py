"""One job ▶ the rows of its shards. Failures of single instances are collected, and cost nothing but themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from heval_core import catalogue, pipeline, regimes
from heval_core.faithfulness import Faithful, Faithfulness
from heval_core.lm.heads import HeadReading
from heval_core.lm.memory import out_of_memory
from heval_core.lm.model import LanguageModel
from heval_core.prompt_styles import style_of
from heval_core.records import TECHNIQUE, Attribution, Behaviour, Dropped
from heval_core.scores import round_keeping_ranks, round_mantissa, tied
from precompute.grid import Job, Questions, Shard, instance_id
from precompute.tasks import Failure, Memories, Result
from precompute.worker import named

NOTHING: dict[str, list[dict[str, Any]]] = {}


def compute(
    lm: LanguageModel,
    job: Job,
    wanted: tuple[Shard, ...],
    questions: Questions,
    memories: Memories,
    progress: Callable[[], None] = lambda: None,
    stored: Mapping[str, list[dict[str, Any]]] = NOTHING,
) -> Result:
    """The rows of a job's wanted shards, in the order of the questions.

    progress: called after each instance. stored: rows of attributions that are there already, by shard key.
    """
    return _Computation(lm, job, wanted, questions, memories, progress, stored).run()


class _Computation:
    """One job: prepare every instance, then answer and explain those of equal length together."""

    def __init__(
        self,
        lm: LanguageModel,
        job: Job,
        wanted: tuple[Shard, ...],
        questions: Questions,
        memories: Memories,
        progress: Callable[[], None],
        stored: Mapping[str, list[dict[str, Any]]],
    ):
        self.job, self.wanted, self.questions, self.memories = job, wanted, questions, memories
        self.progress = progress
        self.lm = lm
        self.failures: list[Failure] = []
        self.scores = {} if all(shard.kind != "faithfulness" for shard in wanted) else _stored_scores(job, stored)
        # Rows by shard and place: batches come by length, shards are in the order of the questions.
        self.rows: dict[str, dict[int, list[dict[str, Any]]]] = {shard.key: {} for shard in wanted}

    def run(self) -> Result:
        prepared: dict[str, tuple[int, pipeline.Prepared]] = {}
        for place in self.job.places:
            one = self._prepare(place)
            if one is not None:
                prepared[one.instance.id] = (place, one)
        places = {instance_id: place for instance_id, (place, _) in prepared.items()}
        pipeline.in_batches(self.lm, [one for _, one in prepared.values()], lambda batch: self._do(batch, places))
        rows = {key: [row for place in sorted(own) for row in own[place]] for key, own in self.rows.items()}
        # A batch that was done again in parts may have noted a failure twice.
        return Result(rows, list(dict.fromkeys(self.failures)))

    def _prepare(self, place: int) -> pipeline.Prepared | None:
        """The instance of a question, ready to be asked; None where it was dropped or failed, which is then noted."""
        fact = self.questions.facts[place]
        try:
            instance = regimes.build(
                fact, self.job.regime, self.questions.pool, self.job.seed, style_of(self.lm), place
            )
            prepared = pipeline.prepare(self.lm, instance, self.memories.of(self.lm, fact))
        except Dropped as dropped:
            self._add_instance(place, {"dropped_because": dropped.reason})
        except Exception as error:  # whatever one instance does, the others go on
            self.failures.append(_failure("", fact.id, error))
        else:
            if prepared.dropped_because is None:
                return prepared
            self._add_instance(place, instance_row(prepared, None))
        self.progress()
        return None

    def _do(self, batch: list[pipeline.Prepared], places: dict[str, int]) -> None:
        """Answer and explain a batch; nothing is kept unless all of it was done."""
        found: list[tuple[str, int, list[dict[str, Any]]]] = []
        failures: list[Failure] = []
        try:
            answered = pipeline.answer(self.lm, batch, self.job.match)
        except Exception as error:
            if out_of_memory(error) and self.lm.budget.tokens >= len(batch[0].prompt.ids):
                raise  # a smaller budget may do
            if len(batch) > 1:
                for one in batch:
                    self._do([one], places)
                return
            self.failures.append(_failure("", batch[0].instance.fact_id, error))
            self.progress()
            return
        for index, one in enumerate(batch):
            for shard in self.wanted:
                if shard.kind == "instance":
                    row = self._placed(places[one.instance.id]) | instance_row(one, answered.behaviours[index])
                    found.append((shard.key, places[one.instance.id], [row]))
        kinds = {shard.kind for shard in self.wanted}
        towards_context = pipeline.towards_context(answered) if "context_attribution" in kinds else None
        measured = self._first(answered, places) if "faithfulness" in kinds else None
        for shard in self.wanted:
            if shard.kind == "attribution":
                self._explain(shard, answered, places, found, failures)
            elif shard.kind == "context_attribution":
                self._explain(shard, towards_context, places, found, failures)
            elif shard.kind == "faithfulness":
                self._measure(shard, measured, places, found, failures)
            elif shard.kind == "head_attention":
                self._keep_heads(shard, answered, places, found, failures)
        for key, place, rows in found:
            self.rows[key][place] = rows
        self.failures += failures
        for _ in batch:
            self.progress()

    def _explain(
        self,
        shard: Shard,
        answered: pipeline.Answered | None,
        places: dict[str, int],
        found: list[tuple[str, int, list[dict[str, Any]]]],
        failures: list[Failure],
    ) -> None:
        """answered: with the contrasts to be explained; None where there is nothing to explain."""
        if answered is None:
            return
        explainer = catalogue.find("explainer", shard.explainer)
        try:
            attributions = pipeline.explain(answered, explainer)
        except Exception as error:
            if out_of_memory(error) and self.lm.budget.tokens >= answered.clean.length:
                raise  # a smaller budget may do
            if len(answered.prepared) == 1:
                failures.append(_failure(shard.explainer, answered.prepared[0].instance.fact_id, error))
                return
            for one in answered.prepared:
                alone = pipeline.answer(self.lm, [one], self.job.match)
                if shard.kind == "context_attribution":
                    self._explain(shard, pipeline.towards_context(alone), places, found, failures)
                else:
                    self._explain(shard, alone, places, found, failures)
            return
        for one, attribution in zip(answered.prepared, attributions, strict=True):
            place = places[one.instance.id]
            if shard.kind == "attribution":
                self.scores[shard.explainer, self._row_id(place)] = attribution.scores
            row = attribution_row(self._row_id(place), attribution, explainer.signed, one.prompt.first_ranked)
            found.append((shard.key, place, [row]))

    def _first(self, answered: pipeline.Answered, places: dict[str, int]) -> pipeline.Answered | None:
        """Those whose faithfulness is measured; None where it is of none of them."""
        limit = self.job.faithful
        chosen = [i for i, one in enumerate(answered.prepared) if limit is None or places[one.instance.id] < limit]
        return pipeline.part_of(answered, chosen) if chosen else None

    def _measure(
        self,
        shard: Shard,
        answered: pipeline.Answered | None,
        places: dict[str, int],
        found: list[tuple[str, int, list[dict[str, Any]]]],
        failures: list[Failure],
    ) -> None:
        """Faithfulness of one explainer's scores, or of a control's, for those instances that have them."""
        if answered is None:
            return
        explainer = catalogue.find("explainer", shard.explainer)
        ids = [self._row_id(places[one.instance.id]) for one in answered.prepared]
        # An instance on which the explainer failed, as is noted there, is measured with the rest and left out below.
        nothing = np.zeros(answered.clean.length, dtype=np.float32)
        scores = [
            explainer.scores(one.prompt.tokens, behaviour.text, row_id)
            if explainer.control
            else self.scores.get((shard.explainer, row_id), nothing)
            for one, behaviour, row_id in zip(answered.prepared, answered.behaviours, ids, strict=True)
        ]
        try:
            values = FAITHFULNESS.measure(answered.clean, [b.token_id for b in answered.behaviours], scores)
        except Exception as error:
            if out_of_memory(error) and self.lm.budget.tokens >= answered.clean.length:
                raise  # a smaller budget may do
            failures += [_failure(shard.explainer, one.instance.fact_id, error) for one in answered.prepared]
            return
        for one, row_id, value in zip(answered.prepared, ids, values, strict=True):
            if explainer.control or (shard.explainer, row_id) in self.scores:
                rows = [_faithful_row(row_id, shard.explainer, own) for own in value]
                found.append((shard.key, places[one.instance.id], rows))

    def _keep_heads(
        self,
        shard: Shard,
        answered: pipeline.Answered,
        places: dict[str, int],
        found: list[tuple[str, int, list[dict[str, Any]]]],
        failures: list[Failure],
    ) -> None:
        for index, one in enumerate(answered.prepared):
            place = places[one.instance.id]
            if place < self.job.keep_heads:
                try:
                    found.append((shard.key, place, head_rows(self._row_id(place), answered.clean.heads, index)))
                except Exception as error:  # whatever one instance does, the others go on
                    failures.append(_failure("", one.instance.fact_id, error))

    def _row_id(self, place: int) -> str:
        return instance_id(self.job, self.lm.style, self.questions.facts[place].id)

    def _placed(self, place: int) -> dict[str, Any]:
        """The columns that say where a row belongs."""
        fact, job = self.questions.facts[place], self.job
        return {
            "instance_id": self._row_id(place), "model": job.model, "revision": job.revision, "dataset": job.dataset,
            "regime": job.regime, "technique": TECHNIQUE, "place": place, "fact_id": fact.id, "subject": fact.subject,
            "relation": fact.relation, "question": fact.question, "true_answer": fact.answer,
        }  # fmt: skip

    def _add_instance(self, place: int, columns: dict[str, Any]) -> None:
        for shard in self.wanted:
            if shard.kind == "instance":
                self.rows[shard.key][place] = [self._placed(place) | columns]


FAITHFULNESS = Faithfulness()


def _stored_scores(job: Job, stored: Mapping[str, list[dict[str, Any]]]) -> dict[tuple[str, str], np.ndarray]:
    """(explainer, instance) ▶ scores of the job's attributions that are there already."""
    return {
        (shard.explainer, row["instance_id"]): np.asarray(row["scores"], dtype=np.float32)
        for shard in job.shards
        if shard.kind == "attribution"
        for row in stored.get(shard.key, ())
    }


def _faithful_row(row_id: str, explainer: str, found: Faithful) -> dict[str, Any]:
    """The two means are exact; each K's own loss is for a closer look, and compresses better when rounded."""
    losses = {name: _three_digits(getattr(found, name)) for name in ("masked", "kept")}
    return {
        "instance_id": row_id, "explainer": explainer, "settings": repr(FAITHFULNESS), **found._asdict(), **losses,
    }  # fmt: skip


def _three_digits(losses: tuple[float, ...]) -> list[float]:
    return [float(loss) for loss in round_mantissa(np.array(losses, dtype=np.float32), 10)]


def _failure(explainer: str, place: str, error: Exception) -> Failure:
    return Failure(explainer, place, named(error))


def instance_row(prepared: pipeline.Prepared, behaviour: Behaviour | None) -> dict[str, Any]:
    """What the store keeps of an instance, beside the columns that place it. behaviour: None where it was dropped."""
    prompt, instance = prepared.prompt, prepared.instance
    row: dict[str, Any] = {
        "prompt": prompt.text,
        "tokens": list(prompt.tokens),
        "first_ranked": prompt.first_ranked,
        "document_starts": [span.start for span in prompt.documents],
        "document_ends": [span.end for span in prompt.documents],
        "question_start": prompt.question.start,
        "question_end": prompt.question.end,
        "document_answers": [d.answer for d in instance.documents],
        "document_kinds": [d.kind for d in instance.documents],
        "document_origins": [d.origin for d in instance.documents],
        "document_sources": [d.source for d in instance.documents],
        "answer_tokens": [list(tokens) for tokens in prompt.answer_tokens],
        "first_mention": [list(tokens) for tokens in prompt.first_mention],
        "memory_answer": prepared.memory_answer,
        "expected_group": instance.expected_group,
        "dropped_because": prepared.dropped_because,
    }
    if behaviour is not None:
        row |= {
            "candidate_groups": [c.group for c in behaviour.candidates],
            "candidate_texts": [c.text for c in behaviour.candidates],
            "candidate_ids": [c.token_id for c in behaviour.candidates],
            "candidate_leading": [c.leading_id for c in behaviour.candidates],
            "candidate_logits": [c.logit for c in behaviour.candidates],
            "candidate_probabilities": [c.probability for c in behaviour.candidates],
            "predicted_text": behaviour.text,
            "predicted_id": behaviour.token_id,
            "predicted_probability": behaviour.probability,
            "answer_text": behaviour.answer_text,
            "first_group": behaviour.first_group,
            "text_group": behaviour.text_group,
            "group": behaviour.group,
        }
    return row


def attribution_row(row_id: str, attribution: Attribution, signed: bool, first_ranked: int) -> dict[str, Any]:
    """signed: whether the explainer's scores have a sign; kept with them, for the explainer may be gone when they are read.

    Scores keep as many bits as their ranks need: half the size, the same order (`round_keeping_ranks`). first_ranked: where
    the tokens begin whose ties are counted.
    """
    heads = attribution.head_scores
    return {
        "instance_id": row_id,
        "explainer": attribution.explainer,
        "scores": round_keeping_ranks(attribution.scores),
        "tied": tied(attribution.scores[first_ranked:]),
        "seconds": attribution.seconds,
        "settings": attribution.settings,
        "signed": signed,
        "layer": attribution.layer,
        "head": attribution.head,
        "head_scores": None if heads is None else round_keeping_ranks(heads.ravel()),
        "details": json.dumps(dict(attribution.details)),
    }


def head_rows(row_id: str, heads: HeadReading, index: int) -> list[dict[str, Any]]:
    """Every head's attention from the last position of one prompt of a pass."""
    return [
        {"instance_id": row_id, "layer": layer, "head": head, "attention": round_keeping_ranks(row)}
        for layer, rows in enumerate(heads.attention[index].cpu().numpy())
        for head, row in enumerate(rows)
    ]
