"""`conditions`: which prompts a model obeys, and the run of those alone."""

from collections import Counter
from types import SimpleNamespace

import pytest

from heval_core.explaining import pipeline
from heval_core.prompting.styles import style_of
from heval_core.records import Behaviour
from heval_core.records.regime_keys import decoys_of
from precompute.cli import parser_of
from precompute.commands.layouts import ANOTHER, CONDITIONS, Outcomes, outcomes_of
from precompute.memory import Memories, Prompting
from precompute.questions import load_questions


def test_every_condition_has_a_line_and_the_obeyed_ones_a_run(model_folders, prints):
    folder = str(model_folders["gpt2"])
    command = ["conditions", "--models", folder, "--limit", "2", "--memory", "any", "--seed", "3"]
    *lines, states, twice = prints(*command, "--obeyed", "0").out.splitlines()
    assert len(lines) == 2 * (1 + len(decoys_of("mixed"))) + 3
    assert all(line.startswith("random-gpt2 · ") and "of 2 compared: " in line and line.endswith(" · yes") for line in lines)
    for printed, datasets, regimes in (
        (states, ("world_capital",), CONDITIONS["world_capital"]),
        (twice, ("years", "elsewhere", "either"), ("conflicting.twice",)),
    ):
        given = printed.removeprefix("python -m precompute ").split()
        options = parser_of(given).parse_args(given)
        assert (options.models, options.datasets, tuple(options.regimes)) == ((folder,), datasets, regimes)
        assert (options.memory, options.seed) == ("any", 3)
    assert "--obeyed is 2.0; it is a share" in prints(*command, "--obeyed", "2", ends=2).err


def test_passages_that_give_answers_twice_are_asked_in_their_own_regime(model_folders, prints, tmp_path):
    command = ["plan", "--models", str(model_folders["gpt2"]), "--datasets", "years", "--limit", "2", "--no-calibrate"]
    command += ["--explainers", "fa", "--answers", "--regimes", "gold", "mixed", "--store", str(tmp_path)]
    said = prints(*command)
    left_out = "years gives answers twice, and is asked in conflicting.twice; left out: gold, mixed, whole answers"
    assert left_out in said.err + said.out
    assert "conflicting.twice" in said.out
    assert "mixed" not in said.out.replace(left_out, "")


@pytest.mark.parametrize(("counts", "renamed", "verdict"), [
    ({"C1": 3, "C2": 2, "other": 5}, 0, "yes"), ({"C1": 4, "M": 1, "other": 5}, 0, "no"),
    ({"C1": 5, "other": 6}, 6, "no, withdrawn: 6 answers are the other name"), ({"C1": 5, "other": 5}, 5, "yes"),
])  # fmt: skip
def test_half_is_enough_and_another_name_withdraws(counts, renamed, verdict):
    assert Outcomes("mixed.d3", Counter(counts), renamed).verdict(0.5) == verdict


def test_answers_that_begin_as_another_name_are_counted(language_models, monkeypatch):
    lm = language_models["gpt2"]
    questions = load_questions("world_capital", 12, 0, style_of(lm))
    prompting = Prompting("mixed.d3", 0, Memories.collect(lm, questions.facts))

    given = []

    def answer(lm, batch, match):
        """Every second answer begins as the second document's other name, the others as nothing."""
        names = [each.instance.documents[1].alias for each in batch]
        tokens = [-1 if index % 2 else lm.first_tokens(name)[0] for index, name in enumerate(names)]
        given.extend(tokens)
        return SimpleNamespace(behaviours=[Behaviour(token, "", 1, "other", "", ()) for token in tokens])

    monkeypatch.setattr(pipeline, "answer", answer)
    outcomes = outcomes_of(lm, questions, prompting)
    assert outcomes.counts.total() == 12
    assert outcomes.counts["other"] == len(given) > outcomes.renamed == sum(token >= 0 for token in given) > 0
    assert outcomes.compared == 0


def test_the_other_answer_of_a_passage_is_counted_where_answers_stand_twice(language_models, monkeypatch):
    lm = language_models["gpt2"]
    questions = load_questions("years", 12, 0, style_of(lm))
    prompting = Prompting("conflicting.twice", 0, Memories.collect(lm, questions.facts, "any"))
    given = []

    def answer(lm, batch, match):
        """In turn the passage's other value, and one that it does not give."""
        for index, prepared in enumerate(batch):
            (document,), known = prepared.instance.documents, {name.text for name in prepared.names}
            others = {value for value in questions.pool.answers[prepared.instance.relation] if value not in known}
            stated = {value for value in others if value in document.text}
            given.append((min(others - stated if index % 2 else stated), bool(index % 2)))
        values = [value for value, _ in given[-len(batch) :]]
        answers = [Behaviour(lm.first_tokens(value)[0], "", 1, "other", "", (), answer_text=value) for value in values]
        return SimpleNamespace(behaviours=answers)

    monkeypatch.setattr(pipeline, "answer", answer)
    outcomes = outcomes_of(lm, questions, prompting)
    stands = sum(not absent for _, absent in given)
    assert 0 < stands < len(given)
    assert outcomes.counts[ANOTHER] == outcomes.compared == stands
    assert outcomes.counts["other"] == len(given) - stands
    assert f"{ANOTHER} {stands}" in outcomes.by_name
