"""Models that say whether a hypothesis follows from a premise: sequence classifiers with an entailment label, and TRUE's
seq2seq models, which answer 1. Safetensors only, no remote code, one-line messages."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from heval_core.lm.budget import Budget
from heval_core.lm.faults import cannot_load, read
from heval_core.lm.loading import choose_device, choose_dtype, identify, tokenizer_of
from heval_core.records import HEvalError

PROMPT = "premise: {premise} hypothesis: {hypothesis}"
YES = "1"
# What models with relative positions were made for; their tokenizers name no limit, or one of 10^30.
LONGEST = 4096


class Judgement(NamedTuple):
    """What an entailment model says of a pair.

    probability: of entailment. entailed: whether nothing is likelier.
    """

    probability: float
    entailed: bool


class Entailment:
    """A loaded entailment model. key: its id, or its folder's name. label: the place of entailment among what it scores."""

    def __init__(self, key: str, revision: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, budget: Budget):
        self.key, self.revision, self.model, self.tokenizer, self.budget = key, revision, model, tokenizer, budget
        self.seq2seq = _kind(model.config) is AutoModelForSeq2SeqLM
        if tokenizer.pad_token is None:  # as decoders' tokenizers have none
            tokenizer.pad_token = tokenizer.eos_token
        tokenizer.padding_side = "right"
        tokenizer.split_special_tokens = True  # what is spelt like a control token is text
        model.config.pad_token_id = tokenizer.pad_token_id
        yes = tokenizer(YES, add_special_tokens=False).input_ids[-1] if self.seq2seq else None
        self.label = entailment_label(key, model.config.id2label) if yes is None else int(yes)
        named = int(getattr(model.config, "max_position_embeddings", None) or LONGEST)
        self.longest = min(named, int(tokenizer.model_max_length or named), LONGEST)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        """Judge each (premise, hypothesis), in their order. Pairs of similar length run together.

        Raises HEvalError for values that are not finite, and NotEnoughMemory.
        """
        encoded = [self._encoded(*pair) for pair in pairs]
        lengths = [len(inputs["input_ids"]) for inputs in encoded]
        return self.budget.longest_first(lengths, lambda batch, _: self._batch([encoded[index] for index in batch]))

    def _encoded(self, premise: str, hypothesis: str) -> dict[str, list[int]]:
        if self.seq2seq:
            return self._prompted(premise, hypothesis)
        options: dict[str, Any] = {"max_length": self.longest, "verbose": False}
        hypothesis_length = len(self.tokenizer("", hypothesis, verbose=False).input_ids)
        cut = "only_first" if hypothesis_length < self.longest else "longest_first"
        return dict(self.tokenizer(premise, hypothesis, truncation=cut, **options))

    def _prompted(self, premise: str, hypothesis: str) -> dict[str, list[int]]:
        """Return the prompt, whose premise lacks as many tokens at its end as are too many."""
        over = len(self.tokenizer(PROMPT.format(premise=premise, hypothesis=hypothesis), verbose=False).input_ids)
        over -= self.longest
        if over > 0:
            shortened = self.tokenizer(premise, add_special_tokens=False, verbose=False).input_ids[:-over]
            premise = str(self.tokenizer.decode(shortened))
        prompt = PROMPT.format(premise=premise, hypothesis=hypothesis)
        return dict(self.tokenizer(prompt, truncation=True, max_length=self.longest))

    @torch.no_grad()
    def _batch(self, encoded: list[dict[str, list[int]]]) -> list[Judgement]:
        inputs: dict[str, Any] = dict(self.tokenizer.pad(encoded, return_tensors="pt").to(self.model.device))
        if self.seq2seq:
            inputs.pop("token_type_ids", None)
            start = torch.full((len(encoded), 1), self.model.config.decoder_start_token_id, device=self.model.device)
            logits = self.model(**inputs, decoder_input_ids=start).logits[:, -1].float()
        else:
            logits = self.model(**inputs).logits.float()
        if not torch.isfinite(logits).all():
            raise HEvalError(f"{self.key} gave logits that are not finite; try another dtype.")
        chances, likeliest = logits.softmax(-1)[:, self.label].tolist(), logits.argmax(-1).tolist()
        return [Judgement(chance, best == self.label) for chance, best in zip(chances, likeliest, strict=True)]


def entailment_label(key: str, labels: dict[int, str]) -> int:
    """Return the index of the label that means entailment: `entailment`, `ENTAILMENT`, `entail`, `LABEL_entailed`, …

    Raises HEvalError for labels without such a one, or with several (`not_entailment` is none).
    """
    cleaned = {index: "".join(char for char in str(name).lower() if char.isalpha()) for index, name in labels.items()}
    matches = [
        int(index)
        for index, name in cleaned.items()
        if name.removeprefix("label") in ("entailment", "entail", "entailed", "entails")
    ]
    if len(matches) != 1:
        names = ", ".join(map(str, labels.values()))
        raise HEvalError(f"{key!r} has {'several labels' if matches else 'no label'} for entailment; its labels are: {names}.")
    return matches[0]


def load(name: str, device: str = "auto", dtype: str = "auto", batch_tokens: int | None = None) -> Entailment:
    """Load an entailment model and its tokenizer. name, batch_tokens: as in `heval_core.lm.loading`.

    Raises HEvalError if there is no such model, if it has no label for entailment, or if it has no safetensors.
    """
    if not name:
        raise HEvalError("Which entailment model? Name one: nli(model=ID), a Hugging Face id or a folder.")
    identity, chosen = identify(name), choose_device(device)
    transformers_logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(**identity.where)
        kind = _kind(config)
        if kind is AutoModelForSequenceClassification:
            entailment_label(identity.key, config.id2label)  # before weights are read
        tokenizer = tokenizer_of(identity)
        options = {"config": config, "dtype": choose_dtype(dtype, chosen), "use_safetensors": True}
        model: Any = read(kind, identity.key, **options, **identity.where)
    except Exception as error:  # from_pretrained raises nearly every class there is, for many reasons
        raise cannot_load(name, error, identity.path, "an entailment model") from error
    model.requires_grad_(False)
    model = model.eval().to(chosen)
    return Entailment(identity.key, identity.revision, model, tokenizer, Budget.of(batch_tokens, chosen))


def _kind(config: Any) -> Any:
    """Return the class to load: a seq2seq model, unless the config names a classifier."""
    classifies = any("SequenceClassification" in name for name in getattr(config, "architectures", None) or ())
    return AutoModelForSeq2SeqLM if config.is_encoder_decoder and not classifies else AutoModelForSequenceClassification
