"""`layouts` and `conditions`: what a model answers before anything is explained, in each layout, or under harder prompts.

Both print the share of answers that metrics compare, and what becomes of the others. So layouts and conditions are chosen by
how a model answers, never by what explainers say of its answers: a larger model gets the conditions that it can do by itself.
"""

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from heval_core.evaluation.usable import compared_in
from heval_core.explaining import pipeline
from heval_core.explaining.sources import is_another
from heval_core.folders import program
from heval_core.lm.chat import has_template
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.prompting.prompts import AUTO, LAYOUTS, is_chat
from heval_core.prompting.styles import style_of
from heval_core.records import Dropped, HEvalError
from heval_core.records.regime_keys import ONE_PASSAGE, TWICE, RegimeOptions, decoys_of, read_key
from precompute.commands.options import Commands, add_command, add_fields
from precompute.grid import Grid
from precompute.memory import Memories, Prompting
from precompute.questions import Questions, load_questions

# Of layouts: one regime of one document, and one of two.
REGIMES = ("conflicting", "mixed")
# Data set ▶ the regimes in which it is asked.
_TWO = tuple(str(RegimeOptions(base, decoy)) for base in ("double_conflicting", "mixed") for decoy in (None, *decoys_of(base)))
_TWICE = (str(RegimeOptions(ONE_PASSAGE, TWICE)),)
CONDITIONS = {"world_capital": _TWO, **dict.fromkeys(("years", "elsewhere", "either"), _TWICE)}
OBEYED = 0.5
# An answer of no candidate that a passage gives too: the hard board counts it, by its own mentions.
ANOTHER = "another of the passage"


def add(commands: Commands) -> None:
    parser = add_command(commands, "layouts", _layouts, "which layout of prompts gives answers that can be compared")
    parser.add_argument("--template", nargs="+", help="layouts to try; by default all that the model can be asked in")
    names = ("models", "datasets", "limit", "memory", "match", "seed")
    add_fields(parser, Grid, names, ("models", "datasets"), limit="questions per dataset; 40 by default")
    parser.set_defaults(limit=40)

    parser = add_command(commands, "conditions", _conditions, "which harder prompts a model obeys, and the run of those")
    why = "below it, what is compared is more the model's choice of prompts than the condition"
    obeyed = f"the share of compared answers from which a condition counts as obeyed; {OBEYED} by default: {why}"
    parser.add_argument("--obeyed", type=float, default=OBEYED, metavar="SHARE", help=obeyed)
    names = ("models", "limit", "memory", "match", "template", "seed")
    add_fields(parser, Grid, names, ("models",), limit="questions per condition; 40 by default")
    parser.set_defaults(limit=40)


def _layouts(options: argparse.Namespace) -> int:
    Grid((), (), (), limit=options.limit, memory=options.memory, match=options.match).check()
    for lm in map(load, options.models):
        able = [name for name in LAYOUTS if name != AUTO and (has_template(lm.tokenizer) or not is_chat(name))]
        for dataset in options.datasets:
            questions = load_questions(dataset, options.limit, options.seed, style_of(lm))
            for template in options.template or able:
                with lm.asked_in(template):
                    memories = Memories.collect(lm, questions.facts, options.memory)
                    for regime in questions.asked_in(REGIMES):
                        outcomes = outcomes_of(lm, questions, Prompting(regime, options.seed, memories, options.match))
                        line = f"{outcomes.share}, memory right {_right(lm, questions, memories):3}: {outcomes.by_name}"
                        print(f"{lm.key} · {questions.dataset} · {regime:12} {template:12} {line}", flush=True)
    return 0


def _right(lm: LanguageModel, questions: Questions, memories: Memories) -> int:
    """Count the true memory answers."""
    right = 0
    for fact in questions.facts:
        with suppress(Dropped):
            right += memories.of(lm, fact, questions.pool).text == fact.answer
    return right


def _conditions(options: argparse.Namespace) -> int:
    if not 0 <= options.obeyed <= 1:
        raise HEvalError(f"--obeyed is {options.obeyed}; it is a share, from 0 to 1.")
    Grid((), (), (), limit=options.limit, memory=options.memory, match=options.match, template=options.template).check()
    for model in options.models:
        lm, runs = load(model), dict[tuple[str, ...], list[str]]()
        with lm.asked_in(options.template or lm.template):
            for dataset in CONDITIONS:
                if obeyed := tuple(_obeyed(lm, dataset, options)):
                    runs.setdefault(obeyed, []).append(dataset)
        for regimes, datasets in runs.items():
            print(_run(model, datasets, regimes, options), flush=True)
    return 0


def _obeyed(lm: LanguageModel, dataset: str, options: argparse.Namespace) -> Iterator[str]:
    """Print a line for each regime of a data set; yield those that are obeyed."""
    questions = load_questions(dataset, options.limit, options.seed, style_of(lm))
    memories = Memories.collect(lm, questions.facts, options.memory)
    for regime in CONDITIONS[dataset]:
        outcomes = outcomes_of(lm, questions, Prompting(regime, options.seed, memories, options.match))
        verdict = outcomes.verdict(options.obeyed)
        print(f"{lm.key} · {dataset:13} · {regime:24} {outcomes.share}: {outcomes.by_name} · {verdict}", flush=True)
        if verdict == "yes":
            yield regime


def _run(model: str, datasets: list[str], regimes: tuple[str, ...], options: argparse.Namespace) -> str:
    """Write the command that runs some conditions, with questions asked as here."""
    defaults = {"memory": Grid.memory, "match": Grid.match, "template": Grid.template, "seed": Grid.seed}
    changed = {name: str(getattr(options, name)) for name, usual in defaults.items() if getattr(options, name) != usual}
    words = [*program().split(), "run", "--models", model, "--datasets", *datasets, "--regimes", *regimes]
    return shlex.join([*words, *(word for name, value in changed.items() for word in (f"--{name}", value))])


@dataclass(frozen=True)
class Outcomes:
    """What became of the questions of one regime. counts: by group, or ANOTHER, or by the reason why they were dropped.

    renamed: answers that begin as a document's other name for its answer (d3), which no metric compares.
    """

    regime: str
    counts: Counter[str]
    renamed: int = 0

    @property
    def compared(self) -> int:
        return sum(self.counts[group] for group in (*compared_in(self.regime), ANOTHER))

    @property
    def share(self) -> str:
        """The share of all questions whose answer is compared, in words."""
        return f"{self.compared / max(1, self.counts.total()):5.0%} of {self.counts.total()} compared"

    @property
    def by_name(self) -> str:
        """The counts in words, the largest first."""
        return ", ".join(f"{name} {count}" for name, count in self.counts.most_common())

    def verdict(self, least: float) -> str:
        """Say whether at least this share is compared. Where more say the other name (d3), the condition is withdrawn."""
        if self.renamed > self.compared:
            return f"no, withdrawn: {self.renamed} answers are the other name"
        return "yes" if self.compared >= least * self.counts.total() else "no"


def outcomes_of(lm: LanguageModel, questions: Questions, prompting: Prompting) -> Outcomes:
    """Ask all questions in one regime."""
    counts, renamed, twice = Counter[str](), 0, read_key(prompting.regime).decoy == TWICE
    indices = range(len(questions.facts))
    ready = list(prompting.usable(lm, questions, indices, lambda reason: counts.update((reason,))))

    def count(batch: list[pipeline.Prepared]) -> None:
        nonlocal renamed
        behaviours = pipeline.answer(lm, batch, prompting.match).behaviours
        for prepared, behaviour in zip(batch, behaviours, strict=True):
            pool = questions.pool.answers.get(prepared.instance.relation, ())
            of_passage = twice and behaviour.group == "other" and is_another(lm, prepared, behaviour, pool)
            counts[ANOTHER if of_passage else behaviour.group] += 1
            names = [document.alias for document in prepared.instance.documents if document.alias]
            renamed += behaviour.group == "other" and any(behaviour.token_id in lm.first_tokens(name) for name in names)

    pipeline.in_batches(lm, pipeline.going_on(lm, ready) if prompting.match == "within" else ready, count)
    return Outcomes(prompting.regime, counts, renamed)
