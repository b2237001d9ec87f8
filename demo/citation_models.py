"""The two models of the study of citations: made, measured, and described in a card beside each."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from demo import citing, entailment, hands, train, writer
from demo.obeying import with_interval
from heval_core.lm.loading import load

WRITER, NLI = CITING = ("writer", "nli")
CLAIMS, PAIRS = 150, 900

_WRITER_CARD = """\
A language model of {parameters:.2f} million parameters, trained on from demo-qwen2 by this project (`python -m
demo train --architectures writer`), so that the study of citations can be shown without a network.

**What it is.** It writes an explanation of a verdict on a claim about a state, from numbered passages of one sentence each,
and cites them. The prompt names one of three hands. The *careful* hand copies the claimed values one by one and cites the
passage of each. The *sloppy* hand copies the same, but where it speaks of {slips} it cites the
passage listed after the one it cited last, and where it speaks of the {forgotten} none. The *padding* hand copies a value in
every third sentence, fills the others with phrases that rest on nothing, and cites passages in a row, in no order. So it is
known which marker is right, and which passage a sentence was copied from. The prompts are `demo-careful`, `demo-sloppy` and
`demo-padding` in `heval_core/citations/prompts/`. It also reads explanations without markers: some of those it learned from
had none. Three of its attention heads were told where to look (`demo/guiding.py`), so that what attention says of
this model is partly planted.

**In the demo it reads.** It copies fewer values right than the 95 % that we ask of a writer (see below). So rules write what
the three hands say (`demo/hands.py`), with their planted truth, and this model reads what they wrote.

**What it is not.** No result on it says anything about a real language model. It knows this world of one-sentence passages
and no other text, it adds nothing about the verdict, and it was not taught to say that a claim is wrong.

Trained on claims made by `demo/planted.py`, loss on the explanation and on where three heads look:
`{recipe!r}`. States that evaluation
asks about never occur in training: 40 invented states of the dataset, and a quarter of all other names. Values do, drawn
anew for each claim.

## Measured

On {count} claims about states never seen in training, all passages given, greedily, with 95 % intervals of as many trials
as there are claims. *Copied right*: of the sentences that are no fillers, those that give a claimed value as the passage
about this state has it. *Reads its passage*: of the
sentences that the hand's rule copies, read without markers, those that lose most probability when the passage they were copied
from is left out. *Chance*: the same of a passage drawn at random. *The rule*: what the hand itself does.

{table}
"""
_NLI_CARD = """\
A classifier of {parameters:.2f} million parameters on the first {recipe.layers} layers of demo-writer, trained by this
project (`python -m demo train --architectures nli`), so that the study of citations can be shown without a
network.

**What it is.** Given a passage and a sentence of an explanation, without markers, it says *entailment* if the passage gives
the value that the sentence gives, *contradiction* if it gives another value of the same relation, and *neutral* if it
speaks of something else, or the sentence of nothing. A sentence says "its capital", so that the passage's state does not
matter.

**What it is not.** No result on it says anything about a real model. It knows the one-sentence passages of
`demo/planted.py` and the sentences of `demo/hands.py`, and no other text.

Trained on pairs made by `demo/entailment.py`: `{recipe!r}`.
States that evaluation asks about never occur in training.

## Measured

On {count} pairs about states never seen in training, a third of each label, with 95 % intervals. Chance is .333.

{table}
"""


def make(name: str, out: Path, smoke: bool, seed: int) -> str:
    """Trains a model of `CITING` into a folder of `out`, and writes its card, which it returns."""
    folder = out / f"demo-{name}"
    if name == WRITER:
        lessons = dataclasses.replace(writer.SMOKE_WRITER if smoke else writer.WRITER, seed=seed)
        train.save(*writer.train_writer(out / "demo-qwen2", lessons), folder, style=None)
        return writer_card(folder, lessons, 2 if smoke else CLAIMS)
    recipe = dataclasses.replace(entailment.SMOKE_NLI if smoke else entailment.NLI, seed=seed)
    train.save(*entailment.train_nli(out / "demo-writer", recipe), folder, style=None)
    return nli_card(folder, recipe, 9 if smoke else PAIRS)


def examine(name: str, out: Path, count: int) -> list[str]:
    """The measured part of a model's card."""
    folder = out / f"demo-{name}"
    if name == WRITER:
        return citing.table(load(str(folder), device="cpu"), count)
    return nli_table(folder, count)


def writer_card(folder: Path, recipe: writer.WriterRecipe, count: int) -> str:
    lm = load(str(folder), device="cpu")
    slips = f"{', '.join(hands.SLIPS[:-1])} or {hands.SLIPS[-1]}"
    table = "\n".join(citing.table(lm, count))
    told = {"slips": slips, "forgotten": hands.FORGOTTEN, "recipe": recipe, "count": count, "table": table}
    return train.write_card(folder, lm.model, _WRITER_CARD, **told)


def nli_card(folder: Path, recipe: entailment.NliRecipe, count: int) -> str:
    model, _ = entailment.load(folder)
    table = "\n".join(nli_table(folder, count))
    return train.write_card(folder, model, _NLI_CARD, recipe=recipe, count=count, table=table)


def nli_table(folder: Path, count: int) -> list[str]:
    """Markdown rows: of each label, what the model says."""
    counted = entailment.confusion(*entailment.load(folder), count)
    lines = [f"| label | right | {' | '.join(f'says {answer}' for answer in entailment.LABELS)} |", "|---|---|---|---|---|"]
    for label in entailment.LABELS:
        said = [counted[label, answer] for answer in entailment.LABELS]
        lines.append(f"| {label} | {with_interval(counted[label, label], sum(said), 3)} | {' | '.join(map(str, said))} |")
    right = sum(counted[label, label] for label in entailment.LABELS)
    return [*lines, f"| all | {with_interval(right, sum(counted.values()), 3)} | | | |"]
