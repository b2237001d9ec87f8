"""The search for a technique's setting, on development questions only. Each technique chooses by its own rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from heval_core import catalogue
from heval_core.behaviour import accepted_tokens
from heval_core.lm.batches import last_logits
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.prompts import memory_prompt
from heval_core.protocols import Technique
from heval_core.records import CONTEXT_KINDS, FOLLOWED, HEvalError, NotHere
from heval_core.store.kinds import TRIAL
from heval_core.store.shards import FORMAT
from heval_core.techniques.shared.base import Development, Question, Setting, Trial, prompt_with
from precompute.memory import Memories, Prompting, memory_ids
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Failure, Result, Row, Shard, Task, hashed, named
from precompute.techniques import DEVELOPMENT, Chosen, is_searched, plain, split_of

# Fewer questions of a kind tell settings apart by luck.
FEWEST = 5
# Rows of logits that are combined together.
ROWS = 16


@dataclass(frozen=True)
class SearchTask(Task):
    """Find the settings of a technique's variants for a model and a dataset, on development questions; a shard for each.

    Variants (ph3 and ph3(mode=memory)) try the same settings, and differ in how they choose: what one has tried, the others do
    not try again. places: the development questions' numbers.
    """

    kinds: tuple[str, ...]
    places: tuple[int, ...]
    seed: int
    memories: Memories = field(default_factory=lambda: Memories({}), repr=False)

    @property
    def name(self) -> str:
        return f"{' · '.join(self.whose[:2])} · search for {', '.join(shard.technique for shard in self.shards)}"

    def do(self, ready: LanguageModel, questions: Questions, progress: Callable[[], None]) -> Result:
        rows: dict[str, list[Row]] = {}
        failures, development = list[Failure](), None
        for shard in self.shards:
            where = {name: getattr(shard, name) for name in ("model", "revision", "dataset", "technique")}
            try:
                development = development or self._development(ready, questions)
                rows[shard.key] = _rows(where, *search(catalogue.find("technique", shard.technique), development))
            except HEvalError as error:
                unavailable = {"setting": "", "regime": "", "n": 0, "chosen": False, "tied": False, "unavailable": str(error)}
                rows[shard.key] = [where | unavailable]
                if isinstance(error, NotHere):
                    # It may be there for a later run, which tries a shard with failures again.
                    failures.append(Failure("", self.name, named(error)))
        return Result(rows, failures)

    def _development(self, lm: LanguageModel, questions: Questions) -> Development:
        """The development questions, by context kind. Raises HEvalError where there are too few of every kind."""
        found: dict[str, tuple[Question, ...]] = {}
        for kind in self.kinds:
            prepared = Prompting(kind, self.seed, self.memories).kept(lm, questions, self.places)
            kept = [one.instance for one in prepared]
            remembered = memory_ids(lm, [instance.question for instance in kept])
            if len(kept) >= FEWEST:
                each = zip(kept, remembered, strict=True)
                found[kind] = tuple(Question(instance, accepted_tokens(lm, instance), token) for instance, token in each)
        if not found:
            raise HEvalError(
                f"{questions.dataset} has fewer than {FEWEST} development questions of every kind of context; a search needs "
                "more: raise --limit."
            )
        return Development(lm, questions.dataset, found, self.seed)

    def entries(self, result: Result) -> Iterator[dict[str, Any]]:
        """Settings are those that were found, too."""
        for entry in super().entries(result):
            found = setting_in(result.rows.get(entry["key"], []))
            yield entry | ({"settings": Chosen(entry["technique"], found).within(entry["settings"])} if found else {})


def setting_in(rows: Sequence[Row]) -> Setting | None:
    """What a search has chosen. rows: of its shard. None where the technique is unavailable."""
    chosen = [row for row in rows if row["chosen"]]
    weights = next((row["weights"] for row in chosen if row["weights"]), b"")
    return Setting(chosen[0]["setting"], weights) if chosen else None


def search_tasks(pair: Pair) -> list[SearchTask]:
    """The searches that a grid needs of a model and a dataset, one for all variants of a technique."""
    model, questions = pair.model.identity, pair.questions
    kinds = tuple(kind for kind in CONTEXT_KINDS if kind in pair.grid.regimes)
    places = tuple(place for place, fact in enumerate(questions.facts) if split_of(fact.question) == DEVELOPMENT)
    facts = [questions.facts[place].id for place in places]
    whose = [FORMAT, "search", model.key, model.revision, pair.settings, questions.dataset, questions.fingerprint]
    variants: dict[str, list[Shard]] = {}
    for key in pair.grid.techniques:
        technique = catalogue.find("technique", key)
        if is_searched(technique):
            reads = [technique.reads()] if technique.reads() else []
            depends = hashed([*whose, repr(technique), kinds, facts, pair.grid.seed, *reads])
            shard = pair.shard(TRIAL.name, depends, settings=pair.settings, technique=key, stop=len(places))
            # Each adapter is trained by itself.
            variants.setdefault(key if technique.preparation == "trained" else plain(key), []).append(shard)
    return [SearchTask(pair.model, tuple(shards), kinds, places, pair.grid.seed) for shards in variants.values()]


def search(technique: Technique, development: Development) -> tuple[list[Trial], tuple[int, ...]]:
    """What was tried, and the indices of the best settings, the one to use first.

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
    """The two passes are run once, whatever the number of settings; only one kind's logits are held at a time."""
    lm = development.lm
    predicted: list[dict[str, list[int]]] = [{} for _ in settings]
    for kind, asked in development.questions.items():
        instances = [question.instance for question in asked]
        with_context = [lm.tokenise(prompt_with(instance, lm.template)) for instance in instances]
        alone = [lm.tokenise(memory_prompt(instance.question, lm.template)) for instance in instances]
        both = torch.stack(last_logits(lm, with_context)), torch.stack(last_logits(lm, alone))
        for setting, tokens in zip(predicted, greedy_tokens(technique, *both, settings), strict=True):
            setting[kind] = tokens
    return [_trial(development, *each) for each in zip(settings, predicted, strict=True)]


def greedy_tokens(
    technique: Technique, with_context: torch.Tensor, alone: torch.Tensor, settings: Sequence[Setting]
) -> list[list[int]]:
    """(N, V) logits of both passes ▶ for each setting the N answers. A few rows at a time, whose scores need little memory."""
    found: list[list[int]] = [[] for _ in settings]
    for rows in zip(with_context.split(ROWS), alone.split(ROWS), strict=True):
        for tokens, scores in zip(found, technique.combined_by(*rows, settings), strict=True):
            # On a CPU, NumPy finds the largest of a row ten times as fast as torch.
            tokens += (scores.numpy() if scores.device.type == "cpu" else scores).argmax(-1).tolist()
    return found


def _answered(technique: Technique, development: Development, settings: Sequence[Setting]) -> list[Trial]:
    """One pass for each setting that no variant of the technique has tried on these questions."""

    def tried(setting: Setting) -> Trial:
        predicted = {}
        with technique.applied(development.lm, setting) as lm:
            for kind, asked in development.questions.items():
                prompts = technique.asked(lm, [question.instance for question in asked], setting)
                logits = last_logits(lm, [lm.tokenise(one.prompt) for one in prompts])
                predicted[kind] = [int(one.argmax()) for one in logits]
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
    n = {kind: len(each) for kind, each in hits.items()}
    return Trial(setting, {kind: sum(each) / n[kind] for kind, each in hits.items()}, n)


def _rows(where: dict[str, Any], trials: Sequence[Trial], best: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of a trial shard: one for each setting and kind. where: the columns that say whose they are."""
    return [
        where
        | {
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
