"""Raw records to facts: what each adapter makes of its form, what it leaves out, and what it says of what is wrong."""

from __future__ import annotations

import random

import pytest

from heval_core.datasets import conflictqa, counterfact, fakepedia, world_capital
from heval_core.datasets import transparent_context_usage as published
from heval_core.datasets._jsonl import JsonLines
from heval_core.datasets._records import BadRecord, Unusable
from heval_core.records import Fact, HEvalError
from tests.datasets import samples


def sorted_out(dataset) -> tuple[list[Fact], list[BadRecord], list[Unusable]]:
    records = list(dataset.facts())
    return tuple([r for r in records if isinstance(r, kind)] for kind in (Fact, BadRecord, Unusable))


FORMS = {
    "rome": samples.rome,
    "known": samples.known,
    "comp_mech": samples.comp_mech,
}


@pytest.mark.parametrize("form", FORMS)
def test_counterfact_is_a_cloze_and_a_fact_in_every_form(form, tmp_path):
    facts, bad, _ = sorted_out(counterfact.CounterFact(str(samples.write_json(tmp_path / "c.json", FORMS[form]()))))
    assert len(facts) == 6
    assert not bad
    for fact in facts:
        (passage,) = fact.conflicting
        assert fact.question == f"The capital of {fact.subject} is"
        assert passage.text == f"Fact: {fact.question} {passage.answer}."
        assert fact.own.text == f"Fact: {fact.question} {samples.CITIES[fact.subject]}."
        assert passage.answer != fact.answer


def test_counterfact_leaves_out_what_its_subject_gives_away(tmp_path):
    path = samples.write_json(tmp_path / "c.json", samples.comp_mech())
    *_, unusable = sorted_out(counterfact.CounterFact(str(path)))
    assert [(record.reason, record.place) for record in unusable] == [("answer in subject", "c.json, record 7")]


def test_the_false_answer_of_known_facts_is_of_the_relation_and_does_not_depend_on_the_order(tmp_path):
    records = samples.known()
    one = sorted_out(counterfact.CounterFact(str(samples.write_json(tmp_path / "a.json", records))))[0]
    random.Random(0).shuffle(records)
    other = sorted_out(counterfact.CounterFact(str(samples.write_json(tmp_path / "b.json", records))))[0]
    assert sorted(one, key=lambda f: f.id) == sorted(other, key=lambda f: f.id)
    assert {fact.conflicting[0].answer for fact in one} <= set(samples.CITIES.values())


def test_a_relation_with_one_answer_has_no_false_one(tmp_path):
    path = samples.write_json(tmp_path / "c.json", samples.known()[:1])
    assert [r.reason for r in sorted_out(counterfact.CounterFact(str(path)))[2]] == ["no conflicting document"]


def test_pararel_takes_the_first_pattern_that_ends_with_the_object_and_subjects_with_one_answer(tmp_path):
    facts, bad, unusable = sorted_out(counterfact.CounterFact(str(samples.write_pararel(tmp_path))))
    assert {fact.question for fact in facts} == {f"The capital of {country} is" for country in samples.CITIES}
    assert [record.reason for record in unusable] == ["answer in subject"]
    assert not bad


def test_pararel_gives_802_questions_in_equal_shares(tmp_path):
    for relation, count in (("P36", 100), ("P1376", 30), ("P495", 400), ("P740", 400), ("P101", 400), ("P27", 400)):
        rows = [{"sub_label": f"{relation} subject {n}", "obj_label": f"answer{n % 7}"} for n in range(count)]
        samples.write_lines(tmp_path / "facts" / f"{relation}.jsonl", rows)
        samples.write_lines(tmp_path / "patterns" / f"{relation}.jsonl", [{"pattern": "[X] is of [Y]."}])
    facts = sorted_out(counterfact.CounterFact(str(tmp_path)))[0]
    count = {p: sum(fact.relation == p for fact in facts) for p in counterfact.PARAREL_RELATIONS}
    assert count["P36"] + count["P1376"] == 130  # all that the smallest has
    assert [count[p] for p in ("P495", "P740", "P101", "P27")] == [168] * 4
    assert len(facts) == counterfact.PARAREL_QUESTIONS == 802


def test_fakepedia_has_natural_second_documents_with_other_answers(tmp_path):
    facts, bad, unusable = sorted_out(
        fakepedia.Fakepedia(str(samples.write_json(tmp_path / "f.json", samples.fakepedia())))
    )
    assert (len(facts), bad, unusable) == (18, [], [])
    for fact in facts:
        assert {passage.answer for passage in fact.conflicting} == set(samples.FALSE)
        assert all(passage.subject == fact.subject for passage in fact.conflicting)
        assert fact.answer == samples.CITIES[fact.subject]


def test_conflictqa_finds_the_words_by_which_the_answers_differ(tmp_path):
    path = samples.write_lines(tmp_path / "q.json", samples.conflictqa())
    facts, bad, unusable = sorted_out(conflictqa.ConflictQA(str(path)))
    assert (len(facts), bad, unusable) == (6, [], [])
    assert {fact.conflicting[0].answer for fact in facts} <= set(samples.FALSE)
    assert {(fact.subject, fact.own.answer) for fact in facts} == set(samples.CITIES.items())
    assert {fact.relation for fact in facts} == {"capital"}


def test_conflictqa_takes_the_longest_alias_that_the_passage_holds_and_says_why_it_leaves_out():
    truth = ("Rome", "city of Rome", "Roma")
    speaks, opposes = "The capital of Italy is the city of Rome.", "The capital of Italy is Oslo."
    assert conflictqa.answer_in(("It is Rome, the city of Rome.",), speaks, opposes, truth)[1] == "city of Rome"
    assert conflictqa.answer_in(("It is Rome.",), speaks, opposes, truth)[1] == "Rome"
    assert conflictqa.answer_in(("It is Oslo.",), opposes, speaks, truth)[1] == "Oslo"
    assert conflictqa.answer_in(("Nothing.", "So it is Oslo."), opposes, speaks, truth) == ("So it is Oslo.", "Oslo")
    assert conflictqa.answer_in(("It is true.",), "It is so.", "It is not so.", ("True",)) is None
    assert conflictqa.difference("Wholly other.", "Nothing in common") == ""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is George Rankin's occupation?", ("George Rankin", "occupation")),
        ("What is Nairobi the capital of?", ("Nairobi", "capital of")),
        ("What is the capital of Kenya?", ("Kenya", "capital")),
    ],
)
def test_subject_and_relation_are_read_off_the_question(question, expected):
    assert conflictqa.subject_of(question) == expected


def test_conflictqa_says_which_records_it_cannot_ask(tmp_path):
    records = samples.conflictqa()[:3]
    records[0]["counter_memory"] = "Nothing is said here."
    records[1]["question"] = "And the capital?"
    path = samples.write_lines(tmp_path / "q.json", records)
    *_, unusable = sorted_out(conflictqa.ConflictQA(str(path)))
    assert [(r.place, r.reason) for r in unusable] == [
        ("q.json:1", "answer not in document"),
        ("q.json:2", "subject not known"),
    ]


def test_world_capital_reads_the_published_table(tmp_path):
    rows = [[c, city, "countryCapital"] for c, city in samples.CITIES.items()]
    rows += [["Bolivia", "Sucre", "x"], ["Bolivia", "La Paz", "x"], ["Nowhere", "", "x"]]
    path = samples.write_csv(tmp_path / "w.csv", ["country", "capital", "type"], rows)
    facts, bad, _ = sorted_out(world_capital.WorldCapital(str(path)))
    assert len(facts) == 6 * 7 + 6
    assert [record.place for record in bad] == ["w.csv:10"]
    bolivia = [fact for fact in facts if fact.subject == "Bolivia"]
    assert {fact.answer for fact in bolivia} == {"Sucre"}
    assert not {"Sucre", "La Paz"} & {fact.conflicting[0].answer for fact in bolivia}


def test_the_published_files_are_read_by_their_accepted_columns_which_are_printed(tmp_path, capsys):
    folder = samples.write_published(tmp_path)
    facts, bad, unusable = sorted_out(published.TransparentContextUsage("fakepedia", str(folder)))
    assert (len(facts), bad, unusable) == (6, [], [])
    assert all(len(fact.conflicting) == 2 and fact.irrelevant.answer == "dollar" for fact in facts)
    printed = capsys.readouterr().err
    assert "fakepedia_conflicting.csv: question is 'Question', subject is 'subject'" in printed


def test_the_documented_table_of_columns_is_the_one_that_is_used():
    for wanted, names in published.ACCEPTED.items():
        assert f"{wanted} " in published.__doc__
        assert all(name in published.__doc__ for name in names)


def test_texts_that_look_like_numbers_or_missing_values_stay_texts(tmp_path):
    samples.write_published(tmp_path)
    samples.write_csv(
        tmp_path / "fakepedia_conflicting.csv",
        ["question", "subject", "context", "answer", "memory_answer"],
        [["The code of Namibia is", "Namibia", "The code of Namibia is 7.", "7", "NA"]],
    )
    (fact,) = published.TransparentContextUsage("fakepedia", str(tmp_path)).facts()
    assert (fact.conflicting[0].answer, fact.answer) == ("7", "NA")


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path):
    samples.write_published(tmp_path)
    samples.write_csv(tmp_path / "fakepedia_irrelevant.csv", ["question", "text"], [])
    with pytest.raises(HEvalError, match=r"has the columns question, text; still wanted: document \(context, .*answer"):
        list(published.TransparentContextUsage("fakepedia", str(tmp_path)).facts())


# What is wrong with a file, and what is said of it.


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{broken", "the line is not JSON, column 2"),
        ("[1, 2]", "expected a JSON object, found a list"),
        (b'{"id": "caf\xe9"}', "byte 12 of the line is not UTF-8"),
        ({"id": "x"}, "the record has no 'subject'"),
        (samples.own("Kenya", 1, question=7), "'question' should be a text, and is a number"),
        (samples.own("Kenya", 1, question="  "), "'question' is empty"),
        (samples.own("Kenya", 1, conflicting="text"), "'conflicting' should be an object, and is a text"),
        (samples.own("Kenya", 1, conflicting={"text": "a"}), "the record has no 'conflicting.answer'"),
        (samples.own("Kenya", 1, conflicting={"text": "Lisbonne.", "answer": "Lisbon"}), "does not hold its answer 'Lisbon'"),
        (samples.own("Kenya", 1, irrelevant={"text": "x y", "answer": "z"}), "'irrelevant' does not hold its answer 'z'"),
        (samples.own("Kenya", 0), "the id 'Kenya-0' is used already, at mine.jsonl:1"),
    ],
)  # fmt: skip
def test_a_bad_line_says_where_and_what_and_loses_no_good_one(line, said, tmp_path):
    path = samples.write_lines(tmp_path / "mine.jsonl", [samples.own("Kenya"), line, "", samples.own("Peru")])
    facts, bad, _ = sorted_out(JsonLines(path))
    assert [fact.subject for fact in facts] == ["Kenya", "Peru"]
    assert [record.place for record in bad] == ["mine.jsonl:2"]
    assert said in bad[0].reason


def test_ones_own_documents_are_used_where_they_are_given(tmp_path):
    record = samples.own(
        "Kenya",
        conflicting_2={"text": "It is Oslo.", "answer": "Oslo"},
        irrelevant={"subject": "Fiji", "text": "Suva is in Fiji.", "answer": "Suva"},
    )
    (fact,) = JsonLines(samples.write_lines(tmp_path / "mine.jsonl", [record])).facts()
    assert [passage.answer for passage in fact.conflicting] == ["Lisbon", "Oslo"]
    assert (fact.irrelevant.subject, fact.irrelevant.answer) == ("Fiji", "Suva")
    assert (fact.answer, fact.dataset) == ("Nairobi", "mine")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.write_text(""), "is empty"),
        (lambda path: path.write_text('[{"a": 1},\n {"b" 2}]'), "is not JSON: line 2, column 7"),
        (lambda path: path.write_text('{"a": 1}'), "should hold a JSON list"),
        (lambda path: path.write_bytes(b'["caf\xe9"]'), "is not UTF-8"),
    ],
)
@pytest.mark.parametrize("dataset", [fakepedia.Fakepedia, counterfact.CounterFact])
def test_a_file_that_is_no_list_of_records_is_refused_by_name(dataset, make, said, tmp_path):
    path = tmp_path / "data.json"
    make(path)
    with pytest.raises(HEvalError, match=said) as error:
        list(dataset(str(path)).facts())
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_list_of_another_form_is_refused_with_the_fields_seen(tmp_path):
    path = samples.write_json(tmp_path / "c.json", [{"apple": 1}])
    with pytest.raises(HEvalError, match="none of CounterFact's forms.*its first record has apple"):
        list(counterfact.CounterFact(str(path)).facts())


def test_bad_records_of_a_list_are_numbered(tmp_path):
    records = [*samples.fakepedia()[:2], {"subject": "x"}, 7]
    facts, bad, _ = sorted_out(fakepedia.Fakepedia(str(samples.write_json(tmp_path / "f.json", records))))
    assert len(facts) == 2
    assert [(b.place, b.reason) for b in bad] == [
        ("f.json, record 3", "the record has no 'object'"),
        ("f.json, record 4", "expected a JSON object, found a number"),
    ]


@pytest.mark.parametrize("key", ["fakepedia", "counterfact", "conflictqa"])
def test_without_its_file_a_dataset_says_what_to_place_where(key, tmp_path, monkeypatch):
    from heval_core import catalogue

    monkeypatch.setenv("HEVAL_DATA", str(tmp_path))
    monkeypatch.setattr("heval_core.datasets._files.from_hub", lambda *_: None)
    with pytest.raises(HEvalError) as error:
        list(catalogue.find("dataset", key).facts())
    assert str(tmp_path / key) in str(error.value)
    assert f"--datasets {key}=PATH" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_from_the_hub_is_found_in_the_hubs_own_cache(tmp_path, monkeypatch):
    """The real library on a cache laid out as it lays it out: no network is needed for a pinned revision."""
    import huggingface_hub

    from heval_core.datasets._files import from_hub

    commit = conflictqa._ORIGIN.revision
    folder = tmp_path / "datasets--osunlp--ConflictQA" / "snapshots" / commit
    samples.write_lines(folder / conflictqa._ORIGIN.file, samples.conflictqa())
    whole = huggingface_hub.hf_hub_download

    def with_cache(*arguments, **options):
        return whole(*arguments, cache_dir=tmp_path, **options)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", with_cache)
    assert from_hub("osunlp/ConflictQA", conflictqa._ORIGIN.file, commit).is_file()
    assert from_hub("osunlp/ConflictQA", "another.json", commit) is None
