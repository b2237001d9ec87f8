"""Searches for the settings that techniques are run with: which are needed, and what they try.

A search sees development questions only. Each technique chooses by its own rule.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from heval_core.explaining.behaviour import accepted_tokens
from heval_core.lm.batches import last_logits, memory_tokens
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Technique
from heval_core.prompting.prompts import memory_prompt, prompt_of
from heval_core.records import CONTEXT_KINDS, FOLLOWED, Cost, HEvalError, Instance, NotHere
from heval_core.store.kinds import TRIAL
from heval_core.store.shards import FORMAT, Shard
from heval_core.techniques.shared.base import Answerable, Development, Setting, Trial
from precompute.memory import AskingTask, Prompting
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Failure, Result, ShardRow, named, total
from precompute.techniques import DEVELOPMENT, Chosen, is_searched, plain, split_of

# Fewer questions of a kind tell settings apart by luck.
FEWEST = 5
# Rows of logits that are combined together.
ROWS = 16


@dataclass(frozen=True)
class SearchTask(AskingTask):
    """Find the settings of a technique's variants for a model and a dataset, on development questions; a shard for each.

    Variants (ph3 and ph3(mode=memory)) try the same settings, and differ in how they choose: what one has tried, the others do
    not try again. indices: of development questions. kinds: of context.
    """

    kinds: tuple[str, ...]

    counts = False

    @property
    def name(self) -> str:
        return f"{' · '.join(self.regime_key[:2])} · search for {', '.join(shard.technique for shard in self.shards)}"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: of variants that change model or prompt the trials of one, which they share; else of each."""
        techniques = [catalogue.find("technique", shard.technique) for shard in self.shards]
        trying = techniques if techniques[0].family == "decoding" else techniques[:1]
        costs = [(1.0, Cost(one.preparing, one.preparing * tokens)) for one in trying]
        costs += [(1.0, one.looking(tokens)) for one in trying if one.preparing]
        return total([(len(self.indices) * len(self.kinds), total(costs))])

    def do(self, ready: LanguageModel, questions: Questions) -> Result:
        rows: dict[str, list[ShardRow]] = {}
        failures, development = list[Failure](), None
        for shard in self.shards:
            try:
                development = development or self._development(ready, questions)
                rows[shard.key] = _rows(*search(catalogue.find("technique", shard.technique), development))
            except HEvalError as error:
                unavailable = {"setting": "", "regime": "", "n": 0, "chosen": False, "tied": False, "unavailable": str(error)}
                rows[shard.key] = [unavailable]
                if isinstance(error, NotHere):
                    # It may be there for a later run, which tries a shard with failures again.
                    failures.append(Failure("", self.name, named(error)))
        return Result(rows, failures)

    def _development(self, lm: LanguageModel, questions: Questions) -> Development:
        """Prepare the development questions, by context kind. Raises HEvalError where there are too few of every kind."""
        by_kind: dict[str, tuple[Answerable, ...]] = {}
        for kind in self.kinds:
            usable = Prompting(kind, self.grid.seed, self.memories).usable(lm, questions, self.indices)
            instances = [prepared.instance for prepared in usable]
            if len(instances) >= FEWEST:
                known = memory_tokens(lm, (instance.question for instance in instances))
                by_kind[kind] = tuple(Answerable(one, accepted_tokens(lm, one), known[one.question]) for one in instances)
        if not by_kind:
            raise HEvalError(
                f"{questions.dataset} has fewer than {FEWEST} development questions of every kind of context; a search needs "
                "more: raise --limit."
            )
        return Development(lm, questions.dataset, by_kind, self.grid.seed)

    def finished(self, result: Result) -> Iterator[tuple[Shard, list[ShardRow], int]]:
        """Yield the shards, whose settings are the results of the search."""
        for shard, rows, failed in super().finished(result):
            setting = setting_in(rows)
            within = Chosen(shard.technique, setting).within(shard.settings) if setting else shard.settings
            yield replace(shard, settings=within), rows, failed


def setting_in(rows: Sequence[ShardRow]) -> Setting | None:
    """Read what a search has chosen. rows: of its shard. None where the technique is unavailable."""
    chosen = [row for row in rows if row["chosen"]]
    weights = next((row["weights"] for row in chosen if row["weights"]), b"")
    return Setting(chosen[0]["setting"], weights) if chosen else None


def search_tasks(pair: Pair) -> list[SearchTask]:
    """List the searches that a grid needs of a model and a dataset, one for all variants of a technique."""
    questions = pair.questions
    kinds = tuple(kind for kind in CONTEXT_KINDS if kind in pair.grid.regimes)
    indices = tuple(index for index, fact in enumerate(questions.facts) if split_of(fact.question) == DEVELOPMENT)
    facts = [questions.facts[index].id for index in indices]
    variants: dict[str, list[Shard]] = {}
    for key in pair.grid.techniques:
        technique = catalogue.find("technique", key)
        if is_searched(technique):
            reads = [technique.reads()] if technique.reads() else []
            identity = catalogue.identity("technique", technique)
            depends = [FORMAT, "search", *pair.state.values(), identity, kinds, facts, pair.grid.seed]
            shard = pair.shard(TRIAL.name, [*depends, *reads], technique=key, stop=len(indices))
            # Each adapter is trained by itself.
            variants.setdefault(key if technique.preparation == "trained" else plain(key), []).append(shard)
    return [SearchTask(pair.model, tuple(shards), pair.grid, indices, kinds) for shards in variants.values()]


def search(technique: Technique, development: Development) -> tuple[list[Trial], tuple[int, ...]]:
    """Try settings. Returns the trials, and the indices of the best settings, the one to use first.

    With one setting there is nothing to try, and it has no trial's numbers. Raises HEvalError where the technique cannot be
    applied to the model.
    """
    require(development.lm, technique.needs)
    settings = technique.settings(development)
    if len(settings) == 1:
        return [Trial(settings[0], {}, {})], (0,)
    answer = _decoded if technique.family == "decoding" else _answered
    trials = answer(technique, development, settings)
    return trials, technique.best(trials)


def _decoded(technique: Technique, development: Development, settings: Sequence[Setting]) -> list[Trial]:
    """Run the two passes once, whatever the number of settings; only one kind's logits are in memory at a time."""
    predicted: list[dict[str, list[int]]] = [{} for _ in settings]
    for kind, questions in development.questions.items():
        instances = [question.instance for question in questions]
        for by_kind, tokens in zip(predicted, _of_kind(technique, development.lm, instances, settings), strict=True):
            by_kind[kind] = list(tokens)
    return [_trial(development, *each) for each in zip(settings, predicted, strict=True)]


def _of_kind(
    technique: Technique, lm: LanguageModel, instances: Sequence[Instance], settings: Sequence[Setting]
) -> Iterator[tuple[int, ...]]:
    """Yield for each setting the answers to all instances."""
    with_context = [lm.tokenise(prompt_of(instance, lm.template)) for instance in instances]
    alone = torch.stack(last_logits(lm, [lm.tokenise(memory_prompt(one.question, lm.template)) for one in instances]))

    def work(numbers: list[int], _: int) -> Iterator[tuple[int, ...]]:
        clean = CleanPass(lm, [with_context[number] for number in numbers])
        for rows in torch.arange(clean.size).split(ROWS):
            part, z_0 = clean.rows(rows.tolist()), alone[[numbers[row] for row in rows]]
            yield from zip(*greedy_tokens(technique.seeing(part, settings), part.logits, z_0, settings), strict=True)

    lengths = [len(prompt.ids) for prompt in with_context]
    yield from zip(*lm.budget.longest_first(lengths, lambda *batch: list(work(*batch)), alike=True), strict=True)


def greedy_tokens(
    technique: Technique, with_context: torch.Tensor, alone: torch.Tensor, settings: Sequence[Setting]
) -> list[list[int]]:
    """Decode (N, V) logits of both passes ▶ for each setting the N answers. technique: or what it has seen of them.

    A few rows at a time, whose scores need little memory.
    """
    answers: list[list[int]] = [[] for _ in settings]
    for rows in zip(with_context.split(ROWS), alone.split(ROWS), strict=True):
        for tokens, scores in zip(answers, technique.combined_by(*rows, settings), strict=True):
            # On a CPU, NumPy finds the largest of a row ten times as fast as torch.
            tokens += (scores.numpy() if scores.device.type == "cpu" else scores).argmax(-1).tolist()
    return answers


def _answered(technique: Technique, development: Development, settings: Sequence[Setting]) -> list[Trial]:
    """Run one pass for each setting that no variant of the technique has tried on these questions."""

    def tried(setting: Setting) -> Trial:
        predicted = {}
        with technique.applied(development.lm, setting) as lm:
            for kind, questions in development.questions.items():
                prompts = technique.prompts(lm, [question.instance for question in questions], setting)
                logits = last_logits(lm, [lm.tokenise(final.prompt) for final in prompts])
                predicted[kind] = [int(row.argmax()) for row in logits]
        return _trial(development, setting, predicted)

    return [development.once((plain(technique.key), setting), partial(tried, setting)) for setting in settings]


def _trial(development: Development, setting: Setting, predicted: dict[str, list[int]]) -> Trial:
    hits = {
        kind: [
            token in question.accepted if kind in FOLLOWED else token == question.memory_id
            for question, token in zip(development.questions[kind], tokens, strict=True)
        ]
        for kind, tokens in predicted.items()
    }
    n = {kind: len(right) for kind, right in hits.items()}
    return Trial(setting, {kind: sum(right) / n[kind] for kind, right in hits.items()}, n)


def _rows(trials: Sequence[Trial], best: Sequence[int]) -> list[ShardRow]:
    """Make the rows of a trial shard: one for each setting and kind."""
    return [
        {
            "setting": trial.setting.text,
            "regime": kind,
            "bcu": trial.bcu.get(kind),
            "n": trial.n.get(kind, 0),
            "chosen": index == best[0],
            "tied": index in best,
            "weights": trial.setting.weights or None if index == best[0] else None,
        }
        for index, trial in enumerate(trials)
        for kind in (trial.bcu or ("",))
    ]
