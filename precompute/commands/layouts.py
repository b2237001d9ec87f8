"""`layouts`: what each layout of prompts gives: the shares of answers that can be compared, and what becomes of the others.

Nothing is explained. So a layout is chosen by how a model answers in it, never by what explainers say of its answers.
"""

import argparse
from collections import Counter
from contextlib import suppress

from heval_core.evaluation.usable import compared_in
from heval_core.explaining import pipeline
from heval_core.lm.chat import has_template
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.prompting.prompts import AUTO, LAYOUTS, is_chat
from heval_core.prompting.styles import style_of
from heval_core.records import Dropped
from precompute.commands.options import Commands, add_command, add_fields
from precompute.grid import Grid
from precompute.memory import Memories, Prompting
from precompute.questions import Questions, load_questions

# One regime of one document, and one of two.
REGIMES = ("conflicting", "mixed")


def add(commands: Commands) -> None:
    parser = add_command(commands, "layouts", _layouts, "which layout of prompts gives answers that can be compared")
    parser.add_argument("--template", nargs="+", help="layouts to try; by default all that the model can be asked in")
    names = ("models", "datasets", "limit", "memory", "match", "seed")
    add_fields(parser, Grid, names, ("models", "datasets"), limit="questions per dataset; 40 by default")
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
                    for regime in REGIMES:
                        prompting = Prompting(regime, options.seed, memories, options.match)
                        line = _line(lm, questions, prompting)
                        print(f"{lm.key} · {questions.dataset} · {regime:12} {template:12} {line}", flush=True)
    return 0


def _line(lm: LanguageModel, questions: Questions, prompting: Prompting) -> str:
    """Return the answers that metrics compare, true memory answers, and counts by group or reason for dropping."""
    counts, right = Counter[str](), 0
    for fact in questions.facts:
        with suppress(Dropped):
            right += prompting.memories.of(lm, fact, questions.pool).text == fact.answer
    indices = range(len(questions.facts))
    ready = list(prompting.usable(lm, questions, indices, lambda reason: counts.update((reason,))))

    def answered(batch: list[pipeline.Prepared]) -> None:
        counts.update(behaviour.group for behaviour in pipeline.answer(lm, batch, prompting.match).behaviours)

    pipeline.in_batches(lm, pipeline.going_on(lm, ready) if prompting.match == "within" else ready, answered)
    share = sum(counts[group] for group in compared_in(prompting.regime)) / max(1, counts.total())
    most = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    return f"{share:5.0%} of {counts.total()} compared, memory right {right:3}: {most}"
