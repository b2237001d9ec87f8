"""Sentences about citations on planted answers: verdicts follow from the plan, effects are the tables' numbers."""

import json

import numpy as np
import pandas as pd
import pytest

from heval_core.citations import krippendorff_alpha
from heval_core.citations.scoring import scores
from heval_core.evaluation.citations import measures
from heval_core.evaluation.citations.measures import CELL
from heval_core.evaluation.citations.tables import answers_of
from heval_core.evaluation.findings import citation_findings, citations
from heval_core.evaluation.findings.citations import evidence_of

CLAIMS, SENTENCES = 30, 3
LLM, NLI, LOO = "llm(model=a)", "nli(model=b)", "explainer(loo)"


def right(writer, selector, claim, passage):
    return {passage - 1}


def wrong(writer, selector, claim, passage):
    return {passage % SENTENCES}


def turning(writer, selector, claim, passage):
    """The same sentence for every passage: right for one in three, as random choices are on average."""
    return {claim % SENTENCES}


def often(writer, selector, claim, passage):
    """Wrong about the first passage of every third claim."""
    return (
        wrong(writer, selector, claim, passage) if passage == 1 and claim % 3 == 0 else right(writer, selector, claim, passage)
    )


def better_by_people(writer, selector, claim, passage):
    """Of explanations from a program's passages the first and the second passage of odd claims are taken for each other."""
    swapped = selector != "human" and claim % 2 and passage < 3
    return {2 - passage} if swapped else {passage - 1}


def planted(rules, writers=("one", "two"), selectors=("shipped",), datasets=("d",), sampled=False):
    """rules: annotator ▶ what it chooses. A frame as `recoveries_of` gives it, and the resamples."""
    rows = []
    for dataset in datasets:
        for writer in writers:
            for selector in selectors:
                for claim in range(CLAIMS):
                    for passage in range(1, SENTENCES + 1):
                        for annotator, rule in rules.items():
                            if not sampled or passage == 1:
                                chosen = tuple(rule(writer, selector, claim, passage))
                                own = f"{dataset} {writer} {selector} {claim}"
                                rows.append((dataset, writer, selector, f"c{claim}", own, passage, annotator, chosen))
    columns = ["dataset", "writer", "selector", "claim_id", "explanation_id", "passage", "annotator", "predicted"]
    frame = pd.DataFrame(rows, columns=columns)
    frame["gold"] = [(passage - 1,) for passage in frame["passage"]]
    frame = frame.assign(**scores(list(frame["predicted"]), list(frame["gold"]), np.full(len(frame), SENTENCES)))
    frame = frame.assign(passages=SENTENCES, sentences=SENTENCES, golds=1, problem=None, sampled=frame["passage"] == 1)
    frame["chosen"] = frame["predicted"].map(len)
    return frame, measures.resamples_of(set(zip(frame["dataset"], frame["claim_id"], strict=True)))


def answered(frame, resamples):
    return {names: answers_of(rows) for names, rows in frame.groupby(CELL)}, resamples


def found(rules, **more):
    rows = citation_findings(*answered(*planted(rules, **more)))
    assert [row["key"] for row in rows] == [claim.key for claim in citations.CLAIMS]
    assert {row["study"] for row in rows} == {"citations"}
    return {row["key"]: {**row, "effects": json.loads(row["effects"])} for row in rows}


def test_what_reads_nothing_is_at_chance_and_a_reader_beats_words():
    own = found({LLM: right, "random": turning, "position": turning, "lexical": wrong})
    assert own["controls_at_chance"]["verdict"] == "supported"
    assert [effect["value"] for effect in own["controls_at_chance"]["effects"]] == pytest.approx([0, 0], abs=1e-9)
    assert own["beyond_words"]["verdict"] == "supported"
    assert own["beyond_words"]["effects"][0]["value"] == pytest.approx(1)
    peeking = found({LLM: wrong, "random": turning, "position": right, "lexical": right})
    assert peeking["controls_at_chance"]["verdict"] == peeking["beyond_words"]["verdict"] == "contradicted"
    assert peeking["controls_at_chance"]["reason"].startswith("Against it: ")
    assert "andom" not in peeking["controls_at_chance"]["reason"]


def test_the_best_writer_to_the_kindest_reader_decides():
    def one_is_clear(writer, selector, claim, passage):
        return right(writer, selector, claim, passage) if writer == "one" else wrong(writer, selector, claim, passage)

    faulty = found({LLM: often, NLI: wrong})["best_still_wrong"]
    (effect,) = faulty["effects"]
    # Twenty of thirty explanations have no citation that is missed.
    assert effect["value"] == pytest.approx(2 / 3)
    assert (faulty["verdict"], effect["models"]) == ("supported", 2)
    assert found({LLM: often, NLI: one_is_clear})["best_still_wrong"]["verdict"] == "contradicted"
    alone = found({LLM: often}, writers=("one",))["best_still_wrong"]
    assert alone["verdict"] == "not enough data"
    assert "a verdict needs 2 writers; there are 1 writer and 1 source of claims" in alone["reason"].lower()


def test_people_s_passages_are_compared_on_the_same_claims():
    own = found({LLM: better_by_people, NLI: right}, selectors=("human", "llm(model=a)", "all"))
    (effect,) = own["human_better"]["effects"]
    # Two of three passages of every second claim to one of two readers: 2/3 / 2 / 2.
    assert effect["value"] == pytest.approx(1 / 6)
    assert own["human_better"]["verdict"] == "supported"
    assert own["machine_enough"]["verdict"] == "contradicted"
    same = found({LLM: often}, selectors=("human", "lexical"))
    assert same["machine_enough"]["verdict"] == "supported"
    assert same["human_better"]["verdict"] == "not enough data"
    frame, resamples = planted({LLM: better_by_people}, selectors=("human", "lexical"))
    odd = frame["claim_id"].str[1:].astype(int) % 2 == 1
    few = evidence_of(*answered(frame[(frame["selector"] == "lexical") | odd], resamples))
    assert citations.selector_gains(few)["lexical"].drawn[0] == pytest.approx(2 / 3)


def test_a_language_model_that_chooses_as_people_do_agrees_with_them():
    def other(writer, selector, claim, passage):
        return turning(writer, selector, 2 * claim, passage)

    own = found({"person:ada": often, LLM: often, "llm(model=c)": turning, LOO: other})
    (effect,) = own["llm_as_people"]["effects"]
    assert (effect["value"], own["llm_as_people"]["verdict"]) == (pytest.approx(1), "supported")
    assert own["readers_and_use"]["verdict"] == "supported"
    same = found({LLM: often, LOO: often})["readers_and_use"]
    assert (same["verdict"], same["effects"][0]["value"]) == ("contradicted", pytest.approx(1))


def test_numbers_and_intervals_are_those_of_the_tables():
    frame, resamples = planted({"person:ada": often, "person:bo": turning, LLM: often, LOO: turning, "lexical": wrong})
    (cell, _) = evidence_of(*answered(frame, resamples)).cells
    rows = frame[frame["writer"] == "one"]
    answers = answers_of(rows)["full"]
    key = {"dataset": "d", "writer": "one", "selector": "shipped", "masking": "full"}
    for annotator in (LLM, "people"):
        units, _ = measures.of_answers(answers[annotator], "full")
        table = measures.rows_of({**key, "annotator": annotator}, units, resamples["d"])
        (published,) = (row for row in table if row["measure"] == "transparent")
        number = cell.transparent(annotator)
        assert (number.value, *number.interval()) == pytest.approx(tuple(published[name] for name in ("value", "low", "high")))
    table = {(row["first"], row["second"]): row for row in measures.agreement_rows(key, answers, resamples["d"])}
    for first, second in ((LOO, LLM), (LLM, "people"), (LOO, "people")):
        pair = table.get((first, second)) or table[second, first]
        number = cell.alpha(first, second)
        assert (number.value, *number.interval()) == pytest.approx((pair["alpha"], pair["low"], pair["high"]))
        assert number.n == pair["n"] == CLAIMS * SENTENCES
    by_question = rows[rows["annotator"].isin([LLM, LOO])].groupby(["explanation_id", "passage"])["predicted"].agg(list)
    assert cell.alpha(LOO, LLM).value == pytest.approx(krippendorff_alpha(by_question))
    one, other = (answers[name].set_index(["explanation_id", "passage"])["f1"] for name in (LLM, "lexical"))
    assert cell.lead(LLM, "lexical").value == pytest.approx((one - other).mean())


def test_who_was_asked_about_one_passage_is_compared_with_others_on_that_one():
    frame, resamples = planted({LLM: often, "random": turning})
    asked = frame[(frame["annotator"] != LLM) | frame["sampled"]]
    (cell, _) = evidence_of(*answered(asked, resamples)).cells
    assert cell.transparent(LLM) is None
    assert cell.lead(LLM, "random").n == CLAIMS
    assert cell.above_chance(LLM).value == pytest.approx(2 / 3 - 1 / 3)


def test_what_is_not_there_is_said():
    own = found({"random": turning}, sampled=True)
    assert {row["verdict"] for key, row in own.items() if key != "controls_at_chance"} == {"not enough data"}
    assert own["best_still_wrong"]["reason"].endswith("(--masking full).")
    assert citation_findings({}, {}) == []
