"""CFB, context-fidelity boosting: tokens that stand in the context get a bonus on their logits.

Formula: softmax(z_c + D w). w is 1 for the tokens of the documents, 0 for all others. D is a constant d (`mode=static`), or
d_min + (d_max - d_min) JSD, with JSD the Jensen-Shannon divergence of softmax(z_c) and softmax(z_0), natural logarithm, from
0 to ln 2 (`divergence`). With `mode=tokens` D is the same, and w_t = r_t / mean of r over the documents' different tokens;
r_t = .6 a_t + .4 s_t, where a_t sums the last layer's attention, averaged over its heads, from the last position to all
mentions of t in the documents, and s_t = (1 + mean cosine of t's embedding with those of the documents' tokens) / 2.
Of equal scores the token with the lowest id is the answer, as under every technique. D = 0 is Regular.
Reference: Zhang et al. 2026, arXiv 2604.22335; its formulas as others cite them, and its published code. Not among CUB's.
Departure: the paper itself could not be fetched. d = 5 and d from 1 to 10 are its values; here d, d_min and d_max are
searched, by the mean BCU over kinds of context, from Regular outwards. Its code takes another softmax of the attention; here
a_t is the attention itself, as in the formula. It boosts while it writes on; here the next token alone. A token gets its bonus
in the spelling that the documents have. Without documents nothing is boosted.
Options: `mode`; `low` and `high`, d_min and d_max: with them nothing is searched. `static` needs them equal.
Cost: static one pass, divergence two, with the documents and without; tokens one more over the last token, to read its heads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from heval_core.records import Cost, HEvalError, TokenisedPrompt
from heval_core.techniques.shared.base import NOTHING, Base, Development, Looked, Setting, Tensor, divergence, on_arrays

if TYPE_CHECKING:
    from heval_core.lm.clean_pass import CleanPass

# What each mode is called, and its passes for an answer.
MODES = {"static": ("CFB", 1.0), "divergence": ("CFB by divergence", 2.0), "tokens": ("CFB by token", 3.0)}
CONSTANTS = (0.0, 1.0, 2.0, 5.0, 10.0)
LOWS, HIGHS = (0.0, 1.0, 2.0), (5.0, 10.0, 20.0)
# Shares of attention and of semantic similarity.
ATTENTION, SIMILARITY = 0.6, 0.4


@on_arrays
def cfb(z_c: Tensor, z_0: Tensor, weights: Any, low: float = 5.0, high: float = 5.0) -> Tensor:
    """Combine logits with context and without, as CFB does.

    Args:
        z_c: (…, V) logits with context.
        z_0: (…, V) logits without.
        weights: (…, V) shares of the bonus: 1 for a token of the context, 0 for any other.
        low: d_min, the bonus where the two distributions agree, from 0.
        high: d_max, from d_min; where it equals d_min, the bonus is a constant.

    Returns:
        (…, V) scores, whose softmax is the answer's distribution.

    Raises:
        HEvalError: for low or high out of range.
    """
    import torch

    Cfb("divergence", low, high).check()
    bonus = low + (high - low) * divergence(z_c, z_0)
    return z_c + bonus * torch.as_tensor(weights, dtype=z_c.dtype, device=z_c.device)


@dataclass(frozen=True)
class Cfb(Base):
    mode: str = "static"
    low: float | None = None
    high: float | None = None

    key = "cfb"
    family = "decoding"
    order = 10
    preparation = "tuned"
    reference = "Zhang et al. 2026 (arXiv 2604.22335)"

    @property
    def title(self) -> str:
        ends = dict.fromkeys(f"{end:g}" for end in (self.low, self.high) if end is not None)
        return ", ".join(filter(None, (MODES[self.mode][0], " to ".join(ends))))

    @property
    def passes(self) -> float:
        return MODES[self.mode][1]

    @property
    def needs(self) -> tuple[str, ...]:
        return ("softmax attention", "heads") if self.mode == "tokens" else ()

    def check(self) -> None:
        """Raise HEvalError for an unknown mode, and for a bonus out of range."""
        if self.mode not in MODES:
            raise HEvalError(f"cfb has no mode {self.mode!r}; there are: {', '.join(MODES)}.")
        if (self.low is None) is not (self.high is None):
            raise HEvalError("cfb needs both low and high, or neither, which searches them.")
        if self.low is not None and self.high is not None and not 0 <= self.low <= self.high:
            raise HEvalError(f"cfb needs a low of at least 0 and a high of at least low, not {self.low} and {self.high}.")
        if self.mode == "static" and self.low != self.high:
            raise HEvalError("cfb(mode=static) adds a constant; give low and high the same value.")

    @property
    def preparing(self) -> float:
        """Return both passes, unless the bonus is given."""
        return 0.0 if self.low is not None else super().preparing

    def settings(self, development: Development) -> Sequence[Setting]:
        """List what the search tries, from Regular outwards, so that of several best settings the mildest is used."""
        if self.low is not None:
            return (NOTHING,)
        if self.mode == "static":
            return [Setting(json.dumps({"d": constant})) for constant in CONSTANTS]
        pairs = sorted([(0.0, 0.0), *product(LOWS, HIGHS)], key=lambda pair: (sum(pair), pair))
        return [Setting(json.dumps({"d_min": low, "d_max": high})) for low, high in pairs]

    def looking(self, tokens: float) -> Cost:
        return Cost(1, 1) if self.mode == "tokens" else Cost(0, 0)

    def seeing(self, clean: CleanPass, settings: Sequence[Setting]) -> Looked:
        weights = weights_of(clean, self.mode == "tokens")
        return Looked(lambda z_c, z_0, setting: cfb(z_c, z_0, weights, *self._bonus(setting)))

    def _bonus(self, setting: Setting) -> tuple[float | None, float | None]:
        values = json.loads(setting.text) if setting.text else {"d_min": self.low, "d_max": self.high}
        return values.get("d_min", values.get("d")), values.get("d_max", values.get("d"))


def weights_of(clean: CleanPass, by_token: bool) -> Tensor:
    """Return each token's share of the bonus: (B, V) float32, 0 for tokens that no document of the prompt has.

    by_token: by attention and similarity, 1 on average; else 1 for each.
    """
    import torch

    weights = torch.zeros_like(clean.logits)
    attention = clean.heads.attention[:, -1].mean(1) if by_token else None
    for row, prompt in enumerate(clean.prompts):
        positions = _in_documents(prompt)
        tokens, occurrences = clean.ids[row, positions].unique(return_inverse=True)
        if attention is None or not positions:
            weights[row, tokens] = 1
            continue
        to_mentions = attention.new_zeros(len(tokens)).index_add(0, occurrences, attention[row, positions])
        with torch.no_grad():
            embedded = torch.nn.functional.normalize(clean.lm.model.get_input_embeddings()(tokens).float(), dim=-1)
        alike = (1 + embedded @ embedded[occurrences].mean(0)) / 2
        relevance = ATTENTION * to_mentions + SIMILARITY * alike
        weights[row, tokens] = (relevance / relevance.mean()).to(weights)
    return weights


def _in_documents(prompt: TokenisedPrompt) -> list[int]:
    return [position for span in prompt.documents for position in range(span.start, span.end)]


PLUGIN = Cfb()
