"""Prompts with three documents: which one was used, and by how much each explainer says so."""

from __future__ import annotations

import numpy as np
import pytest

from heval_core.groups import compared_groups, competes, context_groups, document_of
from heval_core.metrics._features import labelled
from heval_core.metrics.group_rank_margin import GroupRankMargin
from heval_core.metrics.instance_rank_margin import InstanceRankMargin
from heval_core.metrics.mrr import MeanReciprocalRank
from heval_core.metrics.position_bias import PositionBias
from heval_core.metrics.shared.cell import Cell, Layout

GROUPS = ["C1"] * 6 + ["C2"] * 3 + ["C3"] * 2 + ["M"]
SPANS = [(0, 2), (2, 4), (4, 6)]


def cell_of(best):
    """Eight tokens: three documents of two tokens, and a question of two. best: instance ▶ the document on top."""
    scores = np.zeros((len(GROUPS), 8))
    for row, document in enumerate(best):
        # The chosen document's tokens rank 1 and 2, the others' 3 to 6 in prompt order, the question's 7 and 8.
        order = [*SPANS[document], *(token for other in range(3) if other != document for token in (2 * other, 2 * other + 1))]
        order = [2 * document, 2 * document + 1, *order[2:], 6, 7]
        scores[row, order] = np.arange(8, 0, -1)
    count = len(GROUPS)
    layout = Layout.of([8] * count, [0] * count, [SPANS] * count, [[(1,), (3,), (5,)]] * count, GROUPS)
    return Cell.of(layout, scores)


USED = cell_of([document_of(group) or 0 for group in GROUPS])


def by_part(estimates):
    return {estimate.part: estimate for estimate in estimates}


def test_the_margin_is_from_the_used_document_to_the_mean_of_the_others():
    """Worked by hand: with k = 2 the used document ranks 1.5, the others 3.5 and 5.5: 4.5 - 1.5 = 3."""
    found = by_part(InstanceRankMargin(smallest_group=2).over(USED, 2))
    assert {part: found[part].value for part in found} == {"C1": 3.0, "C2": 3.0, "C3": 3.0, "balanced": 3.0}
    # At best the others are last: ranks 7.5 each.
    assert found["balanced"].best == pytest.approx(6.0)
    assert found["balanced"].chance == pytest.approx(0.0)


def test_every_group_weighs_the_same_whatever_its_size():
    """To point always at the first document is right in C1 alone; there the margin is 3, in C2 and C3 it is below 0."""
    found = by_part(InstanceRankMargin(smallest_group=2).over(cell_of([0] * len(GROUPS)), 2))
    # C2's document ranks 3.5 against 1.5 and 5.5: 0. C3's ranks 5.5 against 1.5 and 3.5: -3.
    assert [found[group].value for group in ("C1", "C2", "C3")] == [3.0, 0.0, -3.0]
    assert found["balanced"].value == pytest.approx(0.0)
    assert found["balanced"].sizes == (("C1", 6), ("C2", 3), ("C3", 2))


def test_a_documents_group_margin_sets_its_own_group_against_all_others():
    found = by_part(GroupRankMargin(smallest_group=2).over(USED, 2))
    # Document 2 ranks 1.5 where it was used, 3.5 in the six of C1, 5.5 in the two of C3: 4 on average.
    assert found["c2"].value == pytest.approx(2.5)
    assert found["c2"].sizes == (("C2", 3), ("C1 + C3", 8))


def test_the_answers_tokens_are_those_of_the_used_document():
    found = by_part(MeanReciprocalRank(smallest_group=2).over(USED, 5))
    assert {part: estimate.value for part, estimate in found.items()} == dict.fromkeys(("C1", "C2", "C3", "balanced"), 0.5)


def test_simulatability_asks_whether_the_first_document_was_used():
    (data,) = labelled(USED, 3)
    assert data.features.shape == (11, 9)
    assert data.labels.tolist() == [1] * 6 + [0] * 5
    assert data.sizes == (("C1", 6), ("C2", 3), ("C3", 2))


def test_a_bias_between_two_positions_is_not_defined_for_three():
    assert PositionBias().over(USED, 5) == []


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
