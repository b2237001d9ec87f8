"""A causal language model as the rest of the program sees it: its facts, and one attribute for each kind of computation."""

from functools import cached_property

from heval_core.lm.ablation import Ablation
from heval_core.lm.changed_backward import ChangedBackward
from heval_core.lm.direct_effects import DirectEffects
from heval_core.lm.facts import ModelFacts
from heval_core.lm.fits import Fits
from heval_core.lm.forward import Forward
from heval_core.lm.generation import Generation
from heval_core.lm.gradients import Gradients
from heval_core.lm.heads import Heads
from heval_core.lm.hooks import Hooked
from heval_core.lm.path_patching import PathPatching
from heval_core.lm.pruning import Pruning
from heval_core.lm.read_out import ReadOut
from heval_core.lm.roll_back import RollBack


class LanguageModel(ModelFacts):
    """A loaded model, made by `loading.load`. Between calls it keeps only facts about the model itself.

    Only inside `pruning.without` is it another model; `pruned` says which heads write nothing then.
    """

    @cached_property
    def read_out(self) -> ReadOut:
        """From last states to logits."""
        return ReadOut(self)

    @cached_property
    def forward(self) -> Forward:
        """Passes of the plain model, with kept prefixes."""
        return Forward(self, self.read_out)

    @cached_property
    def generation(self) -> Generation:
        """Greedy continuations."""
        return Generation(self)

    @cached_property
    def gradients(self) -> Gradients:
        """Gradients at the embeddings."""
        return Gradients(self, self.forward)

    @cached_property
    def changed_backward(self) -> ChangedBackward:
        """Gradients under other backward rules."""
        return ChangedBackward(self)

    @cached_property
    def hooked(self) -> Hooked:
        """Passes with hooks."""
        return Hooked(self, self.read_out)

    @cached_property
    def heads(self) -> Heads:
        """Patterns, values, outputs and output matrices of heads."""
        return Heads(self, self.read_out, self.forward, self.hooked)

    @cached_property
    def direct_effects(self) -> DirectEffects:
        """What heads write towards tokens, past all later layers."""
        return DirectEffects(self, self.read_out, self.forward, self.hooked, self.heads)

    @cached_property
    def roll_back(self) -> RollBack:
        """From the positions that a layer reads to the tokens of the prompt."""
        return RollBack(self, self.hooked, self.heads)

    @cached_property
    def ablation(self) -> Ablation:
        """Passes without some tokens or heads."""
        return Ablation(self, self.forward, self.hooked)

    @cached_property
    def path_patching(self) -> PathPatching:
        """Passes with one head's output from another prompt."""
        return PathPatching(self, self.forward, self.hooked, self.heads)

    @cached_property
    def pruning(self) -> Pruning:
        """The model without some heads, for a while."""
        return Pruning(self, self.hooked)

    @cached_property
    def fits(self) -> Fits:
        """Parameters that explainers were fitted with to it."""
        return Fits(self)
