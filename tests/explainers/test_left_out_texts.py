"""A prompt without a document, or a sentence, has the tokens of the prompt assembled without it, whatever cuts its text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from heval_core.explainers.shared.left_out import units, without
from heval_core.lm.loading import as_language_model
from heval_core.prompting.prompts import TEMPLATE, assemble
from tests.asked import KENYA, PERU, QUESTION
from tests.explainers.test_every_architecture import TOKENIZERS

SPECIAL = ["<unk>", "<s>"]
WORDS = [*f"{KENYA} {PERU} {QUESTION} Q: A:".split(), "Lima"]
LETTERS = sorted({*"".join(WORDS), *"首都は\n"})
# Each is sentences of one document: the tokenizers know some of their words, letters or bytes.
DOCUMENTS = [
    [KENYA], ["Nairobi is old.", "Lima is the capital of Peru."], ["肯尼亚的首都是内罗毕。", "它很老。"],
    ["ケニアの首都はナイロビです。"], ["Åre is it.", "“Lima” is old."], ["2,000 men.", "🙂 is it."], [PERU, "首都。"],
]  # fmt: skip
TEMPLATES = [TEMPLATE, "Context:\n" + TEMPLATE, "<doc>{documents}</doc> {question} A:", 'Read "{documents}" Q: {question} A:']
TEMPLATES += ["({documents}) Q: {question}", "Q: {question} A: {documents}; then", "{documents}\nQ: {question}"]
NORMALIZERS = {"llama": normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])}
NORMALIZERS |= {"gemma": normalizers.Replace(" ", "▁")}


def vocabulary(*parts):
    return {
        piece: number for number, piece in enumerate(dict.fromkeys([*SPECIAL, *(piece for part in parts for piece in part)]))
    }


def pairs_of(normalizer=None):
    """Byte pairs with spaces as part of what follows; a text begins with one as in Llama 2, or does not, as in Gemma."""
    merges = list(
        dict.fromkeys((word[:end], word[end]) for word in (f"▁{word}" for word in WORDS) for end in range(1, len(word)))
    )
    whole = vocabulary((f"<0x{byte:02X}>" for byte in range(256)), ["▁", *LETTERS], map("".join, merges))
    made = Tokenizer(models.BPE(whole, merges, unk_token="<unk>", byte_fallback=True))
    made.normalizer = normalizer
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return made


def bytes_and_marks():
    """As in Llama 3 and Qwen: a mark before a word, or several, may be one token with it."""
    made = Tokenizer(models.BPE(vocabulary(sorted(pre_tokenizers.ByteLevel.alphabet()), [">T", ").", '."', ".<", '"L']),
                                [(">", "T"), (")", "."), (".", '"'), (".", "<"), ('"', "L")]))  # fmt: skip
    pieces = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pieces), "isolated"), whole])
    made.decoder = decoders.ByteLevel()
    return made


def whole_words():
    """A SentencePiece vocabulary of whole words: before any other word its space stands alone."""
    pieces = [(piece, -2.0 if piece[1:] else -6.0) for piece in vocabulary(map("▁{}".format, WORDS), ["▁"])]
    made = Tokenizer(models.Unigram(pieces, unk_id=0))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Metaspace(prepend_scheme="first")
    return made


def word_pieces():
    made = Tokenizer(models.WordPiece(vocabulary(WORDS, LETTERS, map("##{}".format, LETTERS)), unk_token="<unk>"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    return made


def with_start(made):
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="<s>", unk_token="<unk>")


FAMILIES = {name: lambda given=given: with_start(pairs_of(given)) for name, given in NORMALIZERS.items()}
FAMILIES |= {made.__name__: lambda made=made: with_start(made()) for made in (bytes_and_marks, whole_words, word_pieces)}


@pytest.fixture(scope="module", params=[*FAMILIES, *TOKENIZERS])
def cutting(request, language_models):
    """A model with a tokenizer of each family; what the model says is never asked."""
    tokenizer = (FAMILIES | TOKENIZERS)[request.param]()
    return as_language_model("cutting", language_models["gpt2"].model, tokenizer, template="plain")


@settings(max_examples=60)
@given(st.sampled_from(TEMPLATES), st.lists(st.sampled_from(DOCUMENTS), min_size=1, max_size=3), st.data())
def test_a_prompt_without_some_units_is_the_prompt_assembled_without_them(cutting, template, documents, data):
    def prompt_of(texts):
        texts = tuple(filter(None, texts))
        return cutting.tokenise(assemble(texts, (None,) * len(texts), QUESTION, template))

    prompt = prompt_of(map(" ".join, documents))
    level = data.draw(st.sampled_from(["document", "sentence"]))
    parts = [[" ".join(texts)] if level == "document" else texts for texts in documents]
    found = units(prompt, level)
    if [unit.text(prompt.tokens).strip() for unit in found] != [text for texts in parts for text in texts]:
        return  # a token holds words of two of them, or of the layout
    stays = data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    left = iter(stays)
    rest = [" ".join(text for text in texts if next(left)) for texts in parts]
    gone = [unit for unit, there in zip(found, stays, strict=True) if not there]
    assert without(cutting, prompt, gone, (-1,)) == (prompt_of(rest).ids, (-1,))


def test_what_a_model_said_stays_as_it_said_it(language_models):
    lm = language_models["gpt2"]
    prompt, rest = (lm.tokenise(assemble(texts, (None,) * len(texts), QUESTION)) for texts in ((PERU, KENYA), (KENYA,)))
    said = lm.encode(" cap") + lm.encode("ital")
    assert said != lm.encode(" capital")
    followed = prompt.followed_by(said, (" cap", "ital"))
    assert without(lm, followed, units(followed)[:1], (-2,)) == (rest.ids + said, (-2,))
