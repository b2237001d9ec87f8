"""A causal language model as the rest of the program sees it: its facts, and one attribute for each kind of computation."""

from heval_core.lm.changed_backward import ChangedBackward
from heval_core.lm.direct_effects import DirectEffects
from heval_core.lm.facts import ModelFacts
from heval_core.lm.fits import Fits
from heval_core.lm.forward import Forward
from heval_core.lm.generation import Generation
from heval_core.lm.gradients import Gradients
from heval_core.lm.heads import Heads
from heval_core.lm.hidden_attention import HiddenAttention
from heval_core.lm.hooks import Hooked
from heval_core.lm.path_patching import PathPatching
from heval_core.lm.pruning import Pruning
from heval_core.lm.read_out import ReadOut
from heval_core.lm.roll_back import RollBack


class LanguageModel(ModelFacts):
    """A loaded model, made by `loading.load`. Between calls it keeps only facts about the model itself.

    Only inside `pruning.without` is it another model; `pruned` says which heads write nothing then.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.read_out = ReadOut(self)  # from last states to logits
        self.forward = Forward(self, self.read_out)  # passes of the plain model, with kept prefixes
        self.hidden_attention = HiddenAttention(self, self.forward)  # passes in which some positions are not attended to
        self.generation = Generation(self)  # greedy continuations
        self.gradients = Gradients(self, self.forward)  # gradients at the embeddings
        self.changed_backward = ChangedBackward(self)  # gradients under other backward rules
        self.hooked = Hooked(self, self.read_out)  # passes with hooks
        self.heads = Heads(self, self.read_out, self.forward, self.hooked)  # their patterns, values and outputs
        # What heads write towards tokens, past all later layers.
        self.direct_effects = DirectEffects(self, self.read_out, self.forward, self.hooked, self.heads)
        self.roll_back = RollBack(self, self.hooked, self.heads)  # from a layer's positions to the prompt's tokens
        # Passes with one head's output from another prompt, or none.
        self.path_patching = PathPatching(self, self.forward, self.hooked, self.heads)
        self.pruning = Pruning(self, self.hooked)  # the model without some heads, for a while
        self.fits = Fits(self)  # parameters that explainers were fitted with to it
