"""Every explainer word by word on a plain Hugging Face model: nothing of heval_core is used, but for its formulas in words.

And the table of architectures: tiny random models, from their configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as hf

WORDS = 2400
IDS = {"vocab_size": WORDS, "bos_token_id": 0, "eos_token_id": 0}
SIZE = {**IDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
PLAIN = {**SIZE, "intermediate_size": 48, "initializer_range": 0.4}
GROUPED = {**PLAIN, "num_key_value_heads": 2}
PADDED = {**GROUPED, "pad_token_id": 0}
GPT = {**IDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512, "initializer_range": 0.4}
FALCON = {**SIZE, "initializer_range": 0.4}
OPT = {**SIZE, "ffn_dim": 48, "init_std": 0.4, "max_position_embeddings": 512, "pad_token_id": 0}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip
EYES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "patch_size": 14}
QUARTER = {"partial_rotary_factor": 0.25}
LOCAL = {"attention_types": [[["global", "local"], 1]], "num_layers": 2, "num_heads": 4, "window_size": 16}

CONFIGURATIONS: dict[str, Callable[[], Any]] = {
    "bloom": lambda: hf.BloomConfig(**IDS, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.4),
    "cohere": lambda: hf.CohereConfig(**PADDED),
    "falcon-alibi": lambda: hf.FalconConfig(**FALCON, alibi=True, multi_query=False),
    "falcon-multi-query": lambda: hf.FalconConfig(**FALCON, alibi=False, multi_query=True),
    "falcon-new": lambda: hf.FalconConfig(**FALCON, alibi=False, num_kv_heads=2, new_decoder_architecture=True),
    "gemma": lambda: hf.GemmaConfig(**PADDED, head_dim=8),
    "gemma2": lambda: hf.Gemma2Config(**PADDED, head_dim=8, sliding_window=8),
    "gemma3": lambda: hf.Gemma3TextConfig(**PADDED, head_dim=8, sliding_window=8),
    # Every Gemma 3 from 4B up is of this class: it sees pictures too.
    "gemma3-multimodal": lambda: hf.Gemma3Config(
        text_config={**PADDED, "head_dim": 8, "sliding_window": 8}, vision_config=EYES
    ),
    "gpt-bigcode": lambda: hf.GPTBigCodeConfig(**GPT),
    "gptj": lambda: hf.GPTJConfig(**GPT, rotary_dim=4),
    "gpt-neo": lambda: hf.GPTNeoConfig(**IDS, **LOCAL, hidden_size=32, max_position_embeddings=512, initializer_range=0.4),
    "granite": lambda: hf.GraniteConfig(
        **GROUPED, attention_multiplier=0.2, residual_multiplier=0.6, embedding_multiplier=3.0, logits_scaling=2.0
    ),
    "llama-gqa": lambda: hf.LlamaConfig(**GROUPED),
    "llama4": lambda: hf.Llama4TextConfig(
        **PADDED, head_dim=8, intermediate_size_mlp=48, num_local_experts=2, num_experts_per_tok=1, attention_chunk_size=8
    ),
    "llama-rope-scaling": lambda: hf.LlamaConfig(**GROUPED, rope_parameters=LLAMA3),
    "mistral": lambda: hf.MistralConfig(**GROUPED, sliding_window=8),
    "mistral-wide-heads": lambda: hf.MistralConfig(**GROUPED, head_dim=16, sliding_window=None),
    "mixtral": lambda: hf.MixtralConfig(**GROUPED, num_local_experts=4, num_experts_per_tok=2),
    "olmo": lambda: hf.OlmoConfig(**PADDED),
    "olmo2": lambda: hf.Olmo2Config(**PADDED),
    "opt": lambda: hf.OPTConfig(**OPT, word_embed_proj_dim=32),
    "opt-narrow": lambda: hf.OPTConfig(**OPT, word_embed_proj_dim=16),
    "phi": lambda: hf.PhiConfig(**PLAIN),
    "phi3": lambda: hf.Phi3Config(**PADDED),
    "qwen2": lambda: hf.Qwen2Config(**GROUPED),
    "qwen3": lambda: hf.Qwen3Config(**GROUPED, head_dim=8),
    "stablelm": lambda: hf.StableLmConfig(**GROUPED),
    "starcoder2": lambda: hf.Starcoder2Config(**GROUPED),
    "gpt2": lambda: hf.GPT2Config(**GPT),
    "gpt_neox": lambda: hf.GPTNeoXConfig(**PLAIN, rope_parameters={"rope_type": "default", "rope_theta": 1e4, **QUARTER}),
    "gpt_neox-sequential": lambda: hf.GPTNeoXConfig(**PLAIN, use_parallel_residual=False),
}

# Without softmax attention; and with room for long prompts.
OTHERS: dict[str, Callable[[], Any]] = {
    "mamba": lambda: hf.MambaConfig(**IDS, hidden_size=32, num_hidden_layers=2),
    "long": lambda: hf.GPT2Config(**GPT | {"n_embd": 64, "n_positions": 8192, "initializer_range": 0.2}),
}

PROJECTIONS = ("attn.c_proj", "attention.dense", "self_attention.dense", "self_attn.dense", "self_attn.o_proj")
PROJECTIONS += ("attn.out_proj", "attention.out_proj", "self_attn.out_proj")
FINAL_NORMS = ("ln_f", "norm", "final_layer_norm", "final_layernorm")


def factors(model: Any, seen: list[torch.Tensor]) -> list[Any]:
    """Hooks that note, for each layer in turn, (B, n, d) by what a norm behind attention multiplies what attention wrote."""
    names = [name for name, _ in model.named_modules() if name.endswith("post_attention_layernorm")]
    if not any(name.endswith("post_feedforward_layernorm") for name, _ in model.named_modules()):
        names = []  # a Llama's norm of this name stands before its MLP
    return [
        model.get_submodule(name).register_forward_hook(lambda _, inputs, output: seen.append(output / inputs[0]))
        for name in names
    ]


def saved(kind: str, tokenizer: Any, folder: Any) -> str:
    """A random model of a kind, with biases and norms that are not what they begin as, beside a tokenizer."""
    torch.manual_seed(3)
    model = hf.AutoModelForCausalLM.from_config((CONFIGURATIONS | OTHERS)[kind]())
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(weight, std=0.2)
        elif weight.ndim == 1:
            weight.data.mul_(torch.empty_like(weight).uniform_(0.7, 1.4))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


class Plain:
    """The same weights by transformers alone: as they are usually run, and with eager attention, which shows its rows."""

    def __init__(self, folder: str):
        self.usual = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.eager = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        config = self.eager.config.get_text_config()
        self.heads = config.num_attention_heads

    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return self.usual(ids, logits_to_keep=1).logits[:, -1]

    def fa(self, ids: torch.Tensor, target: int, baseline: int, places: list[int]) -> torch.Tensor:
        rows = ids.repeat(len(places), 1)
        for row, place in enumerate(places):
            rows[row, place] = baseline
        return (self.logits(ids) - self.logits(rows))[:, target]

    def ig(self, ids: torch.Tensor, target: int, baseline: int, ranked: range, steps: int = 10) -> torch.Tensor:
        embed, ablated = self.usual.get_input_embeddings(), ids.clone()
        ablated[:, ranked.start : ranked.stop] = baseline
        inputs, start = embed(ids).detach(), embed(ablated).detach()
        gradients = torch.zeros_like(inputs)
        for k in range(1, steps + 1):
            point = (start + k / steps * (inputs - start)).requires_grad_()
            (gradient,) = torch.autograd.grad(self.usual(inputs_embeds=point).logits[0, -1, target], point)
            gradients += gradient
        return ((inputs - start) * gradients / steps).sum(-1)[0]

    @torch.no_grad()
    def looked_into(self, ids: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]:
        """Per layer the last query's attention (H, n) and what each head adds (H, d); the stream before the final norm."""
        seen: dict[str, torch.Tensor] = {}
        projections = [(n, m) for n, m in self.eager.named_modules() if n.endswith(PROJECTIONS) and "vision" not in n]
        norm = next(m for n, m in self.eager.named_modules() if n.count(".") <= 2 and n.split(".")[-1] in FINAL_NORMS)
        handles = [
            module.register_forward_pre_hook(lambda _, inputs, name=name: seen.__setitem__(name, inputs[0]))
            for name, module in (*projections, ("final", norm))
        ]
        multiplied: list[torch.Tensor] = []
        handles += factors(self.eager, multiplied)
        attention = self.eager(ids, output_attentions=True).attentions
        for handle in handles:
            handle.remove()
        written = []
        for layer, (name, module) in enumerate(projections):
            weight = module.weight if type(module).__name__ == "Conv1D" else module.weight.T  # (in, out)
            z = seen[name].reshape(ids.shape[1], self.heads, -1)[-1]
            by_head = torch.einsum("hi,hio->ho", z, weight.view(self.heads, -1, weight.shape[-1]))
            by_head *= getattr(self.eager.config, "residual_multiplier", 1)
            written.append(by_head * multiplied[layer][0, -1] if multiplied else by_head)
        return [rows[0, :, -1] for rows in attention], written, seen["final"][0, -1]

    @torch.no_grad()
    def attn(self, ids: torch.Tensor, target: int) -> tuple[int, torch.Tensor]:
        attention, _, stream = self.looked_into(ids)
        row = self.eager.get_output_embeddings().weight[target]
        head = int((stream * row).view(self.heads, -1).sum(-1).argmax())
        return head, attention[-1][head]

    @torch.no_grad()
    def mechlight(self, ids: torch.Tensor, target: int, foil: int) -> tuple[torch.Tensor, torch.Tensor]:
        """(L, H) strengths, and the attention of the strongest head."""
        attention, written, _ = self.looked_into(ids)
        table = self.eager.get_output_embeddings().weight
        strengths = torch.stack([own @ (table[target] - table[foil]) for own in written])
        layer, head = divmod(int(strengths.argmax()), self.heads)
        return strengths, attention[layer][head]
