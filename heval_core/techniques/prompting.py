"""Prompting: an instruction in front of the documents says how to treat them; the best of twelve is used.

Formula: Regular's prompt after one of the twelve instructions for the dataset's family (question answering, nq, druid), the
one with the highest BCU on the development questions, averaged over kinds of context. Without documents it asks the same.
Reference: CUB, arXiv 2505.16518 ("Prompting").
Departure: the prompts are ours (`shared/instructions.py`): from plain ones, over those that say to use only the context, to
those that say to use it only if it is relevant. Of several that are best, all are stored as ties; the first says least.
Options: `prompt`, the id of one prompt, such as qa-03; then nothing is searched.
Cost: one pass of a prompt that is longer by the instruction; the search takes twelve for each development question.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from heval_core.prompting.prompts import instructed
from heval_core.records import HEvalError, Instance, Prompt
from heval_core.techniques.shared.base import NOTHING, Base, Development, FinalPrompt, LanguageModel, Setting
from heval_core.techniques.shared.instructions import PROMPTS, prompt_ids


@dataclass(frozen=True)
class Prompting(Base):
    prompt: str | None = None

    key = "prompting"
    title = "Prompting"
    family = "prompt"
    order = 2
    needs = ("instructions",)
    preparation = "tuned"
    reference = "CUB (arXiv 2505.16518)"

    @property
    def preparing(self) -> float:
        """Return one for each of twelve instructions, unless one is named."""
        return 0.0 if self.prompt else 12.0

    def check(self) -> None:
        """Raise HEvalError for an id that no prompt has."""
        if self.prompt is not None and self.prompt not in PROMPTS:
            raise HEvalError(f"prompting has no prompt {self.prompt!r}; there are: {', '.join(PROMPTS)}.")

    def settings(self, development: Development) -> Sequence[Setting]:
        if self.prompt is not None:
            return (NOTHING,)
        return [Setting(json.dumps({"prompt": key})) for key in prompt_ids(development.dataset)]

    def prompts(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[FinalPrompt]:
        instruction = self._instruction(setting)
        return [FinalPrompt(instructed(final.prompt, instruction)) for final in super().prompts(lm, instances, setting)]

    def prompts_alone(self, lm: LanguageModel, instances: Sequence[Instance], setting: Setting) -> list[Prompt]:
        instruction = self._instruction(setting)
        return [instructed(prompt, instruction) for prompt in super().prompts_alone(lm, instances, setting)]

    def _instruction(self, setting: Setting) -> str:
        chosen = json.loads(setting.text)["prompt"] if setting.text else self.prompt
        if chosen is None:
            raise HEvalError("prompting has no prompt to ask with: search for one, or name it, as in prompting(prompt=qa-03).")
        return PROMPTS[chosen]


PLUGIN = Prompting()
