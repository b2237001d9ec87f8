"""Facts about a loaded model: its size, its tokens, and its prompt style. No pass is run here.

Shapes, in all of `heval_core.lm`: n tokens of a prompt, b sequences, V vocabulary, L layers, H heads, widths d, d_h of a head.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from heval_core.lm.budget import Budget
from heval_core.lm.chat import answers_bare, require_template
from heval_core.lm.control import control_tokens_in, encode_literally
from heval_core.lm.spans import tokenise
from heval_core.prompting.prompts import CHAT, is_chat, says_nothing
from heval_core.records import BASELINE, PAD, HEvalError, Prompt, Span, TokenisedPrompt


@dataclass(eq=False, repr=False)
class ModelFacts:
    """A model in memory with its tokenizer. style: the name of its prompt style. budget: how many tokens one pass may run."""

    key: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    style: str
    revision: str
    template: str
    budget: Budget

    def __post_init__(self) -> None:
        tokenizer, model = self.tokenizer, self.model
        self.device = model.device
        config = model.config.get_text_config()
        self.layers = int(config.num_hidden_layers)
        self.heads_per_layer = int(getattr(config, "num_attention_heads", None) or 0)
        kinds = getattr(config, "layer_types", None) or ()
        # A state-space or linear-attention layer keeps one state, not keys and values that could be cut at a position.
        self.keeps_prefix = self.heads_per_layer > 0 and all(
            kind.endswith(("full_attention", "sliding_attention", "chunked_attention")) for kind in kinds
        )
        self.kv_heads = int(getattr(config, "num_key_value_heads", None) or self.heads_per_layer)
        self.width = int(config.hidden_size)
        self.positions = int(getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length)
        # (layer, head) of the heads that write nothing at the moment; see `pruning`.
        self.pruned: frozenset[tuple[int, int]] = frozenset()
        self.vocabulary = int(model.get_input_embeddings().weight.shape[0])

    def tokenise(self, prompt: Prompt, check_length: bool = True) -> TokenisedPrompt:
        """Tokenise a prompt. Raises HEvalError if it has no token, or with `check_length` more than the model can read."""
        tokenised = tokenise(prompt, self.tokenizer)
        if not tokenised.ids:
            raise HEvalError("The prompt has no tokens.")
        self._known(tokenised.ids)
        if check_length and len(tokenised.ids) > self.positions:
            raise HEvalError(f"The prompt has {len(tokenised.ids)} tokens; {self.key} reads at most {self.positions}.")
        return tokenised

    @contextmanager
    def asked_in(self, template: str | None) -> Iterator[None]:
        """Use another template for a while (see `heval_core.prompting.prompts`); None for the model's own.

        Raises HEvalError for a chat where the tokenizer has no chat template.
        """
        before = self.template
        if template and is_chat(template):
            require_template(self.tokenizer)
        self.template = template or before
        try:
            with torch.inference_mode(False):  # a notebook's, under which no gradient can be had
                yield
        finally:
            self.template = before

    def twin(self) -> PreTrainedModel:
        """Return the model once more, with the same tensors: it costs no memory, and its modules and configuration may be
        changed.
        """
        return copy.deepcopy(self.model, {id(tensor): tensor for tensor in (*self.model.parameters(), *self.model.buffers())})

    def ids(self, ids: tuple[int, ...]) -> torch.Tensor:
        """Return ids, (1, n), on the model's device."""
        return torch.tensor([ids], device=self.device)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens, without special tokens."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def encode(self, text: str, template: Sequence[Span] = ()) -> tuple[int, ...]:
        """Return the tokens of a text, without special tokens but where a chat template wrote them."""
        if control_tokens_in(text, self.tokenizer, template):
            return self._known(encode_literally(text, self.tokenizer, template, adds_special=False)[0])
        return self._known(self.tokenizer(text, add_special_tokens=False, verbose=False).input_ids)

    def _known(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the tokens themselves. Raises HEvalError for one that was added to the tokenizer, and not to the model."""
        if (last := max(ids, default=0)) >= self.vocabulary:
            raise HEvalError(
                f"The tokenizer of {self.key} has a token {self.tokenizer.convert_ids_to_tokens(last)!r} that the model does "
                "not know; leave it out of the text, or give the model a row: resize_token_embeddings(len(tokenizer))."
            )
        return tuple(ids)

    def encode_after(self, before: str, text: str, template: Sequence[Span] = ()) -> tuple[int, ...]:
        """Encode a text behind another one, of which a chat template wrote a part; by itself where the two share a token."""
        first, both = self.encode(before, template), self.encode(before + text, template)
        return both[len(first) :] if both[: len(first)] == first else self.encode(text)

    @property
    def pad_id(self) -> int:
        """The tokenizer's pad if defined, else its end of text."""
        for token_id in (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id):
            if token_id is not None:
                return int(token_id)
        raise HEvalError(f"The tokenizer of {self.key} has neither a pad nor an end-of-text token.")

    def baseline(self, chosen: str = BASELINE) -> int:
        """Return the token that replaces an ablated one: of a word the first token after a space, `pad`, or a token's number.

        Raises HEvalError for a number outside the vocabulary, and for a word without a token.
        """
        if chosen == PAD:
            return self.pad_id
        if chosen.isdecimal():
            if int(chosen) >= self.vocabulary:
                raise HEvalError(f"{self.key} has no token {chosen}; its vocabulary ends at {self.vocabulary - 1}.")
            return int(chosen)
        visible = [token_id for token_id in self.encode(f" {chosen.strip()}") if self.tokenizer.decode([token_id]).strip()]
        if not visible:
            raise HEvalError(f"{chosen!r} cannot replace a token of {self.key}; name a word, {PAD}, or a token's number.")
        return int(visible[0])

    def first_tokens(self, answer: str) -> tuple[int, ...]:
        """Return the ids an answer may begin with.

        The first ids of " answer" and "answer", and of both capitalised if the answer starts in lower case. In a chat the
        bare form may come first (`chat.answers_bare`). Tokens that are only white space or punctuation are skipped: under
        SentencePiece every answer would begin with the same one, and a ":" before an answer tells nothing of it. None are left
        of an answer that is only punctuation.
        """
        return tuple(dict.fromkeys(ids[0] for ids in self.spellings(answer)))

    def spellings(self, answer: str) -> tuple[tuple[int, ...], ...]:
        """Return the ids of an answer in each form that `first_tokens` names, the likeliest form first; some may be equal."""
        answer = answer.strip()
        forms = [answer, answer[:1].upper() + answer[1:]] if answer[:1].islower() else [answer]
        spaces = ("", " ") if self.template == CHAT and answers_bare(self.tokenizer) else (" ", "")
        spelled = []
        for text in (f"{space}{form}" for form in forms for space in spaces):
            ids = self.encode(text)
            first = next((index for index, token in enumerate(ids) if not says_nothing(self.tokenizer.decode([token]))), None)
            if first is not None:
                spelled.append(ids[first:])
        return tuple(spelled)
