"""The task that makes the missing shards of some questions. What fails for one instance does not stop the others.

Rows of shards are as `store/schema.sql` describes their columns.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from heval_core.explaining import pipeline
from heval_core.explaining.answer import record_of
from heval_core.explaining.answer_steps import answer_steps
from heval_core.explaining.behaviour import check_labels
from heval_core.explaining.faithfulness import Faithful
from heval_core.explaining.pipeline import Answered, Prepared
from heval_core.explaining.sources import fresh_pool, sources_of
from heval_core.explaining.whole_answer import Wanted
from heval_core.lm.budget import NotEnoughMemory
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Method
from heval_core.prompting.styles import style_of
from heval_core.records import UNCOMPARED, Attribution, Behaviour, Cost, Dropped, HEvalError, RegimeKey
from heval_core.records.sources import AnswerSource
from heval_core.records.stored_instances import CANDIDATE_COLUMNS, DOCUMENT_COLUMNS, PlainPrompt
from heval_core.regimes.padding import unrelated_texts
from heval_core.statistics.scores import round_keeping_ranks, round_mantissa, tied
from heval_core.store.kinds import ANSWER, ATTRIBUTION, CONTEXT_ATTRIBUTION
from heval_core.store.shards import Shard
from precompute.memory import AskingTask
from precompute.questions import Questions
from precompute.task import MEASURED, WRITTEN, Failure, Result, ShardRow, cost, named, together, total
from precompute.techniques import PLAIN, Arrangement, UnderTechniques

Rows = list[ShardRow]
# Texts for the random level of a whole answer. They are of all the data set, and so neither the limit nor the shard decides.
MOST = 20
_OF_DOCUMENTS = ("answer", "kind", "origin", "source")


@dataclass(frozen=True)
class JobTask(AskingTask):
    """Answer some questions of one model, dataset and regime, and explain the answers.

    every: all shards of these questions, those too that are there. arrangement: how they are answered. stored: rows of
    attributions that are there, by shard key, whose scores faithfulness needs.
    """

    every: tuple[Shard, ...]
    arrangement: Arrangement = PLAIN
    stored: Mapping[str, Rows] = field(default_factory=dict, repr=False)

    @property
    def regime_key(self) -> RegimeKey:
        """Of the technique whose pass others may share."""
        return super().regime_key._replace(technique=self.arrangement.main.key)

    def do(self, ready: LanguageModel, questions: Questions) -> Result:
        """Compute the rows of each shard, in the order of the questions.

        Raises HEvalError for a label task whose labels the model cannot tell apart by their first tokens.
        """
        return _Computation(ready, self, questions).run()

    def cost(self, tokens: float) -> Cost:
        """Return the cost where all instances have another answer than the first document's; how many is known after they are
        answered.
        """
        main, scores = self.arrangement.main, (ATTRIBUTION.name, CONTEXT_ATTRIBUTION.name)
        # A technique that only combines the logits of the main one's passes costs what it looks at beyond them.
        wanted = {shard.technique for shard in self.shards}
        looking = [(1, chosen.technique.looking(tokens)) for chosen in self.arrangement.decoding if chosen.key in wanted]
        answers = [shard.kind for shard in self.shards if not shard.explainer and shard.technique == main.key]
        usual, towards = ([shard.explainer for shard in self.shards if shard.kind == kind] for kind in scores)
        measured = [shard.kind for shard in self.shards if shard.explainer and shard.kind not in scores]
        # Whatever a job does, it answers its instances first.
        written = [WRITTEN] if self.grid.match == "text" else []
        parts = [together([*written, *answers, *usual, *measured], tokens), together(towards, tokens)]
        parts += [together(self.grid.explainers, tokens)] if ANSWER.name in answers else []
        again = [(main.technique.passes - 1, cost(kind, tokens)) for kind in answers]
        return total([(len(self.indices), total([*((1, part) for part in parts), *again, *looking]))])


class _Computation:
    """Prepares every instance of a task, answers those of similar length together, and makes the rows of each shard."""

    def __init__(self, lm: LanguageModel, task: JobTask, questions: Questions):
        self.lm, self.task, self.questions = lm, task, questions
        self.failures: list[Failure] = []
        # The number of each question, by its id.
        self.indices = {questions.facts[index].id: index for index in task.indices}
        kinds = {shard.kind for shard in task.shards}
        # Scores by explainer and instance, which faithfulness measures.
        self.scores = {
            (shard.explainer, row["instance_id"]): np.asarray(row["scores"], dtype=np.float32)
            for shard in (task.every if kinds & MEASURED.keys() else ())
            for row in task.stored.get(shard.key, ())
        }
        # Rows by shard and place: batches come by length, shards are in the order of the questions.
        self.rows: dict[str, dict[int, Rows]] = {shard.key: {} for shard in task.shards}

    def run(self) -> Result:
        check_labels(self.lm, self.questions.labels)
        task = self.task
        ready = self._usable(task.prompting.each(self.lm, self.questions, task.indices))
        ready = pipeline.going_on(self.lm, ready) if task.grid.match == "within" else ready
        self.under = UnderTechniques(task.arrangement, self.lm, ready) if task.arrangement.compared else None
        main = task.arrangement.main
        with main.technique.applied(self.lm, main.setting) as self.lm:
            prompted = ready if self.under is None else self._with_prompts(self.under, ready)
            pipeline.in_batches(self.lm, prompted, self._batch, self._unanswered)
        rows = {key: [row for index in sorted(by_index) for row in by_index[index]] for key, by_index in self.rows.items()}
        return Result(rows, self.failures)

    def _usable(self, outcomes: Iterable[tuple[int, Prepared | Exception]]) -> list[Prepared]:
        """Return the instances, by the indices of their questions, that are ready; what happened to others is noted."""
        usable = []
        for index, outcome in outcomes:
            if isinstance(outcome, Dropped):
                self._add_dropped(index, {"dropped_because": outcome.reason})
            elif isinstance(outcome, Exception):
                self.failures.append(Failure("", self.questions.facts[index].id, named(outcome)))
            elif outcome.dropped_because is not None:
                self._add_dropped(index, instance_row(outcome, None))
            else:
                usable.append(outcome)
        return usable

    def _with_prompts(self, under: UnderTechniques, ready: list[Prepared]) -> list[Prepared]:
        """Return the instances with the prompts of the technique; none where it fails, which is then noted."""
        prompted: Sequence[Prepared | Exception]
        try:
            prompted = under.ask(self.lm, ready)
        except Exception as error:  # a technique asks for many instances together, and fails for all of them
            prompted = [error] * len(ready)
        return self._usable(zip(map(self._index, ready), prompted, strict=True))

    def _add_dropped(self, index: int, columns: ShardRow) -> None:
        for shard in self.task.shards:
            if shard.kind == "instance":
                self._add(shard, index, [self._about(index) | columns])

    def _add(self, shard: Shard, index: int, rows: Rows) -> None:
        identity = {"instance_id": self._row_id(index, shard.technique)}
        self.rows[shard.key][index] = [identity | row for row in rows]

    def _unanswered(self, prepared: Prepared, error: Exception) -> None:
        self.failures.append(Failure("", prepared.instance.fact_id, named(error)))

    def _batch(self, batch: list[Prepared]) -> None:
        """Answer instances together, and make every shard's rows of them. Only the answer can fail the batch."""
        try:
            self._answered(batch)
        finally:
            if self.under is not None:
                self.under.forget()

    def _answered(self, batch: list[Prepared]) -> None:
        answered = pipeline.answer(self.lm, batch, self.task.grid.match)
        under = {self.task.arrangement.main.key: answered}
        if self.under is not None:
            wanted = {shard.technique for shard in self.task.shards}
            decoding = (chosen for chosen in self.task.arrangement.decoding if chosen.key in wanted)
            under |= {chosen.key: self.under.decoded(chosen, answered) for chosen in decoding}
        combinations = {(shard.kind, shard.technique) for shard in self.task.shards}
        parts = {(kind, key): self._part_for(kind, under[key]) for kind, key in combinations}
        for shard in self.task.shards:
            part = parts[shard.kind, shard.technique]
            if part is not None:
                # Explainers take care of prompts of unequal length; whatever else is computed is of one length at a time.
                explained = shard.kind in (ATTRIBUTION.name, CONTEXT_ATTRIBUTION.name)
                for alike in [part] if explained else pipeline.of_equal_length(part):
                    self._make(shard, alike)

    def _part_for(self, kind: str, answered: Answered) -> Answered | None:
        """Return the instances of a pass that a kind of shard needs, with their targets; None if it needs none."""
        if kind == "context_attribution":
            return pipeline.towards_context(answered)
        if kind in MEASURED:  # it costs most, and of other answers no metric reads it
            before = self.task.grid.measured[kind]
            numbered = enumerate(zip(map(self._index, answered.prepared), answered.behaviours, strict=True))
            compared = ((i, index) for i, (index, behaviour) in numbered if behaviour.explained_group not in UNCOMPARED)
            chosen = [i for i, index in compared if before is None or index < before]
            return pipeline.part_of(answered, chosen) if chosen else None
        if kind == "head_attention" and not any(map(self._keeps_heads, answered.prepared)):
            return None
        # Kept heads are read from the whole pass, which has read them for MechLight already.
        return answered

    def _keeps_heads(self, prepared: Prepared) -> bool:
        return self._index(prepared) < self.task.grid.keep_heads

    def _make(self, shard: Shard, part: Answered) -> None:
        """Add one shard's rows for the instances of a pass. Failures are noted, and do not stop the other instances."""
        rows_of = {
            "instance": self._instances,
            "attribution": self._attributions,
            "context_attribution": self._attributions,
            **dict.fromkeys(MEASURED, self._faithfulness),
            "head_attention": self._heads,
            "head_need": self._head_needs,
            "source": self._sources,
            "behaviour": self._behaviours,
            "answer": self._whole_answers,
        }[shard.kind]

        def work(chosen: list[int]) -> None:
            subset = pipeline.part_of(part, chosen)
            for prepared, rows in zip(subset.prepared, rows_of(shard, subset), strict=True):
                self._add(shard, self._index(prepared), rows)

        def failed(index: int, error: Exception) -> None:
            self.failures.append(Failure(shard.explainer or shard.kind, part.prepared[index].instance.fact_id, named(error)))

        self.lm.budget.in_batches(range(part.clean.size), part.clean.length, work, failed)

    # The rows of each instance of a pass, in their order; `_add` says whose they are.
    def _instances(self, shard: Shard, answered: Answered) -> Iterator[Rows]:
        for prepared, behaviour in zip(answered.prepared, answered.behaviours, strict=True):
            yield [self._about(self._index(prepared)) | instance_row(prepared, behaviour)]

    def _behaviours(self, shard: Shard, answered: Answered) -> list[Rows]:
        assert self.under is not None
        chosen = next(candidate for candidate in self.task.arrangement.all if candidate.key == shard.technique)
        return [[row] for row in self.under.rows(chosen, answered)]

    def _attributions(self, shard: Shard, answered: Answered) -> Iterator[Rows]:
        explainer = catalogue.method(shard.explainer)
        for prepared, attribution in zip(answered.prepared, pipeline.explain(answered, explainer), strict=True):
            if shard.kind == "attribution":
                self.scores[shard.explainer, self._row_id(self._index(prepared))] = attribution.scores
            yield [attribution_row(attribution, explainer.signed, prepared.prompt.ranked)]

    def _faithfulness(self, shard: Shard, answered: Answered) -> Iterator[Rows]:
        """Yield rows of the scores of one explainer or control; an instance without scores gets no rows."""
        control = catalogue.explainers(control=True).get(shard.explainer)
        ids = [self._row_id(self._index(prepared)) for prepared in answered.prepared]
        if control:
            scores = {
                row_id: control.scores(PlainPrompt.of(prepared.prompt, behaviour, row_id))
                for prepared, behaviour, row_id in zip(answered.prepared, answered.behaviours, ids, strict=True)
            }
        else:
            scores = {i: self.scores[shard.explainer, i] for i in ids if (shard.explainer, i) in self.scores}
        # An instance on which the explainer failed, as is noted there, is measured with the rest and left out below.
        nothing = np.zeros(answered.clean.length, dtype=np.float32)
        targets = [behaviour.token_id for behaviour in answered.behaviours]
        how = MEASURED[shard.kind]
        measured = how.measure(answered.clean, targets, [scores.get(row_id, nothing) for row_id in ids])
        for row_id, values in zip(ids, measured, strict=True):
            yield [losses(faithful) | {"settings": repr(how)} for faithful in values if row_id in scores]

    def _whole_answers(self, shard: Shard, answered: Answered) -> Iterator[Rows]:
        methods = [catalogue.method(key) for key in self.task.grid.explainers]
        for prepared in answered.prepared:
            fact, documents = self.questions.facts[self._index(prepared)], prepared.instance.documents
            key = f"{self.task.grid.seed}|{fact.id}|{prepared.instance.regime}"
            texts = unrelated_texts(fact, documents, self.questions.pool, style_of(self.lm), key)
            yield [answer_row(self.lm, prepared, methods, tuple(islice(texts, MOST)))]

    def _heads(self, shard: Shard, answered: Answered) -> Iterator[Rows]:
        """Yield every head's attention from the last position."""
        for prepared, attention in zip(answered.prepared, answered.clean.heads.attention, strict=True):
            yield [
                {"layer": layer, "head": head, "attention": round_keeping_ranks(row)}
                for layer, rows in enumerate(attention.cpu().numpy() if self._keeps_heads(prepared) else ())
                for head, row in enumerate(rows)
            ]

    def _head_needs(self, shard: Shard, answered: Answered) -> Iterator[Rows]:
        lost = answered.clean.lost_leads(answered.targets).numpy()
        for logits, target, loss in zip(answered.clean.logits, answered.targets, lost, strict=True):
            yield [{"lead": float(logits[target.ids[0]] - logits[target.foils[0]]), "lost": round_mantissa(loss.ravel(), 10)}]

    def _sources(self, shard: Shard, answered: Answered) -> Iterator[Rows]:
        seed, answers = self.task.grid.seed, self.questions.pool.answers
        instances = (prepared.instance for prepared in answered.prepared)
        pools = [fresh_pool(answers.get(instance.relation, ()), seed, instance.fact_id) for instance in instances]
        yield from map(source_rows, sources_of(answered, pools))

    def _index(self, prepared: Prepared) -> int:
        return self.indices[prepared.instance.fact_id]

    def _row_id(self, index: int, technique: str = "") -> str:
        """Return an instance's id. technique: by default the job's main one."""
        fact = self.questions.facts[index]
        return self.task.instance_id(self.lm.style, fact.id, technique or self.task.arrangement.main.key)

    def _about(self, index: int) -> ShardRow:
        fact = self.questions.facts[index]
        about = {name: getattr(fact, name) for name in ("subject", "relation", "question")}
        return about | {"place": index, "fact_id": fact.id, "true_answer": fact.answer}


def instance_row(prepared: Prepared, behaviour: Behaviour | None) -> dict[str, Any]:
    """Return what the store saves of an instance, beside the columns that place it. behaviour: None where it was dropped."""
    prompt, instance = prepared.prompt, prepared.instance
    row: dict[str, Any] = {
        "prompt": prompt.text,
        "tokens": list(prompt.tokens),
        "first_ranked": prompt.first_ranked,
        "ranked_end": prompt.ranked_end,
        "document_starts": [span.start for span in prompt.documents],
        "document_ends": [span.end for span in prompt.documents],
        "question_start": prompt.question.start,
        "question_end": prompt.question.end,
        **{DOCUMENT_COLUMNS[name]: [getattr(document, name) for document in instance.documents] for name in _OF_DOCUMENTS},
        "answer_tokens": [list(tokens) for tokens in prompt.answer_tokens],
        "first_mention": [list(tokens) for tokens in prompt.first_mention],
        "memory_answer": prepared.memory_answer,
        "expected_group": instance.expected_group,
        "dropped_because": prepared.dropped_because,
    }
    if behaviour is not None:
        row |= {
            **{column: [getattr(one, name) for one in behaviour.candidates] for name, column in CANDIDATE_COLUMNS.items()},
            "predicted_text": behaviour.text,
            "predicted_id": behaviour.token_id,
            "predicted_probability": behaviour.probability,
            **{name: getattr(behaviour, name) for name in ("answer_text", "first_group", "text_group")},
            "group": behaviour.explained_group,
        }
    return row


def attribution_row(attribution: Attribution, signed: bool, ranked: range) -> dict[str, Any]:
    """Return what the store saves of an attribution.

    Scores keep as many bits as their ranks need: half the size, the same order (`round_keeping_ranks`). signed: whether the
    explainer's scores have a sign, which is saved, for the explainer may be gone when they are read. ranked: the tokens whose
    ties are counted.
    """
    heads = attribution.head_scores
    return {
        **{name: getattr(attribution, name) for name in ("explainer", "seconds", "settings", "layer", "head")},
        "scores": round_keeping_ranks(attribution.scores),
        "tied": tied(attribution.scores[ranked.start : ranked.stop]),
        "signed": signed,
        "head_scores": None if heads is None else round_keeping_ranks(heads.ravel()),
        "details": json.dumps(dict(attribution.details)),
    }


def answer_row(lm: LanguageModel, prepared: Prepared, explainers: Sequence[Method], texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the whole answer to the prompt of an instance; or why there is none.

    Its cost is in no hash. texts: see `Wanted`.
    """
    try:
        *_, (_, answer) = answer_steps(lm, prepared.prompt, prepared.instance.question, explainers, Wanted(texts=texts))
    except NotEnoughMemory:
        raise
    except HEvalError as error:
        return {"unavailable": str(error)}
    generated = asdict(record_of(answer.by_sentence()))
    costs = {key: {name: matrix.pop(name) for name in ("seconds", "passes")} for key, matrix in generated["matrix"].items()}
    return {"generated": json.dumps(generated, ensure_ascii=False), "seconds": json.dumps(costs)}


def source_rows(source: AnswerSource | str) -> Rows:
    """Return the rows of an answer: one for each mention, or one with why it has no source."""
    if isinstance(source, str):
        return [{"mention": 0, "unavailable": source}]
    whole, rows = {"source": source.source, "together": source.together, "fresh": source.fresh}, list[ShardRow]()
    for number, mention in enumerate(source.mentions):
        row = whole | asdict(mention) | {"mention": number, "is_source": mention.is_source}
        for kind in ("hidden", "route"):
            row |= {f"{kind}_{name}": value for name, value in (row.pop(kind) or {}).items()}
        rows.append(row)
    return rows


def losses(faithful: Faithful) -> ShardRow:
    """Return losses. The two means are exact; each K's own loss is for a closer look, and compresses better when rounded."""
    means = {name: getattr(faithful, name) for name in ("replacement", "comprehensiveness", "sufficiency")}
    curves = {name: np.array(getattr(faithful, name), dtype=np.float32) for name in ("masked", "kept")}
    return means | {name: round_mantissa(curve, 10).tolist() for name, curve in curves.items()}
