"""Answers as a model writes them: its own ids, where they end, and what their words and sentences are."""

import dataclasses

import pytest

from heval_core.explaining.greedy_answer import GreedyAnswer, _loop, given, speller, write
from heval_core.lm.clean_pass import CleanPass
from heval_core.prompting.prompts import assemble
from heval_core.prompting.units import Unit
from heval_core.records import HEvalError
from tests.asked import KENYA, PERU, QUESTION, asked


@pytest.fixture(scope="module")
def gpt2(language_models):
    return language_models["gpt2"]


@pytest.fixture
def saying(gpt2, monkeypatch):
    """A function: what the model is made to write, as text or ids ▶ the steps in which it is written."""

    def steps(said, most=40):
        clean = CleanPass(gpt2, [asked(gpt2, KENYA)])
        ids = said if isinstance(said, list) else gpt2.tokenizer(said).input_ids
        monkeypatch.setattr(gpt2.forward, "greedy", lambda *_: iter([(own, 0.5) for own in [*ids, *[0] * 99]]))
        return list(write(clean, most, QUESTION))

    return steps


def test_an_answer_is_the_models_own_ids_and_grows_token_by_token(lm):
    prompt = asked(lm, KENYA, PERU)
    *growing, written = write(CleanPass(lm, [prompt]), 9, QUESTION)
    (ids,) = lm.generation.greedy([prompt.ids], 9)
    assert written.ids == ids[: len(written.ids)]
    assert [own.ids for own in growing] == [ids[:count] for count in range(1, len(growing) + 1)]
    assert written.text == "".join(written.tokens)
    logprobs = CleanPass(lm, [written.whole]).logits_at(written.target.positions)[0].softmax(-1)
    expected = [float(row[token_id]) for row, token_id in zip(logprobs, written.ids, strict=True)]
    assert list(written.probabilities) == pytest.approx(expected, rel=1e-3)


def test_ids_are_never_decoded_and_encoded_again(saying, gpt2):
    letters = [token_id for letter in " Lisbon" for token_id in gpt2.tokenizer(letter).input_ids]
    written = saying(letters)[-1]
    assert written.text == " Lisbon"
    assert written.ids == tuple(letters) != tuple(gpt2.tokenizer(written.text).input_ids)
    assert written.whole.ids[-len(letters) + 1 :] == written.ids[:-1]


def test_writing_goes_on_over_the_kept_prefix_and_reads_what_a_pass_of_its_own_reads(lm):
    first = CleanPass(lm, [asked(lm, KENYA)])
    *_, written = write(first, 5, QUESTION)
    longer, alone = CleanPass(lm, [written.whole], before=first), CleanPass(lm, [written.whole])
    positions = written.target.positions
    for own, other in zip(longer.prefix.layers, alone.prefix.layers, strict=True):
        assert own[0].numpy() == pytest.approx(other[0].numpy(), abs=1e-4)
    assert longer.logits_at(positions).numpy() == pytest.approx(alone.logits_at(positions).numpy(), abs=1e-4)


def test_an_answer_stops_where_the_next_question_would_begin(saying):
    assert saying(" Lisbon. Q: Which")[-1].text == " Lisbon."
    assert saying(" Lisbon. Q: Which")[-1].stopped == "the next question would begin there"
    assert saying(" Lisbon is far", 1)[-1].stopped == "1 tokens were written"


def test_a_text_that_only_repeats_itself_stops_with_a_reason(saying):
    written = saying(" Lisbon" + " is the capital of Peru." * 9, 90)[-1]
    assert written.text == " Lisbon is the capital of Peru."
    assert written.stopped == "the text only repeated itself from there on"
    assert _loop([1] * 11) == 0
    assert _loop([1] * 12) == 11
    assert _loop([5, *[1, 2, 3, 4] * 3]) == 8
    assert _loop(list(range(30))) == 0


def test_nothing_and_only_special_tokens_are_one_clear_sentence(saying, gpt2):
    end = next(iter(gpt2.generation.end_ids))
    with pytest.raises(HEvalError, match="random-gpt2 writes nothing in answer"):
        saying([end])
    with pytest.raises(HEvalError, match="writes only special tokens or white space"):
        saying("\n\n", 2)
    with pytest.raises(HEvalError, match="There is no room for an answer of 0 tokens"):
        saying(" Lisbon", 0)
    with pytest.raises(HEvalError, match="The answer is empty; write one"):
        given(CleanPass(gpt2, [asked(gpt2, KENYA)]), " ")
    with pytest.raises(HEvalError, match=f"tokens; random-gpt2 reads at most {gpt2.positions}"):
        given(CleanPass(gpt2, [asked(gpt2, KENYA)]), "Lima " * gpt2.positions)


def test_a_character_in_several_tokens_belongs_to_the_first_and_half_of_one_is_named(saying, gpt2):
    ids = gpt2.tokenizer(" 🙂 it").input_ids
    whole = saying(ids, len(ids))[-1]
    assert len(ids) > 3
    assert whole.text == " 🙂 it"
    assert whole.tokens[1] == "🙂" or whole.tokens[0] == " 🙂"
    assert [whole.text[:2], " it"] == [own.text(whole.tokens) for own in whole.words]
    half = saying(ids[:2], 2)[-1]
    assert half.notes == ["The answer ends within a character: its other bytes were not written."]


def test_a_given_answer_is_taken_word_for_word_and_what_nobody_would_write_is_named(lm):
    clean = CleanPass(lm, [asked(lm, KENYA)])
    written = given(clean, "Lisbon is far.")
    assert written.text == " Lisbon is far."
    assert written.ids == tuple(lm.tokenizer(" Lisbon is far.").input_ids)
    assert written.given
    logits = clean.logits[0].clone()
    assert written.probabilities[0] == pytest.approx(float(logits.softmax(-1)[written.ids[0]]), rel=1e-4)
    rare = dataclasses.replace(written, probabilities=(1e-13, *written.probabilities[1:]))
    assert rare.notes[0].startswith("'L") or rare.notes[0].startswith("'Lisbon'")
    assert "1e-13: the model would never write it" in rare.notes[0]


def test_sentences_cover_an_answer_and_words_all_of_it_but_white_space(gpt2):
    prompt = gpt2.tokenise(assemble((KENYA,), (None,), QUESTION))
    text = " It cost 3.5 million. Lima did not:\n 110 euros, in 1976"
    ids = gpt2.tokenizer(text).input_ids
    written = GreedyAnswer(prompt, tuple(ids), speller(gpt2, prompt)(ids), (0.5,) * len(ids))
    assert written.text == text
    assert [own.start for own in written.sentences] == [0, *(own.end for own in written.sentences)][:-1]
    assert written.sentences[-1].end == len(ids)
    # Between words lies white space, which belongs to none; what was computed of words before is of all tokens.
    inside = {index for own in written.words for index in own.indices}
    assert {written.tokens[index] for index in range(len(ids)) if index not in inside} == {"\n", " "}
    texts = [own.text(written.tokens) for own in written.sentences]
    assert texts[0] == " It cost 3.5 million."
    assert Unit(0, 1, "") == dataclasses.replace(written.words[0], end=1)
    assert all(own.text(written.tokens).strip() for own in written.words)
