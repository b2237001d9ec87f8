"""What a memory answer is, with which tokens it may begin, and the groups by the document that an answer came from."""

import copy
from dataclasses import replace

import pytest

from heval_core import regimes
from heval_core.explaining import pipeline
from heval_core.explaining.behaviour import Memory, among_named, check_documents, memory_of, name_candidates, observe
from heval_core.prompting.answers import answer_in, looks_like_answer
from heval_core.prompting.styles import style_of
from heval_core.records import Document, Dropped, Fact, HEvalError, Instance, Passage
from heval_core.records.groups import compared_groups, competes, context_groups, document_of

CAPITAL = "What is the capital of France?"
FALSE = Passage("France", "Lisbon", "The capital of France is Lisbon.")
FACT = Fact("1", "d", "France", "capital", CAPITAL, "Paris", (FALSE,))


def conflicting(lm):
    return regimes.build(FACT, "conflicting", regimes.Pool.of([FACT]), 0, style_of(lm), 0)


def memory_after(lm, text, true_answer=None, question=CAPITAL):
    ids = lm.encode(text)
    return ids, memory_of(lm, ids, true_answer, question)


@pytest.mark.parametrize(("text", "true_answer", "expected"), [
    (" Paris.", "Paris", "Paris"), (" Paris, and so on", None, "Paris"),
    (" The capital of France is Paris.", "Paris", "Paris"), (" The capital of France is Lyon.", "Paris", "Lyon"),
    (" The capital of France is not Paris.", "Paris", "not Paris"), (" It is Lyon", None, "Lyon"),
    (" The answer is Lyon", None, "Lyon"), (" The answer is: Lyon", None, "Lyon"), (": Lyon", None, "Lyon"),
    (" - Lyon", None, "Lyon"), (" -40 degrees", None, "-40 degrees"), (' "Heat"', None, '"Heat"'), (" :", "Paris", ""),
    (" ...", None, ""), (" a suburb of Paris", "Paris", "a suburb of Paris"),
    (" Lyon is the capital of France", "Paris", "Lyon is the capital of France"), (" The Beatles", None, "The Beatles"),
    (" Parisian life", "Paris", "Parisian life"), ("\n\nParis", "Paris", "Paris"), ("\n", "Paris", ""),
    (" Q: What is the capital of Spain?", "Madrid", ""), ("", None, ""),
])  # fmt: skip
def test_the_answer_in_a_continuation(text, true_answer, expected):
    assert answer_in(text, CAPITAL, true_answer) == expected


def test_without_the_question_a_sentence_that_ends_in_the_true_answer_gives_it():
    assert answer_in(" The capital of France is Paris.", "", "Paris") == "Paris"
    assert answer_in(" The mayor was never in Paris.", "", "Paris") == "The mayor was never in Paris"


def test_the_first_token_counts_only_where_the_answer_begins_with_it(lm):
    ids, memory = memory_after(lm, " The capital of France is Lisbon.", "Lisbon")
    assert memory == Memory("Lisbon", lm.first_tokens("Lisbon"))
    assert ids[0] not in memory.first_tokens
    ids, memory = memory_after(lm, "\n\nLisbon", "Lisbon")
    assert memory.first_tokens == lm.first_tokens("Lisbon")
    assert not {i for i in memory.first_tokens if not lm.decode([i]).strip()}


@pytest.mark.parametrize("answer", [": Lisbon", "... Lisbon", '"Lisbon"', "(Lisbon)", "- Lisbon", "\n: Lisbon"])
def test_punctuation_is_never_an_answers_first_token(lm, answer):
    beginnings = lm.first_tokens(answer)
    assert beginnings
    assert all(any(char.isalnum() for char in lm.decode([token])) for token in beginnings)
    ids, memory = memory_after(lm, answer)
    assert ids[0] not in memory.first_tokens
    assert set(memory.first_tokens) & set(lm.first_tokens("Lisbon"))


def test_symbols_and_parts_of_characters_may_begin_an_answer(lm):
    for answer in ("€5", "東京", "+1"):
        ids = lm.encode(f" {answer}")
        assert lm.first_tokens(answer)[0] == next(token for token in ids if lm.decode([token]).strip())


def test_an_answer_that_is_only_punctuation_is_refused_or_dropped_with_its_reason(lm):
    assert lm.first_tokens(":") == lm.first_tokens(" ... ") == ()
    asked = pipeline.Request(("The capital of Kenya is Lisbon.",), "Which?", ("Lisbon",), ":")
    with pytest.raises(HEvalError, match=r"candidate answers 'Lisbon', ':', or it is only punctuation"):
        pipeline.explain_request(lm, asked, [])
    assert pipeline.prepare(lm, conflicting(lm), Memory(":", lm.first_tokens(":"))).dropped_because == "answer has no token"


def test_a_first_token_that_covers_only_a_part_of_the_answer_counts(lm):
    """The model may spell an answer in other tokens than the tokenizer would."""
    pieces = tuple(lm.encode(letter)[0] for letter in "Lisbon")
    assert lm.decode(pieces) == "Lisbon"
    memory = memory_of(lm, pieces)
    assert memory == Memory("Lisbon", tuple(dict.fromkeys((pieces[0], *lm.first_tokens("Lisbon")))))


def test_a_token_that_holds_a_part_of_a_characters_bytes_counts(lm):
    ids = lm.encode("東京")
    assert lm.decode([ids[0]]) == "\ufffd"  # the demo tokenizers know no Chinese
    assert memory_of(lm, ids).first_tokens[0] == ids[0]
    assert memory_of(lm, ids).text == "東京"


@pytest.fixture
def spaced(lm):
    """The model with a tokenizer that writes a space first, as SentencePiece does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = {"▁": 0, ":": 1, "▁:": 2, "▁Lisbon": 3, "Lisbon": 4, "<unk>": 5}
    tokenizer = Tokenizer(models.WordLevel(pieces, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    other = copy.copy(lm)
    other.tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")
    return other


@pytest.mark.parametrize("ids", [(0, 4), (3,), (0, 1, 3), (2, 3)])
def test_the_space_that_sentencepiece_writes_first_is_no_answer_nor_punctuation_after_it(spaced, ids):
    assert memory_of(spaced, ids) == Memory("Lisbon", (3,))
    assert spaced.first_tokens(": Lisbon") == (3,)


def test_an_empty_memory_has_no_first_tokens_and_drops_its_instance(lm):
    end = lm.tokenizer.eos_token_id
    for ids in ((end,), (), tuple(lm.tokenizer("\n\n").input_ids)):
        assert memory_of(lm, ids, "Lisbon") == Memory("", ())
    assert pipeline.prepare(lm, conflicting(lm), Memory("", ())).dropped_because == "no memory answer"
    assert pipeline.prepare(lm, conflicting(lm), Memory("Nowhere", (3,))).dropped_because is None


def test_candidates_of_documents_that_agree_stand_in_the_documents_order(lm, monkeypatch):
    monkeypatch.setattr(pipeline, "recall", lambda *_: Memory("Nairobi", lm.first_tokens("Nairobi")))
    documents = tuple(f"The capital of Kenya is {answer}." for answer in ("Lisbon", "Lisbon", "Oslo"))
    request = pipeline.Request(documents, "What is the capital of Kenya?", ("Lisbon", "Lisbon", "Oslo"))
    explained = pipeline.explain_request(lm, request, [])
    named = [(candidate.group, candidate.text) for candidate in explained.behaviour.candidates]
    assert named == [("C1", "Lisbon"), ("C2", "Lisbon"), ("C3", "Oslo"), ("M", "Nairobi")]


@pytest.mark.parametrize("rule", ["own", "true", "any"])
def test_in_the_batch_an_empty_memory_is_counted_as_that(lm, rule):
    from precompute.memory import Memories

    memories = Memories({CAPITAL: (lm.tokenizer.eos_token_id,)}, rule)
    assert memories.of(lm, FACT, regimes.Pool.of([FACT])) == Memory("", ())


def test_a_prompt_of_ones_own_without_a_memory_has_no_memory_candidate(lm, monkeypatch):
    from heval_core.explainers.attn import Attention

    monkeypatch.setattr(pipeline, "recall", lambda *_: Memory("", ()))
    request = pipeline.Request(("The capital of Kenya is Lisbon.",), "What is the capital of Kenya?", ("Lisbon",))
    explained = pipeline.explain_request(lm, request, [Attention()])
    assert [candidate.group for candidate in explained.behaviour.candidates] == ["C"]
    assert explained.behaviour.memory_answer == ""
    bare = pipeline.explain_request(lm, pipeline.Request((), "What is the capital of Kenya?"), [Attention()])
    assert bare.foil.endswith("(runner-up token)")
    with pytest.raises(HEvalError, match="has no token for one of the candidate answers"):
        pipeline.explain_request(lm, pipeline.Request((), "Why?", memory_answer=" "), [Attention()])


def test_of_named_answers_the_likeliest_is_explained_where_the_model_gives_none_of_them(lm):
    from heval_core.explainers.attn import Attention

    asked = pipeline.Request(("The capital of Kenya is Lisbon.",), "What is the capital of Kenya?", ("Lisbon",), "Nairobi")
    free = pipeline.explain_request(lm, asked, [Attention()])
    among = pipeline.explain_request(lm, asked, [Attention()], target="named")
    likeliest = max(free.behaviour.candidates, key=lambda one: one.logit)
    assert free.behaviour.group == "other"  # a random model says neither
    assert among.behaviour.group == likeliest.group
    assert among.target_text == lm.decode([likeliest.token_id])
    assert among.foil.startswith(next(one.text for one in free.behaviour.candidates if one is not likeliest)[:1])
    assert (free.by_itself, among.by_itself) == ("", free.behaviour.text)
    for group in (likeliest.group, "ambiguous"):
        given = replace(free.behaviour, group=group)
        assert among_named(given) is given
    alone = pipeline.explain_request(lm, replace(asked, memory_answer=None), [Attention()], target="named")
    assert [one.group for one in alone.behaviour.candidates] == ["C"]  # nobody has named what the model remembers
    assert among_named(replace(given, candidates=(), group="other")).group == "other"


def test_documents_that_agree_are_two_candidates_of_one_answer(lm):
    """Which of them was used cannot be told from the answer."""
    from heval_core.explainers.attn import Attention

    texts = ("A world atlas says: Lisbon.", "It is Oslo.", "According to the census: Lisbon.")
    asked = pipeline.Request(texts, "What is the capital of Kenya?", ("Lisbon", "Oslo", "Lisbon"), "Nairobi")
    explained = pipeline.explain_request(lm, asked, [Attention()])
    candidates = {candidate.group: candidate for candidate in explained.behaviour.candidates}
    assert set(candidates) == {"C1", "C2", "C3", "M"}
    assert candidates["C1"].leading_id == candidates["C3"].leading_id != candidates["C2"].leading_id
    assert candidates["C1"].text == candidates["C3"].text == "Lisbon"
    assert explained.foil.partition(" (")[0] != lm.decode([explained.behaviour.token_id]).strip()


def test_an_answer_that_agreeing_documents_give_is_ambiguous(lm):
    import torch

    memory = Memory("Nairobi", lm.first_tokens("Nairobi"))
    names = name_candidates(lm, ("Lisbon", None, "Lisbon"), memory, agreeing=True)
    assert [name.group for name in names] == ["C1", "C3", "M"]
    for answer, group in (("Lisbon", "ambiguous"), ("Nairobi", "M"), ("Oslo", "other")):
        logits = torch.zeros(10_000)
        logits[lm.first_tokens(answer)[0]] = 9.0
        assert observe(lm, logits, names, "Nairobi").group == group


@pytest.mark.parametrize("memory", ["Lisbon", "Lisboa"])
def test_a_document_that_gives_the_memory_answer_under_another_name_gives_it(memory):
    document = Document("France", "Lisbon", "The capital of France is Lisboa.", "conflicting", alias="Lisboa")
    instance = Instance("i", "d", "mixed.d3", "1", "France", "capital", CAPITAL, "Paris", (document,))
    with pytest.raises(Dropped, match="answer is the memory answer"):
        check_documents(instance, Memory(memory, (0,)))


KNOWN = ("Nairobi", "Bogotá", "Washington, D.C.")


@pytest.mark.parametrize(("said", "ended", "expected"), [
    ("Bogota", False, True), ("washington d.c.", True, True), ("Mombasa", True, True), ("Mombasa", False, False),
    ("Kenya", True, False), ('"Kenya"', True, False), ("capital city of Africa", True, False), ("A:", True, False),
    ("A: I'm a professional soccer player", True, False), ("I'm a player", True, False),
    ("a country in Africa", True, False), ("the one that is in Africa", True, False),
    ("one two three four five six seven", True, False), ("?!", True, False), ("What Women Want", True, True),
])  # fmt: skip
def test_a_memory_counts_if_it_is_known_or_looks_like_an_answer(said, ended, expected):
    assert looks_like_answer(said, KNOWN, ended, "{documents} Q: {question} A:", "What is the capital of Kenya?") is expected


def test_where_a_known_answer_is_no_name_a_memory_need_not_be_one():
    assert looks_like_answer("soccer", ("basketball",), True, "{documents} {question}", "The sport of Pele is")


def test_in_the_batch_a_memory_that_is_no_answer_drops_the_instance_with_that_reason(lm):
    from precompute.memory import Memories

    ids = lm.encode("a country in Africa")
    pool = regimes.Pool.of([FACT])
    memory = Memories({CAPITAL: ids}, "own").of(lm, FACT, pool)
    prepared = pipeline.prepare(lm, conflicting(lm), memory)
    assert (prepared.memory_answer, prepared.dropped_because) == (lm.decode(ids).strip(), "memory is no answer")
    true = lm.encode(f" {FACT.answer}")
    assert pipeline.prepare(lm, conflicting(lm), Memories({CAPITAL: true}, "own").of(lm, FACT, pool)).dropped_because is None
    twice = lm.encode(" Sydney\n\nThe answer to this question is, as I said: Sydney")
    assert Memories({CAPITAL: twice}, "own").of(lm, FACT, pool).is_answer


def test_groups_name_any_number_of_documents():
    assert context_groups(0) == ()
    for documents in (1, 2, 7):
        groups = context_groups(documents)
        assert [document_of(group) for group in groups] == list(range(documents))
        assert all(not competes(group, group) for group in groups)
        assert set(compared_groups(documents)) >= set(groups)
    assert [rival for rival in ("C1", "C2", "C3", "M") if competes("C2", rival)] == ["C1", "C3"]
    assert document_of("ambiguous") is None
    assert document_of("C") == 0
