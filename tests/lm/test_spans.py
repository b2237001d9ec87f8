"""Character spans to token spans, with a byte-level tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from heval_core.lm.spans import tokenise
from heval_core.prompts import assemble
from heval_core.records import HEvalError
from tests.conftest import DEMO_MODELS

TOKENIZER = AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2")
AWKWARD = ["a\u00a0b", "São Tomé", "e\u0301", "😀 and 👩‍🚀", "<|endoftext|>", "  two  spaces ", "\ttab\nline", "\u202e", "x"]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(min_size=1)).filter(str.strip), min_size=1, max_size=2))
def test_tokens_together_spell_the_prompt_and_spans_cover_their_documents(texts):
    prompt = assemble(tuple(texts), (None,) * len(texts), "Why?")
    tokenised = tokenise(prompt, TOKENIZER)
    assert "".join(tokenised.tokens) == prompt.text
    assert len(tokenised.tokens) == len(tokenised.ids)
    for text, span in zip(texts, tokenised.documents, strict=True):
        assert text.strip() in "".join(tokenised.tokens[span.start : span.end])


def test_a_tokenizer_without_offsets_is_refused_by_name():
    class SlowTokenizer:
        is_fast = False

    with pytest.raises(HEvalError, match="SlowTokenizer gives no character offsets"):
        tokenise(assemble(("a",), (None,), "b"), SlowTokenizer())


def test_special_tokens_in_front_are_marked_as_never_ranked():
    from tokenizers.processors import TemplateProcessing

    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2")
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|endoftext|> $A <|endoftext|>", special_tokens=[("<|endoftext|>", tokenizer.eos_token_id)]
    )
    tokenised = tokenise(assemble(("Lisbon.",), ("Lisbon",), "Why?"), tokenizer)
    assert tokenised.first_ranked == 1
    assert tokenised.tokens[0] == "<|endoftext|>"
    assert tokenised.ids[-1] != tokenizer.eos_token_id  # the last position must be the one that answers
    assert tokenised.documents[0].start == 1
