"""A causal language model as everything above it sees it: its facts, and one room for each thing that can be asked of it."""

from __future__ import annotations

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from heval_core.lm.ablation import Ablation
from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward
from heval_core.lm.generation import Generation
from heval_core.lm.gradients import Gradients
from heval_core.lm.heads import Heads
from heval_core.lm.hooks import Hooked
from heval_core.lm.memory import Budget
from heval_core.lm.read_out import ReadOut


class LanguageModel(ModelFacts):
    """A loaded model, made by `loading.load`. Nothing but what was found out about the model is kept between calls."""

    def __init__(
        self,
        key: str,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        style: str,
        revision: str,
        template: str,
        budget: Budget,
    ):
        super().__init__(key, model, tokenizer, style, revision, template, budget)
        self.read_out = ReadOut(self)
        self.forward = Forward(self, self.read_out)
        self.generation = Generation(self)
        self.gradients = Gradients(self, self.forward)
        hooked = Hooked(self, self.read_out)
        self.heads = Heads(self, self.read_out, self.forward, hooked)
        self.ablation = Ablation(self, self.forward, hooked)
