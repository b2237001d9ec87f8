"""A language model in memory as a speaker: any causal model that `heval_core.lm.loading` loads, decoded greedily."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heval_core.citations.speaker import Answer, storable
from heval_core.records import Prompt, Span

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel


class LocalSpeaker:
    """lm: asked through its chat template if its tokenizer has one, else with the prompt as it is, which it continues."""

    def __init__(self, lm: LanguageModel):
        from heval_core.lm.chat import has_template

        self._lm = lm
        self.chat = has_template(lm.tokenizer)

    @property
    def key(self) -> str:
        return self._lm.key

    @property
    def identity(self) -> str:
        dtype = str(self._lm.model.dtype).removeprefix("torch.")
        return f"model {self.key}@{self._lm.revision} {dtype} {'chat' if self.chat else 'plain'} greedy"

    def answer(self, prompts: Sequence[str], tokens: int) -> list[Answer]:
        """One answer per prompt; prompts of similar length run together, within the model's budget of tokens.

        A prompt that fills the model's positions gets a problem, and so does an answer that the last position cuts off, and a
        prompt that the device's memory does not hold.
        """
        answers: list[Answer] = [Answer("")] * len(prompts)
        askable: dict[int, tuple[int, ...]] = {}
        for place, prompt in enumerate(prompts):
            try:
                askable[place] = self._ids(storable(prompt))
            except Exception as error:  # a template and a tokenizer may raise anything
                answers[place] = _failed(error)
        for place, answer in zip(askable, self._said(list(askable.values()), tokens), strict=True):
            answers[place] = answer
        return answers

    def _said(self, prompts: list[tuple[int, ...]], tokens: int) -> list[Answer]:
        generation = self._lm.generation
        try:
            written = generation.greedy(prompts, tokens)
        except Exception as error:  # not enough memory for one of them, usually: the others are asked without it
            if len(prompts) == 1:
                return [_failed(error)]
            return [answer for ids in prompts for answer in self._said([ids], tokens)]
        return [self._answer(ids, own, tokens) for ids, own in zip(prompts, written, strict=True)]

    def _answer(self, prompt: tuple[int, ...], written: tuple[int, ...], tokens: int) -> Answer:
        room = self._lm.positions - len(prompt)
        if room <= 0:
            return Answer("", problem=f"the prompt has {len(prompt)} tokens; {self.key} reads at most {self._lm.positions}")
        ended = bool(written) and written[-1] in self._lm.generation.end_ids
        if len(written) == room < tokens and not ended:
            return Answer(
                "",
                len(written),
                f"the answer was cut off after {room} tokens: with the prompt they are the {self._lm.positions} that "
                f"{self.key} reads",
            )
        # Without the end of text: only an answer that the cap cut off has as many tokens as the cap.
        return Answer.said(self._lm.decode(list(written)), len(written) - ended)

    def _ids(self, prompt: str) -> tuple[int, ...]:
        """Raises HEvalError for a prompt without tokens, and for one that the chat template does not take."""
        asked = Prompt(prompt, (), Span(0, len(prompt)), (), chat=self.chat)
        return self._lm.tokenise(asked, check_length=False).ids


def _failed(error: Exception) -> Answer:
    from heval_core.lm.memory import first_line

    return Answer("", problem=first_line(error))
