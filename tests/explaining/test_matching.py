"""Whose answer a text is: the rule, the model's own greedy text, the batch, what is stored, and what the page says of it."""

import dataclasses
import functools

import duckdb
import pytest
import torch

from heval_core import regimes
from heval_core.evaluation.publishing import publish
from heval_core.evaluation.usable import replaced_agreement, text_agreement
from heval_core.explainers.attn import Attention
from heval_core.explaining import behaviour, pipeline
from heval_core.explaining.behaviour import TEXT_TOKENS, Greedy, Memory, Named, greedy_texts, observe
from heval_core.lm.clean_pass import CleanPass
from heval_core.prompting.answers import group_by_text, normalised
from heval_core.prompting.prompts import assemble
from heval_core.prompting.styles import style_of
from heval_core.records import Fact, HEvalError, Passage
from heval_core.statistics.bounded import share_interval
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from precompute.cli import main
from precompute.questions import load_questions
from tests.asked import greedily
from tests.pages.opening import open_page
from tests.planted import noise, plant, published

LISBON_OSLO = (("C", "Lisbon"), ("M", "Oslo"))


@pytest.mark.parametrize(("text", "expected"), [
    (" The U.S. Virgin Islands, of course", "us virgin islands of course"),
    ("  an\n“Answer” — with **stars** ", "answer with stars"), ("Vitamin A", "vitamin a"), ("The", "the"),
    ("N'Djamena", "ndjamena"), ("Ｌｉｓｂｏｎ", "lisbon"), ("Sa\u0303o Paulo", "são paulo"), ("... !?", ""),
])  # fmt: skip
def test_texts_are_normalised(text, expected):
    assert normalised(text) == expected


@pytest.mark.parametrize(("answers", "text", "group"), [
    (LISBON_OSLO, " Lisbon.", "C"), (LISBON_OSLO, " the LISBON, which", "C"), (LISBON_OSLO, "\n\n**Oslo**", "M"),
    (LISBON_OSLO, " Lisbonne", "other"), (LISBON_OSLO, " I think Lisbon", "other"), (LISBON_OSLO, "", "other"),
    ((("C1", "New York"), ("C2", "New York City"), ("M", "Boston")), " New York City is", "C2"),
    ((("C1", "New York"), ("C2", "New York City"), ("M", "Boston")), " New York is", "C1"),
    ((("C", "the Hague"), ("M", "Hague")), " Hague", "ambiguous"), ((("C", "..."), ("M", "Oslo")), " ... Oslo", "M"),
    ((("C", "..."), ("M", "Oslo")), " ...", "other"), ((("C", "Vitamin A"), ("M", "Iron")), " Vitamin B", "other"),
    ((("C", "東京"), ("M", "大阪")), "東京です", "C"), ((), " Lisbon", "other"),
])  # fmt: skip
def test_the_group_is_of_the_answer_that_the_text_begins_with(answers, text, group):
    assert group_by_text(answers, text) == group


questions_of = functools.cache(load_questions)


def prepared_of(lm, count=12, regime="conflicting"):
    questions = questions_of("world_capital", count, 0, style_of(lm))
    built = [regimes.build(fact, regime, questions.pool, 0, style_of(lm), place) for place, fact in enumerate(questions.facts)]
    found = [pipeline.prepare(lm, instance, Memory("Nowhere", (3,))) for instance in built]
    return [one for one in found if one.dropped_because is None]


def literally(lm, prompt):
    return lm.decode(greedily(lm, prompt.ids, TEXT_TOKENS))


def test_the_text_of_a_prompt_is_the_same_alone_in_a_batch_and_literally(lm, monkeypatch):
    prepared = prepared_of(lm)
    length = max((len(one.prompt.ids) for one in prepared), key=[len(one.prompt.ids) for one in prepared].count)
    batch = [one for one in prepared if len(one.prompt.ids) == length]
    assert len(batch) > 2
    expected = [literally(lm, one.prompt) for one in batch]
    together = pipeline.answer(lm, batch, "text").behaviours
    assert [behaviour.answer_text for behaviour in together] == expected
    monkeypatch.setattr(lm.budget, "tokens", 1)
    alone = [pipeline.answer(lm, [one], "text").behaviours[0] for one in batch]
    assert [behaviour.answer_text for behaviour in alone] == expected
    assert [one.group for one in alone] == [one.group for one in together]


def test_an_end_at_once_is_an_empty_text_and_a_full_prompt_has_its_first_token(lm):
    clean = CleanPass(lm, [lm.tokenise(assemble(("The capital of Kenya is Lisbon.",), ("Lisbon",), "Which?"))] * 2)
    logits = clean.logits.clone()
    logits[0, lm.tokenizer.eos_token_id] = 1e6
    empty, text = greedy_texts(lm, clean.prompts, logits)
    assert empty == ""
    assert text == literally(lm, clean.prompts[1])
    full = dataclasses.replace(clean.prompts[0], ids=(5,) * lm.positions)
    assert greedy_texts(lm, [full], clean.logits[1:]) == [lm.decode([int(clean.logits[1].argmax())])]


def test_the_text_decides_where_it_is_asked_and_the_first_tokens_group_stands_beside_it(lm):
    the, lisbon, oslo = (lm.tokenizer(word).input_ids[0] for word in (" The", " Lisbon", " Oslo"))
    names = (Named("C", "Lisbon", (lisbon,)), Named("M", "Oslo", (oslo, the)))
    logits = torch.zeros(lm.vocabulary)
    logits[the] = 5.0
    plain = observe(lm, logits, names, "Oslo")
    assert (plain.group, plain.first_group, plain.text_group, plain.answer_text) == ("M", "M", None, None)
    asked = observe(lm, logits, names, "Oslo", Greedy(" The Lisbon of today", "C"))
    assert (asked.group, asked.first_group, asked.text_group, asked.explained_group) == ("C", "M", "C", "ambiguous")
    other = observe(lm, logits, names, "Oslo", Greedy(" The moon", "other"))
    assert (plain.explained_group, other.explained_group) == ("M", "other")


def run_with(model_folders, store, *more):
    command = ["run", "--models", str(model_folders["qwen2"]), "--datasets", "world_capital", "--limit", "8"]
    command += ["--regimes", "conflicting", "--shard-size", "8", "--explainers", "attn", "--device", "cpu", "--memory", "any"]
    assert main([*command, "--store", str(store), *more]) == 0


@pytest.mark.slow
def test_in_the_batch_both_groups_are_stored_and_two_ways_to_match_are_never_mixed(model_folders, language_models, tmp_path):
    run_with(model_folders, tmp_path)
    first = Reader(publish(tmp_path)).query("SELECT * FROM instance ORDER BY place")
    assert first["answer_text"].isna().all()
    assert first["text_group"].isna().all()
    kept = first["dropped_because"].isna()
    assert (first["first_group"] == first["group"])[kept].all()
    assert first["first_group"].isna()[~kept].all()
    run_with(model_folders, tmp_path, "--match", "text")
    reader = Reader(publish(tmp_path))
    found = reader.query("SELECT * FROM instance WHERE dropped_because IS NULL ORDER BY place")
    assert len(reader.query("SELECT * FROM instance")) == len(first) == 8
    agree = (found["text_group"] == "other") | (found["text_group"] == found["first_group"])
    assert (found["group"] == found["text_group"].where(agree, "ambiguous")).all()
    assert (found["first_group"].to_numpy() == first["first_group"][kept].to_numpy()).all()
    lm = language_models["qwen2"]
    for row in found.itertuples():
        prompt = lm.tokenise(assemble((), (), row.prompt, "{question}{documents}"))
        assert row.answer_text == literally(lm, prompt)
        answers = list(zip(row.candidate_groups, row.candidate_texts, strict=True))
        assert row.text_group == group_by_text(answers, row.answer_text)


def test_a_plan_counts_what_the_texts_cost(model_folders, tmp_path):
    from precompute.grid import Grid
    from precompute.plan import plan

    grid = Grid(
        (str(model_folders["gpt2"]),), ("world_capital",), ("conflicting",), ("attn",), limit=6, shard_size=6, memory="any"
    )
    by = {match: plan(dataclasses.replace(grid, match=match), tmp_path, False) for match in ("first", "text")}
    more = by["text"].total("passes") - by["first"].total("passes")
    assert more == round(6 * (1 + TEXT_TOKENS / by["text"].lines[0].tokens))


def test_the_agreement_of_both_has_the_interval_of_whole_questions(tmp_path):
    def change(instance):
        other = instance["place"] % 5 == 0
        return instance | {"first_group": "other" if other else instance["group"], "text_group": instance["group"]}

    plant(tmp_path, noise, regimes=("conflicting", "irrelevant"), explainers=("fa",), count=50, change=change)
    reader = published(tmp_path)
    (row,) = text_agreement(reader, Filter()).to_dict("records")
    assert (row["n"], row["same"], row["share"]) == (100, 80, 0.8)
    # 40 of 50 questions, each with the same answer twice.
    assert (row["low"], row["high"]) == pytest.approx(share_interval(0.8, 50.0), abs=0.005)
    (one,) = text_agreement(reader, Filter(regime=("irrelevant",))).to_dict("records")
    assert one["n"] == 50


@pytest.mark.slow
def test_the_datasets_page_shows_the_agreement_where_there_is_one(tmp_path, monkeypatch):
    def asked(row):
        return row | {"first_group": "C", "text_group": row["group"]}

    for name, change in (("with", asked), ("without", dict)):
        store = tmp_path / name
        plant(store, noise, regimes=("conflicting",), explainers=("fa",), count=40, change=change)
        published(store)
        monkeypatch.setenv("HEVAL_STORE", str(store))
        app = open_page("about", tab="data")
        assert any("first token and text agree" in box.label for box in app.expander) == (change is asked)


DELHI, ORLEANS = ("The capital of India is New Delhi.", "The capital of Peru is New Orleans.")


def test_by_text_answers_that_begin_with_one_token_are_told_apart(lm, monkeypatch):
    assert lm.first_tokens("New Delhi")[0] == lm.first_tokens("New Orleans")[0]
    asked = pipeline.Request((DELHI, ORLEANS), "Which capital?", ("New Delhi", "New Orleans"), "New York")
    with pytest.raises(HEvalError, match=r"cannot be told apart by their first tokens.*--match text"):
        pipeline.explain_request(lm, asked, [])
    for said, group in ((" New Orleans, it is", "C2"), (" New York", "M"), (" New Delhi", "C1"), (" new", "other")):
        monkeypatch.setattr(behaviour, "greedy_texts", lambda *_, said=said: [said])
        explained = pipeline.explain_request(lm, asked, [Attention()], match="text")
        assert (explained.behaviour.text_group, explained.behaviour.group) == (group, group)
    with pytest.raises(HEvalError, match="begin with the same token, so there is no competitor"):
        pipeline.explain_request(lm, asked, [Attention()], match="text", target="context")


def test_by_text_an_answer_given_twice_is_no_pair(lm):
    asked = pipeline.Request((DELHI,), "Which capital?", ("New Delhi",), "new delhi.")
    with pytest.raises(HEvalError, match="candidate answers .* are the same text"):
        pipeline.explain_request(lm, asked, [], match="text")


def test_in_the_batch_too(lm):
    fact = Fact("1", "d", "India", "capital", "Which capital?", "New York", (Passage("India", "New Delhi", DELHI),))
    instance = regimes.build(fact, "conflicting", regimes.Pool.of([fact]), 0, style_of(lm), 0)
    memory = Memory("New York", lm.first_tokens("New York"))
    assert pipeline.prepare(lm, instance, memory).dropped_because == "same first token"
    assert pipeline.prepare(lm, instance, memory, "text").dropped_because is None
    again = Memory("new delhi", lm.first_tokens("new delhi"))
    assert pipeline.prepare(lm, instance, again, "text").dropped_because == "same answer"


def test_a_label_without_deletion_agrees_where_a_replaced_answer_changes_or_stays(tmp_path):
    """Of 50 questions: two in three answers from the document, which change but for every tenth; memory's stay. By hand."""
    plant(tmp_path, noise, regimes=("conflicting",), explainers=("fa",), count=50)
    path = publish(tmp_path)
    with duckdb.connect(str(path)) as writable:
        rows = writable.execute("SELECT instance_id, \"group\", place FROM instance WHERE \"group\" IN ('C', 'M')").fetchall()
        for key, group, place in rows:
            together = "stays" if group == "M" or place % 10 == 0 else ("moves", "follows")[place % 2]
            for mention in (0, 1):  # an instance counts once
                writable.execute(
                    "INSERT INTO source (instance_id, mention, together) VALUES (?, ?, ?)", [key, mention, together]
                )
        writable.execute("INSERT INTO source (instance_id, mention, unavailable) VALUES (?, 0, 'no mention')", [rows[0][0]])
    found = replaced_agreement(Reader(path), Filter()).set_index("group")
    sizes = {group: [place for _, own, place in rows if own == group] for group in "CM"}
    for group, places in sizes.items():
        right = sum(group == "M" or place % 10 > 0 for place in places)
        assert found.loc[group, ["n", "questions", "share"]].tolist() == [len(places), len(places), right / len(places)]
    assert tuple(found.loc["C", ["low", "high"]]) == pytest.approx(
        share_interval(found["share"]["C"], found["n"]["C"]), abs=0.01
    )
    assert replaced_agreement(Reader(path), Filter(regime=("irrelevant",))).empty
