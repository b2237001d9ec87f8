"""Sources of claims: what they read from each format, and what they say about what they cannot use."""

import dataclasses
import json
from collections import Counter

import pytest

from heval_core.citations.claims.alce import Alce
from heval_core.citations.claims.jsonl import JsonLines
from heval_core.citations.claims.politihop import Politihop
from heval_core.citations.claims.transexp import TransExp
from heval_core.citations.questions import explained, questions
from heval_core.citations.records import Claim, Passage, Written
from heval_core.datasets._reading import BadRecord
from heval_core.records import HEvalError
from tests.citations import samples
from tests.datasets.samples import write_json, write_lines
from tests.datasets.test_shared_data import DATA

REAL = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data files are not at {DATA}")


def read(source, path):
    found = list(dataclasses.replace(source, path=str(path)).claims())
    return [one for one in found if isinstance(one, Claim)], [one for one in found if isinstance(one, BadRecord)]


def test_politihop_has_the_article_as_passages_and_the_chains_of_people(tmp_path):
    records = [samples.hop(), samples.hop("12", annotated_label="", annotated_evidence={"0": [3, "3,9"], "1": []})]
    (one, other), bad = read(Politihop(), samples.write_hops(tmp_path / "p.tsv", records))
    assert not bad
    assert (one.id, one.claim, one.verdict) == ("11", 'The harbour has "ten" cranes.', "false")
    assert one.passages[1] == Passage(1, "The harbour has ten cranes, said the mayor.")
    assert (one.chains, one.written, one.problems) == (((1, 2), (0, 1, 2)), (), ())
    assert (other.verdict, other.chains) == ("barely-true", ((3,),))
    assert other.problems == ("People selected passage 9, which the claim does not have.",)


def test_politihop_names_what_it_cannot_use(tmp_path):
    wrong = [{"ruling": "["}, {"ruling": {}}, {"ruling": []}, {"statement": " "}, {"annotated_evidence": {"0": ["one"]}}]
    records = [samples.hop(str(place), **one) for place, one in enumerate([*wrong, {}])]
    good, bad = read(Politihop(), samples.write_hops(tmp_path / "p.tsv", [*records, records[-1]]))
    assert len(good) == 1
    assert [(one.location, one.reason) for one in bad] == [
        ("p.tsv, record 1", "'ruling' is not JSON"),
        ("p.tsv, record 2", "'ruling' should be a JSON list"),
        ("p.tsv, record 3", "'ruling' should be a JSON list of sentences"),
        ("p.tsv, record 4", "'statement' is empty"),
        ("p.tsv, record 5", "'annotated_evidence' should list sentence numbers"),
        ("p.tsv, record 7", "the id '5' is already used at p.tsv, record 6, with the same claim"),
    ]
    with pytest.raises(HEvalError, match="it lacks ruling"):
        read(Politihop(), samples.write_hops(tmp_path / "q.tsv", [], ("article_id", "statement")))


def test_transexp_keeps_the_sentences_of_the_file(tmp_path):
    (claim,), bad = read(TransExp(), samples.write_exps(tmp_path, {"a1": samples.exp()}))
    assert (bad, claim.problems) == ([], ())
    assert (claim.id, claim.verdict, claim.chains) == ("a1", "false", ((1, 2), (2,)))
    sentences = ("It had ten [1].", "Two were sold [1][2].", "So it is false.")
    assert claim.written == (Written(" ".join(sentences), (2, 1), "gpt-3.5", sentences),)
    asked = questions(explained(claim, "gpt-3.5", "given", (2, 1), sentences))
    assert [(question.passage, question.gold) for question in asked] == [(1, {0, 1}), (2, {1})]
    assert read(TransExp(), tmp_path / "gpt35_full_data.json")[0] == [claim]


def of_writer(writer, chain, **more):
    """A record as the authors' file of a writer has it."""
    record = samples.exp(chain=["0", chain], **more)
    by_writer = ("explanation", "masked_cit", "ans_sens")
    return record | {name: {writer: record[name]["gpt35"]} for name in by_writer}


def test_transexp_reads_the_file_of_any_writer_and_joins_them_by_claim(tmp_path):
    other = of_writer("llama2-70b", [2, 1])
    folder = samples.write_exps(tmp_path, {"a1": samples.exp()})
    samples.write_json(folder / "gpt4_full_data.json", {"a1": of_writer("gpt4", [1]), "a2": of_writer("gpt4", [1])})
    samples.write_json(folder / "llama2-70b_full_data.json", {"a1": other | {"passage": "0: Another text.\n1: a\n2: b"}})
    (claim, second), (bad,) = read(TransExp(), folder)
    assert [(one.writer, one.selected) for one in claim.written] == [("gpt-3.5", (2, 1)), ("gpt-4", (1,))]
    assert (second.id, [one.writer for one in second.written], claim.problems) == ("a2", ["gpt-4"], ())
    assert bad.location == "llama2-70b_full_data.json, a1"
    assert bad.reason == "the id 'a1' is already used at gpt35_full_data.json, a1, with another claim or other passages"
    # One by its path; its gold sentences are those of the file.
    alone, bad = read(TransExp(), folder / "gpt4_full_data.json")
    assert (len(alone), bad, alone[0].problems, [one.writer for one in alone[0].written]) == (2, [], (), ["gpt-4"])
    (folder / "gpt35_full_data.json").unlink()
    (folder / "gpt4_full_data.json").unlink()
    (alone,), bad = read(TransExp(), folder)
    assert (bad, [one.writer for one in alone.written]) == ([], ["llama-2-70b"])


OTHER_FORM = "masked_cit and ans_sens are not a number and a list."
INCONSISTENT = {
    "The file masks no citation.": {"masked_cit": {}, "ans_sens": {}},
    "Passage 1 is cited at the places [0, 1], but ans_sens has [1].": {"ans_sens": {"gpt35": [1]}},
    OTHER_FORM: {"masked_cit": {"gpt35": "1"}},
    "The writer was given no passage.": {"chain": ["0", []]},
    "claim_chain_mapping.json does not have the claim.": {"claim": "Another."},
}


@pytest.mark.parametrize(("problem", "change"), [*INCONSISTENT.items(), (OTHER_FORM, {"ans_sens": {"gpt35": [0, "1"]}})])
def test_transexp_tells_where_a_record_contradicts_itself(problem, change, tmp_path):
    (claim,), bad = read(TransExp(), samples.write_exps(tmp_path, {"a1": samples.exp(**change)}))
    assert not bad
    assert problem in claim.problems


def test_transexp_takes_chains_of_another_form_for_none(tmp_path):
    folder = samples.write_exps(tmp_path, {"a1": samples.exp()}, {"The harbour has ten cranes.": {"chain": [1, 2]}})
    (claim,), bad = read(TransExp(), folder)
    assert (claim.chains, claim.problems, bad) == ((), ("claim_chain_mapping.json does not have the claim.",), [])


def test_transexp_names_what_it_cannot_use(tmp_path):
    wrong = [{"passage": "no number"}, {"chain": [1]}, {"chain": ["0", [9]]}, {"explanation": {"gpt35": "x"}}, {"label": 3}]
    records = {f"a{place}": samples.exp(**one) for place, one in enumerate(wrong)} | {"a9": 5, "b": samples.exp()}
    good, bad = read(TransExp(), samples.write_exps(tmp_path, records))
    assert [claim.id for claim in good] == ["b"]
    assert [one.reason for one in bad] == [
        "'passage' should have one line for each passage, with its number, a colon and its text",
        "'chain' should be a list of a number and a list of passages",
        "'chain' names passage 9, which the record does not have",
        "'explanation' should be an object with a list of sentences by writer",
        "'label' should be a text, but is a number",
        "expected a JSON object, found a number",
    ]
    assert bad[0].location == "gpt35_full_data.json, a0"
    (tmp_path / "claim_chain_mapping.json").unlink()
    with pytest.raises(HEvalError, match=r"claim_chain_mapping.json does not exist; transexp reads"):
        read(TransExp(), tmp_path)


@REAL
def test_every_real_record_gives_the_gold_sentences_of_the_file_or_its_reason():
    good, bad = read(TransExp(), DATA / "transexp")
    assert (len(good), bad) == (486, [])
    reasons = Counter(problem.partition(" at ")[0] for claim in good for problem in claim.problems)
    assert reasons == {
        "The file masks no citation.": 3,
        "The writer was given no passage.": 1,
        "Passage 28 is cited": 1,  # by a range, [1-31], which the file does not read
    }
    silent = [claim for claim in good if not any(text.startswith(("The file", "Passage")) for text in claim.problems)]
    assert len(silent) == 482
    assert all(claim.chains for claim in good)


@REAL
def test_every_real_record_of_politihop_is_read():
    good, bad = read(Politihop(), DATA / "politihop" / "politihop_test.tsv")
    assert (len(good), bad) == (200, [])
    assert [claim.problems for claim in good if claim.problems] == [
        ("People selected passage 43, which the claim does not have.",)
    ]


def test_alce_counts_documents_from_one(tmp_path):
    records = [samples.answered(), samples.answered(id="q7", output=["A [1].", "B [2]."]), samples.answered(output=None)]
    path = write_json(tmp_path / "r.json", {"args": {"model": "a-model"}, "data": records})
    (one, several, none), bad = read(Alce(), path)
    assert not bad
    assert [claim.id for claim in (one, several, none)] == ["1", "q7", "3"]
    assert one.passages[1] == Passage(2, samples.SENTENCES[1], "Ruland")
    assert (one.claim, one.verdict) == ("How many cranes?", "")
    assert one.written == (Written("Ten [2]. Eight now [2][3].", (1, 2, 3, 4), "a-model"),)
    asked = questions(explained(one, "w", "s", (1, 2, 3, 4), one.written[0].text))
    assert [question.gold for question in asked] == [set(), {0, 1}, {1}, set()]
    assert [written.text for written in several.written] == ["A [1]."]
    assert several.problems == ("There are several answers, of which the first is read.",)
    assert none.written == ()
    bare, _ = read(Alce(), write_json(tmp_path / "list.json", records[:1]))
    assert bare[0].written[0].writer == ""


def test_alce_names_what_it_cannot_use(tmp_path):
    records = [samples.answered(docs=[]), samples.answered(docs=[{"title": "x"}]), samples.answered(output=3), "x", {}]
    good, bad = read(Alce(), write_json(tmp_path / "r.json", records))
    assert good == []
    assert [(one.location, one.reason) for one in bad] == [
        ("r.json, record 1", "'docs' should be a list of passages"),
        ("r.json, record 2", "'docs[0]': the record has no 'text'"),
        ("r.json, record 3", "'output' should be a text"),
        ("r.json, record 4", "expected a JSON object, found a text"),
        ("r.json, record 5", "'docs' should be a list of passages"),
    ]
    for content in ({"results": []}, "x"):
        with pytest.raises(HEvalError, match="should hold ALCE's results"):
            read(Alce(), write_json(tmp_path / "r.json", content))
    for content in ("[" * 100_000, "[" + "9" * 5_000 + "]", "{"):
        (tmp_path / "r.json").write_text(content)
        with pytest.raises(HEvalError, match="is not JSON"):
            read(Alce(), tmp_path / "r.json")


def test_ones_own_claims_have_what_their_lines_say(tmp_path):
    passages = [{"number": 0, "text": "A.", "title": "T"}, {"number": 5, "text": "B."}]
    said = {"explanation": ["B [5].", "So."], "writer": "w", "sources": [[5], []], "prompt": "demo-careful"}
    first = samples.own(3, passages=passages, selected=[5], chains=[[0, 5], []], **said)
    lines = [first, samples.own("r2", verdict=None, explanation=None), samples.own("r3", explanation="")]
    source = JsonLines(str(write_lines(tmp_path / "mine.jsonl", lines)))
    full, short, empty = source.claims()
    assert (source.key, full.id, full.chains) == ("mine", "3", ((0, 5),))
    assert full.passages == (Passage(0, "A.", "T"), Passage(5, "B."))
    assert full.written == (Written("B [5]. So.", (5,), "w", ("B [5].", "So."), ((5,), ()), "demo-careful"),)
    assert (short.verdict, short.written, [passage.number for passage in short.passages]) == ("", (), [1, 2, 3, 4])
    assert empty.written == (Written("", (1, 2, 3, 4)),)


def test_lines_of_one_claim_are_explanations_by_several_writers(tmp_path):
    lines = [samples.own(writer="a"), samples.own("other"), samples.own(writer="b", explanation="B [1].")]
    lines += [samples.own(writer="a"), samples.own(writer="c", claim="Another."), samples.own(writer="d", explanation=None)]
    good, bad = read(JsonLines(), write_lines(tmp_path / "mine.jsonl", lines))
    assert {claim.id: [written.writer for written in claim.written] for claim in good} == {"r1": ["a", "b"], "other": [""]}
    assert [(one.location, one.reason) for one in bad] == [
        ("mine.jsonl:4", "the id 'r1' is already used at mine.jsonl:1, with the same writer"),
        ("mine.jsonl:5", "the id 'r1' is already used at mine.jsonl:1, with another claim or other passages"),
        ("mine.jsonl:6", "the id 'r1' is already used at mine.jsonl:1, and one of the two has no explanation"),
    ]


WRONG = {
    "the record has no 'claim'": {"claim": None},
    "'passages' should be a list of passages": {"passages": []},
    "'passages[1]': 'text' is empty": {"passages": ["A.", " "]},
    "'passages[0]' should be a text or an object with a text": {"passages": [3]},
    "'passages[0]': 'number' should be a whole number from 0 to 999999999": {"passages": [{"number": -1, "text": "A."}]},
    "'passages' has two passages with the number 2": {"passages": [{"number": 2, "text": "A."}, "B."]},
    "'selected' names passage 9, which the record does not have": {"selected": [9]},
    "'selected' should be a list of passages' numbers": {"selected": "all"},
    "'explanation' should be a text or a list of sentences": {"explanation": {"text": "A."}},
    "'verdict' should be a text": {"verdict": True},
    "'chains' should be a list of passages' numbers": {"chains": [1, 2]},
    "'sources' should be a list of lists of numbers": {"sources": 1},
    "'prompt': There is no prompt 'mine'; there are: demo-careful, demo-padding, demo-sloppy, recovery-1, selecting-1, "
    "writing-1, writing-2.": {"prompt": "mine"},
    "'id' should be a text, but is true or false": {"id": True},
    "the record has no 'explanation', but 'explanations'": {"explanation": None, "explanations": "A."},
}


@pytest.mark.parametrize(("reason", "change"), WRONG.items())
def test_a_broken_line_is_told_and_the_others_are_read(reason, change, tmp_path):
    path = write_lines(tmp_path / "mine.jsonl", [samples.own() | change, samples.own("good"), b"\xff{", "{"])
    good, bad = read(JsonLines(), path)
    assert [claim.id for claim in good] == ["good"]
    assert (bad[0].location, bad[0].reason) == ("mine.jsonl:1", reason)
    assert bad[1].reason == "byte 1 of the line is not UTF-8"
    assert bad[2].reason.startswith("the line is not JSON, column")


def test_brackets_within_brackets_cost_their_own_line_at_most(tmp_path):
    lines = [json.dumps(samples.own(f"r{n}"))[:-1] + f', "more": {"[" * n}{"]" * n}}}' for n in range(50, 1000, 50)]
    good, bad = read(JsonLines(), write_lines(tmp_path / "mine.jsonl", lines))
    assert len(good) + len(bad) == len(lines)
    assert [claim.id for claim in good[:9]] == [f"r{n}" for n in range(50, 500, 50)]


def test_hostile_markup_and_two_hundred_passages_pass_through(tmp_path):
    text = "<script>alert(1)</script> [200] | *x* \u2028 [1]."
    line = samples.own(claim="<b>x</b>", passages=["<i>p</i>"] * 200, explanation=text)
    (claim,), _ = read(JsonLines(), write_lines(tmp_path / "mine.jsonl", [line]))
    found = explained(claim, "w", "s", claim.written[0].selected, claim.written[0].text)
    assert (found.cited, len(questions(found))) == ((1, 200), 200)
