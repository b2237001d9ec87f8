"""A whole answer explained: against runs of single tokens, on a model made by hand that copies, and what is said of it."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from heval_core import explain_answer
from heval_core.explaining import answer_steps, whole_answer
from heval_core.explaining.answer import extended, record_of, resumed
from heval_core.explaining.answer_steps import matrix_of
from heval_core.explaining.greedy_answer import Rival, given
from heval_core.explaining.quoted_answers import explains
from heval_core.explaining.whole_answer import DOCUMENT, SENTENCE
from heval_core.figures.answer import answer_drawing
from heval_core.lm.clean_pass import CleanPass
from heval_core.plugins import catalogue
from heval_core.records import HEvalError, Span, Target
from heval_core.records.whole_answers import read
from precompute.cli import main
from tests.asked import KENYA, PERU, QUESTION, asked
from tests.fitted import fit_all

TEXTS = (f"{KENYA} It is far.", PERU)
ANSWER = "It is Lisbon. Peru has Lima."
PERTURBING = {"fa": "fa(target=logprob)", **{key: key for key in ("document", SENTENCE, "document(unit=word)")}}


@pytest.fixture(scope="module", params=["gpt2", "qwen2"])
def tiny(request, language_models):
    lm = language_models[request.param]
    fit_all(lm, [asked(lm, KENYA)])
    return lm


def answered(lm, *texts, answer=ANSWER):
    """The pass over a prompt and its answer, its target without foils, and the answer."""
    first = CleanPass(lm, [asked(lm, *texts)])
    written = given(first, answer)
    return written.after(first), written.target, written


def ranges(written):
    return [own.indices for own in written.sentences]


@pytest.mark.parametrize("key", PERTURBING)
def test_the_matrix_of_all_tokens_equals_a_run_for_each(tiny, key):
    clean, target, written = answered(tiny, *TEXTS)
    found = matrix_of(catalogue.method(key), clean, target, ranges(written))
    single = catalogue.method(PERTURBING[key])
    for place, token_id in enumerate(written.ids):
        own = written.prompt.followed_by(written.ids[:place], written.tokens[:place])
        (scores,) = single.explain(CleanPass(tiny, [own]), [Target.next_token(token_id)])
        expected = [scores.scores[unit.start] for unit in found.units]
        np.testing.assert_allclose(found.values[:, place], expected, atol=1e-4)
        assert not scores.scores[len(written.prompt.ids) :].any()  # the answer's own tokens are never ranked


@pytest.mark.parametrize("screen", ["sentences:1", "sentences:all", "cgim:2"])
def test_a_screen_gives_its_tokens_their_exact_scores_and_no_other_token_one(tiny, screen):
    clean, target, written = answered(tiny, *TEXTS)
    exact = matrix_of(catalogue.method("fa"), clean, target, ranges(written))
    found = matrix_of(catalogue.method(f"fa(screen={screen})"), clean, target, ranges(written))
    single = [place for place, unit in enumerate(found.units) if len(unit.indices) == 1]
    first = exact.units[0].start
    tokens = [found.units[place].start - first for place in single]
    np.testing.assert_allclose(found.values[single], exact.values[tokens], atol=1e-5)
    if screen == "sentences:all":  # nothing is left out
        assert [unit.start for unit in found.units] == [unit.start for unit in exact.units]
    elif screen == "cgim:2":
        assert len(single) == len(found.units) <= 2 * len(written.sentences)
    else:
        whole = next(unit for unit in found.units if len(unit.indices) > 1)
        ids = list(written.whole.ids)
        ids[whole.start : whole.end] = [tiny.baseline("and")] * len(whole.indices)
        both = [tiny.model(tiny.ids(own)).logits[0].detach() for own in (written.whole.ids, ids)]
        lost = [own.double().log_softmax(-1) for own in both]
        place = target.positions[0]
        value = float(lost[0][place, target.ids[0]] - lost[1][place, target.ids[0]])
        assert found.values[found.units.index(whole), 0] == pytest.approx(value, abs=1e-4)
        # Every ranked token is in one unit, and the sentence whose loss is largest is the one that is looked at.
        assert sorted(index for unit in found.units for index in unit.indices) == [unit.start for unit in exact.units]


def test_a_screen_ranks_nothing_and_another_one_is_refused(tiny):
    clean, target, _ = answered(tiny, *TEXTS)
    with pytest.raises(HEvalError, match="does not score every token: it explains whole answers"):
        catalogue.method("fa(screen=cgim:4)").explain(clean, [target])
    for screen in ("gxi:4", "sentences", "sentences:0", "cgim:x"):
        with pytest.raises(HEvalError, match="fa has no screen"):
            catalogue.method(f"fa(screen={screen})")


@pytest.mark.parametrize("key", [method.key for method in catalogue.explainers().values() if explains(method)])
def test_a_words_first_token_alone_has_todays_scores(tiny, key):
    explainer = catalogue.method(key)
    first = CleanPass(tiny, [asked(tiny, *TEXTS)])
    target = whole_answer.with_foils(first, Target.next_token(int(first.logits.argmax())))
    found = matrix_of(explainer, first, target, [range(1)])
    # What is left out has no competitor here, and fa is in nats.
    usual = dataclasses.replace(target, foils=()) if key in ("document", "origin") else target
    (today,) = catalogue.method(PERTURBING.get(key, key)).explain(first, [usual])
    np.testing.assert_allclose(found.values[:, 0], [today.scores[unit.start] for unit in found.units], atol=1e-5)


@pytest.mark.parametrize("key", [own for own in catalogue.explainers() if own in "attn mechlight cdla attnlrp cgim gxi"])
def test_columns_are_the_explainers_own_scores_and_later_tokens_are_not_seen(tiny, key):
    clean, target, written = answered(tiny, *TEXTS)
    found = matrix_of(catalogue.method(key), clean, target, ranges(written))
    whole = catalogue.method(key).answers == "sentence"
    for column, places in enumerate(ranges(written) if whole else [range(p, p + 1) for p in range(len(written.ids))]):
        prompt = written.prompt.followed_by(written.ids[: places.stop - 1], written.tokens[: places.stop - 1])
        (alone,) = catalogue.method(key).explain(CleanPass(tiny, [prompt]), [target.part(places)])
        np.testing.assert_allclose(found.values[:, column], alone.scores[: len(found.units)], atol=1e-4)
        sizes, ranked = np.abs(alone.scores), written.prompt.ranked
        before = sizes[len(written.prompt.ids) :].sum()
        share = before / (before + sizes[ranked.start : ranked.stop].sum())
        for own in (found, found.within(written.prompt.documents, "document")):
            assert own.said_before[column] == pytest.approx(share, abs=1e-4)


def test_origins_scores_of_a_document_sum_to_what_the_document_gives_each_token(tiny):
    clean, target, written = answered(tiny, *TEXTS)
    scores, documents = (matrix_of(catalogue.method(key), clean, target, ranges(written)) for key in ("origin", "document"))
    for document, effect in zip(documents.units, documents.values, strict=True):
        inside = [own.start in document.indices for own in scores.units]
        np.testing.assert_allclose(scores.values[inside].sum(0), effect, atol=1e-4)
    with pytest.raises(HEvalError, match=r"origin\(sentences\) explains a single token"):
        matrix_of(catalogue.method("origin(sentences=true)"), clean, target, ranges(written))


@pytest.fixture(scope="module")
def explained(language_models):
    keys = "fa,origin,contextcite,attn,mechlight,attnlrp"
    return explain_answer(language_models["gpt2"], question=QUESTION, context=TEXTS, answer=ANSWER, explainers=keys)


def test_a_sentences_scores_are_the_sums_of_its_words(explained):
    for sentence in explained.generated.written.sentences:
        words = [own for own in explained.generated.written.words if own.start in sentence.indices]
        for key in explained.generated.matrices:
            if explained.generated.matrices[key].columns == "token":
                sums = sum(explained.generated.of(own).known(key) for own in words)
                np.testing.assert_allclose(explained.generated.of(sentence).known(key), sums, atol=1e-5)
    assert explained.generated.of(Span(0, 1)).known("attnlrp") is None
    one, two = explained.generated.written.sentences
    both = explained.generated.of(Span(one.start, two.end)).known("attnlrp")
    np.testing.assert_allclose(both, explained.generated.matrices["attnlrp"].values.sum(1), atol=1e-5)


def test_an_explainer_of_sentences_is_asked_about_a_word_and_what_it_says_is_kept(explained, monkeypatch):
    generated, word = explained.generated, explained.generated.written.words[2]
    sentence = whole_answer.with_foils(generated.clean, generated.written.target).part(generated.written.sentences[0].indices)
    np.testing.assert_allclose(generated.scored("attnlrp", sentence), generated.matrices["attnlrp"].values[:, 0], atol=1e-5)
    found = generated.with_part("attnlrp", word)
    assert generated.of(word).known("attnlrp") is None
    np.testing.assert_array_equal(found.of(word).known("attnlrp"), generated.of(word).scores("attnlrp"))
    (part,) = record_of(found).matrix["attnlrp"].parts
    assert (part.start, part.end) == (word.start, word.end)
    np.testing.assert_allclose(part.values, found.of(word).known("attnlrp"), rtol=1e-3)
    assert not record_of(found.with_part("attn", word)).matrix["attn"].parts  # a sum of its columns
    known, other = dataclasses.replace(explained.record, generated=record_of(found)), generated.written.words[6]
    again = resumed(generated.clean.lm, generated.written.prompt, known)
    assert extended(known, again).generated.matrix == known.generated.matrix
    more = extended(known, again.with_part("attnlrp", other)).generated
    assert more.verdicts["words"][2]["points"] == known.generated.verdicts["words"][2]["points"]
    assert [one.start for one in more.matrix["attnlrp"].parts] == [word.start, other.start]
    assert more.words == known.generated.words
    with pytest.raises(HEvalError, match="The answer has no tokens 3 to 99"):
        generated.with_part("attnlrp", Span(3, 99))
    monkeypatch.setattr(type(explained.generated.clean.lm.model), "dtype", torch.bfloat16)
    *_, (_, found) = answer_steps.explained_by(generated, [catalogue.method("fa(screen=cgim:2)")])
    assert "was loaded in bfloat16. What needs float32 cannot" in found.refused["fa(screen=cgim:2)"]


def test_the_first_word_rests_on_nothing_that_was_said_before_it(explained):
    first, *rest = explained.generated.written.words
    assert not explained.generated.before[first.start : first.end].any()  # exactly: a share of rounding errors may be all
    assert explained.generated.of(first).said_before() == 0
    assert max(explained.generated.of(own).said_before() for own in rest) > 0


def test_variants_of_one_explainer_agree_once(explained):
    generated, word = explained.generated, explained.generated.written.words[2]
    variant = {"fa(screen=sentences:3)": generated.matrices["fa"]}
    twice = dataclasses.replace(generated, matrices=generated.matrices | variant)
    assert twice.of(word).choices() == generated.of(word).choices()
    assert "fa" in generated.of(word).choices()


def respelt(answer, *texts):
    """An answer whose tokens spell something else."""
    written = answer.generated.written
    written = dataclasses.replace(written, tokens=(*texts, *[""] * (len(written.ids) - len(texts))))
    return dataclasses.replace(answer, generated=dataclasses.replace(answer.generated, written=written))


def test_a_selection_is_found_by_its_words_or_their_numbers(explained):
    assert explained.select("is lisbon").text == explained.select((1, 3)).text == " is Lisbon"
    assert explained.select("isb").text == explained.select(2).text == " Lisbon"
    other = respelt(explained, " İİ", " Lisbon", " is")
    assert [other.select(words).text for words in ("is", "lisbon", "İİ")] == [" is", " Lisbon", " İİ"]
    of_sentences, of_tokens = map(explained.select("Lisbon").scores, ("attnlrp", "attn"))
    assert (of_sentences.shape, of_sentences.any()) == (of_tokens.shape, True)
    for words in ("Oslo", "", 99, -1, (7, 3)):
        with pytest.raises(HEvalError, match="The answer has no words .*; it has 8 words, from 0: It is Lisbon"):
            explained.select(words)
    for key in ("fa", "attnlrp"):
        assert explained.to_frame(key).shape[1] == 1 + {"fa": 8, "attnlrp": 2}[key]
    with pytest.raises(HEvalError, match="token has no scores here; there are: document, "):
        explained.to_frame("token")
    assert list(explained.sources()["text"]) == [" It", " is", " Lisbon", ".", " Peru", " has", " Lima", "."]
    head, counts = repr(explained).split("; ")
    assert (head, " of 6 word" in counts) == (f"<Answer: random-gpt2 answers '{ANSWER}'", True)  # the full stops are none
    assert sum(int(part.split()[0]) for part in counts.split(", ")) == 6


def test_a_word_is_compared_with_another_that_might_stand_there(explained):
    selection, clean, written = explained.select("Lisbon"), explained.generated.clean, explained.generated.written
    place, foil = selection.columns.start, clean.lm.encode(" Nairobi")[0]
    prompt = written.prompt.followed_by(written.ids[:place], written.tokens[:place])
    for key in ("cgim", "document(unit=sentence)"):
        (alone,) = catalogue.method(key).explain(CleanPass(clean.lm, [prompt]), [Target.next_token(written.ids[place], foil)])
        ranked = written.prompt.ranked
        found = selection.against("Nairobi", key)
        np.testing.assert_allclose(found, alone.scores[ranked.start : ranked.stop], atol=1e-4)
        assert np.abs(found - selection.against("Lima", key)).max() > 1e-3
    with pytest.raises(HEvalError, match="'Lisbon' and 'Lisbon' begin with the same token"):
        selection.against("Lisbon")
    with pytest.raises(HEvalError, match="attnlrp gives a word the same scores .*: it does not compare"):
        selection.against("Nairobi", "attnlrp")
    # A rival is a word of a document that the model nearly said: the answer's own word and function words are none.
    words = clean.lm.tokenizer([" the", " Peru", " capital"], add_special_tokens=False).input_ids
    likely = [written.ids[place], *(ids[0] for ids in words)]
    values = torch.full((len(written.ids), clean.lm.model.config.vocab_size), -9.0)
    values[place, likely] = torch.tensor([0.0, -1, -2, -3])
    assert written.rivals(values) == {place: Rival("Peru", likely[2])}
    generated = dataclasses.replace(explained.generated, rivals={place: Rival("Nairobi", foil)}).with_contrast(place)
    told = dataclasses.replace(explained.record, generated=record_of(generated))
    assert next(own.rival for own in told.generated.words if own.start == place) == "Nairobi"
    assert (compared := answer_drawing(told).methods[-1]).title == "Contrastive GIM (ours), not “Nairobi”"
    ((*span, values),) = compared.parts
    assert span == [place, selection.columns.end]
    np.testing.assert_allclose(values, selection.against("Nairobi"), rtol=1e-3)


def test_the_json_object_has_what_was_agreed_and_is_json(explained):
    told = json.loads(json.dumps(explained.to_json()))
    assert read(told) == explained.record
    assert (explained.text, explained.words[2].text, explained.sentences[1].text) == (ANSWER, " Lisbon", " Peru has Lima.")
    answer = told["generated"]
    assert "".join(answer["tokens"]) == answer["text"] == f" {ANSWER}"
    assert {"start", "end", "text", "source", "nats", "by_document", "said_before"} <= set(answer["words"][0])
    assert {"start", "end", "text", "citations", "said_before", "shares"} <= set(answer["sentences"][0])
    assert sum(answer["sentences"][0]["shares"].values()) == pytest.approx(1)
    quick = [DOCUMENT, "attn", "mechlight", "origin", SENTENCE]  # what is cheap comes first
    assert list(answer["matrix"]) == [*quick, "fa", "contextcite", "attnlrp"]
    for matrix in answer["matrix"].values():
        columns = {"token": len(answer["token_ids"]), "sentence": 2}[matrix["columns"]]
        assert np.shape(matrix["values"]) == (len(matrix["units"]), columns)
        assert "".join(told["tokens"][matrix["units"][0]["start"] : matrix["units"][0]["end"]]) == matrix["units"][0]["text"]
        assert matrix["seconds"] > 0
    assert [own["document"] for own in answer["matrix"][SENTENCE]["units"]] == [1, 1, 2]
    assert [len(own) for own in answer["verdicts"].values()] == [8, 2]
    names = [("".join(answer["tokens"][own["start"] : own["end"]]), own["documents"]) for own in answer["numbers_and_names"]]
    assert names == [(" Lisbon", [1]), (" Peru", [2]), (" Lima", [2])]
    assert explained.not_in_documents().empty
    other = respelt(explained, " In", " 1970", " Oslo", " had", " two", " Limas", " by", ".")
    assert other.not_in_documents().to_dict("list") == {
        "text": ["1970", "Oslo"], "asked": [False, False], "document": [None, None], "says": [None, None],
    }  # fmt: skip


def test_the_answer_is_written_again_without_what_is_said_to_be_its_source(language_models):
    def explained(*texts, **asked):
        how = asked or {"generate": 8}
        return explain_answer(language_models["gpt2"], question=QUESTION, context=texts, explainers="attn", **how)

    found = explained(f"{KENYA} It is 3.5 km.", PERU)
    again, plain = found.without(1), explained(PERU)
    assert again.text == plain.generated.written.text
    assert "".join(word for word, _ in again.before) == found.generated.written.text
    assert "".join(word for word, _ in again.after) == again.text
    kept = [[word.strip() for word, changed in words if not changed] for words in (again.before, again.after)]
    assert kept[0] == kept[1]
    assert found.without(1, 2, "It has 9.").text == explained(f"{KENYA} It has 9.", PERU).generated.written.text
    assert found.without(1, 2).text == explained(KENYA, PERU).generated.written.text
    framed = found._repr_html_()
    assert (framed[:7], "<script" in framed, "&lt;script" in framed) == ("<iframe", False, True)
    with pytest.raises(HEvalError, match="no document 3; there are 2, from 1"):
        found.without(3)
    with pytest.raises(HEvalError, match="Document 1 has no sentence 3; it has 2, from 1"):  # as verdicts count them
        found.without(1, 3)
    with pytest.raises(HEvalError, match="The model did not write this answer"):
        explained(PERU, answer=ANSWER).without(1)


def test_what_was_said_before_is_what_a_word_loses_directly_behind_the_prompt(explained):
    generated, lisbon = explained.generated, explained.select("Lisbon").columns
    prompt, ids, place = generated.written.prompt, generated.written.ids, lisbon.start
    logits = generated.clean.lm.model(torch.tensor([[*prompt.ids]])).logits[0, -1].double().log_softmax(-1)
    lost = generated.logprobs[place] - float(logits[ids[place]])
    assert generated.before[place] == pytest.approx(lost, abs=1e-4)
    prior, documents = (max(0.0, part[place]) for part in (generated.before, generated.together))
    assert generated.of(Span(place, place + 1)).said_before() == pytest.approx(prior / (prior + documents), abs=1e-4)


def test_an_answer_without_documents_is_all_memory(language_models):
    keys = ("fa", "attn", DOCUMENT, SENTENCE)
    found = explain_answer(language_models["gpt2"], question=f"{KENYA} {QUESTION}", generate=6, explainers=",".join(keys))
    assert ({word.source for word in found.words}, found.citations().empty) == ({"memory"}, True)
    assert set(found.generated.matrices) == set(keys)
    assert found.select(0).verdict() == {}
    assert found.sentences[0].citations == ()


def test_the_command_line_prints_words_with_their_sources_and_the_same_object(language_models, model_folders, capsys):
    alone = f"explain --model {model_folders['gpt2']} --device cpu --explainers attn --question".split() + [QUESTION]
    assert main([*alone, "--answer-text", ANSWER, "--select", "0"]) == 0  # without documents, and so without a verdict
    printed = capsys.readouterr().out
    assert ("memory" in printed, "document 1" in printed) == (True, False)
    command = [*alone, *(part for text in TEXTS for part in ("--context", text))]
    assert main([*command, "--answer-text", ANSWER, "--select", "Lisbon"]) == 0
    printed = capsys.readouterr().out
    assert "It is Lisbon. Peru has Lima. (it was given)" in printed and "selected: Lisbon: " in printed  # noqa: PT018
    assert main([*command, "--answer-text", ANSWER, "--select", "2", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["selection"]["text"], found["selection"]["source"]) == (" Lisbon", found["generated"]["words"][2]["source"])
    for select, text in (("1969", " 1969"), ("1", " was")):  # the 1 of 1969 is no word
        assert main([*command, "--answer-text", "It was 1969.", "--select", select, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["selection"]["text"] == text
    assert main([*command, "--answer-text", "Lisbon \udcf0"]) == 2
    assert "half a character" in capsys.readouterr().err
    assert main([*command, "--select", "Lisbon"]) == 2
    assert "give --generate N, or --answer-text TEXT" in capsys.readouterr().err
