"""Published code beside ours, as it is usually called, prompt by prompt: captum, inseq, LXT and FlashTrace, where installed.

Each gives a score for every token of a prompt, or None where it cannot. LXT changes the library's classes for good, so it runs
in a process of its own, and it imports names that transformers no longer has and torchvision, which nothing here needs.
"""

import json
import subprocess
import sys
import types
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import torch

from benchmarks.timing import Taken, taken
from heval_core.lm.model import LanguageModel
from heval_core.records import HEvalError, TokenisedPrompt

# (prompt, the answer's first token) ▶ (n,) scores, or fewer: then they are of the first ranked tokens.
Theirs = Callable[[TokenisedPrompt, int], np.ndarray]
# captum's feature ablation runs so many positions, and its time is scaled: each costs the same.
SAMPLED = 16


def captum_ablation(lm: LanguageModel) -> Theirs:
    """Ablate the first ranked tokens by captum: these are features of their own, and all others are one."""
    from captum.attr import FeatureAblation

    def scores(prompt: TokenisedPrompt, target: int) -> np.ndarray:
        ids, first = torch.tensor([prompt.ids], device=lm.device), prompt.ranked.start
        mask = (torch.arange(len(prompt.ids), device=lm.device) - first).clamp(min=-1, max=SAMPLED)[None]
        mask[mask < 0] = SAMPLED
        engine = FeatureAblation(lambda rows: lm.model(rows).logits[:, -1].float().log_softmax(-1)[:, target])
        result = engine.attribute(ids, baselines=lm.baseline(), feature_mask=mask)
        return np.array(result[0, first : first + SAMPLED].float().cpu())

    return scores


def captum_scale(prompt: TokenisedPrompt) -> float:
    """Return how many times longer all ranked tokens take: one evaluation each, and one of the prompt as it is."""
    return (len(prompt.ranked) + 1) / (SAMPLED + 2)


def captum_gradients(lm: LanguageModel) -> Theirs:
    from captum.attr import LayerIntegratedGradients

    def scores(prompt: TokenisedPrompt, target: int) -> np.ndarray:
        ids = torch.tensor([prompt.ids], device=lm.device)
        engine = LayerIntegratedGradients(lambda rows: lm.model(rows).logits[:, -1, target], lm.gradients.embedding_layer)
        replaced = ids.clone()
        replaced[:, prompt.ranked.start : prompt.ranked.stop] = lm.baseline()
        with torch.enable_grad():
            result = engine.attribute(ids, replaced, n_steps=10, method="riemann_right")
        return np.array(result[0].sum(-1).detach().float().cpu())

    return scores


def text_of(lm: LanguageModel, prompt: TokenisedPrompt) -> str:
    """Return the text that others read. Raises HEvalError where they would not read the tokens that ours are about."""
    if tuple(lm.tokenizer(prompt.text).input_ids) != prompt.ids:
        raise HEvalError("It reads text, and the prompt's text has other tokens when it is read again.")
    return prompt.text


def inseq_of(method: str, lm: LanguageModel) -> Theirs:
    """Return a method of inseq's."""
    import inseq

    config = lm.model.config  # inseq asks it for tokens that models of packages leave out
    config.bos_token_id, config.eos_token_id = lm.tokenizer.bos_token_id, lm.tokenizer.eos_token_id
    model = inseq.load_model(lm.model, method, tokenizer=lm.tokenizer)

    def scores(prompt: TokenisedPrompt, target: int) -> np.ndarray:
        text, options = text_of(lm, prompt), {"show_progress": False, "pretty_progress": False}
        result = model.attribute(text, text + lm.decode([target]), **options).sequence_attributions[0].target_attributions
        result = result if result.ndim == 2 else result.sum(-1)
        return np.array(result[: len(prompt.ids), -1].float())

    return scores


def flashtrace(lm: LanguageModel) -> Theirs:
    from flashtrace import FlashTrace

    def scores(prompt: TokenisedPrompt, target: int) -> np.ndarray:
        before = lm.model.config._attn_implementation
        lm.model.set_attn_implementation("eager")  # it reads the attention's matrices
        try:
            tracer = FlashTrace(lm.model, lm.tokenizer)
            options = {"target": lm.decode([target]), "output_span": (0, 0), "hops": 1}
            result = tracer.trace(prompt=text_of(lm, prompt), **options).scores
            if len(result) != len(prompt.ids):
                raise HEvalError(f"It has {len(result)} scores for the {len(prompt.ids)} tokens of the prompt.")
            return np.array(result)
        finally:
            lm.model.set_attn_implementation(before)

    return scores


THEIRS: dict[str, Callable[[LanguageModel], Theirs]] = {
    "captum FeatureAblation": captum_ablation,
    "captum IntegratedGradients": captum_gradients,
    "inseq occlusion": partial(inseq_of, "occlusion"),
    "inseq input x gradient": partial(inseq_of, "input_x_gradient"),
    "FlashTrace": flashtrace,
}
# Those that run the whole prompt again for each of its tokens.
SLOW = ("captum FeatureAblation", "inseq occlusion")
# What each is compared with: what it computes too.
SAME_AS = {"captum FeatureAblation": "fa(target=logprob)", "captum IntegratedGradients": "ig", "LXT": "attnlrp"}
LXT = "LXT"


def here() -> list[str]:
    """List those that are installed."""
    return [name for name in THEIRS if find_spec(name.split()[0].lower())]


def run_lxt(name: str, prompts: list[TokenisedPrompt], targets: list[int]) -> list[Taken] | str:
    """Run LXT's AttnLRP on each prompt; or return why it gives nothing."""
    if not find_spec("lxt"):
        return "not installed"
    code = "import json, sys; from benchmarks.others import lxt_scores; print(json.dumps(lxt_scores(*json.load(sys.stdin))))"
    given = json.dumps([name, [prompt.ids for prompt in prompts], targets])
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    result = json.loads(done.stdout.strip().splitlines()[-1])
    return [Taken(np.array(scores), seconds, gigabytes) for scores, seconds, gigabytes in result]


class _Named(dict[str, Any]):
    """LXT puts a plain dictionary where transformers now asks for more."""

    def get_interface(self, name: str, default: Any) -> Any:
        return self.get(name, default)


def lxt_scores(name: str, prompts: list[list[int]], targets: list[int]) -> list[Taken]:
    import transformers.pytorch_utils as moved

    for missing in ("find_pruneable_heads_and_indices", "prune_linear_layer"):
        vars(moved).setdefault(missing, None)
    vision = types.ModuleType("torchvision")
    sys.modules |= {"torchvision": vision, "torchvision.models": MagicMock()}
    from lxt.efficient import monkey_patch

    from heval_core.lm.loading import load

    lm = load(name, "cpu", "float32")
    library = sys.modules[type(lm.model).__module__]
    monkey_patch(library)
    vars(library)["ALL_ATTENTION_FUNCTIONS"] = _Named(vars(library)["ALL_ATTENTION_FUNCTIONS"])

    def scores(ids: list[int], target: int) -> list[float]:
        embedded = lm.gradients.embedding_layer(torch.tensor([ids])).detach().requires_grad_()
        with torch.enable_grad():
            lm.model(inputs_embeds=embedded).logits[0, -1, target].backward()
        gradient: Any = embedded.grad
        return [float(value) for value in (gradient * embedded)[0].sum(-1).detach()]

    return [taken(partial(scores, *pair), lm.device) for pair in zip(prompts, targets, strict=True)]
