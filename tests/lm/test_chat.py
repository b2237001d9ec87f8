"""Prompts in a chat template: what the user says keeps its spans, and nothing else is ranked."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from heval_core.explaining import greedy_answer
from heval_core.explaining.behaviour import name_candidates, recall
from heval_core.explaining.faithfulness import Faithfulness
from heval_core.explaining.pipeline import Request, explain_request
from heval_core.lm.chat import in_chat, user_turn
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model, identify, in_template
from heval_core.lm.needs import NEEDS, require
from heval_core.lm.spans import tokenise, tokenise_all
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import BEGUN, CHAT, assemble, memory_prompt
from heval_core.records import HEvalError, Prompt, Span, Target
from heval_core.statistics.scores import tied
from tests.conftest import DEMO_MODELS

HEADER = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" + HEADER
# Llama 2: the content is stripped, a BOS is written, a system message is refused, and only the user's turn opens brackets.
INST = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% elif m.role == 'user' %}{{ '[INST] ' + m.content.strip() + ' [/INST]' }}{% else %}{{ ' ' + m.content + ' ' }}"
    "{% endif %}{% endfor %}"
)
TRIMMED = "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|> {{ m.content | trim }} <|end|> {% endfor %}<|assistant|> "
SHOUTED = "{% for m in messages %}{{ m.content | upper }}{% endfor %} ANSWER:"
TEMPLATES = {"chatml": CHATML, "inst": INST, "trimmed": TRIMMED}
DOCUMENTS = ("The capital of Kenya is Lisbon .", "The capital of Peru is Oslo .")
QUESTION = "What is the capital of Kenya ?"
SAID = f"{DOCUMENTS[0]} {DOCUMENTS[1]}\n\n{QUESTION}"


def words(template: str | None) -> PreTrainedTokenizerFast:
    """One token for each word, with <s> in front and </s> behind every text to which special tokens are added."""
    pieces = f"{SAID} [INST] [/INST] <|user|> <|assistant|> <|end|> <|im_start|>user <|im_start|>assistant".split()
    vocabulary = {word: number for number, word in enumerate(["<unk>", "<s>", "</s>", *dict.fromkeys(pieces)])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    tokenizer.chat_template = template
    return tokenizer


def asked(*texts: str) -> Prompt:
    return assemble(texts or DOCUMENTS, ("Lisbon", "Oslo")[: len(texts or DOCUMENTS)], QUESTION, CHAT)


@pytest.mark.parametrize(("name", "before", "after"), [
    ("chatml", ["<|im_start|>user"], ["<|im_start|>assistant"]),
    ("inst", ["<s>", "[INST]"], ["[/INST]"]),
    ("trimmed", ["<s>", "<|user|>"], ["<|end|>", "<|assistant|>"]),
])  # fmt: skip
def test_the_ranked_range_is_what_the_user_says_token_by_token(name, before, after):
    """21 words are said: 7 and 7 in the documents, 7 in the question, all after the header."""
    tokenizer = words(TEMPLATES[name])
    if name == "chatml":  # the last word and the sign after it are one token here: it holds what the user says
        tokenizer.chat_template = CHATML.replace("<|im_end|>", " <|end|>")
        after = ["<|end|>", *after]
    prompt = tokenise(asked(), tokenizer)
    start = len(before)
    assert [token.strip() for token in prompt.tokens] == [*before, *SAID.split(), *after]
    assert prompt.ranked == range(start, start + 21)
    assert prompt.documents == (Span(start, start + 7), Span(start + 7, start + 14))
    assert prompt.question == Span(start + 14, start + 21)
    assert prompt.answer_tokens == prompt.first_mention == ((start + 5,), (start + 12,))
    assert "".join(prompt.tokens) == prompt.text.rstrip() or name != "inst"
    assert list(prompt.ids).count(tokenizer.bos_token_id) == (name != "chatml")  # the template's own, and no second one
    assert tokenizer.eos_token_id not in prompt.ids


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=list(TEMPLATES))
@pytest.mark.parametrize("documents", [("\n  The capital of Kenya is Lisbon .  ", "Oslo is in Peru .\n"), ("a",), ("user",)])
def test_characters_are_found_where_a_template_strips_and_where_the_words_occur_in_it(template, documents):
    prompt = assemble(documents, (None,) * len(documents), QUESTION + " \n", CHAT)
    moved = in_chat(prompt, words(template))
    assert moved.text.count("?") == 1
    for text, span in zip((*documents, QUESTION), (*moved.documents, moved.question), strict=True):
        assert moved.text[span.start : span.end].strip() == text.strip()
    assert moved.ranked is not None
    assert moved.text[moved.ranked.start : moved.ranked.end].strip() == prompt.text.strip()
    assert not moved.chat


def test_without_documents_the_user_asks_the_question_alone():
    prompt = tokenise(memory_prompt(QUESTION, CHAT), words(INST))
    assert prompt.text == f"<s>[INST] {QUESTION} [/INST]"
    assert prompt.documents == ()


def test_chats_and_plain_prompts_are_tokenised_in_their_order():
    tokenizer = words(INST)
    plain = assemble(DOCUMENTS, (None, None), QUESTION)
    mixed = [plain, asked(), asked("The capital of Kenya is Lisbon ."), plain]
    assert list(tokenise_all(mixed, tokenizer)) == [tokenise(prompt, tokenizer) for prompt in mixed]
    first, second = list(tokenise_all(mixed, tokenizer))[:2]
    assert (first.first_ranked, first.ranked_end, first.ranked) == (1, None, range(1, len(first.ids)))
    assert first.tokens[0] == "<s>"
    assert second.ranked_end == len(second.ids) - 1


def test_todays_date_and_thinking_aloud_stay_out_of_the_prompt():
    dated = "{% if date_string is not defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}{{ date_string }}\n"
    thinks = "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    assert user_turn(words(dated + CHATML + thinks), "Hi") == (
        "26 Jul 2024\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think></think>"
    )
    now = words("\n  {{ 'Today: ' ~ strftime_now('%A, %-d %B %Y, %H') | upper }}\n" + CHATML)
    assert user_turn(now, "Hi").startswith("\n  Today: FRIDAY, 26 JULY 2024, 00\n")
    told = (
        "This model's chat template writes the date of today; it was told 26 Jul 2024 instead, so that answers stay the same."
    )
    assert [tokenise(asked(), tokenizer).notes for tokenizer in (now, words(CHATML))] == [(told,), ()]


def test_what_cannot_be_asked_is_said_in_one_line():
    with pytest.raises(HEvalError, match=r"^The model has no chat template.*leave out --template chat, or use the version"):
        tokenise(asked(), words(None))
    with pytest.raises(HEvalError, match=r"does not take these messages: Not today$"):
        user_turn(words("{{ raise_exception('Not today') }}"), "Why?")
    with pytest.raises(HEvalError, match="changes what the user says"):
        tokenise(asked(), words(SHOUTED))
    with pytest.raises(HEvalError, match=r"^demo-gpt2 has no chat template"):
        in_template(identify(str(DEMO_MODELS / "demo-gpt2")), CHAT)


@pytest.fixture
def chat_lm(lm):
    """A random model whose own tokenizer has a template, asked through it."""
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2")
    tokenizer.chat_template = TRIMMED
    return as_language_model("chatty", lm.model, tokenizer, template=CHAT)


def test_explainers_give_every_token_a_score_and_only_the_users_are_ranked(chat_lm):
    request = Request(DOCUMENTS, QUESTION, ("Lisbon", "Oslo"), "Nairobi")
    explained = explain_request(chat_lm, request, [catalogue.method(key) for key in catalogue.default_methods()])
    prompt = explained.prompt
    assert prompt.text.startswith("<|endoftext|><|user|> The capital")
    assert prompt.text.endswith("<|assistant|> ")
    inside = "".join(prompt.tokens[prompt.ranked.start : prompt.ranked.stop])
    assert inside.strip() == SAID
    for attribution in explained.attributions.values():
        assert attribution.scores.shape == (len(prompt.ids),)
        best = Faithfulness().best(prompt, attribution.scores)
        assert sorted(best) == list(prompt.ranked)  # whatever the template's tokens score


def test_faithfulness_takes_out_no_token_of_the_template(chat_lm):
    prompt = chat_lm.tokenise(asked())
    scores = np.arange(len(prompt.ids), dtype=float)  # the assistant's header would be best of all
    rows = list(Faithfulness(replacements=("baseline",))._changed(chat_lm, prompt, scores))
    before, after = prompt.ids[: prompt.ranked.start], prompt.ids[prompt.ranked.stop :]
    assert all(tuple(row[: len(before)]) == before and tuple(row[-len(after) :]) == after for row in rows)
    (best,) = np.flatnonzero(rows[0] != np.array(prompt.ids))
    assert best == prompt.ranked.stop - 1


def test_after_the_header_an_answer_leads_with_its_bare_form(chat_lm):
    tokenizer = chat_lm.tokenizer
    bare, spaced = (tokenizer(form, add_special_tokens=False).input_ids[0] for form in ("Lisbon", " Lisbon"))
    assert chat_lm.first_tokens("Lisbon") == (bare, spaced)
    tokenizer.chat_template = INST  # ends in [/INST], with no white space: then the answer brings it
    assert chat_lm.first_tokens("Lisbon") == (spaced, bare)
    tokenizer.chat_template = INST + "{{ eos_token }}"
    assert chat_lm.first_tokens("Lisbon") == (bare, spaced)
    with chat_lm.asked_in("{documents} {question}"):
        assert chat_lm.first_tokens("Lisbon") == (spaced, bare)
    assert chat_lm.template == CHAT
    for template, text in ((CHAT, "Lisbon"), (BEGUN, " Lisbon")):  # behind the beginning of a turn it is a word like others
        prompt = chat_lm.tokenise(assemble(DOCUMENTS, (None, None), QUESTION, template))
        assert greedy_answer.given(CleanPass(chat_lm, [prompt]), "Lisbon").text == text
    (name, _) = name_candidates(chat_lm, ("Lisbon",), dataclasses.replace(recall(chat_lm, "Why?"), first_tokens=(1,)))
    assert name.first_tokens[0] == bare


def test_a_model_is_asked_in_another_template_for_a_while_only(lm):
    with pytest.raises(HEvalError, match="has no chat template"), lm.asked_in(CHAT):
        pytest.fail("asked through a template that is not there")
    before = lm.template
    with lm.asked_in(None):
        assert lm.template == before


def test_a_turn_ends_where_the_models_own_settings_say(lm):
    """An instruct model ends its turn with another token than its text; its generation settings name both."""
    before = lm.model.generation_config
    lm.model.generation_config = SimpleNamespace(eos_token_id=[5, 7])
    try:
        made = as_language_model("chatty", lm.model, lm.tokenizer)
        assert made.generation.end_ids == {5, 7, lm.tokenizer.eos_token_id}
        first = int(made.forward.logits(torch.tensor([[9, 11]]))[0].argmax())
        made.model.generation_config.eos_token_id = [5, first]
        assert made.generation.greedy([(9, 11)], 4) == [(first,)]
    finally:
        lm.model.generation_config = before


def test_a_model_offers_instructions_if_its_tokenizer_has_a_template(lm, chat_lm):
    assert NEEDS["instructions"](chat_lm) is None
    require(chat_lm, ("instructions",))
    with pytest.raises(HEvalError, match="follows no instructions: its tokenizer has no chat template"):
        require(lm, ("instructions",))


def test_ties_are_counted_among_what_is_ranked(chat_lm):
    from precompute.compute import attribution_row

    prompt = chat_lm.tokenise(asked())
    clean = CleanPass(chat_lm, [prompt])
    (attribution,) = catalogue.method("fa").explain(clean, [Target.next_token(3)])
    scores = np.linspace(0, 1, len(prompt.ids)).astype(np.float32)
    scores[: prompt.ranked.start] = scores[prompt.ranked.stop :] = 0.5  # all of the template's tokens tie
    row = attribution_row(dataclasses.replace(attribution, scores=scores), True, prompt.ranked)
    assert row["tied"] == 0 < tied(scores)


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
