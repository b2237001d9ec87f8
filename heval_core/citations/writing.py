"""Explanations of verdicts that cite numbered passages: written by a language model, or as they came with the claim.

A writer on the command line is a model (a Hugging Face id, a folder, or what a server calls it), `MODEL(prompt=ID)` for
another prompt than the usual one, or `shipped`. Prompts are files of `prompts/`, named by their ids; what a file says never
changes, because stored results name it: another wording is another id.

Formula: the prompt with the selected passages, in the claim's order, decoded greedily; whatever the model says is the
explanation, and its markers are read as they stand.
Reference: the zero-shot prompt of Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: the wording is ours, and the paper samples. `writing-1` asks for a few sentences and leaves open which passages are
cited; `writing-2` asks, as the paper does, for every passage exactly once and for one citation a sentence at most.
Cost: one request a claim.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heval_core.citations import questions
from heval_core.citations.reading import DEFAULT, ClaimLayout, explanation_prompt, layout
from heval_core.citations.records import Claim, Explained, Written
from heval_core.citations.speaker import Reply, Selection, Speaker
from heval_core.records import HEvalError

SHIPPED = "shipped"
# The cap on an explanation. The longest one of TransExp has 322 words.
TOKENS = 600


@dataclass(frozen=True)
class ClaimWriter:
    """Who writes explanations.

    model: SHIPPED, or what is loaded or asked for. prompt: its id; it means nothing for SHIPPED.
    """

    model: str
    prompt: str = DEFAULT

    @property
    def key(self) -> str:
        """As results name it: a folder's name or a hub model's id, and the prompt where it is not the usual one.

        The explanations of SHIPPED bear the names of those who wrote them, where the data has any; see `shipped`.
        """
        path = Path(self.model).expanduser()
        model = path.resolve().name if path.is_dir() else self.model.partition("@")[0]
        return model if self.prompt == DEFAULT else f"{model}(prompt={self.prompt})"


def writer_of(text: str) -> ClaimWriter:
    """Parse a writer: `shipped`, `MODEL` or `MODEL(prompt=ID)`.

    Raises HEvalError for other options, and for an unknown prompt.

    Whether there is such a model is seen when it is loaded.
    """
    text = text.strip()
    model, opened, options = text.partition("(")
    if opened and Path(text).expanduser().is_dir():  # a folder may have brackets in its name
        model, opened = text, ""
    if not model.strip():
        raise HEvalError(f"{text!r} names no writer; give {SHIPPED}, a model, or MODEL(prompt=ID).")
    if Path(model).is_file() and not model.endswith(".gguf"):
        advice = f"explanations that are written already stand in the file of claims: --claims {model} --writers {SHIPPED}"
        raise HEvalError(f"The writer {model!r} is a file, and no model; {advice}.")
    if not opened:
        return ClaimWriter(model)
    name, _, prompt = (part.strip() for part in options.removesuffix(")").partition("="))
    if not options.endswith(")"):
        raise HEvalError(f"The options of {text!r} need a closing bracket: {model}(prompt=ID).")
    if name != "prompt" or not prompt:
        raise HEvalError(
            f"A writer's only option is its prompt, as in {model.strip()}(prompt={DEFAULT}); it was given {text!r}."
        )
    if model.strip() == SHIPPED:
        raise HEvalError(f"{SHIPPED} stands for explanations that came with the claims; they have no prompt.")
    return ClaimWriter(model.strip(), _layout(prompt).id)


def write(
    claims: Sequence[Claim],
    selections: Sequence[Selection],
    speaker: Speaker,
    writer: ClaimWriter,
    selector: str,
    tokens: int = TOKENS,
) -> list[Explained]:
    """Write one explanation for each claim, from the passages of its selection.

    speaker: asked in the name of the writer. selector: the key of who selected. tokens: the cap on each explanation.
    Where there is no explanation (nothing was selected, or the speaker's answer has a problem) it has no sentences, and its
    only problem says why. An explanation that reaches the cap is used, and has a problem.
    Raises HEvalError for an unknown prompt.
    """
    prompt, explanations = _layout(writer.prompt), list[Explained]()
    given = [() if picks.problem else claim.in_order(picks.passages) for claim, picks in zip(claims, selections, strict=True)]
    blanks = [Explained(claim, writer.key, selector, some, (), prompt.id) for claim, some in zip(claims, given, strict=True)]
    texts = [explanation_prompt(blank.claim, blank.passages, prompt).text for blank in blanks if blank.selected]
    answers = iter(speaker.answer(texts, tokens) if texts else [])
    for blank, selection in zip(blanks, selections, strict=True):
        if blank.selected:
            explanations.append(_explained(blank, next(answers), tokens))
        else:
            reason = f"No passage was selected: {selection.problem or 'the selection is empty'}."
            explanations.append(dataclasses.replace(blank, problems=(reason,)))
    return explanations


def _explained(blank: Explained, answer: Reply, tokens: int) -> Explained:
    if answer.problem:
        return dataclasses.replace(blank, problems=(f"The model gave no explanation: {answer.problem}.",))
    read = questions.explained(blank.claim, blank.writer, blank.selector, blank.selected, answer.text, prompt=blank.prompt)
    if answer.tokens is not None and answer.tokens >= tokens:
        cut = f"The explanation was cut off after {tokens} tokens."
        return dataclasses.replace(read, problems=(*read.problems, cut))
    return read


def shipped(claim: Claim) -> list[Explained]:
    """Return the explanations that came with a claim, one for each writer, in their order; [] where none did.

    Their writers are the data's own, SHIPPED where it names none; their selector is SHIPPED. Of several by one writer the
    first is taken, and its problems say that there are more.
    """
    by_writer: dict[str, list[Written]] = {}
    for written in claim.written:
        by_writer.setdefault(written.writer or SHIPPED, []).append(written)
    explanations = []
    for name, (first, *more) in by_writer.items():
        text = first.sentences or first.text
        read = questions.explained(claim, name, SHIPPED, first.selected, text, first.prompt, first.sources)
        others = "another explanation" if len(more) == 1 else f"{len(more)} more explanations"
        problem = f"The claim came with {others} by this writer; the first one is used."
        explanations.append(dataclasses.replace(read, problems=(*read.problems, problem)) if more else read)
    return explanations


def _layout(prompt_id: str) -> ClaimLayout:
    """Return the layout of a prompt. Raises HEvalError for an unknown id, and for one that does not ask for an explanation."""
    if prompt_id.startswith("selecting-"):
        raise HEvalError(f"The prompt {prompt_id!r} asks for passages; a writer needs one that asks for an explanation.")
    return layout(prompt_id)
